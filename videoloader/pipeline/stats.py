"""What the operators of a pipeline have done so far: how often, how long, and what went wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["Meter", "OperatorStats"]


@dataclass(frozen=True, slots=True)
class OperatorStats:
    """One operator of a pipeline.

    `seconds` is the sum over all threads, so two busy threads make two seconds a second.
    `failures` are (file, what went wrong) of samples that were replaced: each of them once,
    however often it happened, and the first 10,000.
    """

    samples: int = 0
    seconds: float = 0.0
    failures: tuple[tuple[str, str], ...] = ()


class Meter:
    """Adds up the time of operators by name. Threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._samples: dict[str, int] = {}
        self._seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Count one sample and the time that the block takes, if it ends well."""
        begin = time.perf_counter()
        yield
        seconds = time.perf_counter() - begin
        with self._lock:
            self._samples[name] = self._samples.get(name, 0) + 1
            self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def read(self, name: str) -> OperatorStats:
        """What one operator has done so far."""
        with self._lock:
            return OperatorStats(self._samples.get(name, 0), self._seconds.get(name, 0.0))
