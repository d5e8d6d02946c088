"""
Sound with pictures
===================

Each clip comes with the sound of its time span, exact to the sample.

Guide: :doc:`/audio`.
"""

# %%
# Two videos: one with a rising tone, one without sound.

import tempfile
from pathlib import Path

import numpy as np
import torch

import videoloader as vl
from videoloader.demo.videos import encode_video

RATE = 16000
COLUMNS = 4  # of the spectrum for each frame

folder = Path(tempfile.mkdtemp())
videos = folder / "videos"
videos.mkdir()
encode_video(videos / "silent.mp4", size=(96, 64), frames=90)
pictures = vl.Video(videos / "silent.mp4").get_frames()
seconds = np.arange(3 * RATE) / RATE
tone = np.sin(2 * np.pi * (500 + 500 * seconds) * seconds, dtype=np.float32)[None] / 2
vl.write_video(pictures, videos / "tone.mp4", fps=30, audio=(tone, RATE))

# %%
# The sound of a file without its pictures: float32 (channels, samples), by time or by sample
# number.

audio = vl.Audio(videos / "tone.mp4", sample_rate=RATE, num_channels=1)
part = audio.get_samples(1.0, 1.5)
print(f"{audio.duration:.2f} s,", tuple(part.shape))
assert torch.equal(part, audio.get_samples()[:, RATE : RATE + part.shape[1]])

# %%
# `audio=True` adds the sound of each clip. The sound of a file without a soundtrack has length 0,
# and is padded with zeros in a batch.

loader = vl.Loader(
    videos,
    vl.RandomClip(16),
    batch_size=2,
    size=(64, 64),
    audio=True,
    audio_sample_rate=RATE,
    audio_channels=1,
    on_error="replace",
    workers=0,
)
batch = next(iter(loader))
frames, sound = batch["frames"], batch["audio"].squeeze(-1)
print(tuple(frames.shape), tuple(sound.shape), batch["audio_lengths"].tolist())
assert batch["audio_lengths"][0] == 0
assert abs(batch["audio_lengths"][1] - 16 / 30 * RATE) < 2

# %%
# A spectrum with four columns for each frame: column k belongs to frame k // 4.


def spectrum(sound, columns):
    """Spectra of `columns` parts of equal length of sounds (B, samples): (B, columns, 257)."""
    starts = torch.linspace(0, sound.shape[1], columns + 1)[:-1].long()
    padded = torch.nn.functional.pad(sound, (0, 512))
    parts = torch.stack([padded[:, start : start + 512] for start in starts], dim=1)
    return torch.fft.rfft(parts * torch.hann_window(512)).abs()


columns = spectrum(sound, COLUMNS * frames.shape[1])
pitch = columns[1].argmax(1) * RATE / 512
print("pitch at each frame:", *(f"{each:.0f}" for each in pitch[::COLUMNS]))

# %%
# The tone has 500 + 1000 t hertz at time t, so its pitch tells the time of the sound. It agrees
# with the times of the frames.

heard = (pitch[::COLUMNS] - 500) / 1000
middle = slice(2, 14)
print("from the sound:", *(f"{time:.2f}" for time in heard[middle]))
print("of the frames: ", *(f"{time:.2f}" for time in batch["times"][1][middle]))
assert (heard - batch["times"][1])[middle].abs().max() < 0.05

# %%
# As a picture: the spectrum of the clip, low pitches at the bottom.

import matplotlib.pyplot as plt

_, axis = plt.subplots(figsize=(6, 2), layout="constrained")
axis.imshow(columns[1, :, :160].T.numpy(), origin="lower", aspect="auto", extent=(0, 16, 0, 5000))
axis.set(xlabel="frame", ylabel="Hz")
loader.close()
audio.close()
