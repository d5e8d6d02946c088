"""Random clips in a DataLoader: python samples/dataloader.py [FOLDER]"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from videoloader import ClipDataset, EpochSampler, RandomClip
from videoloader.dali import fn
from videoloader.demo.videos import make_classes


def augment(frames: torch.Tensor) -> torch.Tensor:
    """(F, H, W, C) uint8 to (F, C, 112, 112) float32, flipped half the time."""
    frames = fn.resize(frames, resize_shorter=128)
    flip = int(torch.rand(()) < 0.5)
    result: torch.Tensor = fn.crop_mirror_normalize(
        frames, crop=(112, 112), mirror=flip, mean=[128.0], std=[64.0]
    )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="clips are made if left out")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    folder = arguments.folder or make_classes("demo/classes")

    sampler = RandomClip(count=8, fps=10)  # 8 frames at 10 frames a second, whatever the video's
    dataset = ClipDataset(folder, sampler, augment, layout="FHWC", on_error="replace")
    order = EpochSampler(dataset, seed=0)
    loader = DataLoader(dataset, batch_size=4, sampler=order, num_workers=arguments.workers)
    for epoch in range(2):
        for batch in loader:
            print(f"epoch {epoch}: {tuple(batch['frames'].shape)} from {batch['sample'].tolist()}")


if __name__ == "__main__":
    main()
