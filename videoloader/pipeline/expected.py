"""What a pipeline says of its outputs beforehand: element types, dimensions, layouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from videoloader.errors import ArgumentError, ArgumentTypeError, OperatorError
from videoloader.tensors import TensorList
from videoloader.types import DataType

__all__ = ["ExpectedOutputs"]


_READ: Mapping[str, Callable[[TensorList], Any]] = {
    "output_dtype": lambda batch: batch.dtype,
    "output_ndim": lambda batch: batch[0].ndim,
    "output_layout": lambda batch: batch.layout(),
}


class ExpectedOutputs:
    """Compares batches with `output_dtype`, `output_ndim` and `output_layout` of a pipeline.

    Args:
        dtype: an element type for all outputs, or a list with one for each; None takes any.
        ndim: numbers of dimensions of a sample, likewise.
        layout: layouts, likewise.
    """

    def __init__(self, dtype: Any = None, ndim: Any = None, layout: Any = None) -> None:
        self._checked = {
            "output_dtype": _checked("output_dtype", dtype, _element_type),
            "output_ndim": _checked("output_ndim", ndim, _dimensions),
            "output_layout": _checked("output_layout", layout, _text),
        }
        self._is_trivial = all(value is None for value in self._checked.values())

    def dtypes(self, count: int) -> list[DataType | None]:
        """For each of `count` outputs."""
        return self._listed("output_dtype", count)

    def ndims(self, count: int) -> list[int | None]:
        """For each of `count` outputs."""
        return self._listed("output_ndim", count)

    def check_count(self, count: int) -> None:
        """Fail if a list has another length."""
        for name in self._checked:
            self._listed(name, count)

    def check(self, outputs: Sequence[TensorList]) -> None:
        """Fail if a batch is not as it was said; `OperatorError` names the output."""
        if self._is_trivial:
            return
        for name in self._checked:
            for at, (wanted, batch) in enumerate(
                zip(self._listed(name, len(outputs)), outputs, strict=True)
            ):
                if wanted in (None, "") or not len(batch):
                    continue
                got = _READ[name](batch)
                if got != wanted:
                    raise OperatorError(
                        f"output {at} of the pipeline: {name} is {wanted!r}, the batch has {got!r}"
                    )

    def _listed(self, name: str, count: int) -> list[Any]:
        value = self._checked[name]
        if not isinstance(value, list):
            return [value] * count
        if len(value) != count:
            raise ArgumentError(f"{name} has {len(value)} values for {count} outputs: {value!r}")
        return value


def _checked(name: str, value: Any, convert: Any) -> Any:
    try:
        if isinstance(value, list | tuple):
            return [None if each is None else convert(each) for each in value]
        return None if value is None else convert(value)
    except TypeError as error:
        raise ArgumentTypeError(f"{name} of a pipeline: {error}, got {value!r}") from error
    except ValueError as error:
        raise ArgumentError(f"{name} of a pipeline: {error}, got {value!r}") from error


def _element_type(value: Any) -> DataType:
    if isinstance(value, str | int) and not isinstance(value, DataType):
        raise TypeError("it is an element type of videoloader.types")
    dtype = DataType.of(value)
    if dtype is DataType.NO_TYPE:
        raise ValueError("NO_TYPE is no element type")
    return dtype


def _dimensions(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("it is an int")
    if value < 0:
        raise ValueError("it is not negative")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("it is a str")
    return value
