"""Data sets: many small files beside our peers, and an index of a hundred thousand videos."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from contenders import CONTENDERS, OURS

__all__ = ["JOB", "index_of_many", "measure_files"]

JOB = f"{OURS}, index_dataset"
PEER_FILES = 200
"""Files that a peer is run on; its time is that of all files in proportion."""

COPIES = 50
ONE_BY_ONE = 2_000


def measure_files(name: str, folder: Path, repetitions: int) -> dict[str, Any]:
    """Files a second of one contender in this process alone, all of them in the page cache.

    Ours stands for itself, and for the whole job: finding the files, writing the Parquet file, and
    opening it.
    """
    files = sorted(str(path) for path in folder.iterdir())
    for file in files:
        Path(file).read_bytes()
    run: Callable[[], object]
    if name == JOB:
        count, run = len(files), partial(_job, folder)
        num_frames = _job(folder)
    else:
        index, claim = CONTENDERS[name]()
        chosen = files if name == OURS else files[:PEER_FILES]
        count, run = len(chosen), partial(_one_by_one, index, chosen)
        num_frames = sum(claim(index(file)).num_frames or 0 for file in chosen)
    elapsed = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        elapsed.append(time.perf_counter() - start)
    return {
        "contender": name,
        "files": count,
        "repetitions": repetitions,
        "files_a_second": round(count / statistics.median(elapsed), 1),
        "fastest_files_a_second": round(count / min(elapsed), 1),
        "slowest_files_a_second": round(count / max(elapsed), 1),
        "frames_a_file": num_frames / count,
    }


def _one_by_one(index: Callable[[str], Any], files: list[str]) -> None:
    for file in files:
        index(file)


def _job(folder: Path) -> int:
    import videoloader

    with tempfile.TemporaryDirectory() as target:
        out = Path(target) / "set.parquet"
        with videoloader.index_dataset(folder, out, workers=0) as dataset:
            return sum(dataset.table["num_frames"].to_pylist())


def files_a_cpu_second(folder: Path) -> float:
    """Files that `videoloader index` finishes in a second of processor time, all processes counted.

    It runs on a terminal, so its progress bar is on.
    """
    with tempfile.TemporaryDirectory() as target:
        command = [sys.executable, "-m", "videoloader.cli", "index", str(folder)]
        command += ["--out", f"{target}/set.parquet", "--workers", "1"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        controller, terminal = os.openpty()
        process = subprocess.Popen(command, stdout=terminal, stderr=terminal)
        os.close(terminal)
        with suppress(OSError):  # Linux reports an error when the last process closes a terminal
            while os.read(controller, 1 << 16):
                pass
        os.close(controller)
        if process.wait():
            raise RuntimeError(f"{command} failed")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return sum(1 for _ in folder.iterdir()) / used


def _copy(part: Path, number: int) -> Path:
    """A data set index of as many other videos."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(part)
    place = table.schema.get_field_index("path")
    paths = pa.array([f"/{number}{path}" for path in table["path"].to_pylist()])
    copy = part.with_name(f"{number}.parquet")
    pq.write_table(table.set_column(place, table.schema.field("path"), paths), copy)
    return copy


def index_of_many(folder: Path, repetitions: int) -> dict[str, Any]:
    """How fast an index of many videos opens, and gives one of them: a real one, 50 times over."""
    import videoloader
    from videoloader.indexing.dataset import merge_datasets

    target = Path(tempfile.mkdtemp())
    try:
        videoloader.index_dataset(folder, target / "part.parquet", workers=0).close()
        parts = [_copy(target / "part.parquet", number) for number in range(COPIES)]
        start = time.perf_counter()
        out = target / "set.parquet"
        merge_datasets(parts, out).close()
        merged = time.perf_counter() - start
        opening = []
        for _ in range(repetitions):
            start = time.perf_counter()
            dataset = videoloader.open_dataset(out)
            opening.append(1e3 * (time.perf_counter() - start))
            videos = len(dataset)
            dataset.close()
        chosen = np.random.default_rng(0).integers(0, videos, ONE_BY_ONE).tolist()
        getting = []
        with videoloader.open_dataset(out) as dataset:
            for video in chosen:
                start = time.perf_counter()
                dataset[video]
                getting.append(1e6 * (time.perf_counter() - start))
        return {
            "videos": videos,
            "command_files_a_cpu_second": round(files_a_cpu_second(folder), 1),
            "merge_and_first_open_s": round(merged, 3),
            "open_ms": round(statistics.median(opening), 4),
            "one_index_us": round(statistics.median(getting), 2),
        }
    finally:
        shutil.rmtree(target)
