"""Failures of a data set in all processes that work on it, such as the workers of a DataLoader.

They are lines of JSON in a file without a name, which lives in memory for as long as a process has
it open: a fork inherits it, and a process that gets the data set pickled opens that of the sender.
"""

from __future__ import annotations

import fcntl
import json
import os
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch
from torch.utils.data import get_worker_info

from videoloader.decoding.failures import MOST_RECORDS, SampleFailure
from videoloader.machinery.system.faults import blamed_on

_NAME = "videoloader-failures"
_SLOTS = 64  # of counts: each is written by one worker


def shared(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor in shared memory, which stays so on its way into workers of a `DataLoader`.

    Raises:
        ResourceError: the shared memory is full.
    """
    with blamed_on("shared memory"):
        tensor.share_memory_()
    return tensor


class SharedRecords:
    """Keeps and counts failures of several processes. It pickles."""

    def __init__(self) -> None:
        # Tensors in shared memory stay shared on their way into workers.
        self._counts = shared(torch.zeros((_SLOTS, 2), dtype=torch.int64))
        self._open(os.memfd_create(_NAME))

    def ask(self, count: int) -> None:
        """Count samples that are asked for."""
        self._counts[_slot(), 0] += count

    def add(self, failure: SampleFailure) -> None:
        """Count a failure, and keep it if there is room."""
        self._counts[_slot(), 1] += 1
        if self.counts()[1] <= MOST_RECORDS:
            os.write(self._file, (json.dumps(failure.as_dict()) + "\n").encode())

    def counts(self) -> tuple[int, int]:
        """Samples asked for, and failures, in all processes."""
        asked, failed = self._counts.sum(dim=0).tolist()
        return asked, failed

    @property
    def own(self) -> int:
        """Failures in this process."""
        return int(self._counts[_slot(), 1])

    def __iter__(self) -> Iterator[SampleFailure]:
        size = os.fstat(self._file).st_size
        lines = os.pread(self._file, size, 0).splitlines()
        return iter([SampleFailure(**json.loads(line)) for line in lines])

    def __getstate__(self) -> tuple[torch.Tensor, int, int]:
        return self._counts, os.getpid(), self._file

    def __setstate__(self, state: tuple[torch.Tensor, int, int]) -> None:
        self._counts, process, number = state
        place = f"/proc/{process}/fd/{number}"
        with suppress(OSError):
            if _NAME in os.readlink(place):
                self._open(os.open(place, os.O_RDWR | os.O_CLOEXEC))
                return
        self._open(os.memfd_create(_NAME))  # on another machine, or the sender has ended

    def _open(self, descriptor: int) -> None:
        self._file = descriptor
        fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)
        self._close: Any = weakref.finalize(self, os.close, descriptor)


def _slot() -> int:
    """Where this process counts."""
    worker = get_worker_info()
    return 0 if worker is None else 1 + worker.id % (_SLOTS - 1)
