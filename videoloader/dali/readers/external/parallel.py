"""External sources whose Python code runs in worker processes, some batches ahead."""

from __future__ import annotations

import itertools
import queue
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from videoloader.errors import ArgumentError
from videoloader.machinery.workers.python_jobs import BatchJob, Column, Job, SampleJob, SampleRange
from videoloader.machinery.workers.python_pool import Outcome, PythonPool
from videoloader.machinery.workers.sample_info import BatchInfo

_SMALL = 1 << 18  # bytes of a batch that are copied sooner than kept apart
PATIENCE = 10.0  # seconds between two looks at whether a worker is stopped
_SLOT = 1 << 20  # bytes of shared memory for a piece of work, until more is seen to be needed


@dataclass(slots=True, eq=False)
class _Scheduled:
    """A batch that workers make: a ticket for each piece of it, and the answers so far."""

    tickets: list[int]
    answers: dict[int, Outcome] = field(default_factory=dict)


class ParallelSource:
    """Source that asks worker processes for batches, up to `depth` ahead.

    A batch of single samples is shared by all workers; other batches are made by one. An iterable
    stays in one worker.

    Args:
        pool: of workers, not started yet.
        job: what they run.
        name: of the source, for messages.
        batch_size: samples in a batch.
        depth: batches that are made ahead.
        size_hint: bytes of a sample.
    """

    def __init__(
        self,
        pool: PythonPool,
        job: Job,
        *,
        name: str,
        batch_size: int,
        depth: int,
        size_hint: int | None,
    ) -> None:
        self._pool = pool
        self._job = job
        self._batch_size = batch_size
        self._depth = depth
        self._number = pool.add(job, name)
        self._pieces = min(len(pool), batch_size) if isinstance(job, SampleJob) else 1
        self._samples = -(-batch_size // self._pieces)  # in the largest piece
        self._size = max(_SLOT, (size_hint or 0) * self._samples)
        self._capacities = [self._size] * (depth * self._pieces)
        self._answers: queue.SimpleQueue[Outcome | None] = queue.SimpleQueue()
        self._scheduled: deque[_Scheduled] = deque()
        self._next = self._epoch = 0
        self._passes = 0  # through an iterable
        self._has_ended = False

    @property
    def is_stateless(self) -> bool:
        """Whether a batch is a function of its number and its epoch."""
        return isinstance(self._job, SampleJob | BatchJob)

    def next(self) -> list[Column]:
        """The outputs of the next batch.

        Raises:
            StopIteration: a worker said so for a part of it; `reset` begins the next epoch.
        """
        self._schedule()
        batch = self._scheduled.popleft()
        self._wait(batch)
        answers = [batch.answers[ticket] for ticket in batch.tickets]
        errors = [answer.error for answer in answers if answer.error is not None]
        for error in errors:
            if isinstance(error, StopIteration):
                self._has_ended = True
                raise StopIteration
        self._schedule()
        if errors:
            raise errors[0]
        return _joined([answer.columns or [] for answer in answers])

    def resume(self, epoch: int, iteration: int) -> None:
        """Go on with a batch of an epoch."""
        self._epoch, self._next = epoch, iteration

    def reset(self) -> None:
        """Begin the next epoch. An iterable that has not ended continues where it is."""
        self._epoch += 1
        self._next = 0
        self._passes += self._has_ended
        if self.is_stateless or self._has_ended:
            self._scheduled.clear()
        self._has_ended = False

    def capacities(self) -> list[int]:
        """Bytes of shared memory for each piece of work on its way."""
        return list(self._capacities)

    def sample_capacities(self) -> list[int]:
        """The same for one sample."""
        return [size // self._samples for size in self._capacities]

    def close(self) -> None:
        """End the workers, and wake the thread that waits for a batch. Finalisers may call it."""
        self._pool.end()
        self._answers.put(None)

    def _schedule(self) -> None:
        while len(self._scheduled) < self._depth:
            self._scheduled.append(_Scheduled([self._order(work) for work in self._works()]))
            self._next += 1

    def _works(self) -> list[Any]:
        """The pieces of the next batch to schedule."""
        if isinstance(self._job, BatchJob):
            return [BatchInfo(self._next, self._epoch)]
        if not isinstance(self._job, SampleJob):
            return [self._passes]
        first = self._next * self._batch_size
        bounds = [self._batch_size * at // self._pieces for at in range(self._pieces + 1)]
        return [
            SampleRange(first + start, start, stop - start, self._next, self._epoch)
            for start, stop in itertools.pairwise(bounds)
        ]

    def _order(self, work: Any) -> int:
        own = None if self.is_stateless else self._number % len(self._pool)
        return self._pool.submit(
            self._number, work, size=self._size, answers=self._answers, worker=own
        )

    def _answer(self) -> Outcome | None:
        """The next answer; None when the workers are ended.

        Python code may take any time. Only workers that a signal has stopped are not waited for.
        """
        stopped: set[int] = set()
        while True:
            try:
                return self._answers.get(timeout=PATIENCE)
            except queue.Empty:
                before, stopped = stopped, self._pool.stopped()
                for worker in sorted(stopped & before)[:1]:
                    self._pool.give_up(worker, 2 * PATIENCE)

    def _wait(self, batch: _Scheduled) -> None:
        """Take answers until a batch has all of its own."""
        while len(batch.answers) < len(batch.tickets):
            answer = self._answer()
            if answer is None:
                self._answers.put(None)  # for the next caller
                raise ArgumentError("the pipeline is closed")
            place = answer.ticket % len(self._capacities)
            self._capacities[place] = max(self._capacities[place], answer.size)
            self._size = max(self._size, answer.size)
            for each in (batch, *self._scheduled):
                if answer.ticket in each.tickets:
                    each.answers[answer.ticket] = answer


def _joined(pieces: list[list[Column]]) -> list[Column]:
    """The outputs of a batch from the outputs of its pieces."""
    if len(pieces) == 1:
        return pieces[0]
    return [_together(parts) for parts in zip(*pieces, strict=True)]


def _together(parts: Sequence[Column]) -> Column:
    """One output of a batch; small samples are copied into one array."""
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    alike = len({(array.dtype, array.shape[1:]) for array in arrays}) == 1
    if len(arrays) == len(parts) and alike and sum(a.nbytes for a in arrays) <= _SMALL:
        return np.concatenate(arrays)
    return [sample for part in parts for sample in part]
