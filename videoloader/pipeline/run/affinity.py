"""On which processors the threads of a pipeline run, with `set_affinity`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from videoloader.errors import ArgumentError, UnsupportedError

__all__ = ["VARIABLE", "cpus_near_gpu", "pin_thread", "thread_cpus"]

VARIABLE = "DALI_AFFINITY_MASK"


def thread_cpus(num_threads: int, near: Sequence[int] = ()) -> list[int]:
    """The processor of each worker thread.

    The first threads get the processors of the environment variable DALI_AFFINITY_MASK, such as
    "3,5,6,10". Those that are left get the processors near the GPU in turn, or without one those
    of the process.

    Args:
        num_threads: worker threads of the pipeline.
        near: processors near the GPU.
    """
    if not hasattr(os, "sched_setaffinity"):
        raise UnsupportedError("set_affinity=True needs Linux: this system cannot pin threads")
    allowed = sorted(os.sched_getaffinity(0))
    mask = _mask(os.environ.get(VARIABLE, ""), allowed)[:num_threads]
    others = [cpu for cpu in near if cpu in allowed] or allowed
    left = num_threads - len(mask)
    return mask + [others[number % len(others)] for number in range(left)]


def pin_thread(cpu: int) -> None:
    """Let the calling thread run on one processor only."""
    os.sched_setaffinity(0, {cpu})


def cpus_near_gpu(address: str, root: Path = Path("/sys/bus/pci/devices")) -> list[int]:
    """The processors on the side of a GPU, by its PCI address; none if that is not known."""
    try:
        text = (root / address.lower() / "local_cpulist").read_text(encoding="ascii").strip()
    except OSError:
        return []
    near: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        near += range(int(first), int(last or first) + 1)
    return near


def _mask(text: str, allowed: Sequence[int]) -> list[int]:
    try:
        cpus = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ArgumentError(
            f'{VARIABLE} is a comma-separated list of processors, such as "3,5", got {text!r}'
        ) from None
    wrong = [cpu for cpu in cpus if cpu not in allowed]
    if wrong:
        raise ArgumentError(
            f"{VARIABLE} names processor {wrong[0]}, which this process may not use; "
            f"it may use {', '.join(map(str, allowed))}"
        )
    return cpus
