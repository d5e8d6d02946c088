"""Counts of the processes that make samples of one data set, such as DataLoader workers."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, fields
from typing import Any

from videoloader.machinery.runtime.monitor import STATS_INTERVAL, Monitor
from videoloader.machinery.runtime.run_stats import OperatorStats, RunStats, Work, WorkerRunStats

_SLOTS = 64  # of counts: each is written by one worker
_WORK = [field.name for field in fields(Work)]
_COLUMNS = ["batches", "samples", "first_samples", "begin", "end", "busy", "errors", *_WORK]
_AT = {name: at for at, name in enumerate(_COLUMNS)}
_WHOLE = ("packets", "bytes", "decoded", "used", "cache_hits", "cache_misses")


class WorkerStats:
    """Counters of several processes, in memory that they share. Can be pickled into workers.

    It also writes the status file, if this process has one.

    Args:
        counts: zeros of the shape `SHAPE`, float64, in memory that all processes share: a tensor,
            or an array.
    """

    SHAPE = (_SLOTS, len(_COLUMNS))

    def __init__(self, counts: Any) -> None:
        self._counts = counts
        self._monitor: Monitor | None = None
        self._process = 0

    def add(
        self, worker: int | None, samples: int, work: Work, seconds: float, errors: int
    ) -> None:
        """Count a batch."""
        slot = 0 if worker is None else 1 + worker % (_SLOTS - 1)
        row, now = self._counts[slot], time.monotonic()  # one clock for all processes
        if not row[_AT["batches"]]:
            row[_AT["begin"]], row[_AT["first_samples"]] = now, samples
        row[_AT["end"]] = now
        counted = {"batches": 1, "samples": samples, "busy": seconds, "errors": errors}
        for name, count in (counted | {name: getattr(work, name) for name in _WORK}).items():
            row[_AT[name]] += count
        if self._monitor is None or self._process != os.getpid():
            self._monitor, self._process = Monitor(None, STATS_INTERVAL), os.getpid()
        self._monitor.take(_Worker(self, slot), samples)

    def read(self, slots: slice = slice(None)) -> WorkerRunStats:
        """Statistics so far of all processes, or of the processes in some slots."""
        rows = self._counts[slots]
        rows = rows[rows[:, _AT["batches"]] > 0]
        total = dict(zip(_COLUMNS, rows.sum(0).tolist(), strict=True))
        begin = rows[:, _AT["begin"]].min().item() if len(rows) else 0.0
        end = rows[:, _AT["end"]].max().item() if len(rows) else 0.0
        work = {name: int(total[name]) if name in _WHOLE else total[name] for name in _WORK}
        samples = int(total["samples"])
        return WorkerRunStats(
            operators={"decode": OperatorStats(samples, total["busy"])},
            batches=int(total["batches"]),
            samples=samples,
            first_samples=int(total["first_samples"]),
            seconds=end - begin,
            work=Work(**work),
            errors=int(total["errors"]),
        )

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_monitor": None, "_process": 0}


@dataclass(frozen=True, slots=True)
class _Worker:
    """The run of one process, for its status file."""

    of: WorkerStats
    slot: int

    def stats(self) -> RunStats:
        """Statistics of this process so far."""
        return self.of.read(slice(self.slot, self.slot + 1))
