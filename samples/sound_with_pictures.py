"""Pictures and sound of the same clips: python samples/sound_with_pictures.py FOLDER

FOLDER holds videos, with or without sound. Each batch has frames and a spectrum of the sound in
step with them: as many columns for each frame.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

import videoloader as vl

RATE = 16000
COLUMNS = 4  # of the spectrum for each frame


def spectrum(sound: torch.Tensor, columns: int) -> torch.Tensor:
    """The spectrum of sounds (B, samples) in so many parts of equal length: (B, columns, 257)."""
    starts = torch.linspace(0, sound.shape[1], columns + 1)[:-1].long()
    padded = torch.nn.functional.pad(sound, (0, 512))
    parts = torch.stack([padded[:, start : start + 512] for start in starts], dim=1)
    magnitudes: torch.Tensor = torch.fft.rfft(parts * torch.hann_window(512)).abs()
    return magnitudes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    loader = vl.Loader(
        folder,
        vl.RandomClip(16),
        batch_size=4,
        size=(112, 112),
        audio=True,
        audio_rate=RATE,
        audio_channels=1,
        on_error="replace",
    )
    with loader:
        for batch in loader:
            frames, sound = batch["frames"], batch["audio"].squeeze(-1)
            heard = batch["audio_lengths"] > 0
            columns = spectrum(sound, COLUMNS * frames.shape[1])
            print(
                f"{len(frames)} clips {tuple(frames.shape[1:])}, {int(heard.sum())} with sound "
                f"of {sound.shape[1] / RATE:.2f} s, spectrum {tuple(columns.shape[1:])}"
            )


if __name__ == "__main__":
    main()
