"""Notes what a thread launches on a GPU, so that it can be repeated."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from numpy.typing import NDArray

__all__ = ["Launch", "recorded", "recorder"]


class Launch(NamedTuple):
    """A launch of a kernel.

    Attributes:
        rows: the table.
        table: the memory that was passed by value: rows, and what they refer to; empty where it was
            uploaded.
        start: where the latter begins.
        function: handle of the compiled kernel.
        grid: blocks along x and y.
        gpu: number of the GPU.
        stream: handle.
    """

    rows: NDArray[Any]
    table: bytes
    start: int
    function: int
    grid: tuple[int, int]
    gpu: int
    stream: int


class _Recorder(threading.local):
    """What a thread launches, while somebody wants to know."""

    launches: list[Launch] | None = None
    kept: list[Any] | None = None


recorder = _Recorder()
"""That of the current thread."""


@contextmanager
def recorded() -> Iterator[tuple[list[Launch], list[Any]]]:
    """What this thread launches in the block, and the memory beside frames that it refers to."""
    launches: list[Launch] = []
    kept: list[Any] = []
    recorder.launches, recorder.kept = launches, kept
    try:
        yield launches, kept
    finally:
        recorder.launches = recorder.kept = None
