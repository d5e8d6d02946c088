"""Feeds the samples of a batch of a DataLoader into a pipeline."""

from __future__ import annotations

import atexit
import itertools
import queue
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from videoloader.dali.pipeline import Pipeline
from videoloader.dali.plugin.references import Call
from videoloader.dali.tensors import TensorList, to_tensor
from videoloader.errors import ArgumentError, ArgumentTypeError, OperatorError, VideoError
from videoloader.machinery.cuda.streams import stage_stream
from videoloader.machinery.system.address import scrubbed

_PATH_BYTES = 512  # arrays up to this size are shown as text, if they are text


class Job:
    """Calls of one proxy, cut into batches of the pipeline where they are too many for one.

    Attributes:
        calls: one for each sample.
        fed: set once the pipeline has all inputs that it takes.
        num_fed: batches of the pipeline that were begun.
        outputs: of those of them that were taken; empty for one that failed.
        error: the first that happened.
    """

    def __init__(self, calls: Sequence[Call], batch_size: int) -> None:
        self.calls = calls
        self.fed = threading.Event()
        self.num_fed = 0
        self.outputs: list[tuple[TensorList, ...]] = []
        self.error: Exception | None = None
        self._batch_size = batch_size

    def batches(self) -> Iterator[Sequence[Call]]:
        """The calls by batch of the pipeline."""
        for start in range(0, len(self.calls), self._batch_size):
            yield self.calls[start : start + self._batch_size]

    def fail(self, number: int, error: Exception) -> None:
        """Note why one of the batches is lost; the first error is kept."""
        self.error = self.error or _named(error, self.calls, number * self._batch_size)

    def sample(self, output: int, row: int) -> torch.Tensor:
        """One output for one of the calls."""
        batch, place = divmod(row, self._batch_size)
        return self.outputs[batch][output].tensors[place]

    def samples(self, output: int, rows: Sequence[int]) -> torch.Tensor | list[torch.Tensor]:
        """One output for some of the calls: a tensor (N, ...), or a list where shapes differ."""
        if len(self.outputs) == 1 and list(rows) == [*range(len(self.calls))]:
            whole = self.outputs[0][output]
            return to_tensor(whole.as_tensor()) if whole.is_dense_tensor() else whole.tensors
        samples = [self.sample(output, row) for row in rows]
        return torch.stack(samples) if len({each.shape for each in samples}) == 1 else samples


class Feeder(threading.Thread):
    """Feeds jobs into a pipeline, in order, until it gets None.

    Args:
        pipeline: whose batches are all begun here.
        begun: gets the number of each batch of the pipeline, and the job that it is of.

    Attributes:
        jobs: queue of jobs to feed; any thread may put some in.
    """

    def __init__(self, pipeline: Pipeline, begun: deque[tuple[int, Job]]) -> None:
        super().__init__(name="videoloader-proxy", daemon=True)
        self.jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._pipeline = pipeline
        self._begun = begun
        devices = pipeline.fed_inputs().values()
        self._device = next((device for device in devices if device != "cpu"), "cpu")
        self._next = begun[-1][0] + 1 if begun else pipeline.next_batch
        _feeders.add(self)

    def run(self) -> None:
        """The loop of the thread."""
        try:
            with stage_stream(self._device):  # copies to a GPU wait for no training step
                while (job := self.jobs.get()) is not None:
                    self._feed(job)
                    del job  # so that only the consumer refers to it
        except Exception as error:  # noqa: BLE001  (such as a missing GPU; it is raised in the consumers)
            while (job := self.jobs.get()) is not None:
                job.fail(0, error)
                job.fed.set()

    def _feed(self, job: Job) -> None:
        try:
            for calls in job.batches():
                names = calls[0].inputs
                self._pipeline.feed_inputs(
                    {name: [call.value(name) for call in calls] for name in names}
                )
                job.num_fed += 1
                self._begun.append((self._next, job))
                self._next += 1
        except Exception as error:  # noqa: BLE001  (it is raised in the consumer)
            job.fail(job.num_fed, error)
        finally:
            job.fed.set()


_feeders: weakref.WeakSet[Feeder] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """End threads that were not stopped: one in native code must not outlive the interpreter."""
    for feeder in list(_feeders):
        if feeder.is_alive():
            feeder.jobs.put(None)
            feeder.join()


def _named(error: Exception, calls: Sequence[Call], first: int) -> Exception:
    """The error of a batch, with the sample of the loader's batch and the worker it came from."""
    if not isinstance(error, VideoError):
        return error
    place = getattr(error, "sample", None)
    if place is None:
        workers = sorted({_worker(call) for call in calls})
        told = f"a batch of {len(calls)} samples from {', '.join(workers)}"
    else:
        call = calls[first + place]
        inputs = ", ".join(f"{name}={_told(call.value(name))}" for name in call.inputs)
        told = f"sample {first + place} of a batch, from {_worker(call)}, {inputs}"
    kinds = (OperatorError, ArgumentTypeError, ArgumentError)
    kind = next((kind for kind in kinds if isinstance(error, kind)), OperatorError)
    named = kind(f"proxy: {told}: {error}")
    named.__cause__ = error
    return named


def _worker(call: Call) -> str:
    return "the main process" if call.worker is None else f"worker {call.worker}"


def _told(value: Any) -> str:
    """An input in a message; paths as text, URLs without their secrets."""
    if isinstance(value, np.ndarray):
        if value.ndim == 1 and value.dtype.itemsize == 1 and value.nbytes <= _PATH_BYTES:
            text = value.tobytes().decode(errors="replace")
            if text.isprintable() and "\ufffd" not in text:
                return repr(scrubbed(text, ""))
        return f"{value.dtype} {value.shape}"
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes"
    return scrubbed("".join(itertools.islice(repr(value), 200)), "")
