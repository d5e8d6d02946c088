"""Training processes of one host beside one, each with its GPU and its share of the processors.

    python benchmarks/ddp.py          processes 1 and 2, device cuda if there is one
    python benchmarks/ddp.py --processes 1 2 4 8 --video h264-1080p --video hevc-1080p
    python benchmarks/ddp.py --device cpu --video h264-360p --batches 4
    python benchmarks/ddp.py --work nvdec          NVDEC alone, to tell the host from the hardware
    python benchmarks/ddp.py --bind                each process on the processors near its GPU

Each process runs a `Loader` over its part of one data set index: clips of 16 frames with a stride
of 4 become 224x224, float16 on a GPU. Each batch goes through a training step of a small
transformer in `DistributedDataParallel`: gradients are exchanged by NCCL (Gloo on the CPU). All
processes fill their queues, then begin at the same moment and count the same number of batches. In
every case a process has the share of the processors that it has among the most processes, so a
rate that doubles says that the processes do not hinder each other. Repetitions of the cases take
turns.

`of linear` is the rate over that of one process times their number: the goals are 0.975 for two
processes, 0.97 for four, 0.95 for eight. `slowest` is the waiting for batches of the process that
waits longest over the mean; the processes step together, so a slow one shows there. `CPU ms` is
processor time a clip: where it grows with the processes, they share memory or locks. `start` is the
time from the start of the process to its first batch. `nvdec` feeds each process's needed packets
to NVDEC's decoders with nothing around them.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from footage import VIDEOS, make_all
from gpu import copies, gpu
from machine import RESULTS, machine, processor_time, today
from rich.console import Console
from rich.table import Table

import videoloader as vl
from videoloader.dali.pipeline.run.pool import cpus_near_gpu, pci_address

PACKAGES = ("videoloader", "PyNvVideoCodec", "torch", "numpy", "av")
WARM_BATCHES = 8
MEDIANS = ("processor_ms", "memory_mib", "gpu_memory_mib", "start_seconds")
HEADINGS = ("slowest", "CPU ms", "MiB", "GPU MiB", "start s")


def work(arguments: argparse.Namespace) -> None:
    """What each process does: say when it is ready, wait, count, tell."""
    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    is_gpu = arguments.device == "cuda"
    if is_gpu:
        torch.cuda.set_device(rank % torch.cuda.device_count())
    if is_gpu and arguments.bind:  # before any thread is started
        near = cpus_near_gpu(pci_address(f"cuda:{torch.cuda.current_device()}"))
        if not near:
            raise SystemExit("--bind: the system does not say which processors are near the GPU")
        os.sched_setaffinity(0, os.sched_getaffinity(0).intersection(near))
    found = feed_nvdec(arguments, rank) if arguments.work == "nvdec" else train(arguments, count)
    found["memory_mib"] = memory()
    if is_gpu:
        free, total = torch.cuda.mem_get_info()
        found["gpu_memory_mib"] = (total - free) / 2**20
    print(json.dumps(found), flush=True)


def wait_for_go() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def train(arguments: argparse.Namespace, count: int) -> dict[str, Any]:
    """Batches through a step whose gradients all processes exchange."""
    backend = "nccl" if arguments.device == "cuda" else "gloo"
    torch.distributed.init_process_group(backend)
    step = training_step(arguments.device)
    with vl.Loader(
        arguments.index,
        vl.RandomClip(16, stride=4),
        batch_size=arguments.batch_size,
        device=arguments.device,
        size=(224, 224),
        dtype="float16" if arguments.device == "cuda" else "uint8",
        shuffle=True,
    ) as loader:
        assert loader.order.num_ranks == count  # from the environment
        batches = endless(loader)
        step(next(batches)["frames"])
        started = time.time() - arguments.began
        for _ in range(WARM_BATCHES - 1):
            step(next(batches)["frames"])
        wait_for_go()
        waited, used, begin = 0.0, processor_time(), time.perf_counter()
        for _ in range(arguments.batches):
            asked = time.perf_counter()
            batch = next(batches)
            waited += time.perf_counter() - asked
            step(batch["frames"])
        seconds = time.perf_counter() - begin
        used = processor_time() - used
    torch.distributed.destroy_process_group()
    clips = arguments.batches * arguments.batch_size
    return {
        "clips": clips,
        "seconds": seconds,
        "waited": waited,
        "processor_ms": 1000 * used / clips,
        "start_seconds": started,
    }


def training_step(device: str) -> Callable[[torch.Tensor], None]:
    """A transformer of 25 million parameters on 8 tokens a clip: short, with 50 MB to exchange."""
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 8, enable_nested_tensor=False).to(device)
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=1e-3)

    def step(frames: torch.Tensor) -> None:
        tokens = frames.flatten(1)[:, :4096].reshape(len(frames), 8, 512).float()
        parallel(tokens).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if device == "cuda":
            torch.cuda.current_stream().synchronize()

    return step


def feed_nvdec(arguments: argparse.Namespace, rank: int) -> dict[str, Any]:
    """The packets that as many clips need, through NVDEC with nothing around it."""
    from gpu_ceiling import codec_of, decoder_for, feed_all, packets_of

    videos = vl.open_dataset(arguments.index)
    paths = [str(videos.item(row).path) for row in range(len(videos))]
    index = vl.index_video(paths[0])
    clips = arguments.batches * arguments.batch_size
    starts = np.random.default_rng(rank).integers(0, index.num_frames - 60, clips).tolist()
    runs = [
        packets_of(paths[place % len(paths)], tuple(range(start, start + 64, 4)))
        for place, start in enumerate(starts)
    ]
    device = rank % torch.cuda.device_count()
    size = (index.height, index.width)
    decoders = [decoder_for(codec_of(paths[0]), size, device) for _ in range(14)]
    feed_all(decoders, runs[:28], 32)
    wait_for_go()
    used, begin = time.process_time(), time.perf_counter()
    feed_all(decoders, runs, 32)
    return {
        "clips": clips,
        "seconds": time.perf_counter() - begin,
        "waited": float("nan"),
        "processor_ms": 1000 * (time.process_time() - used) / clips,
        "start_seconds": float("nan"),
    }


def endless(loader: vl.Loader) -> Any:
    while True:
        yield from loader


def memory() -> float:
    """MiB of this process, what it shares with others divided among them."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def rate(index: Path, count: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Clips a second of several processes together, and what each tells."""
    words = [__file__, "--index", str(index), "--device", arguments.device]
    words += ["--batches", str(arguments.batches), "--batch-size", str(arguments.batch_size)]
    words += ["--work", arguments.work, "--began", str(time.time())]
    words += ["--bind"] if arguments.bind else []
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes: list[Any] = []  # their pipes are there
    try:
        for rank in range(count):
            environment = os.environ | {
                "RANK": str(rank),
                "WORLD_SIZE": str(count),
                "LOCAL_RANK": str(rank),
                "LOCAL_WORLD_SIZE": str(max(arguments.processes)),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
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
    return {"clips_per_second": sum(one["clips"] / one["seconds"] for one in told), "each": told}


def measure(index: Path, arguments: argparse.Namespace) -> dict[int, dict[str, Any]]:
    """The case of each number of processes, its repetitions in turn with those of the others."""
    found: dict[int, list[dict[str, Any]]] = {count: [] for count in arguments.processes}
    for _ in range(arguments.repetitions):
        for count, rates in found.items():
            rates.append(rate(index, count, arguments))
            print(f"{count} processes: {rates[-1]['clips_per_second']:.1f} clips/s", flush=True)
    cases = {}
    for count, rates in found.items():
        each = [one for repetition in rates for one in repetition["each"]]
        waits = [one["waited"] for one in each]
        cases[count] = {
            "clips_per_second": statistics.median(one["clips_per_second"] for one in rates),
            "slowest": max(waits) / statistics.mean(waits),
            **{name: statistics.median(one.get(name, 0.0) for one in each) for name in MEDIANS},
            "repetitions": rates,
        }
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


def show(title: str, cases: dict[int, dict[str, Any]]) -> None:
    """A line for each number of processes."""
    table = Table(title=title)
    for column in ("processes", "clips/s", "of linear", *HEADINGS):
        table.add_column(column, justify="right")
    for count, case in cases.items():
        table.add_row(
            str(count),
            f"{case['clips_per_second']:.1f}",
            f"{case['of_linear']:.3f}",
            *(f"{case[name]:.2f}" for name in ("slowest", *MEDIANS)),
        )
    Console(width=110).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--video", choices=VIDEOS, action="append")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--work", choices=("train", "nvdec"), default="train")
    parser.add_argument("--bind", action="store_true", help="to the processors near the GPU")
    parser.add_argument("--files", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--batches", type=int, default=24)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--index", type=Path, help=argparse.SUPPRESS)  # in the processes themselves
    parser.add_argument("--began", type=float, help=argparse.SUPPRESS)
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
        show(f"{name}, {arguments.device}, {arguments.work}", results[name])
        facts = {**machine(PACKAGES), **gpu(), "gpus": torch.cuda.device_count()}
        report = {"benchmark": "ddp", "work": arguments.work, "run": facts, "results": results}
        report["bind"] = arguments.bind
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
