"""A table of segments joined with a data set index: python benchmarks/segment_join.py

Time and memory of a million rows of two hundred thousand videos, in a process of its own. The rows
of the index repeat those of one video under other names.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import videoloader as vl
from videoloader.demo.videos import encode_video

LABELS = 400


def make_index(folder: Path, videos: int) -> Path:
    """A data set index of so many videos that are not there."""
    (folder / "videos").mkdir()
    encode_video(folder / "videos" / "0.mp4", frames=300, fps=30, size=(96, 64))
    vl.index_dataset(folder / "videos", out=folder / "one.parquet", workers=0).close()
    one = pq.read_table(folder / "one.parquet")
    many = one.take(pa.array(np.zeros(videos, dtype=np.int64)))
    names = pa.array([f"part{number % 100:02d}/v{number:09d}.mp4" for number in range(videos)])
    for column in ("key", "path"):
        field = one.schema.field(column)
        many = many.set_column(one.schema.get_field_index(column), field, names.cast(field.type))
    pq.write_table(many.replace_schema_metadata(one.schema.metadata), folder / "set.parquet")
    return folder / "set.parquet"


def make_rows(path: Path, rows: int, videos: int) -> None:
    """A CSV file of such segments."""
    rng = np.random.default_rng(0)
    starts = rng.uniform(0, 8, rows).round(3)
    table = pa.table(
        {
            "video_id": [f"v{number:09d}" for number in rng.integers(videos, size=rows).tolist()],
            "start": starts,
            "end": (starts + rng.uniform(0.5, 2, rows)).round(3),
            "label": [f"class {number}" for number in rng.integers(LABELS, size=rows).tolist()],
        }
    )
    pa.csv.write_csv(table, path)


def measure(table: str, index: str) -> dict[str, float]:
    """Seconds and bytes that the segments take, and a loader of them, in this process."""
    with vl.open_dataset(index) as dataset:
        import torch  # noqa: F401  (whose memory is not that of segments)

        from videoloader.training.loader import Loader
        from videoloader.training.segments.segments import Segments

        before, begin = _peak(), time.perf_counter()
        segments = Segments(table, dataset)
        joined, room = time.perf_counter() - begin, _peak() - before
        begin = time.perf_counter()
        Loader(segments, vl.RandomClip(16), batch_size=8, labels="label", shuffle=True)
        made = time.perf_counter() - begin
    return {
        "segments": len(segments),
        "join_seconds": round(joined, 2),
        "join_mb": round(room / 1e6),
        "loader_seconds": round(made, 2),
        "peak_mb": round(_peak() / 1e6),
    }


def _peak() -> int:
    """The most memory that this process had, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (found,) = (line.split() for line in lines if line.startswith("VmHWM"))
    return int(found[1]) * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--videos", type=int, default=200_000)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(*arguments.measure)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        index = make_index(folder, arguments.videos)
        make_rows(folder / "rows.csv", arguments.rows, arguments.videos)
        vl.open_dataset(index).close()  # its cache is made once
        command = [sys.executable, __file__, "--measure", str(folder / "rows.csv"), str(index)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
