"""Several processes of one host beside one, each with its GPU and its share of the processors.

    python benchmarks/ddp.py          processes 1 and 2, device cuda if there is one
    python benchmarks/ddp.py --processes 1 2 4 --video h264-1080p --video hevc-1080p
    python benchmarks/ddp.py --device cpu --video h264-360p --seconds 5

Each process runs a `Loader` over its part of one data set index: clips of 16 frames with a stride
of 4 become 224x224, float16 on a GPU. All processes fill their queues, then begin at the same
moment and count clips for some seconds. In every case a process has the share of the processors
that it has among the most processes, so a rate that doubles says that the processes do not hinder
each other. Repetitions of the cases take turns. `of_linear` is the rate over that of one process
times their number; the goal is 1.95 times for two, 0.975.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from footage import VIDEOS, make_all
from gpu import copies, gpu
from machine import RESULTS, machine, today
from rich.console import Console
from rich.table import Table

import videoloader as vl

PACKAGES = ("videoloader", "PyNvVideoCodec", "torch", "numpy", "av")
WARM_BATCHES = 8


def work(arguments: argparse.Namespace) -> None:
    """What each process does: say when it is ready, wait, count, tell."""
    rank = int(os.environ["RANK"])
    if arguments.device == "cuda":
        torch.cuda.set_device(rank % torch.cuda.device_count())
    loader = vl.Loader(
        arguments.index,
        vl.RandomClip(16, stride=4),
        batch_size=arguments.batch_size,
        device=arguments.device,
        size=(224, 224),
        dtype="float16" if arguments.device == "cuda" else "uint8",
        shuffle=True,
    )
    assert loader.order.rank == rank  # from the environment
    batches = endless(loader)
    for _ in range(WARM_BATCHES):
        next(batches)
    print("ready", flush=True)
    sys.stdin.readline()
    clips, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < arguments.seconds:
        batch = next(batches)
        if arguments.device == "cuda":
            torch.cuda.current_stream().synchronize()
        clips += len(batch["sample"])
    seconds = time.perf_counter() - begin
    print(json.dumps({"clips": clips, "seconds": seconds, "memory_mib": memory()}), flush=True)
    loader.close()


def endless(loader: vl.Loader) -> Any:
    while True:
        yield from loader


def memory() -> float:
    """MiB of this process, what it shares with others divided among them."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def rate(index: Path, count: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Clips a second of several processes together, and of each."""
    words = [__file__, "--index", str(index), "--device", arguments.device]
    words += ["--seconds", str(arguments.seconds), "--batch-size", str(arguments.batch_size)]
    processes: list[Any] = []  # their pipes are there
    try:
        for rank in range(count):
            environment = os.environ | {
                "RANK": str(rank),
                "WORLD_SIZE": str(count),
                "LOCAL_RANK": str(rank),
                "LOCAL_WORLD_SIZE": str(max(arguments.processes)),
            }
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            processes.append(
                subprocess.Popen([sys.executable, *words], env=environment, text=True, **pipes)
            )
        for process in processes:
            if process.stdout.readline() != "ready\n":
                raise SystemExit(f"a process ended early, with {process.wait()}")
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        told = [json.loads(process.stdout.readline()) for process in processes]
        for process in processes:
            process.wait(60)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    each = [found["clips"] / found["seconds"] for found in told]
    return {
        "clips_per_second": sum(each),
        "each": each,
        "memory_mib": [found["memory_mib"] for found in told],
    }


def measure(index: Path, arguments: argparse.Namespace) -> dict[int, dict[str, Any]]:
    """The case of each number of processes, its repetitions in turn with those of the others."""
    found: dict[int, list[dict[str, Any]]] = {count: [] for count in arguments.processes}
    for _ in range(arguments.repetitions):
        for count, rates in found.items():
            rates.append(rate(index, count, arguments))
            print(f"{count} processes: {rates[-1]['clips_per_second']:.1f} clips/s", flush=True)
    cases = {}
    for count, rates in found.items():
        total = statistics.median(each["clips_per_second"] for each in rates)
        cases[count] = {"clips_per_second": total, "repetitions": rates}
    base_count = min(cases)
    base = cases[base_count]["clips_per_second"] / base_count
    for count, case in cases.items():
        case["of_linear"] = case["clips_per_second"] / (base * count)
    return cases


def index_of(paths: Sequence[str]) -> Path:
    """The data set index that all processes read."""
    path = Path(paths[0]).parent / "ddp.parquet"
    vl.index_dataset(list(paths), path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--video", choices=VIDEOS, action="append")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--files", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--index", type=Path, help=argparse.SUPPRESS)  # in the processes themselves
    parser.add_argument("--out", type=Path, default=RESULTS / f"ddp-{today()}.json")
    arguments = parser.parse_args()
    if arguments.index is not None:
        work(arguments)
        return
    names = arguments.video or ["h264-1080p"]
    make_all(names)
    results: dict[str, Any] = {}
    for name in names:
        results[name] = measure(index_of(copies(name, arguments.files)), arguments)
        table = Table(title=f"{name}, {arguments.device}")
        for column in ("processes", "clips/s", "of linear"):
            table.add_column(column, justify="right")
        for count, case in results[name].items():
            row = (f"{case['clips_per_second']:.1f}", f"{case['of_linear']:.3f}")
            table.add_row(str(count), *row)
        Console(width=100).print(table)
        facts = {**machine(PACKAGES), **gpu(), "gpus": torch.cuda.device_count()}
        report = {"benchmark": "ddp", "run": facts, "results": results}
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
