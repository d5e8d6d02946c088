"""Counts what the operators of a pipeline do: how often, how long, and in how much memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from videoloader.operators.batch import Batch
from videoloader.runtime.run_stats import OperatorStats
from videoloader.runtime.work import Work

__all__ = ["Meter"]


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
    """Adds up the time of operators by name. Threads share it.

    Args:
        with_memory: count the memory of outputs too.
    """

    def __init__(self, *, with_memory: bool = False) -> None:
        self.with_memory = with_memory
        self._lock = threading.Lock()
        self._samples: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        self._memory: dict[str, list[_Memory]] = {}
        self._work = Work()

    def measure(self, name: str, count: int = 1) -> AbstractContextManager[None]:
        """Count some samples and the time that the block takes, if it ends well."""
        return _Measured(self, name, count)

    def add(self, name: str, count: int, seconds: float) -> None:
        """Count some samples and the time that an operator took for them."""
        with self._lock:
            self._samples[name] = self._samples.get(name, 0) + count
            self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def add_work(self, work: Work) -> None:
        """Count the work of decoders."""
        with self._lock:
            self._work += work

    @property
    def work(self) -> Work:
        """All that decoders have done."""
        with self._lock:
            return self._work

    def count_bytes(self, name: str, outputs: Sequence[Batch], iteration: int) -> None:
        """Count the memory of outputs of an operator, for some samples of a batch."""
        with self._lock:
            known = self._memory.setdefault(name, [_Memory() for _ in outputs])
            for memory, batch in zip(known, outputs, strict=True):
                memory.add(batch, iteration)

    def read(self, name: str) -> OperatorStats:
        """What one operator has done so far."""
        with self._lock:
            return OperatorStats(self._samples.get(name, 0), self._seconds.get(name, 0.0))

    def read_all(self) -> dict[str, OperatorStats]:
        """What every operator has done so far, by name."""
        with self._lock:
            return {
                name: OperatorStats(self._samples[name], self._seconds[name])
                for name in self._samples
            }

    def read_memory(self) -> dict[str, dict[str, list[int]]] | None:
        """The memory of the outputs of operators, with DALI's keys; None if it is not counted."""
        if not self.with_memory:
            return None
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
