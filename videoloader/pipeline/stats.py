"""What the operators of a pipeline have done so far: how often, how long, and what went wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from videoloader.operators.batch import Batch
from videoloader.pipeline.stages import RunnerStats, StageStats

__all__ = ["Meter", "OperatorStats", "PipelineStats"]


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


class PipelineStats(Mapping[str, OperatorStats]):
    """What a pipeline has done so far: its operators by name, and its stages.

    `str()` of it says in one line whether the consumer waits, and for what.
    """

    def __init__(self, operators: Mapping[str, OperatorStats], runner: RunnerStats | None) -> None:
        self._operators = operators
        self._runner = runner or RunnerStats(0, 0.0, 0.0, ())

    def __getitem__(self, name: str) -> OperatorStats:
        return self._operators[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._operators)

    def __len__(self) -> int:
        return len(self._operators)

    @property
    def stages(self) -> tuple[StageStats, ...]:
        """How long each stage worked, waited for input, and waited for room."""
        return self._runner.stages

    @property
    def batches(self) -> int:
        """Batches that the consumer took."""
        return self._runner.items

    @property
    def waited(self) -> float:
        """Seconds that the consumer waited for all of them but the first."""
        return self._runner.waited

    def __str__(self) -> str:
        return str(self._runner)

    def __repr__(self) -> str:
        return f"PipelineStats({dict(self._operators)!r}, stages={self.stages!r})"


class Meter:
    """Adds up the time of operators by name. Threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._samples: dict[str, int] = {}
        self._seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, name: str, count: int = 1) -> Iterator[None]:
        """Count some samples and the time that the block takes, if it ends well."""
        begin = time.perf_counter()
        yield
        seconds = time.perf_counter() - begin
        with self._lock:
            self._samples[name] = self._samples.get(name, 0) + count
            self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def count_bytes(self, name: str, outputs: Sequence[Batch], count: int) -> None:
        """Note the memory of outputs of an operator."""

    def read(self, name: str) -> OperatorStats:
        """What one operator has done so far."""
        with self._lock:
            return OperatorStats(self._samples.get(name, 0), self._seconds.get(name, 0.0))
