"""Limits on the memory and time of pictures, batches and worker processes.

A file of a few bytes can claim pictures of any size. Such claims are refused before memory is
allocated for them.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias, TypedDict

from videoloader.errors import OutOfMemoryError, ResourceError, UnsupportedError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.checks import real_number, whole_number
from videoloader.machinery.workers.processors import machine_memory

MAX_PIXELS = 1 << 27
"""Pixels of a picture that is decoded without being asked for: 134 million, 8K has 33 million."""

TIME_LIMIT = 60.0
"""Seconds that a worker process may take for a run of packets unless another limit is given."""

MemoryLimit: TypeAlias = int | Literal["auto"] | None
"""Bytes that a worker process may allocate, see `worker_limit`."""


class LimitOptions(TypedDict, total=False):
    """Limits of each worker process that decodes.

    Attributes:
        time_limit: seconds that it may take for one run of packets, or to index a file that FFmpeg
            has to look at.
        memory_limit: bytes that it may allocate, not counting the frames that it gives; what needs
            more fails. `auto` is a quarter of the machine's memory, and 2 GiB at least; None is no
            limit.
    """

    time_limit: float
    memory_limit: MemoryLimit


DEFAULT_LIMITS: LimitOptions = {"time_limit": TIME_LIMIT, "memory_limit": "auto"}

_WORKER_SHARE = 4  # of the machine's memory, one part in so many for a worker
_WORKER_LEAST = 2 << 30


def check_time_limit(time_limit: float) -> float:
    """The argument `time_limit`, if it is a number of seconds.

    Raises:
        ArgumentError: it is none.
    """
    return real_number("time_limit", time_limit, above=0, most=math.inf)


class WorkerLimits(NamedTuple):
    """Seconds and bytes that a worker process may take; None for no limit."""

    time_limit: float
    memory_limit: int | None


def check_limits(options: LimitOptions) -> WorkerLimits:
    """The options as numbers.

    Raises:
        ArgumentError: one is no limit.
    """
    return WorkerLimits(
        check_time_limit(options["time_limit"]), worker_limit(options["memory_limit"])
    )


def check_pixels(index: VideoIndex, max_pixels: int) -> None:
    """Refuse a video whose pictures are too large.

    Raises:
        UnsupportedError: they have more pixels than `max_pixels`.
    """
    if index.width * index.height > max_pixels:
        raise UnsupportedError(
            f"{index.name}: pictures of {index.width}x{index.height} are over the limit of "
            f"max_pixels={max_pixels}; the file may be damaged, or pass a larger max_pixels"
        )


def clip_too_large(
    name: str, count: int, size: tuple[int, int], needed: int, limit: int
) -> OutOfMemoryError:
    """The error of a clip of `count` frames of (height, width) that takes `needed` bytes."""
    return OutOfMemoryError(
        f"{name}: {count} frames of {size[1]}x{size[0]} take {needed / 1e9:.1f} GB, more than this "
        f"machine has ({limit / 1e9:.1f} GB of memory); ask for fewer frames or pass a smaller size"
    )


def batch_too_large(count: int, needed: int, limit: int) -> ResourceError:
    """The error of a batch of `count` clips that take `needed` bytes together."""
    return ResourceError(
        f"the batch of {count} clips takes {needed / 1e9:.1f} GB, more than this machine has "
        f"({limit / 1e9:.1f} GB of memory); use a smaller batch, fewer frames or a smaller size"
    )


def worker_limit(memory_limit: MemoryLimit) -> int | None:
    """The option `memory_limit` in bytes, None for no limit.

    `auto` leaves room for pictures of 8K in 10 bits, which take about 2 GB in a decoder.

    Raises:
        ArgumentError: it is none of these.
    """
    if memory_limit == "auto":
        return max(machine_memory() // _WORKER_SHARE, _WORKER_LEAST)
    if memory_limit is None:
        return None
    return whole_number('memory_limit, unless None or "auto",', memory_limit, least=1)
