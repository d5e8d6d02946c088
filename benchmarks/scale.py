"""Clips for Ray Data: `datasets.ray.read_clips` beside `ray.data.read_videos`, same frames.

    python benchmarks/scale.py            a minute, behind the first encoding of the videos
    python benchmarks/scale.py --save     and keep the figures

Each contender reads one random clip of each video into this process, by a Ray of its own with all
processors, in a process of its own. `read_videos` (decord) gives every frame of a video as a row;
those of the clips are kept by a filter. Frames of both are compared bit by bit.

*seconds* are those from the call until the last frame is here; Ray runs, and its workers have read
a video before. *memory* is the most that Ray's processes and this one had in memory, shared memory
divided among those that map it, above what they had before; *stored* are the bytes that went into
Ray's object store as frames.

Needs: pip install "ray[data]" decord2
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from footage import DATA, distinct
from machine import RESULTS, machine, today
from numpy.typing import NDArray

import videoloader as vl

PACKAGES = ("videoloader", "ray", "decord2", "av", "numpy", "torch", "pyarrow")
OURS, PEER = "videoloader", "ray.data.read_videos"
SAMPLER = vl.RandomClip(16, stride=4)
BARS = {"seconds": 3.0, "stored": 10.0, "memory": 10.0}  # the peer has at least so many times ours

Frames = dict[tuple[str, int], str]  # digest of each frame, by path and number
SIZE = 640 * 360 * 3  # bytes of a frame


def wanted(dataset: vl.DatasetIndex) -> dict[str, list[int]]:
    """The frames of the clip of each video: those of the sampler, drawn for sample n."""
    frames = {}
    for number, index in enumerate(dataset):
        rng = vl.sampling.generator(0, sample=number)
        numbers = vl.sampling.sample_frames(SAMPLER, index, rng=rng)
        frames[dataset.item(number).path] = numbers.tolist()
    return frames


def digest(frame: NDArray[np.uint8]) -> str:
    assert frame.nbytes == SIZE
    return hashlib.blake2b(frame.tobytes()).hexdigest()


def ours(dataset: vl.DatasetIndex) -> Frames:
    from videoloader.datasets.ray import read_clips

    paths = [dataset.item(row).path for row in range(len(dataset))]
    found = {}
    data = read_clips(dataset, SAMPLER, layout="FHWC", matrix="swscale")
    for batch in data.iter_batches(batch_size=None):
        for row, numbers, frames in zip(
            batch["sample"], batch["frame_numbers"], batch["frames"], strict=True
        ):
            for number, frame in zip(numbers, frames, strict=True):
                found[paths[row], int(number)] = digest(frame)
    return found


def peer(dataset: vl.DatasetIndex) -> Frames:
    import ray.data

    frames = {path: set(numbers) for path, numbers in wanted(dataset).items()}
    data = ray.data.read_videos([*frames], include_paths=True)
    kept = data.filter(lambda row: row["frame_index"] in frames[row["path"]])
    found = {}
    for batch in kept.iter_batches(batch_size=None):
        for path, number, frame in zip(
            batch["path"], batch["frame_index"], batch["frame"], strict=True
        ):
            found[str(path), int(number)] = digest(frame)
    return found


CONTENDERS: dict[str, Callable[[vl.DatasetIndex], Frames]] = {OURS: ours, PEER: peer}


def in_memory(pid: int) -> int:
    """Bytes that a process and those below it hold."""
    total = 0
    with suppress(OSError, StopIteration):  # it has just ended
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total = 1024 * int(next(line for line in lines if line.startswith("Pss:")).split()[1])
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            total += sum(in_memory(int(child)) for child in task.read_text().split())
    return total


def measure(name: str, path: Path) -> dict[str, Any]:
    """One contender, in this process."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    warnings.simplefilter("ignore")
    import ray
    import ray.data

    ray.init("local", include_dashboard=False, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    dataset = vl.open_dataset(path)
    read = CONTENDERS[name]
    few = path.with_name(f"{os.getpid()}.parquet")
    read(dataset.sample(2).write(few))
    few.unlink()

    before, most, is_over = in_memory(os.getpid()), [0], threading.Event()

    def watch() -> None:
        while not is_over.wait(0.05):
            most[0] = max(most[0], in_memory(os.getpid()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.perf_counter()
    frames = read(dataset)
    seconds = time.perf_counter() - begin
    is_over.set()
    watcher.join()
    every = int(dataset.videos.num_frames.sum())
    return {
        "contender": name,
        "seconds": seconds,
        "memory": most[0] - before,
        "stored": SIZE * (every if name == PEER else len(frames)),
        "frames": len(frames),
        "digest": hashlib.blake2b(repr(sorted(frames.items())).encode()).hexdigest(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--videos", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", action="store_true", help="keep the figures in results/")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    out = DATA / "scale.parquet"
    if arguments.contender:
        print(json.dumps(measure(arguments.contender, out)))
        return
    paths = distinct(["h264-360p"], arguments.videos)["h264-360p"]
    vl.index_dataset(paths, out).close()
    rows = []
    for _ in range(arguments.rounds):
        for name in CONTENDERS:
            command = [sys.executable, __file__, "--contender", name]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            rows.append(json.loads(done.stdout.splitlines()[-1]))
            print(f"{name:24}{rows[-1]['seconds']:8.2f} s{rows[-1]['memory'] / 1e6:10.0f} MB")
    by_name = {name: [row for row in rows if row["contender"] == name] for name in CONTENDERS}
    equal = len({row["digest"] for row in rows}) == 1
    result: dict[str, Any] = {"videos": len(paths), "frames_are_equal": equal, "rows": rows}
    for figure, bar in BARS.items():
        ours, theirs = (
            statistics.median(row[figure] for row in by_name[name]) for name in (OURS, PEER)
        )
        result[figure] = {OURS: ours, PEER: theirs, "times": theirs / ours, "bar": bar}
        print(f"{figure:10}{theirs / ours:8.1f} times (at least {bar:g})")
    print(f"frames are {'equal' if equal else 'NOT equal'}")
    if arguments.save:
        target = RESULTS / f"scale-{today()}.json"
        target.write_text(json.dumps(machine(PACKAGES) | result, indent=1) + "\n")


if __name__ == "__main__":
    main()
