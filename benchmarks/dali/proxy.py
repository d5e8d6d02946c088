"""How close a DataLoader with a proxy comes to Loader: the same clips, in one process, in turn.

    python benchmarks/dali/proxy.py                         every video, device cuda if there is one
    python benchmarks/dali/proxy.py --video h264-360p --device cpu --batches 6 --files 32
    python benchmarks/dali/proxy.py --data-loader torch     torch's DataLoader and produce_data

Clips of 16 frames with a stride of 4 become 224x224, normalised, float16 (float32 on the CPU). The
workers of the DataLoader choose the frames and send paths and frame numbers; a pipeline in this
process decodes. The first batch of each is compared with `decode_batch` and must be equal.

Printed for each video: clips a second of both, the median over repetitions, and the median of their
ratio within a repetition, which is to be at least 0.9; on a GPU the same beside a training step of
about 60 ms.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

import videoloader as vl
from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.plugin.pytorch import proxy

sys.path.insert(0, str(Path(__file__).parents[1]))  # the modules of benchmarks/ that it shares
from footage import VIDEOS, make_all
from gpu import copies, gpu
from machine import RESULTS, machine, today
from training import (
    MEAN,
    PACKAGES,
    SIDE,
    STD,
    Batches,
    Case,
    numbers_of,
    training_steps,
)

GOAL = 0.9
MATRIX = ("h264-1080p", "h264-360p", "h264-240p", "hevc-1080p")
SETTLED = 5  # batches that are not timed: those made while the other contender ran


class Clips(Dataset[tuple[Any, ...]]):
    """Paths and frame numbers; what becomes of them is the proxy's."""

    def __init__(self, files: list[str], made: proxy.Proxy) -> None:
        self._files = files
        self._proxy = made
        self._index = vl.index_video(files[0])

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, draw: vl.sampling.Draw) -> tuple[Any, ...]:
        numbers = numbers_of(self._index, draw.sample, draw.epoch)
        clip = self._proxy(path=self._files[draw.sample], frames=torch.tensor(numbers))
        return clip, draw.sample, torch.tensor(numbers)


def proxied(case: Case, workers: int, data_loader: str) -> Batches:
    """Batches of a DataLoader whose workers only say what to decode."""

    @pipeline_def(batch_size=case.batch_size, seed=0)
    def definition() -> Any:
        path = fn.external_source(name="path")
        frames = fn.external_source(name="frames")
        device = "mixed" if case.device == "cuda" else "cpu"
        clips = fn.decoders.video(path, frames=frames, device=device)
        clips = fn.resize(clips, size=(SIDE, SIDE))
        return fn.crop_mirror_normalize(
            clips,
            mean=list(MEAN),
            std=list(STD),
            dtype=types.FLOAT16 if case.device == "cuda" else types.FLOAT,
        )

    with proxy.Server(definition()) as server:
        dataset = Clips(case.files, server.proxy)
        sampler = vl.EpochSampler(dataset, seed=0)
        options: dict[str, Any] = {
            "batch_size": case.batch_size,
            "sampler": sampler,
            "num_workers": workers,
            "persistent_workers": workers > 0,
        }
        loader: DataLoader[Any] = (
            DataLoader(dataset, **options)
            if data_loader == "torch"
            else proxy.DataLoader(server, dataset, **options)
        )
        for epoch in itertools.count():
            sampler.set_epoch(epoch)
            for batch in loader:
                clips, files, numbers = server.produce_data(batch)
                yield clips, files.tolist(), numbers.tolist()


def clips_a_second(
    batches: Batches, case: Case, count: int, step: Callable[..., None] | None = None
) -> float:
    """Over `count` batches, once the loader has nothing left that it made before."""
    samples = 0
    for number, (frames, files, _) in enumerate(itertools.islice(batches, SETTLED + count)):
        if step is not None:
            step(frames)
        elif case.device == "cuda":
            torch.cuda.current_stream().synchronize()
        if number == SETTLED - 1:
            begin = time.perf_counter()
        samples += len(files) if number >= SETTLED else 0
    return samples / (time.perf_counter() - begin)


def measure(case: Case, arguments: argparse.Namespace, step: Any) -> dict[str, Any]:
    contenders = {
        "Loader": case.loader(),
        "proxy": proxied(case, arguments.workers, arguments.data_loader),
    }
    found: dict[str, Any] = {"right": {}}
    for name, batches in contenders.items():
        found["right"][name] = case.difference(*next(batches)) == 0.0
    for what, work in (("alone", None), ("beside a step", step)):
        if what != "alone" and work is None:
            continue
        rates: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(arguments.repetitions):
            for name, batches in contenders.items():
                rates[name].append(clips_a_second(batches, case, arguments.batches, work))
        found[what] = {name: statistics.median(several) for name, several in rates.items()}
        pairs = zip(rates["proxy"], rates["Loader"], strict=True)
        found[what]["ratio"] = statistics.median(mine / other for mine, other in pairs)
    for batches in contenders.values():
        batches.close()  # type: ignore[attr-defined]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--video", choices=VIDEOS, action="append")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--files", type=int, default=112)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--batches", type=int, default=28)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--data-loader", choices=("ours", "torch"), default="ours")
    parser.add_argument("--no-step", action="store_true", help="leave out the training step")
    parser.add_argument("--out", type=Path, default=RESULTS / f"proxy-{today()}.json")
    arguments = parser.parse_args()
    names = arguments.video or list(MATRIX)
    make_all(names)
    has_step = arguments.device != "cpu" and not arguments.no_step
    step = training_steps()["beside_a_step"] if has_step else None
    results: dict[str, Any] = {}
    for name in names:
        case = Case(copies(name, arguments.files), arguments.device, arguments.batch_size)
        found = results[name] = measure(case, arguments, step)
        right = all(found["right"].values())
        for what in ("alone", "beside a step"):
            if what in found:
                rate = found[what]
                print(
                    f"{name}, {arguments.device}, {what}: Loader {rate['Loader']:.1f} clips/s, "
                    f"proxy {rate['proxy']:.1f} clips/s with {arguments.workers} workers, ratio "
                    f"{rate['ratio']:.2f} (goal {GOAL}), right: {right}",
                    flush=True,
                )
        facts = {**machine(PACKAGES), **gpu()}
        report = {"benchmark": "proxy", "run": facts, "results": results}
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
