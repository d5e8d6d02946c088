"""Runs a loader for some seconds, with changed options, and counts what it did."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from videoloader.decoding.batch_decoder import shared_decoder
from videoloader.decoding.limits import DEFAULT_LIMITS
from videoloader.errors import ArgumentError
from videoloader.machinery.runtime.run_stats import NO_WORK, Work
from videoloader.sampling import ClipSampler
from videoloader.training.loader import Loader

_WARM, _LEAST = 2, 4  # batches before those that are timed, and of these

LEAST_BATCHES = _WARM + _LEAST
"""Of a run."""


class Trial(NamedTuple):
    """A loader that ran for some time.

    `work` is that of `decoded` clips, `size` the mean number of them in a batch; `transformed` and
    `waited` are shares of the time.
    """

    rate: float
    work: Work
    decoded: int
    batches: int
    size: float
    transformed: float
    waited: float
    limit: str

    def each(self, name: str) -> float:
        """A count of `work` for one clip."""
        return float(getattr(self.work, name)) / max(self.decoded, 1)


@dataclass(frozen=True)
class Bench:
    """Runs a loader with changed options, each time from the first batch on, for some seconds."""

    dataset: Any
    clips: ClipSampler
    options: Mapping[str, Any]
    seconds: float

    def run(self, *, step: float = 0.0, most: int | None = None, **change: Any) -> Trial:
        """Run it.

        Args:
            step: seconds of a pause after each batch.
            most: batches.
            **change: options that are other than given.
        """
        options = {**self.options, **change}
        try:
            with Loader(self.dataset, self.clips, **options) as loader:
                return self._time(loader, step, most)
        finally:
            if "workers" in change:  # processes that nobody else asked for
                limits = {name: options.get(name, value) for name, value in DEFAULT_LIMITS.items()}
                device = options.get("device", "cpu")
                shared_decoder(device, options["workers"], **limits).close()

    def _time(self, loader: Loader, step: float, most: int | None) -> Trial:
        taken = clips = decoded = 0
        work, transformed, waited, timed, begin, now = NO_WORK, 0.0, 0.0, 0.0, 0.0, 0.0
        is_over = False
        while not is_over:
            before = taken
            for batch in loader:
                now = time.perf_counter()
                taken += 1
                if taken <= _WARM:
                    begin = now
                else:
                    clips += len(batch["sample"])
                is_over = taken == most or (taken >= _WARM + _LEAST and now - begin >= self.seconds)
                if is_over:
                    break
                time.sleep(step)
            if taken == before:
                raise ArgumentError("an epoch has no batch; batch_size is larger than the data set")
            stats = loader.stats()
            work, decoded = work + stats.work, decoded + stats["decode"].samples - stats.errors
            waited, timed = waited + stats.waited, timed + stats.seconds
            transformed += stats["transform"].seconds if "transform" in stats else 0.0
        spent = max(timed, 1e-9)
        limit = replace(stats, work=work).limit
        rate = clips / max(now - begin, 1e-9)
        size = clips / max(taken - _WARM, 1)
        return Trial(rate, work, decoded, taken, size, transformed / spent, waited / spent, limit)
