"""What the process of a loader does; `loader_process.py` says what both sides do."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from logging.handlers import QueueHandler
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.clip_samples.batch_maker import BatchMaker
from videoloader.clip_samples.carried_tensors import Carried
from videoloader.clip_samples.decoding import DecodedSamples
from videoloader.clip_samples.requests import SampleKey
from videoloader.cuda.shared_buffers import SharedBuffer
from videoloader.cuda.streams import wait_here
from videoloader.decoding.batch_decoder import BatchDecoder, shared_decoder
from videoloader.decoding.failures import Failures, LocalRecords, SampleFailure
from videoloader.decoding.limits import WorkerLimits
from videoloader.runtime.monitor import Meter
from videoloader.runtime.run_stats import OperatorStats, Work
from videoloader.workers.protocol import Fault, Worker

__all__ = ["LOGGER", "Job", "Made", "MakeBatch", "NewRecords", "enlarged", "load_libraries"]

LOGGER = "videoloader"
"""The logger whose records are sent to the parent."""

_THREADS = 2  # that decode a batch each, as in a loader without a process


class Made(NamedTuple):
    """The answer to an order.

    Attributes:
        data: the batch, for `unpacked`.
        num_samples: in it.
        size: bytes of the buffer on a GPU that are used.
        buffer: handle and size of that buffer.
        fault: why there is no batch.
        operators: what was done for the batch.
        work: of decoders, for the batch.
        failures: since the last answer.
        engines: of the decoder.
        logs: since the last answer.
    """

    data: bytes
    num_samples: int
    size: int
    buffer: tuple[bytes, int]
    fault: Fault | None
    operators: dict[str, OperatorStats]
    work: Work
    failures: list[SampleFailure]
    engines: dict[str, int]
    logs: list[logging.LogRecord]


class Job(NamedTuple):
    """What the process does; pickled once."""

    maker: BatchMaker
    device: str
    workers: int | None
    limits: WorkerLimits
    log_level: int


class MakeBatch(NamedTuple):
    """An order to make a batch.

    Attributes:
        job: pickled.
        batches: keys of the samples, and those of the batches that follow, by number.
        slot: memory for the tensors on the CPU, uint8.
        buffer: number of the buffer for those on a GPU.
        counts: samples that were asked for so far, and failures.
    """

    job: Any
    batches: dict[tuple[int, int], list[SampleKey]]
    slot: NDArray[np.uint8]
    buffer: int
    counts: tuple[int, int]

    def perform(self, worker: Worker) -> Made | None:
        """Make the batch; its error is part of the result, to be raised as itself."""
        return worker.kept(_Maker).make(self, worker) if self.batches else None


class _Maker:
    """Makes the batches of orders."""

    def __init__(self) -> None:
        self._job: Job | None = None
        self._records = NewRecords()
        self._logs: SimpleQueue[logging.LogRecord] = SimpleQueue()
        self._pool: ThreadPoolExecutor | None = None
        self._begun: dict[tuple[int, int], tuple[Meter, Future[DecodedSamples]]] = {}
        self._buffers: dict[int, SharedBuffer] = {}
        self._replaced: dict[int, SharedBuffer] = {}  # buffers that the parent still had open

    def make(self, order: MakeBatch, worker: Worker) -> Made:
        """Make a batch."""
        meter, fault, carried, count = Meter(), None, None, 0
        engines = {}
        try:
            job = self._opened(order)
            decoder = shared_decoder(job.device, job.workers, **job.limits._asdict())
            self._begun = {
                key: self._begun.get(key) or self._begin(job, decoder, samples)
                for key, samples in order.batches.items()
            }
            meter, decoding = self._begun.pop(next(iter(order.batches)))
            batch = decoding.result()
            engines = decoder.engines()
            count = len(batch.samples)
            carried = Carried(job.maker.finish(batch, meter))
            self._write(carried, order, worker, job)
        except BaseException as error:  # noqa: BLE001  (it is raised again by the parent)
            fault = Fault.of(error)
        buffer = self._buffers.get(order.buffer)
        return Made(
            b"" if carried is None else carried.data,
            count,
            0 if carried is None else carried.sizes[1],
            (b"", 0) if buffer is None else (buffer.handle, len(buffer.bytes)),
            fault,
            meter.read_all(),
            meter.work,
            self._records.take(),
            engines,
            [self._logs.get() for _ in range(self._logs.qsize())],
        )

    def _opened(self, order: MakeBatch) -> Job:
        if self._job is None:
            job: Job = pickle.loads(order.job)
            self._records.begin(*order.counts)
            job.maker.samples.failures = Failures(job.maker.samples.failures.policy, self._records)
            logger = logging.getLogger(LOGGER)
            logger.addHandler(QueueHandler(self._logs))
            logger.setLevel(job.log_level)
            logger.propagate = False
            _enter_stream(job.device)
            self._pool = ThreadPoolExecutor(_THREADS, initializer=lambda: _enter_stream(job.device))
            self._job = job
        return self._job

    def _begin(
        self, job: Job, decoder: BatchDecoder, samples: Sequence[SampleKey]
    ) -> tuple[Meter, Future[DecodedSamples]]:
        """Decode a batch in another thread."""
        assert self._pool is not None
        meter, is_gpu = Meter(), job.device != "cpu"

        def decode() -> DecodedSamples:
            stream = torch.cuda.current_stream() if is_gpu else None
            return job.maker.decode(decoder, samples, meter, stream)

        return meter, self._pool.submit(decode)

    def _write(self, carried: Carried, order: MakeBatch, worker: Worker, job: Job) -> None:
        """Write the tensors of a batch to where the parent reads them."""
        on_cpu, on_gpu = carried.sizes
        slot = order.slot if on_cpu <= len(order.slot) else worker.ask(on_cpu)
        memories = [torch.from_numpy(slot)]
        if on_gpu:
            memories.append(self._buffer(order.buffer, on_gpu, job.device).bytes)
        carried.write(*memories)
        if on_gpu:
            wait_here()

    def _buffer(self, number: int, size: int, device: str) -> SharedBuffer:
        """A buffer that is large enough."""
        replaced = self._replaced.pop(number, None)
        if replaced is not None:  # the parent has read the answer before, and closed it
            replaced.close()
        buffer = self._buffers.get(number)
        if buffer is None or len(buffer.bytes) < size:
            if buffer is not None:
                self._replaced[number] = buffer
            index = torch.device(device).index
            buffer = self._buffers[number] = SharedBuffer(enlarged(size), index)
        return buffer


class NewRecords(LocalRecords):
    """Failures of the process, and which of them the parent has not heard of."""

    def __init__(self) -> None:
        super().__init__()
        self._new: list[SampleFailure] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return NewRecords, ()

    def begin(self, asked: int, failed: int) -> None:
        """Go on where the process before has ended."""
        self._asked, self._failed = asked, failed

    def add(self, failure: SampleFailure) -> None:
        """Count a failure, and keep it."""
        super().add(failure)
        with self._lock:
            self._new.append(failure)

    def take(self) -> list[SampleFailure]:
        """Those since the last call."""
        with self._lock:
            new, self._new = self._new, []
        return new


def enlarged(size: int) -> int:
    """Bytes to allocate where memory is too small: more than needed, since batches differ."""
    return -(-(size + size // 8) // 65536) * 65536


def load_libraries() -> None:
    """Import what the process needs: this module has done that."""


def _enter_stream(device: str) -> None:
    """Give the current thread a stream of its own on a GPU."""
    if device != "cpu":
        make: Any = torch.cuda.Stream
        torch.cuda.set_device(device)
        torch.cuda.set_stream(make(device))
