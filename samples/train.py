"""A training loop fed by Loader: python samples/train.py [FOLDER]

FOLDER has a folder of videos for each class. The run may be interrupted at any time; the same
command continues with the next batch.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

import videoloader as vl
from videoloader.demo.videos import make_classes


class SmallNet(torch.nn.Module):
    """Two convolutions over time and space, then the mean."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv3d(3, 8, (3, 7, 7), stride=(2, 4, 4)),
            torch.nn.ReLU(),
            torch.nn.Conv3d(8, 16, 3, stride=2),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool3d(1),
            torch.nn.Flatten(),
            torch.nn.Linear(16, classes),
        )

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        """Scores of clips (B, 3, F, H, W)."""
        scores: torch.Tensor = self.layers(frames)
        return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="clips are made if left out")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--checkpoint", type=Path, default=Path("checkpoint.pt"))
    arguments = parser.parse_args()
    folder = arguments.folder or make_classes("demo/classes")

    loader = vl.Loader(
        folder,
        vl.RandomClip(16, stride=2),
        batch_size=arguments.batch_size,
        device=arguments.device,
        size=(112, 112),
        random_resized_crop=((0.4, 1.0), (3 / 4, 4 / 3)),
        random_flip=0.5,
        dtype="float32",
        layout="CFHW",
        mean=(123.7, 116.3, 103.5),
        std=(58.4, 57.1, 57.4),
        shuffle=True,
        on_error="replace",
    )
    torch.manual_seed(0)
    classes = sum(child.is_dir() for child in folder.iterdir())
    model = SmallNet(classes).to(arguments.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    if arguments.checkpoint.exists():
        state = torch.load(arguments.checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(state["loader"])

    while loader.next_epoch < arguments.epochs:
        for batch in loader:
            scores = model(batch["frames"])
            labels = batch["labels"].to(arguments.device)
            loss = torch.nn.functional.cross_entropy(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "loader": loader.state_dict(),
            }
            torch.save(state, arguments.checkpoint)
        print(f"epoch {loader.epoch}: loss {loss.item():.3f}; {loader.stats()}")


if __name__ == "__main__":
    main()
