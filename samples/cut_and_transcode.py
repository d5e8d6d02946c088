"""Cut clips out of videos, and transcode a folder for training: ... cut_and_transcode.py [FOLDER]

Writes to FOLDER/../prepared by default. Both steps may be interrupted and run again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import videoloader as vl
from videoloader.demo.videos import make_classes
from videoloader.indexing.dataset import find_videos

SAMPLER = vl.RandomClip(count=8, stride=4)  # the clips that will be trained on


def cut_middles(videos: list[Path], out: Path) -> None:
    """Cut half a second from the middle of each video, without encoding where that is exact."""
    out.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(videos):
        index = vl.index_video(path)
        middle = index.pts[index.num_frames // 2] * index.time_base
        made = vl.cut(path, out / f"{number:04}.mp4", times=(middle, middle + 0.5), index=index)
        print(f"{path.name}: frames {made.start}-{made.stop - 1}, {made.method}")
        with vl.Video(path, index=index) as before, vl.Video(made.path) as after:
            same = np.array_equal(before[made.start].numpy(), after[0].numpy())
            assert len(after) == made.stop - made.start
            assert same or made.method == "encode"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="clips are made if left out")
    parser.add_argument("--out", type=Path, help="folder to write to")
    parser.add_argument("--shorter", type=int, default=96, help="length of the shorter side")
    arguments = parser.parse_args()
    folder = arguments.folder or make_classes("demo/classes")
    out = arguments.out or folder.parent / "prepared"
    cut_middles(find_videos(folder), out / "clips")
    made = vl.transcode(
        folder,
        out / "videos",
        gop=8,
        resize_shorter=arguments.shorter,
        sampler=SAMPLER,
        options={"preset": "fast"},
        on_gain=print,
    )
    print(f"{made.written} videos written, {made.kept} were done; {made.gain}")
    for failure in made.failures:
        print(failure.reason)
    with vl.index_dataset(made.out, out / "videos.parquet", headers=True) as dataset:
        loader = vl.Loader(dataset, SAMPLER, batch_size=2, size=64, workers=0)
        for batch in loader:
            print(f"a batch {tuple(batch['frames'].shape)}")


if __name__ == "__main__":
    main()
