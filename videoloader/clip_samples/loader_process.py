"""The process of a `Loader` that shares no interpreter with the training loop.

It is a worker under a `Supervisor` and talks as `workers/protocol.py` says. An order names the
samples of a batch, and those of the next ones, which the process begins to decode meanwhile. So the
process has no position: this side knows what was delivered, and an order whose process has died is
given to a new one.

*Memory.* Tensors on the CPU are written into memory that this side allocates (`SharedMemory`), and
are views of it here. On a GPU the process owns one buffer for each order it may have at a time. It
answers when the batch is in the buffer. This side opens each buffer once, and copies the batch
into memory of its own before it sends the order that uses the buffer next. So no tensor of the
consumer refers to memory of the process, which may die at any time, and no stream of one process
waits for the other process.
"""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.clip_samples.batch_maker import BatchMaker
from videoloader.clip_samples.carried_tensors import unpacked
from videoloader.clip_samples.loader_worker import (
    LOGGER,
    Job,
    Made,
    MakeBatch,
    NewRecords,
    enlarged,
    load_libraries,
)
from videoloader.clip_samples.requests import SampleKey
from videoloader.cuda.shared_buffers import OpenedBuffer
from videoloader.cuda.streams import wait_here
from videoloader.decoding.failures import Failures
from videoloader.decoding.limits import WorkerLimits
from videoloader.errors import ArgumentError, ClosedError, ResourceError, VideoError
from videoloader.runtime.monitor import Meter
from videoloader.system.pickling import pickle_for_program
from videoloader.workers.process import Parcel, Shared
from videoloader.workers.protocol import Reply
from videoloader.workers.shared_memory import SharedMemory, memory_file
from videoloader.workers.supervisor import Result, Supervisor, WorkerLostError

__all__ = ["LoaderProcess", "ReadyBatch"]

_ORDERS = 4  # that the process may have at a time: answers wait for the interpreter here
_AHEAD = 2  # batches behind that of an order which are decoded meanwhile
_NO_LIMIT = 7 * 24 * 3600.0  # seconds for a batch: decoding has limits of its own


class ReadyBatch(NamedTuple):
    """A batch as the training loop gets it.

    Attributes:
        content: of it.
        num_samples: in it.
        block: the memory of its tensors on a GPU.
        ready: on a GPU, when they have been copied.
    """

    content: Any
    num_samples: int
    block: torch.Tensor | None = None
    ready: Any = None


class _JobReference:
    """Stands for the pickled job in orders."""


@dataclass(slots=True, eq=False)
class _Batch:
    """A batch that the process has to make; `str` of it names it in messages.

    It does not refer to its iteration: what workers are at work on is never collected.
    """

    step: int
    epoch: int
    slot: NDArray[np.uint8] | None = None

    def __str__(self) -> str:
        return f"batch {self.step} of epoch {self.epoch}"


class LoaderProcess:
    """The process that makes the batches of a loader. It starts with the first batch.

    Args:
        maker: of batches; its failures are recorded here too.
        device: of the batches.
        workers: processes that decode on the CPU.
        limits: of them.

    Raises:
        ArgumentError: something cannot be pickled.
    """

    def __init__(
        self, maker: BatchMaker, device: torch.device, workers: int | None, limits: WorkerLimits
    ) -> None:
        if device.type == "cuda" and device.index is None:
            device = torch.device("cuda", torch.cuda.current_device())
        self._device = device
        self.failures = maker.samples.failures
        carried = replace(maker.samples, failures=Failures(self.failures.policy, NewRecords()))
        level = logging.getLogger(LOGGER).getEffectiveLevel()
        job = Job(replace(maker, samples=carried), str(device), workers, limits, level)
        try:
            file = memory_file(pickle_for_program(job))
        except Exception as error:
            raise ArgumentError(
                f"process=True: the data set, the sampler, the columns and the transform of the "
                f"loader have to be pickled for its process ({type(error).__name__}: {error}); "
                "use process=False"
            ) from error
        weakref.finalize(self, os.close, file)
        self._job = Shared(0, _JobReference(), file)
        self._memory = SharedMemory()
        self._size = enlarged(1)
        self._supervisor: Supervisor[_Batch] | None = None
        self._iteration: _Iteration | None = None
        self._iterations = 0
        self._opened: dict[int, OpenedBuffer] = {}
        self._replaced = 0
        self._engines: dict[str, int] = {}

    @property
    def engines(self) -> dict[str, int]:
        """Counts of its decoder after the last batch, and of processes that were replaced."""
        now = 0 if self._supervisor is None else self._supervisor.replaced
        return {**self._engines, "process_replaced": self._replaced + now}

    def begin(
        self, keys: Callable[[int], list[SampleKey]], steps: int, epoch: int, meter: Meter
    ) -> _Iteration:
        """Begin an iteration, after the last one has ended.

        Args:
            keys: of the samples of a batch, by number.
            steps: number of batches.
            epoch: of the samples.
            meter: counts what the process does.
        """
        if self._iteration is not None:
            self._iteration.drain()
        if self._supervisor is None:
            self._supervisor = Supervisor(
                self._pack,
                workers=1,
                time_limit=_NO_LIMIT,
                memory_limit=None,
                memory=self._memory,
                prepare=f"{load_libraries.__module__}:{load_libraries.__name__}",
                ahead=_ORDERS,
                reply=self._enlarge,
            )
        self._iterations += 1
        self._iteration = _Iteration(self, keys, steps, epoch, meter, self._iterations)
        return self._iteration

    def end(self) -> None:
        """Kill the process; a thread that waits for a batch gets a `ClosedError`."""
        if self._iteration is not None:
            self._iteration.close()
        if self._supervisor is not None:
            self._supervisor.end()

    def close(self) -> None:
        """Give back all memory, after `end` and the end of the iteration."""
        iteration, self._iteration = self._iteration, None
        if iteration is not None:
            iteration.drop()
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is not None:
            supervisor.close()
            self._replaced += supervisor.replaced
        while self._opened:
            self._opened.popitem()[1].close()
        self._memory.close()

    def run(self, batches: Iterable[_Batch]) -> Generator[Result, None, None]:
        """Have batches made."""
        if self._supervisor is None:
            raise ClosedError("the loader was closed meanwhile")
        return self._supervisor.run(batches)

    def receive(self, batch: _Batch, made: Made) -> ReadyBatch:
        """A batch that the process has made."""
        self.failures.note(made.failures)
        self._engines = made.engines or self._engines
        for record in made.logs:
            logging.getLogger(record.name).handle(record)
        if made.fault is not None:
            error = made.fault.restored()
            if isinstance(error, StopIteration):  # it would end the epoch
                error = RuntimeError(f"a transform raised {made.fault.text}")
            if not isinstance(error, VideoError):
                error.add_note(f"in the process of the loader:\n{made.fault.trace}")
            raise error
        assert batch.slot is not None
        slot = torch.from_numpy(batch.slot)
        if not made.size:
            return ReadyBatch(unpacked(made.data, slot, slot), made.num_samples)
        block = self._open(batch.step % _ORDERS, *made.buffer).bytes[: made.size].clone()
        ready = wait_here()  # the process may write to the buffer again
        return ReadyBatch(unpacked(made.data, slot, block), made.num_samples, block, ready)

    def _open(self, number: int, handle: bytes, size: int) -> OpenedBuffer:
        """A buffer of the process."""
        opened = self._opened.get(number)
        if opened is None or opened.handle != handle:
            if opened is not None:
                del self._opened[number]
                opened.close()
            try:
                opened = OpenedBuffer(handle, size, self._device.index)
            except Exception as error:
                raise ResourceError(
                    f"GPU memory of the process of the loader cannot be opened ({error}); if the "
                    "process is alive, this system has no CUDA IPC: use process=False"
                ) from error
            self._opened[number] = opened
        return opened

    def _pack(self, batch: _Batch) -> Parcel:
        """The order for a batch."""
        assert self._iteration is not None
        batch.slot = self._memory.allocate((self._size,), np.uint8)
        order = MakeBatch(
            self._job.value,
            self._iteration.wanted(batch.step),
            batch.slot,
            batch.step % _ORDERS,
            self.failures.counts(),
        )
        return Parcel(order, [batch.slot], [self._job])

    def _enlarge(self, batch: _Batch, size: int) -> Parcel:
        """The reply to the question for a slot of a size."""
        self._size = enlarged(size)
        slot = batch.slot = self._memory.allocate((self._size,), np.uint8)
        return Parcel(Reply(slot), [slot])


class _Iteration:
    """One iteration of a loader: the work of its stage. For one thread, except `close`."""

    def __init__(
        self,
        process: LoaderProcess,
        keys: Callable[[int], list[SampleKey]],
        steps: int,
        epoch: int,
        meter: Meter,
        number: int,
    ) -> None:
        self._epoch = epoch
        self._process, self._steps = process, steps
        self._keys = lru_cache(_ORDERS + _AHEAD + 2)(keys)
        self._meter, self._number = meter, number
        self._results: Generator[Result, None, None] | None = None
        self._first = 0  # step of result 0
        self._sent: dict[int, _Batch] = {}  # batches without a result, by step
        self._early: dict[int, Result] = {}  # results that came before their turn, by step
        self._is_closed = False

    def close(self) -> None:
        """Have no more batches made. Takes no lock and waits for nothing."""
        self._is_closed = True

    def drain(self) -> None:
        """Wait for the batches that the process works on, so that it need not be killed."""
        self.close()
        with suppress(VideoError):
            for _ in self._results or ():
                pass

    def drop(self) -> None:
        """Kill the process if it works on batches."""
        self.close()
        if self._results is not None:
            self._results.close()

    def make(self, step: int, stream: Any) -> ReadyBatch:  # noqa: ARG002  (the current one)
        """The batch of a step, in order.

        Raises:
            StopIteration: there is none.
            WorkerLostError: the process died twice.
            Exception: what went wrong in the process.
        """
        if step >= self._steps:
            raise StopIteration
        result = self._result(step)
        self._process.failures.ask(len(self._keys(step)))
        batch = self._sent.pop(step)
        if result.loss is not None:
            raise WorkerLostError(
                f"{batch}: the process of the loader is lost: {result.loss.reason}; the next batch "
                "follows in a new one. If it ran out of memory, use a smaller batch_size or "
                "prefetch; with process=False the cause shows in this process"
            )
        if result.failure is not None:
            raise result.failure
        made: Made = result.value
        for name, done in made.operators.items():
            self._meter.add(name, done.samples, done.seconds)
        self._meter.add_work(made.work)
        return self._process.receive(batch, made)

    def wanted(self, step: int) -> dict[tuple[int, int], list[SampleKey]]:
        """Samples of a batch and of those to begin meanwhile; none once nobody wants them."""
        if self._is_closed:
            return {}
        steps = range(step, min(step + 1 + _AHEAD, self._steps))
        return {(self._number, each): self._keys(each) for each in steps}

    def _result(self, step: int) -> Result:
        while step not in self._early:
            if self._is_closed:
                raise ClosedError("the loader was closed meanwhile")
            if self._results is None:
                self._first = step
                self._results = self._process.run(self._batches(step))
            try:
                result = next(self._results)
            except BaseException:
                self._results = None  # it has ended; the next batch begins anew
                self._sent.clear()
                raise
            self._early[self._first + result.number] = result
        return self._early.pop(step)

    def _batches(self, first: int) -> Iterator[_Batch]:
        for step in range(first, self._steps):
            if self._is_closed:
                return
            self._sent[step] = _Batch(step, self._epoch)
            yield self._sent[step]
