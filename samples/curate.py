"""Which clips of a folder are worth training on: python samples/curate.py FOLDER --out curated

Without a folder a few videos are made, some of them copies of others.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

import videoloader as vl
from videoloader.decoding.clip_batch import Clip
from videoloader.demo.shots import encode_shots


def embed(clip: Clip) -> Any:
    """A small embedding: the mean colours of a grid of 4 x 4; put a model of your own here."""
    return clip.frames.float().mean(dim=0).flatten() / 255


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, default=Path("curated"))
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    out, workers = arguments.out, arguments.workers
    out.mkdir(parents=True, exist_ok=True)
    folder = arguments.folder or make_videos(Path(tempfile.mkdtemp()))

    dataset = vl.index_dataset(folder, out / "set.parquet", workers)
    doubles = vl.find_duplicates(dataset, out / "duplicates.parquet", workers=workers)
    scores = vl.map_clips(dataset, vl.score_video, out / "scores.parquet", workers=workers)
    scenes = vl.map_clips(dataset, vl.find_scenes, out / "scenes.parquet", workers=workers)

    others = doubles.filter(pc.invert(pc.field("is_representative")))["row"]
    good = pc.field("error").is_null() & (pc.field("black") < 0.9) & (pc.field("blur") > 1)
    rows = scores.filter(good & ~pc.field("row").isin(others))["row"]
    kept = scenes.filter(pc.field("row").isin(rows))
    long = kept.filter(pc.field("stop") - pc.field("start") >= 16)
    pq.write_table(long, out / "clips.parquet")
    print(f"{len(dataset)} videos, {len(others)} copies, {len(rows)} kept, {len(long)} long scenes")

    # A function of your own over clips, in the same way.
    table = vl.map_clips(
        dataset,
        embed,
        out / "embeddings.parquet",
        clips=vl.UniformClip(8),
        columns="embedding",
        size=(4, 4),
        workers=workers,
    )
    print(f"{len(table)} embeddings of {len(table['embedding'][0])} numbers")


def make_videos(folder: Path) -> Path:
    """Four videos of two or three shots, and a copy of the first in other quality."""
    for number in range(4):
        encode_shots(folder / f"{number}.mp4", [30, 20, 10 * number + 10], seed=number)
    low = {"crf": "32", "g": "12", "threads": "1"}
    encode_shots(folder / "copy.mp4", [30, 20, 10], seed=0, size=(160, 90), options=low)
    return folder


if __name__ == "__main__":
    main()
