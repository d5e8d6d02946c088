"""Conversions between `Tensor` and `Batch` of dynamic mode and the values that operators take."""

from __future__ import annotations

from typing import Any

import numpy as np

from videoloader.dali.fn.eager import run_eagerly
from videoloader.dali.operators.general.subscript import DIM_CHECK, SUBSCRIPT
from videoloader.dali.operators.operator import Operator
from videoloader.dali.tensors import Tensor, TensorList, to_tensor
from videoloader.dali.tensors.importing import is_array
from videoloader.errors import ArgumentError, ArgumentTypeError


def subscript(plain: TensorList, ranges: Any) -> TensorList:
    """Index each sample; the same batch if the index says nothing."""
    ranges = ranges if isinstance(ranges, tuple) else (ranges,)
    for number, each in enumerate(ranges):
        if each is ...:
            missing = int(plain.ndim) - len(ranges) + 1
            rest = ranges[number + 1 :]
            if any(other is ... for other in rest):
                raise ArgumentError("an index has one ... only")
            ranges = (*ranges[:number], *([slice(None)] * missing), *rest)
            break
    given: dict[str, Any] = {}
    for axis, each in enumerate(ranges):
        if isinstance(each, slice):
            bounds = {"lo": each.start, "hi": each.stop, "step": each.step}
        else:
            bounds = {"at": each}
            if each is None or isinstance(each, bool):
                raise ArgumentTypeError(f"an index is a number or a slice, got {each!r}")
        for name, bound in bounds.items():
            if bound is not None:
                given[f"{name}_{axis}"] = _bound(bound)
    operator = SUBSCRIPT if given else DIM_CHECK
    if not ranges:
        return plain
    made: TensorList = run(operator, plain, num_subscripts=len(ranges), **given)
    return made


def _bound(value: Any) -> Any:
    """One bound of a slice: a number, or a batch with one for each sample."""
    if isinstance(plain := getattr(value, "plain", None), TensorList):
        return plain
    if is_array(value):
        value = to_tensor(value).item()
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"an index is a number or a slice of numbers, got {value!r}")
    return value


def run(operator: Operator, plain: Any, **given: Any) -> Any:
    """Run an operator where its input is."""
    return run_eagerly(operator, (plain,), operator.bind(given), "cpu")


def copied(plain: Any) -> Any:
    """A tensor or batch in memory of its own."""
    if isinstance(plain, TensorList):
        return TensorList(plain.batch.each(lambda sample: sample.clone()))
    return Tensor(plain.tensor.clone(), plain.layout())


def array_of(data: Any, *, of_32_bits: bool = True) -> np.ndarray[Any, Any]:
    """Numbers of Python as an array; of 32 bits as in a graph, where no type is asked for."""
    try:
        array = np.array(data)
    except ValueError as error:  # rows of different lengths
        raise ArgumentError(f"a tensor is made of an array or of numbers: {error}") from error
    if array.dtype.kind not in "biuf" and not _are_large(array):
        raise ArgumentTypeError(f"a tensor is made of an array or of numbers, got {data!r}")
    if not of_32_bits and array.dtype != object:
        return array
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype.kind in "iuO" and array.dtype.itemsize == 8:
        low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
        kind = np.int32 if high < 1 << 31 else np.uint32
        if not np.iinfo(kind).min <= low <= high <= np.iinfo(kind).max:
            raise ArgumentError(
                f"{low if low < 0 else high} does not fit into 32 bits; give dtype=, or an array"
            )
        return array.astype(kind)
    return array


def _are_large(array: np.ndarray[Any, Any]) -> bool:
    """Whether these are integers of Python that do not fit into 64 bits."""
    return array.dtype == object and all(type(each) is int for each in array.flat)
