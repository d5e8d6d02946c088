"""Checks of the arguments of a pipeline, and of its outputs against them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

from videoloader.dali.tensors import TensorList
from videoloader.dali.types import DataType
from videoloader.errors import ArgumentError, ArgumentTypeError, OperatorError
from videoloader.machinery.system.checks import whole_number
from videoloader.machinery.system.spelling import did_you_mean

START_METHODS = ("fork", "spawn", "forkserver")
_Member = TypeVar("_Member", bound=Enum)
_QUEUES = ("cpu_size", "gpu_size")
_MOST = {  # more is a mistake, or an attack; of other arguments, what queues can count
    "batch_size": 1 << 24,
    "prefetch_queue_depth": 1 << 16,
    "num_threads": 1 << 12,
}


class StreamPolicy(Enum):
    """CUDA streams of DALI's executor; no effect.

    >>> StreamPolicy.PER_BACKEND.name
    'PER_BACKEND'
    """

    UNSPECIFIED = 0
    SINGLE = 1
    PER_BACKEND = 2
    PER_OPERATOR = 3


class OperatorConcurrency(Enum):
    """Which operators DALI's executor runs at a time; no effect.

    >>> OperatorConcurrency.FULL.name
    'FULL'
    """

    UNSPECIFIED = 0
    NONE = 1
    BACKEND = 2
    FULL = 3


def member_or_none(name: str, value: Any, kind: type[_Member]) -> _Member | None:
    """An argument of a pipeline that is a member of an enumeration, or None; checked."""
    if value is None or isinstance(value, kind):
        return value
    members = ", ".join(map(str, kind))
    raise ArgumentTypeError(f"{name} of a pipeline is one of {members}, or None; got {value!r}")


def count_of(name: str, value: Any, *, least: int = 1) -> int:
    """An argument of a pipeline that counts something, checked."""
    return whole_number(f"{name} of a pipeline", value, least=least, most=_MOST.get(name, 1 << 62))


def seed_or_none(value: Any) -> int | None:
    """A seed; None where one is to be drawn."""
    if value is None:
        return None
    seed = whole_number("seed of a pipeline", value, least=None)
    return None if seed < 0 else seed


def device_number(value: Any) -> int | None:
    """The number of a GPU; None for the current one."""
    return None if value is None or value == -1 else count_of("device_id", value, least=0)


def check_names(function: str, given: Collection[str], known: Collection[str]) -> None:
    """Fail for an argument that is not known, and suggest one that is."""
    for name in given:
        if name not in known:
            hint = did_you_mean(known, name)
            text = f"{function} has no argument {name!r}"
            raise ArgumentTypeError(f"{text}; {hint}" if hint else text)


def queue_depth(given: int | Mapping[str, int], *, exec_async: bool) -> int:
    """The depth of queues; the larger, if there are two."""
    if not isinstance(given, Mapping):
        return count_of("prefetch_queue_depth", given)
    if not exec_async:
        raise ArgumentError("two depths of queues need exec_async=True")
    depths = [count_of("prefetch_queue_depth", depth) for depth in given.values()]
    if not depths or not given.keys() <= {*_QUEUES}:
        raise ArgumentError(
            f"prefetch_queue_depth of a pipeline is an int, or a dict of {' and '.join(_QUEUES)}, "
            f"got {given!r}"
        )
    return max(depths)


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
        self.are_any = any(value is not None for value in self._checked.values())
        """Whether anything is said of outputs, so that `check` is worth its time."""

    def dtypes(self, count: int) -> list[DataType | None]:
        """The declared value for each of `count` outputs."""
        return self._listed("output_dtype", count)

    def ndims(self, count: int) -> list[int | None]:
        """The declared value for each of `count` outputs."""
        return self._listed("output_ndim", count)

    def check_count(self, count: int) -> None:
        """Fail if a list has another length."""
        for name in self._checked:
            self._listed(name, count)

    def check(self, outputs: Sequence[TensorList]) -> None:
        """Fail if a batch is not as it was said; `OperatorError` names the output."""
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
        raise TypeError("it is an element type of videoloader.dali.types")
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
