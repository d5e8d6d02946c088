"""Counters of a run: time of operators, work of decoders, batches that its consumer takes."""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from videoloader.machinery.runtime.run_stats import OperatorStats, RunStats, Work
from videoloader.machinery.runtime.status import PERIOD, StatusFile, status_file
from videoloader.machinery.system.checks import real_number

STATS_INTERVAL = 10.0
"""Seconds between calls of `on_stats`, if the user says nothing else."""

OnStats: TypeAlias = Callable[[RunStats], object]
"""Is called with what was done since the last call."""


class _Measured(AbstractContextManager[None]):
    """Adds the time of a block to a meter. A class: a generator costs more than small operators."""

    __slots__ = ("_begin", "_count", "_meter", "_name")

    def __init__(self, meter: Meter, name: str, count: int) -> None:
        self._meter, self._name, self._count = meter, name, count

    def __enter__(self) -> None:
        self._begin = time.perf_counter()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is None:
            self._meter.add(self._name, self._count, time.perf_counter() - self._begin)


class Meter:
    """Adds up the time of operators by name, and the work of decoders. Threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._samples: dict[str, int] = defaultdict(int)
        self._seconds: dict[str, float] = defaultdict(float)
        self._work = Work()

    def measure(self, name: str, count: int = 1) -> AbstractContextManager[None]:
        """Count some samples and the time that the block takes, if it ends well."""
        return _Measured(self, name, count)

    def add(self, name: str, count: int, seconds: float) -> None:
        """Count some samples and the time that an operator took for them."""
        with self._lock:
            self._samples[name] += count
            self._seconds[name] += seconds

    def add_work(self, work: Work) -> None:
        """Count the work of decoders."""
        with self._lock:
            self._work += work

    @property
    def work(self) -> Work:
        """All that decoders have done."""
        with self._lock:
            return self._work

    def read(self, name: str) -> OperatorStats:
        """Statistics of one operator so far."""
        with self._lock:
            return OperatorStats(self._samples.get(name, 0), self._seconds.get(name, 0.0))

    def read_all(self) -> dict[str, OperatorStats]:
        """Statistics of every operator so far, by name."""
        with self._lock:
            return {
                name: OperatorStats(self._samples[name], self._seconds[name])
                for name in self._samples
            }


class _Failures(Protocol):
    """Failures of samples."""

    @property
    def count(self) -> int:
        """Number of failures."""

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """File and cause of each."""


class _Run(Protocol):
    """A loader or pipeline."""

    def stats(self) -> RunStats:
        """Statistics of the run so far."""


class Monitor:
    """Watches one loader or pipeline from the thread that takes its batches.

    For most batches it only compares two times. It keeps no reference to what it watches.

    Args:
        on_stats: called at intervals, while batches are taken.
        interval: seconds.
    """

    def __init__(self, on_stats: OnStats | None, interval: float) -> None:
        self._on_stats = on_stats
        self._interval = real_number("stats_interval", interval, most=math.inf)
        self._status: StatusFile | None = status_file()
        self._errors = 0  # before this epoch
        self._next_call = math.inf
        self._next_status = math.inf if self._status is None else -math.inf
        self.begin()

    def begin(self, failures: _Failures | None = None) -> None:
        """Restart the counts, such as for an epoch. The run may then set `before`."""
        self.samples = self.first_samples = 0
        self.meter = Meter()
        self._errors = 0 if failures is None else failures.count
        self._reported = self.before = RunStats()
        now = time.monotonic()
        if self._on_stats is not None:
            self._next_call = now + self._interval
        if self._status is not None:
            self._status.begin(self)
        self._due = min(self._next_call, self._next_status)

    def take(self, run: _Run, samples: int) -> None:
        """Count a batch that the consumer takes; call `on_stats` and write the status if due."""
        if not self.samples:
            self.first_samples = samples
        self.samples += samples
        now = time.monotonic()
        if now < self._due:
            return
        stats = run.stats()
        # The first batch of an epoch gives no rate, so a status waits for the second, but not the
        # first status of the run.
        has_rate = self.samples > self.first_samples or self._next_status == -math.inf
        if now >= self._next_status and self._status is not None and has_rate:
            self._next_status = now + PERIOD
            self._status.tell(self, run, stats)
        if now >= self._next_call and self._on_stats is not None:
            self._next_call = now + self._interval
            reported, self._reported = self._reported, stats
            self._on_stats(stats.since(reported))
        self._due = min(self._next_call, self._next_status)

    def stats(self, runner: RunStats, failures: _Failures, engines: Mapping[str, int]) -> RunStats:
        """Statistics since `begin`, for a loader."""
        operators = self.meter.read_all()
        if "transform" in operators:
            operators["transform"] = replace(operators["transform"], is_callers=True)
        if "decode" in operators:
            operators["decode"] = replace(operators["decode"], failures=failures.pairs())
        return replace(
            runner,
            operators=operators,
            samples=self.samples,
            first_samples=self.first_samples,
            work=self.meter.work,
            engines=engines,
            errors=failures.count - self._errors,
        )

    def close(self) -> None:
        """Remove the run from the status file."""
        if self._status is not None:
            self._status.end(self)
