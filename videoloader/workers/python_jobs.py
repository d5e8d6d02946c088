"""Jobs of worker processes for parallel sources: call Python code for samples or batches.

This module does not import torch, which takes seconds to load in a fresh worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.types.sample_info import BatchInfo, SampleInfo

__all__ = ["BatchJob", "Column", "IterableJob", "Job", "SampleJob", "SampleRange", "as_array"]

Column: TypeAlias = "NDArray[Any] | list[NDArray[Any]]"
"""One output of a batch: an array (N, ...), or the array of each sample."""


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


def as_array(value: Any) -> NDArray[Any]:
    """Convert a sample to an array in host memory.

    Accepts numbers and lists of numbers too; floats become float32 as in the pipeline's own
    process.

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
