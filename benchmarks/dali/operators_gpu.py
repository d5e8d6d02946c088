"""Operators on the GPU: one kernel for a batch beside plain torch, on clips of uint8.

Several operators that run as one kernel stand beside those operators, each with its own kernel.

    python benchmarks/dali/operators_gpu.py                     every operator, less than a minute
    python benchmarks/dali/operators_gpu.py --only blur --save  some; writes benchmarks/results
    python benchmarks/dali/operators_gpu.py --dry-run           every line of it on the CPU, no GPU

Batches of 8 clips of 16 frames, dense and ragged, with values of their own for each clip. Times are
medians: of calls in a row between two events, and on the CPU until a call returns. `of copy`: the
time of a copy that reads and writes as many bytes as the kernel, as a share of the kernel's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from videoloader.dali import types
from videoloader.dali.operators import applying
from videoloader.dali.operators.color.color_run import color_run, name_in_run
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.kernels import has_cupy
from videoloader.dali.operators.operator import OPERATORS, Operator
from videoloader.dali.tensors.batch import Batch
from videoloader.sampling import generator

sys.path.insert(0, str(Path(__file__).parents[1]))  # the modules of benchmarks/ that it shares
from machine import RESULTS, machine, today

BATCH, FRAMES = 8, 16
SIZES = {"224x224": (224, 224), "1080p": (1080, 1920)}
SECONDS = 0.1  # of a measurement, and at least
LEAST, MOST = 3, 20  # rounds at least; calls of a round at most
TURNS = list(range(BATCH))
AFFINE = [[[1.1, 0.1, -10.0], [-0.1, 0.9, 5.0 + turn]] for turn in TURNS]
WINDOW = {"crop": (192, 192), "out_of_bounds_policy": "pad"}
NORMAL = {
    "mirror": [turn % 2 for turn in TURNS],
    "mean": [123.675, 116.28, 103.53],
    "std": [58.395, 57.12, 57.375],
    "output_layout": "FCHW",
}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "brightness_contrast": (
        "brightness_contrast",
        {"brightness": [1.2 - 0.1 * turn for turn in TURNS], "contrast": 0.8},
    ),
    "hue": ("hue", {"hue": [10.0 * turn for turn in TURNS]}),
    "hsv": ("hsv", {"hue": [10.0 * turn for turn in TURNS], "saturation": 1.3, "value": 0.9}),
    "color_twist": (
        "color_twist",
        {"hue": [10.0 * turn for turn in TURNS], "saturation": 1.3, "contrast": 0.8},
    ),
    "color_twist, to float16": (
        "color_twist",
        {"hue": [10.0 * turn for turn in TURNS], "dtype": torch.float16},
    ),
    "color_space_conversion": (
        "color_space_conversion",
        {"image_type": types.RGB, "output_type": types.YCbCr},
    ),
    "rotate": (
        "rotate",
        {"angle": [11.0 * turn for turn in TURNS], "keep_size": True, "fill_value": 0},
    ),
    "rotate, nearest": (
        "rotate",
        {
            "angle": [11.0 * turn for turn in TURNS],
            "keep_size": True,
            "fill_value": 0,
            "interp_type": types.INTERP_NN,
        },
    ),
    "warp_affine": ("warp_affine", {"matrix": AFFINE, "fill_value": 0}),
    "warp_perspective": (
        "experimental.warp_perspective",
        {"matrix": [[*rows, [1e-5, -2e-5, 1.0]] for rows in AFFINE]},
    ),
    "erase, a region": (
        "erase",
        {"anchor": [[20, 10 + turn] for turn in TURNS], "shape": [64, 64], "axis_names": "HW"},
    ),
    "erase, four regions": (
        "erase",
        {
            "anchor": [[0.1, 0.1, 0.6, 0.2, 0.3, 0.7, 0.01 * turn, 0.9] for turn in TURNS],
            "shape": [0.2] * 8,
            "normalized": True,
            "axis_names": "HW",
        },
    ),
    "grid_mask": ("grid_mask", {"tile": [40 + turn for turn in TURNS], "angle": 0.4}),
    "resize to 160x160": ("resize", {"size": [160.0, 160.0]}),
    "resize to 160x160, cubic": (
        "resize",
        {"size": [160.0, 160.0], "interp_type": types.INTERP_CUBIC},
    ),
    "resize to 160x160, nearest": (
        "resize",
        {"size": [160.0, 160.0], "interp_type": types.INTERP_NN},
    ),
    "resize_crop_mirror": (
        "resize_crop_mirror",
        {
            "resize_shorter": 180.0,
            "crop": [160.0, 160.0],
            "crop_pos_x": [turn / BATCH for turn in TURNS],
            "mirror": [turn % 2 for turn in TURNS],
        },
    ),
    "random_resized_crop to 160x160": ("random_resized_crop", {"size": [160, 160]}),
    "flip": ("flip", {"horizontal": [turn % 2 for turn in TURNS]}),
    "crop": ("crop", {**WINDOW, "crop_pos_x": [0.1 * turn for turn in TURNS]}),
    "cast": ("cast", {"dtype": torch.int16}),
    "crop_mirror_normalize": ("crop_mirror_normalize", NORMAL),
    "crop_mirror_normalize, to float16": (
        "crop_mirror_normalize",
        {**NORMAL, **WINDOW, "dtype": torch.float16},
    ),
    "gaussian_blur, sigma 1.5": ("gaussian_blur", {"sigma": [[1.5 + 0.01 * t] for t in TURNS]}),
    "gaussian_blur, sigma 5": ("gaussian_blur", {"sigma": [[5 + 0.01 * t] for t in TURNS]}),
    "laplacian, 3": ("laplacian", {}),
    "laplacian, 9": ("laplacian", {"window_size": 9, "normalized_kernel": True}),
    "filter, 3 x 3": ("filter", {}),
    "filter, 9 x 9": ("filter", {}),
    "dilate, 3 x 3": ("dilate", {}),
    "erode, 3 x 3 five times": ("erode", {"iterations": 5}),
    "median_blur, 3 x 3": ("median_blur", {}),
    "median_blur, 7 x 7": ("median_blur", {"window_size": [7, 7]}),
    "sphere": ("sphere", {}),
    "water": ("water", {"interp_type": types.INTERP_LINEAR}),
    "jitter": ("jitter", {}),
    "remap": ("experimental.remap", {}),
    "remap, cubic": ("experimental.remap", {"interp": types.INTERP_CUBIC}),
    "paste": ("paste", {"ratio": [1.1 + 0.01 * turn for turn in TURNS], "fill_value": 9.0}),
    "multi_paste": (
        "multi_paste",
        {
            "in_ids": [[turn, 7 - turn] for turn in TURNS],
            "shapes_rel": [[[0.5, 0.5], [0.3, 0.4]]] * BATCH,
            "out_anchors_rel": [[[0.0, 0.1], [0.3, 0.2]]] * BATCH,
            "output_size": [1080, 1920],
        },
    ),
    "salt_and_pepper": ("noise.salt_and_pepper", {"prob": [0.01 * turn for turn in TURNS]}),
}


RUNS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "brightness_contrast, hsv, color_twist in a run": [
        ("brightness_contrast", {"brightness": 1.2, "contrast": 0.8}),
        ("hsv", {"hue": [10.0 * turn for turn in TURNS], "saturation": 1.3, "value": 0.9}),
        ("color_twist", {"hue": 20.0, "saturation": 1.3, "contrast": 0.8}),
    ],
    "brightness, contrast in a run": [
        ("brightness", {"brightness": [1.2 - 0.1 * turn for turn in TURNS]}),
        ("contrast", {"contrast": 0.8}),
    ],
}


def other_inputs(case: str, frames: Batch) -> list[Batch]:
    """What an operator takes beside frames."""
    device = frames.spec.device
    if case.startswith("filter"):
        size = int(case[-1])
        return [Batch(torch.rand((BATCH, size, size), device=device) / size**2)]
    if case.startswith("remap"):
        sides = [tuple(shape[1:3]) for shape in frames.spec.shapes]
        return [
            Batch([torch.rand(each, device=device) * each[axis] for each in sides])
            for axis in (1, 0)
        ]
    return []


@dataclass(frozen=True)
class Result:
    """Milliseconds of a batch; the first of a pair is the kernel's, the second plain torch's.

    For a run of operators the second is that of one kernel for each of them.
    """

    case: str
    size: str
    memory: str
    gpu: tuple[float, float]
    cpu: tuple[float, float]
    copy: float
    first_call: float
    differs: float

    @property
    def ratio(self) -> float:
        return self.gpu[1] / self.gpu[0]


def clips(size: tuple[int, int], memory: str, device: str) -> Batch:
    """Noise; ragged clips differ by a few rows."""
    generator = torch.Generator(device).manual_seed(0)
    shape = (BATCH, FRAMES, *size, 3)
    block = torch.randint(0, 256, shape, dtype=torch.uint8, device=device, generator=generator)
    if memory == "dense":
        return Batch(block, "FHWC")
    samples = [clip[:, : size[0] - 8 * at].contiguous() for at, clip in enumerate(block)]
    return Batch(samples, "FHWC")


def measured(call: Callable[[], Any], device: str) -> tuple[float, float]:
    """Milliseconds of a call among others in a row, and on the CPU until it returns."""
    on_gpu: list[float] = []
    on_cpu: list[float] = []
    count, begin = 1, time.perf_counter()
    while len(on_gpu) < LEAST or time.perf_counter() - begin < SECONDS:
        events: list[Any] = [Event(device), Event(device)]
        start = events[0].record()
        for _ in range(count):
            call()
        on_cpu.append(1e3 * (time.perf_counter() - start) / count)
        events[1].record()
        on_gpu.append(events[0].until(events[1]) / count)
        count = max(1, min(MOST, round(1e3 * SECONDS / LEAST / on_gpu[-1])))
    return statistics.median(on_gpu[1:]), statistics.median(on_cpu[1:])


class Event:
    """A moment of the GPU's, or of the CPU's."""

    def __init__(self, device: str) -> None:
        make: Any = torch.cuda.Event
        self._event = None if device == "cpu" else make(enable_timing=True)
        self._time = 0.0

    def record(self) -> float:
        self._time = time.perf_counter()
        if self._event is not None:
            self._event.record()
        return self._time

    def until(self, later: Event) -> float:
        """Milliseconds; waits for the later one."""
        if self._event is None or later._event is None:
            return 1e3 * (later._time - self._time)
        later._event.synchronize()
        return float(self._event.elapsed_time(later._event))


def case_of(name: str) -> tuple[Operator, dict[str, Any]]:
    """The operator of a case and its arguments."""
    if name in CASES:
        operator, given = CASES[name]
        return OPERATORS[operator], OPERATORS[operator].bind(given)
    operators = [OPERATORS[operator] for operator, _ in RUNS[name]]
    bound = {
        name_in_run(number, key): value
        for number, (operator, given) in enumerate(RUNS[name])
        for key, value in OPERATORS[operator].bind(given).items()
    }
    return color_run(operators), bound


def measure(case: str, size: str, memory: str, device: str, sides: tuple[int, int]) -> Result:
    declared, bound = case_of(case)
    bound.pop("seed", None)
    frames = clips(sides, memory, device)
    inputs = [frames, *other_inputs(case, frames)]

    def apply_operator(operator: Operator) -> Batch:
        context = Context(
            BATCH, frames.spec.device, lambda at, into=None: generator(1, sample=at, into=into)
        )
        return applying.apply_operator(operator, context, inputs, bound)[0]

    def wait() -> None:
        if device != "cpu":
            torch.cuda.synchronize()

    plain = replace(declared, kernels={})
    begin = time.perf_counter()
    made = apply_operator(declared)
    wait()
    first_call = 1e3 * (time.perf_counter() - begin)
    differs = max(
        float((ours[:2].float() - theirs[:2].float()).abs().max())
        for ours, theirs in zip(made, apply_operator(plain), strict=True)
    )
    moved = sum(each.nbytes for batch in (frames, made) for each in batch.tensors())
    del made
    pair = torch.empty((2, moved // 2), dtype=torch.uint8, device=device)
    copy, _ = measured(lambda: pair[0].copy_(pair[1]), device)
    kernel = measured(lambda: apply_operator(declared), device)
    torch_only = measured(lambda: apply_operator(plain), device)
    gpu, cpu = zip(kernel, torch_only, strict=True)
    return Result(case, size, memory, gpu, cpu, copy, first_call, differs)


def table(results: list[Result]) -> Table:
    found = Table(title=f"A batch of {BATCH} clips of {FRAMES} frames, ms")
    for heading in ("operator", "clips", "", "kernel", "torch", "ratio", "of copy"):
        found.add_column(
            heading, justify="left" if heading in ("operator", "clips", "") else "right"
        )
    for heading in ("CPU, kernel", "CPU, torch", "first call", "differs"):
        found.add_column(heading, justify="right")
    for each in results:
        found.add_row(
            each.case,
            each.size,
            each.memory,
            *(f"{value:.3f}" for value in each.gpu),
            f"{each.ratio:.1f}",
            f"{each.copy / each.gpu[0]:.0%}",
            *(f"{value:.2f}" for value in each.cpu),
            f"{each.first_call:.0f}",
            f"{each.differs:g}",
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results")
    parser.add_argument("--dry-run", action="store_true", help="tiny clips on the CPU")
    arguments = parser.parse_args()
    device = "cpu" if arguments.dry_run else "cuda"
    if not arguments.dry_run and not has_cupy():
        parser.error("the kernels need CuPy: pip install videoloader[cuda]")
    results = []
    for case in (*CASES, *RUNS):
        if arguments.only not in case:
            continue
        for size, sides in SIZES.items():
            for memory in ("dense", "ragged") if size == "224x224" else ("dense",):
                if arguments.dry_run:
                    sides = (72, 40)
                results.append(measure(case, size, memory, device, sides))
    Console(width=140).print(table(results))
    if arguments.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"operators-gpu-{today()}.json"
        report = {
            "machine": machine(("torch", "cupy-cuda13x", "numpy")),
            "gpu": "none" if device == "cpu" else torch.cuda.get_device_name(),
            "batch": BATCH,
            "frames": FRAMES,
            "cases": [{**asdict(each), "ratio": round(each.ratio, 2)} for each in results],
        }
        path.write_text(json.dumps(report, indent=2) + "\n")
        print(f"written to {path}")


if __name__ == "__main__":
    main()
