"""Frames of two robot cameras by time, in a DataLoader: python samples/robot_cameras.py"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

from videoloader.compat.lerobot import decode_camera_frames
from videoloader.demo.videos import encode_video

FPS = 30
HISTORY = (-0.1, 0.0)  # seconds before the step, as LeRobot's delta_timestamps


class Steps(Dataset[dict[str, torch.Tensor]]):
    """One sample for each step of an episode: the last frames of each camera."""

    def __init__(self, cameras: dict[str, Path], steps: int) -> None:
        self.cameras, self.steps = cameras, steps

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, step: int) -> dict[str, torch.Tensor]:
        times = [max(step / FPS + delta, 0) for delta in HISTORY]
        return decode_camera_frames(self.cameras, times, tolerance_s=1e-3)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        cameras = {
            name: encode_video(Path(folder, f"{name}.mp4"), fps=FPS, size=(160, 120))
            for name in ("front", "wrist")
        }
        loader = DataLoader(Steps(cameras, steps=24), batch_size=8, shuffle=True, num_workers=1)
        for batch in loader:
            print(", ".join(f"{name} {tuple(frames.shape)}" for name, frames in batch.items()))


if __name__ == "__main__":
    main()
