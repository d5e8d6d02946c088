"""Parts of videos as samples: python samples/segments.py [TABLE FOLDER]

TABLE is a CSV, JSON, JSON lines or Parquet file with a row for each part: its video (a path, a name
or an id), start, end (seconds, or text such as 0:01:02.5) and label. FOLDER has the videos.
Without them it takes seconds 1 and 2 of generated clips.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import videoloader as vl
from videoloader.demo.videos import make_classes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", nargs="?", help="of segments; made if left out")
    parser.add_argument("folder", type=Path, nargs="?", help="of videos; made if left out")
    parser.add_argument("--label", default="label", help="name of the column of labels")
    arguments = parser.parse_args()

    # An index is made once; without one each video is opened whenever the segments are made.
    folder = arguments.folder or make_classes("demo/classes")
    index = vl.index_dataset(folder, out=folder.with_suffix(".parquet"))
    count = len(index)
    made = {"path": index.keys, "start": [1.0] * count, "end": [2.0] * count}
    made["label"] = [key.partition("/")[0] for key in index.keys]
    segments = vl.Segments(arguments.table or made, index, on_missing="skip")
    for row, reason in zip(*segments.skipped.to_pydict().values(), strict=True):
        print(f"left out: row {row} is {reason}")

    clips = vl.RandomClip(8, fps=8)  # a second; of shorter segments the last frame is repeated
    with vl.Loader(
        segments,
        clips,
        batch_size=4,
        labels=arguments.label,
        size=(112, 112),
        shuffle=True,
        on_error="replace",
    ) as loader:
        for batch in loader:
            for row, label, times in zip(
                batch["sample"].tolist(), batch["labels"].tolist(), batch["times"], strict=True
            ):
                first, last = times[0], times[-1]
                print(f"row {row}: {loader.classes[label]}, {first:.2f} to {last:.2f} s")


if __name__ == "__main__":
    main()
