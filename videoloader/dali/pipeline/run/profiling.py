"""Profiling of a run: memory of outputs, and named ranges for NVIDIA's profilers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch

from videoloader.dali.tensors.batch import Batch

Mark = Callable[[str], AbstractContextManager[Any]]

_PROFILERS = ("NSYS_PROFILING_SESSION_ID", "NVTX_INJECTION64_PATH")
"""Environment variables of programs that Nsight profiles."""


def nvtx_ranges(*, uses_gpu: bool) -> Mark | None:
    """A range of NVTX for a name, under a profiler; None without one.

    VIDEOLOADER_NVTX=1 asks for ranges without a profiler that is known, 0 leaves them out.
    """
    wanted = os.environ.get("VIDEOLOADER_NVTX", "")
    is_profiled = any(name in os.environ for name in _PROFILERS)
    if not uses_gpu or wanted == "0" or not (wanted or is_profiled):
        return None
    ranges: Mark = torch.cuda.nvtx.range
    return ranges


@dataclass(slots=True)
class _Memory:
    """Bytes of one output of an operator: of the batch in the making, and the most so far."""

    iteration: int = -1
    storages: dict[int, tuple[int, int]] = field(default_factory=dict)  # held, used by address
    real: int = 0
    reserved: int = 0
    most_real: int = 0
    most_reserved: int = 0
    largest_real: int = 0
    largest_reserved: int = 0

    def add(self, batch: Batch, iteration: int) -> None:
        """Count some samples of a batch."""
        if iteration != self.iteration:
            self.iteration, self.real, self.reserved = iteration, 0, 0
            self.storages.clear()
        for tensor in batch.tensors():
            count = 1 if batch.block is None else max(1, len(batch))
            storage = tensor.untyped_storage()
            self.real += tensor.nbytes
            self.largest_real = max(self.largest_real, tensor.nbytes // count)
            # Samples may share a storage, or lie one after the other in memory that is used again.
            held, used = self.storages.get(storage.data_ptr(), (0, 0))
            self.reserved -= max(held, used)
            held, used = max(held, storage.nbytes()), used + tensor.nbytes
            self.reserved += max(held, used)
            self.storages[storage.data_ptr()] = held, used
            own = storage.nbytes() if batch.block is None else tensor.nbytes // count
            self.largest_reserved = max(self.largest_reserved, own)
        self.most_real = max(self.most_real, self.real)
        self.most_reserved = max(self.most_reserved, self.reserved)


class OutputMemory:
    """Counts the memory of the outputs of operators by name. Threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._memory: dict[str, list[_Memory]] = {}

    def count(self, name: str, outputs: Sequence[Batch], iteration: int) -> None:
        """Count the memory of outputs of an operator, for some samples of a batch."""
        with self._lock:
            known = self._memory.setdefault(name, [_Memory() for _ in outputs])
            for memory, batch in zip(known, outputs, strict=True):
                memory.add(batch, iteration)

    def read(self) -> dict[str, dict[str, list[int]]]:
        """The memory of the outputs of operators, with DALI's keys."""
        with self._lock:
            return {
                name: {
                    "real_memory_size": [each.most_real for each in memories],
                    "max_real_memory_size": [each.largest_real for each in memories],
                    "reserved_memory_size": [each.most_reserved for each in memories],
                    "max_reserved_memory_size": [each.largest_reserved for each in memories],
                }
                for name, memories in self._memory.items()
            }
