"""The work of a parallel source: call Python code, and write its outputs to shared memory.

This module does not import torch, which takes seconds to load in a fresh worker.
"""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.machinery.system.eager_calls import eager
from videoloader.machinery.workers.protocol import Worker, work
from videoloader.machinery.workers.sample_info import BatchInfo, SampleInfo

_ALIGNMENT = 64

Column: TypeAlias = "NDArray[Any] | list[NDArray[Any]]"
"""One output of a batch: an array (N, ...), or the array of each sample."""

Array: TypeAlias = tuple[int, tuple[int, ...], str]
"""Offset, shape and element type of an array in a slot."""

Layout: TypeAlias = "list[Array | list[Array]]"
"""For each output an array (N, ...), or a list of arrays if samples differ in shape."""


class SampleRange(NamedTuple):
    """Consecutive samples of a batch.

    Attributes:
        first: number of the first sample in its epoch.
        place: position of the first sample in its batch.
        length: number of samples.
        iteration: number of the batch in its epoch.
        epoch: number of the epoch.
    """

    first: int
    place: int
    length: int
    iteration: int
    epoch: int


class SampleJob(NamedTuple):
    """Calls a callable once per sample; its work is a `SampleRange`."""

    callback: Callable[[SampleInfo], Any]
    num_outputs: int | None

    def perform(self, work: SampleRange) -> list[Column]:
        """The outputs of some samples."""
        rows = [
            _values(
                self.callback(
                    SampleInfo(work.first + at, work.place + at, work.iteration, work.epoch)
                ),
                self.num_outputs,
            )
            for at in range(work.length)
        ]
        return [[as_array(value) for value in column] for column in zip(*rows, strict=True)]


class BatchJob(NamedTuple):
    """Calls a callable once per batch; its work is the `BatchInfo`."""

    callback: Callable[[Any], Any]
    num_outputs: int | None
    is_told_epoch: bool

    def perform(self, work: BatchInfo) -> list[Column]:
        """The outputs of a batch."""
        batch = self.callback(work if self.is_told_epoch else work.iteration)
        return [_column(part) for part in _values(batch, self.num_outputs)]


class IterableJob:
    """Advances an iterable once per batch; its work is the number of the pass through it.

    At its end the iterable has no more items in that pass. With `cycle="raise"` the next pass
    restarts it; with `cycle="quiet"` it restarts immediately.

    Args:
        begin: returns a new iterator.
        num_outputs: number of values in an item, which is a tuple; None: the item is the value.
        cycle: "no", "quiet" or "raise".
    """

    def __init__(
        self, begin: Callable[[], Iterator[Any]], num_outputs: int | None, cycle: str
    ) -> None:
        self._begin = begin
        self._num_outputs = num_outputs
        self._cycle = cycle
        self._iterator: Iterator[Any] | None = None
        self._ended_in = -1

    def perform(self, work: int) -> list[Column]:
        """The outputs of the next batch."""
        if self._ended_in == work:
            raise StopIteration
        try:
            batch = self.advance()
        except StopIteration:
            self._ended_in = work
            raise
        return [_column(part) for part in _values(batch, self._num_outputs)]

    def advance(self) -> Any:
        """The next item of the iterable."""
        if self._iterator is None:
            self._iterator = self._begin()
        try:
            return next(self._iterator)
        except StopIteration:
            if self._cycle == "no":
                raise
            self._iterator = self._begin()
            if self._cycle == "raise":
                raise
        return next(self._iterator)


Job: TypeAlias = SampleJob | BatchJob | IterableJob


class JobCommand(NamedTuple):
    """Do work for a source, and write the outputs to a slot; the result is their layout.

    If the slot (uint8, shared memory) is too small, the worker asks for one of the size that it
    needs.
    """

    source: int
    work: Any
    slot: NDArray[np.uint8]

    def perform(self, worker: Worker) -> Layout:
        """Call the user's code."""
        try:
            with eager():
                columns = worker.kept(_Jobs).jobs[self.source].perform(self.work)
                size, layout = _arrange(columns)
        except BaseException as error:
            if isinstance(error, Exception):
                raise
            # `KeyboardInterrupt` and `SystemExit` of the user's code end the work, not the worker.
            text = "".join(traceback.format_exception_only(error)).strip()
            raise RuntimeError(text) from error
        slot = self.slot if size <= len(self.slot) else worker.ask(size)
        _write(slot, columns, layout)
        return layout


class _Jobs:
    """The jobs of a worker, by number of the source."""

    jobs: Sequence[Job]


def work_for_sources(
    connection: Connection[Any, Any],
    parent: int,
    jobs: Any,
    loads: Callable[[Any], Sequence[Job]] | None,
) -> None:
    """Execute job orders, see `protocol.work`.

    Args:
        connection: delivers orders and takes answers.
        parent: process id of the parent.
        jobs: job of each source, by number; pickled unless this process is a fork.
        loads: unpickles `jobs`; None in a fork.
    """

    def prepare(worker: Worker) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends workers
        # A fork lacks the threads of libraries, which would wait for them.
        for module, function in (("torch", "set_num_threads"), ("cv2", "setNumThreads")):
            if module in sys.modules:
                getattr(sys.modules[module], function)(1)
        worker.kept(_Jobs).jobs = jobs if loads is None else loads(jobs)

    work(connection, parent, prepare)


def as_array(value: Any) -> NDArray[Any]:
    """Convert a sample to an array in host memory.

    Accepts numbers and lists of numbers too; floats become float32 as in the pipeline's process.

    Raises:
        TypeError: it is not an array, or is on a GPU.
    """
    if isinstance(value, np.ndarray):
        array = value
    elif isinstance(value, bytes | bytearray | memoryview):
        array = np.frombuffer(value, np.uint8)
    elif getattr(value, "is_cuda", False) or (
        hasattr(value, "__cuda_array_interface__") and not hasattr(value, "__array__")
    ):
        raise TypeError("a parallel source gives arrays on the CPU, got one on a GPU")
    elif isinstance(value, bool | int | float | list | tuple):
        array = np.asarray(value)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
    elif any(hasattr(value, name) for name in ("__array__", "__array_interface__")):
        array = np.asarray(value)
    elif hasattr(value, "__dlpack__"):
        array = np.from_dlpack(value)
    else:
        raise TypeError(
            "a parallel source gives arrays (of NumPy or PyTorch, or a Tensor), "
            f"got {type(value).__name__}"
        )
    if array.dtype.kind not in "biuf":
        raise TypeError(f"a parallel source gives arrays of numbers, got {array.dtype}")
    return array


def _column(part: Any) -> Column:
    """One output of a batch."""
    if hasattr(part, "is_dense_tensor"):  # a TensorList
        return part.as_array() if part.is_dense_tensor() else [as_array(each) for each in part]
    if isinstance(part, list | tuple):
        return [as_array(value) for value in part]
    array = as_array(part)
    if array.ndim == 0 or isinstance(part, bytes | bytearray | memoryview):
        raise TypeError(
            f"a batch is an array or a list of samples, got {type(part).__name__}; "
            "for one sample at a time use batch=False"
        )
    return array


def _values(item: Any, num_outputs: int | None) -> tuple[Any, ...]:
    """The outputs in one item of a source."""
    if num_outputs is None:
        return (item,)
    if not hasattr(item, "__getitem__") or len(item) < num_outputs:
        count = f" of {len(item)}" if hasattr(item, "__len__") else ""
        raise TypeError(
            f"with num_outputs={num_outputs} a source gives a tuple with as many values, "
            f"got {type(item).__name__}{count}"
        )
    return tuple(item[number] for number in range(num_outputs))


def views(slot: NDArray[Any], layout: Layout) -> list[Column]:
    """The arrays in a slot; they keep its memory alive."""
    return [
        [_view(slot, array) for array in part] if isinstance(part, list) else _view(slot, part)
        for part in layout
    ]


def _view(slot: NDArray[Any], array: Array) -> NDArray[Any]:
    offset, shape, dtype = array
    kind = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    return slot[offset : offset + size].view(kind).reshape(shape)


def _arrange(columns: Sequence[Column]) -> tuple[int, Layout]:
    """The total bytes and the layout of the arrays."""
    size = 0

    def place(array: NDArray[Any]) -> Array:
        nonlocal size
        offset, size = size, size + -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        return offset, array.shape, array.dtype.newbyteorder("=").str

    def place_all(arrays: list[NDArray[Any]]) -> Array | list[Array]:
        first = arrays[0] if arrays else None
        if first is None or any(
            array.shape != first.shape or array.dtype != first.dtype for array in arrays
        ):
            return [place(array) for array in arrays]
        nonlocal size
        offset, size = size, size + -(-first.nbytes * len(arrays) // _ALIGNMENT) * _ALIGNMENT
        return offset, (len(arrays), *first.shape), first.dtype.newbyteorder("=").str

    layout: Layout = [
        place_all(column) if isinstance(column, list) else place(column) for column in columns
    ]
    return size, layout


def _write(slot: NDArray[Any], columns: Sequence[Column], layout: Layout) -> None:
    for column, targets in zip(columns, views(slot, layout), strict=True):
        if isinstance(targets, list):
            for array, target in zip(column, targets, strict=True):
                target[...] = array
        elif isinstance(column, list):
            np.stack(column, out=targets, casting="equiv")
        else:
            np.copyto(targets, column)
