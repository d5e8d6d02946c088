"""
Robots: frames of several cameras by time
=========================================

Each step of an episode has a time. A policy gets the frames that each camera shows at that time and
shortly before. Cameras may have different frame rates.

Guide: :doc:`/frames`.
"""

# %%
# An episode of two cameras: one at 30 frames a second, one at 15. Each picture contains its frame
# number, which is read below to check the frames.

import tempfile
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

import videoloader as vl
from videoloader.compat.lerobot import FrameTimestampError, decode_camera_frames, default_cache
from videoloader.demo.videos import encode_video, read_frame_number

folder = Path(tempfile.mkdtemp())
cameras = {
    "front": encode_video(folder / "front.mp4", fps=30, size=(160, 120)),
    "wrist": encode_video(folder / "wrist.mp4", fps=15, frames=30, size=(128, 128)),
}

# %%
# `get_frames_at_times` gives the frame that is on screen at a time. A frame is on screen from its
# own time until that of the next frame.

front = vl.Video(cameras["front"])
wrist = vl.Video(cameras["wrist"])
times = [0.5, 0.57, 1.0]
for name, video in (("front", front), ("wrist", wrist)):
    clip = video.get_frames_at_times(times)
    print(name, "frames", clip.indices.tolist(), "begin at", clip.times.round(3).tolist())
    assert [read_frame_number(frame) for frame in clip.frames] == clip.indices.tolist()

# %%
# With `nearest=True` the frame with the nearest time is given, within a tolerance. A time without
# such a frame is an error that names the nearest one.

try:
    wrist.get_frames_at_times([0.5], nearest=True, tolerance=0.01)
except vl.errors.FrameRangeError as error:
    print(error)

# %%
# In a `DataLoader`, `decode_camera_frames` decodes both cameras at once. It has the arguments of
# LeRobot's reader, and keeps videos open between calls.

HISTORY = (-0.2, 0.0)  # seconds before the step, as LeRobot's delta_timestamps


class Steps(Dataset[dict[str, torch.Tensor]]):
    """One sample for each step of an episode, at 15 steps a second."""

    def __len__(self) -> int:
        return 24

    def __getitem__(self, step: int) -> dict[str, torch.Tensor]:
        shown = [max(step / 15 + delta, 0) for delta in HISTORY]
        return decode_camera_frames(cameras, shown, tolerance_s=1e-3)


loader = DataLoader(Steps(), batch_size=8)  # num_workers=4 works as well
for number, batch in enumerate(loader):
    print(", ".join(f"{name} {tuple(frames.shape)}" for name, frames in batch.items()))
    newest = {
        name: read_frame_number(255 * frames[0, -1].permute(1, 2, 0))
        for name, frames in batch.items()
    }
    assert newest == {"front": 16 * number, "wrist": 8 * number}  # the same moment

# %%
# A time outside the episode is an error:

try:
    decode_camera_frames(cameras, [2.5], tolerance_s=1e-3)
except FrameTimestampError as error:
    print(str(error).splitlines()[0])

# %%
# `decode_batch` decodes steps of many episodes together, on any device:

batch = vl.decode_batch(
    [
        vl.ClipRequest(cameras["front"], times=[time, time + 0.2], nearest=True, tolerance=1e-3)
        for time in (0.0, 0.8, 1.4)
    ],
    size=(64, 64),
    layout="FCHW",
    workers=0,
)
print(tuple(batch.frames.shape), [clip.indices.tolist() for clip in batch.clips])
default_cache().clear()  # closes the videos that stayed open between calls
