"""What a pipeline costs where its operators cost nothing: samples/s, and the time to compile.

A graph of five identity operators on images of 8x8, beside DALI's if its interpreter is given. Both
are measured in turns, each time in a process of its own, and the best of each counts::

    python benchmarks/dali/overhead.py --dali /path/to/python/with/nvidia-dali
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

BATCH_SIZES = (1, 8, 32)
TURNS = 4
ROUNDS = 3
SECONDS = 0.5
NODES = 100


def identities(package: str, batch_size: int, count: int) -> Any:
    """A pipeline of `count` flips that flip nothing."""
    library = importlib.import_module(package)
    fn = importlib.import_module(f"{package}.fn")
    images = np.zeros((batch_size, 8, 8, 3), np.uint8)

    def graph() -> Any:
        data = fn.external_source(source=lambda: images, layout="HWC")
        for _ in range(count):
            data = fn.flip(data, horizontal=0)
        return data

    define = library.pipeline_def(batch_size=batch_size, num_threads=2, device_id=None, seed=0)
    return define(graph)()


def samples_per_second(package: str, batch_size: int) -> float:
    """Of the fastest of some rounds: others disturb, nobody helps."""
    pipeline = identities(package, batch_size, 5)
    pipeline.build()
    for _ in range(20):
        pipeline.run()
    best = 0.0
    for _ in range(ROUNDS):
        begin, count = time.perf_counter(), 0
        while time.perf_counter() - begin < SECONDS:
            pipeline.run()
            count += 1
        best = max(best, count * batch_size / (time.perf_counter() - begin))
    return best


def build_milliseconds(package: str) -> float:
    """To define and build a pipeline of `NODES` operators."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        identities(package, 8, NODES).build()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def measure(package: str) -> dict[str, float]:
    """All figures of a library."""
    figures = {
        f"samples/s, batches of {size}": round(samples_per_second(package, size))
        for size in BATCH_SIZES
    }
    return {**figures, f"ms to build {NODES} nodes": round(build_milliseconds(package), 1)}


def measured(python: str, package: str) -> dict[str, float]:
    """All figures of a library, in a process of its own."""
    command = [python, __file__, "--measure", package]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    figures: dict[str, float] = json.loads(output.splitlines()[-1])
    return figures


def best(turns: list[dict[str, float]]) -> dict[str, float]:
    """The most samples a second, and the least time to build."""
    return {
        name: (min if name.startswith("ms") else max)(figures[name] for figures in turns)
        for name in turns[0]
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dali", help="interpreter with nvidia-dali")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return
    libraries = {"videoloader.dali": sys.executable}
    if arguments.dali:
        libraries["nvidia.dali"] = arguments.dali
    turns: dict[str, list[dict[str, float]]] = {package: [] for package in libraries}
    for _ in range(TURNS):
        for package, python in libraries.items():
            turns[package].append(measured(python, package))
    ours, theirs = best(turns["videoloader.dali"]), {}
    if arguments.dali:
        theirs = best(turns["nvidia.dali"])
    for name, figure in ours.items():
        line = f"{name:28} {figure:12,}"
        if name in theirs:
            line += f"   DALI {theirs[name]:12,}   ratio {figure / theirs[name]:.2f}"
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
