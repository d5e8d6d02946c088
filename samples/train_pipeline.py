"""A training loop fed by a pipeline: python samples/train_pipeline.py [FOLDER]

FOLDER has a folder of videos for each class, or only videos.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch

from videoloader.dali import fn, pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator, LastBatchPolicy
from videoloader.demo.videos import make_classes
from videoloader.indexing.dataset import find_videos


@pipeline_def
def training(source: dict[str, Any]) -> Any:
    clips, labels = fn.readers.video(
        **source,
        sequence_length=16,
        stride=2,
        pad_mode="edge",
        random_shuffle=True,
        pad_last_batch=True,
        name="Reader",
    )
    clips = fn.resize(clips, resize_x=256, resize_y=256)
    clips = fn.crop_mirror_normalize(
        clips,
        crop_h=224,
        crop_w=224,
        mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
        std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        mirror=fn.random.coin_flip(),
    )
    return clips, labels


def source_of(folder: Path) -> dict[str, Any]:
    if any(child.is_dir() for child in folder.iterdir()):
        return {"file_root": str(folder)}
    files = [str(file) for file in find_videos(folder)]
    return {"filenames": files, "labels": range(len(files))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="clips are made if left out")
    parser.add_argument("--epochs", type=int, default=2)
    arguments = parser.parse_args()
    folder = arguments.folder or make_classes("demo/classes")

    model = torch.nn.Linear(3, 10)  # stands for a network: looks at mean colours
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with training(source_of(folder), batch_size=4, num_threads=2, seed=1) as pipe:
        batches = GenericIterator(
            [pipe],
            ["data", "label"],
            reader_name="Reader",
            last_batch_policy=LastBatchPolicy.PARTIAL,
            auto_reset=True,
        )
        for epoch in range(arguments.epochs):
            for (batch,) in batches:
                scores = model(batch["data"].mean(dim=(1, 3, 4)))
                loss = torch.nn.functional.cross_entropy(scores, batch["label"].flatten().long())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
