"""Data set indexes of generated rows: time to filter, query, sample, split, join and write.

    python benchmarks/datasets.py --rows 100000 1000000

No video is read or decoded. Each way runs once in this process, after the file was opened; the time
is that of the processors, all threads together, so other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import videoloader as vl
from videoloader.indexing.dataset.rows import schema

Way = tuple[str, Callable[[vl.DatasetIndex], Any]]


def write_rows(path: Path, count: int) -> None:
    """A data set index of videos that are not there, with indexes of 200 bytes."""
    rng = np.random.default_rng(0)
    rows = np.arange(count)
    names = pa.array([f"{row % 1000:03}/{row:011}_000010_000020.mp4" for row in range(count)])
    values: dict[str, Any] = {
        "key": names,
        "path": names,
        "codec": pa.array(["h264", "hevc", "av1"]).take(pa.array(rows % 3)),
        "height": rng.choice([240, 480, 720, 1080], count),
        "width": rng.choice([426, 854, 1280, 1920], count),
        "num_frames": rng.integers(30, 3000, count),
        "duration": rng.uniform(1, 100, count),
        "rotation": np.zeros(count),
        "member": pa.repeat("", count),
        "index": pa.repeat(pa.scalar(b"x" * 200, pa.large_binary()), count),
    }
    table = schema("/videos").empty_table()
    columns = [
        pa.array(values[field.name], field.type)
        if field.name in values and not isinstance(values[field.name], pa.Array)
        else values.get(field.name, pa.nulls(count, field.type))
        for field in table.schema
    ]
    pq.write_table(pa.table(columns, schema=table.schema), path, row_group_size=4096)


def captions(count: int) -> pa.Table:
    """A caption for each video, by the id in its name."""
    ids = pa.array([f"{row:011}" for row in range(count)])
    stems = pc.binary_join_element_wise(ids, "_000010_000020", "")
    texts = pc.binary_join_element_wise("a caption of", ids, " ")
    return pa.table({"id": ids, "stem": stems, "caption": texts})


def ways(count: int, folder: Path) -> list[Way]:
    """What is timed, by name."""
    table = captions(count)
    by_stem, by_id = table.select(["stem", "caption"]), table.select(["id", "caption"])
    fewer = pc.field("num_frames") / pc.field("duration") > 20
    found: list[Way] = [
        ("filter(min_height=720, codecs=)", lambda d: d.filter(min_height=720, codecs="av1")),
        ("filter(expression)", lambda d: d.filter(fewer)),
        ("query", lambda d: d.query("codec = 'av1' and height >= 720")),
        ("sample(1000)", lambda d: d.sample(1000)),
        ("split(0.9)", lambda d: d.split(0.9)),
        ("split(0.9, by=function)", lambda d: d.split(0.9, by=lambda key: key[:3])),
        ("select of three columns", lambda d: d.select(["key", "codec", "duration"])),
        ('join(on="stem")', lambda d: d.join(by_stem, on="stem")),
        ('join(on="path")', lambda d: d.join(by_stem, key="stem")),
        (
            "join(on=function)",
            lambda d: d.join(by_id, key="id", on=lambda path: path.rpartition("/")[2][:11]),
        ),
        ("write of a tenth", lambda d: d.split(0.1)[0].write(folder / "part.parquet")),
    ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    counts = parser.parse_args().rows
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for count in counts:
            path = folder / f"{count}.parquet"
            write_rows(path, count)
            dataset, begin = None, time.process_time()
            for _ in range(2):  # the first opening makes the cache
                begin = time.process_time()
                dataset = vl.open_dataset(path)
            assert dataset is not None
            seconds.setdefault("open", []).append(time.process_time() - begin)
            for name, run in ways(count, folder):
                begin = time.process_time()
                run(dataset)
                seconds.setdefault(name, []).append(time.process_time() - begin)
    table = Table(title="seconds of processor time", title_justify="left", box=None)
    table.add_column("of rows")
    for count in counts:
        table.add_column(f"{count:,}", justify="right")
    for name, values in seconds.items():
        table.add_row(name, *(f"{value:.3f}" for value in values))
    Console().print(table)


if __name__ == "__main__":
    main()
