"""Counts what a consumer takes of a run, and tells others of it at intervals."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol, TypeAlias

from videoloader.decoding.batch import BatchDecoder
from videoloader.errors import ArgumentError
from videoloader.pipeline.run.stats import Meter
from videoloader.readers.failures.failures import Failures
from videoloader.runtime.run_stats import RunStats
from videoloader.runtime.runner_stats import RunnerStats
from videoloader.runtime.status import PERIOD, StatusFile, status_file

__all__ = ["STATS_INTERVAL", "Monitor", "OnStats"]

STATS_INTERVAL = 10.0
"""Seconds between calls of `on_stats`, if the user says nothing else."""

OnStats: TypeAlias = Callable[[RunStats], object]
"""Is called with what was done since the last call."""


class _Run(Protocol):
    """A loader or pipeline."""

    def stats(self) -> RunStats:
        """What it has done so far."""


class Monitor:
    """Watches one loader or pipeline from the thread that takes its batches.

    A batch costs it the comparison of two times, unless something is due to be told. It keeps no
    reference to what it watches.

    Args:
        on_stats: called at intervals, while batches are taken.
        interval: seconds.
    """

    def __init__(self, on_stats: OnStats | None, interval: float) -> None:
        if not (isinstance(interval, int | float) and interval >= 0):
            raise ArgumentError(f"stats_interval is a number of seconds, got {interval!r}")
        self._on_stats = on_stats
        self._interval = float(interval)
        self._status: StatusFile | None = status_file()
        self._errors = 0  # before this epoch
        self._next_call = self._next_status = math.inf
        self.begin()

    def begin(self, failures: Failures | None = None) -> None:
        """Count anew, such as for an epoch. What a run had done `before` is up to it to say."""
        self.samples = self.first_samples = 0
        self.meter = Meter()
        self._errors = 0 if failures is None else failures.count
        self._told = self.before = RunStats()
        now = time.monotonic()
        if self._on_stats is not None:
            self._next_call = now + self._interval
        if self._status is not None:
            self._next_status = now
        self._due = min(self._next_call, self._next_status)

    def take(self, run: _Run, samples: int) -> None:
        """Count a batch that the consumer takes, and tell of the run if that is due."""
        if not self.samples:
            self.first_samples = samples
        self.samples += samples
        now = time.monotonic()
        if now < self._due:
            return
        stats = run.stats()
        if now >= self._next_status and self._status is not None:
            self._next_status = now + PERIOD
            self._status.tell(self, run, stats)
        if now >= self._next_call and self._on_stats is not None:
            self._next_call = now + self._interval
            told, self._told = self._told, stats
            self._on_stats(stats.since(told))
        self._due = min(self._next_call, self._next_status)

    def measure(self, name: str, count: int) -> AbstractContextManager[None]:
        """Count some samples and the time that the block takes, under the name of an operator."""
        return self.meter.measure(name, count)

    def stats(
        self, runner: RunnerStats, failures: Failures, decoder: BatchDecoder | None
    ) -> RunStats:
        """What was done since `begin`, for a loader."""
        operators = self.meter.read_all()
        if "decode" in operators:
            operators["decode"] = replace(operators["decode"], failures=failures.pairs())
        return RunStats.of(
            runner,
            operators=operators,
            samples=self.samples,
            first_samples=self.first_samples,
            work=self.meter.work,
            engines={} if decoder is None else decoder.engines(),
            errors=failures.count - self._errors,
        )

    def close(self) -> None:
        """The run is over: nothing is told of it any more."""
        if self._status is not None:
            self._status.end(self)
