"""Arguments of operators: allowed values, checks, and values for each sample."""

from __future__ import annotations

import ctypes
import math
import operator as builtin
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch

from videoloader.dali.tensors import TensorList
from videoloader.dali.types import ImageType, InterpType, to_torch
from videoloader.errors import ArgumentError


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()
"""Default of an argument that must be given."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of an argument: `name` stands in messages, `convert` checks and converts a value.

    `convert` raises TypeError, ValueError or OverflowError for anything else. `rank` is 0 for one
    value, 1 for a list; a per-sample argument has one level more.
    """

    name: str
    convert: Callable[[Any], Any]
    rank: int = 0


@dataclass(frozen=True, slots=True)
class PerFrame:
    """One converted value for each frame of a clip: the value of a sample in a `PerSample`."""

    values: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class PerSample:
    """One converted value, or `PerFrame`, for each sample of a batch."""

    values: tuple[Any, ...]
    has_frames: bool = field(init=False, repr=False, compare=False)
    """Whether any sample has a value for each frame."""

    def __post_init__(self) -> None:
        has_frames = any(isinstance(value, PerFrame) for value in self.values)
        object.__setattr__(self, "has_frames", has_frames)

    def is_all(self, value: Any) -> bool:
        """Whether every sample has this value, and that for all frames."""
        return self.values.count(value) == len(self.values)

    def __getitem__(self, position: int) -> Any:
        return self.values[position]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    @staticmethod
    def at(position: int, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of one sample: its own value for each that is a `PerSample`."""
        return {
            name: value[position] if isinstance(value, PerSample) else value
            for name, value in arguments.items()
        }

    def frames(self, position: int, count: int) -> tuple[Any, ...]:
        """The values of the `count` frames of a sample."""
        value = self.values[position]
        return value.values if isinstance(value, PerFrame) else (value,) * count


def each_value(*arguments: PerSample, make: Callable[..., Any]) -> list[list[Any]]:
    """Call `make` on the arguments of each sample, or of each of its frames if they differ.

    >>> scale, shift = PerSample((2, PerFrame((3, 4)))), PerSample((1, 1))
    >>> each_value(scale, shift, make=lambda scale, shift: 10 * scale + shift)
    [[21], [31, 41]]
    """
    size = len(arguments[0])
    if size and all(not each.has_frames and each.is_all(each[0]) for each in arguments):
        return [[make(*(each[0] for each in arguments))]] * size
    found = []
    for position, given in enumerate(zip(*arguments, strict=True)):
        count = max((len(value) for value in given if isinstance(value, PerFrame)), default=1)
        frames = (each.frames(position, count) for each in arguments)
        found.append([make(*own) for own in zip(*frames, strict=True)])
    return found


def column(values: Sequence[Any], ndim: int, device: str) -> Any:
    """Numbers for some samples in a form that broadcasts over a tensor (N, F, ...).

    Args:
        values: a number, or a `PerFrame` of numbers, for each sample.
        ndim: dimensions of the tensor, N included.
        device: where the tensor is.

    Returns:
        One number if all are equal, else a float32 tensor of `ndim` dimensions.
    """
    if not any(isinstance(value, PerFrame) for value in values):
        if len(set(values)) == 1:
            return values[0]
        table = torch.tensor(values, dtype=torch.float32)
    else:
        length = max(len(value) for value in values if isinstance(value, PerFrame))
        rows = [v.values if isinstance(v, PerFrame) else (v,) * length for v in values]
        table = torch.tensor(rows, dtype=torch.float32)
    return table.reshape(*table.shape, *[1] * (ndim - table.ndim)).to(device, non_blocking=True)


def _plain(value: Any) -> Any:
    """A tensor or an array as Python numbers; anything else as it is."""
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        return value.tolist()
    return value


def _scalar(value: Any) -> Any:
    value = _plain(value)
    while isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]  # a tensor of one element is a scalar, as in DALI
    return value


def _double(value: Any) -> float:
    value = _scalar(value)
    if isinstance(value, str | bytes) or math.isnan(value):
        raise TypeError
    return float(value)


def _float(value: Any) -> float:
    """The nearest float32: DALI stores arguments so, which decides how halves are rounded."""
    return ctypes.c_float(_double(value)).value


def _int(value: Any) -> int:
    value = _scalar(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return builtin.index(value)


def _bool(value: Any) -> bool:
    value = _scalar(value)
    if value not in (0, 1):
        raise ValueError
    return bool(value)


def _listed(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def convert_all(value: Any) -> Any:
        value = _plain(value)
        if isinstance(value, str | bytes) or _depth(value) > 1:
            raise TypeError
        return tuple(convert(item) for item in value) if _depth(value) else (convert(value),)

    return convert_all


def _range(value: Any) -> tuple[float, float]:
    values = FLOATS.convert(value)
    least, most = values * 2 if len(values) == 1 else values
    if not 0 < least <= most:
        raise ValueError
    return least, most


def _in_one_list(value: Any) -> Any:
    """A list of lists of one value, or of one list, as one list: n values of shape (n, 1)."""
    if isinstance(value, list | tuple) and all(isinstance(row, list | tuple) for row in value):
        if len(value) == 1:
            return value[0]
        if all(len(row) == 1 for row in value):
            return [row[0] for row in value]
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _dtypes(value: Any) -> tuple[torch.dtype, ...]:
    return tuple(map(to_torch, value if isinstance(value, list | tuple) else (value,)))


def _path(value: Any) -> str:
    return _text(os.fspath(value))


def _member(kind: type[Any]) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, kind) else kind(value)


INT = Kind("int", _int)
FLOAT = Kind("float", _float)  # float32
DOUBLE = Kind("float", _double)  # for seconds and frame rates, which DALI does not take
BOOL = Kind("bool (0 or 1)", _bool)
TEXT = Kind("str", _text)
PATH = Kind("path", _path)
INTS = Kind("int or list of int", _listed(_int), rank=1)
FLOATS = Kind("float or list of float", _listed(_float), rank=1)
DOUBLES = Kind(FLOATS.name, _listed(_double), rank=1)
RANGE = Kind("(least, most), above 0", _range, rank=1)
COLUMN = Kind(FLOATS.name, lambda value: FLOATS.convert(_in_one_list(_plain(value))), rank=1)
DTYPE = Kind("element type", to_torch)
DTYPES = Kind("element type or list of them", _dtypes)
INTERP = Kind("InterpType", _member(InterpType))
IMAGE = Kind("ImageType", _member(ImageType))
ANY = Kind("object", lambda value: value)


@dataclass(frozen=True, slots=True)
class Argument:
    """One keyword argument of an operator.

    Args:
        name: the keyword.
        kind: what it may be.
        default: its value when it is not given, converted already; `REQUIRED` if it must be.
        doc: what it means, for the documentation.
        per_sample: whether every sample may have its own value.
        per_frame: whether every frame of a clip may, too.
        least: smallest value allowed, for numbers.
        most: largest value allowed.
        choices: the only values allowed.
        writes: whether files are written if it is given; a serialized pipeline with such an
            argument is loaded only if the user trusts its source.
    """

    name: str
    kind: Kind
    default: Any = None
    doc: str = ""
    per_sample: bool = False
    per_frame: bool = False
    least: float | None = None
    most: float | None = None
    choices: tuple[Any, ...] = ()
    writes: bool = False

    def bind(self, value: Any, operator: str) -> Any:
        """The converted value, or a `PerSample` of converted values.

        Args:
            value: a value, or where `per_sample` allows it a `TensorList`, tensor or list with
                one value for each sample, which `per_frame` lets be a list of one for each frame.
            operator: name for the error.
        """
        if value is None and self.default is None:
            return None
        if self._is_per_sample(value):
            return PerSample(tuple(self.convert_sample(item, operator) for item in value))
        return self.convert(value, operator)

    def convert_sample(self, value: Any, operator: str) -> Any:
        """The value of one sample: a converted value, or a `PerFrame` where that is allowed."""
        return self._by_frames(value, operator, deeper_than=self.kind.rank)

    def convert_frames(self, value: Any, operator: str) -> Any:
        """The values of the frames of one sample, or one value for all of them."""
        return self._by_frames(value, operator, deeper_than=0)

    def _by_frames(self, value: Any, operator: str, *, deeper_than: int) -> Any:
        """The value of one sample; one that nests deeper than that has a value for each frame."""
        if not self.per_frame or _depth(value) <= deeper_than:
            return self.convert(value, operator)
        if len(value) == 1:  # a clip of one frame
            return self.convert(value[0], operator)
        return PerFrame(tuple(self.convert(item, operator) for item in value))

    def convert(self, value: Any, operator: str) -> Any:
        """One value in the form that operators take; `ArgumentError` if it is not allowed."""
        try:
            converted = self.kind.convert(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._wrong(value, operator) from error
        items = converted if isinstance(converted, tuple) else (converted,)
        if not all(map(self._is_allowed, items)):
            raise self._wrong(value, operator)
        return converted

    def describe(self) -> str:
        """Describe the allowed values, such as "float, at least 0"."""
        if self.choices:
            return "one of " + ", ".join(map(repr, self.choices))
        parts = [self.kind.name]
        if self.least is not None:
            parts.append(f"at least {self.least:g}")
        if self.most is not None:
            parts.append(f"at most {self.most:g}")
        return ", ".join(parts)

    def _is_allowed(self, item: Any) -> bool:
        return (
            (self.least is None or item >= self.least)
            and (self.most is None or item <= self.most)
            and (not self.choices or item in self.choices)
        )

    def _is_per_sample(self, value: Any) -> bool:
        if not self.per_sample:
            return False
        if isinstance(value, TensorList):
            return True
        # A list of one number is that number: `crop_h=[224]` has always been allowed.
        return _depth(value) > self.kind.rank and len(value) > (self.kind.rank == 0)

    def _wrong(self, value: Any, operator: str) -> ArgumentError:
        hint = "" if self.per_sample or _depth(value) <= self.kind.rank else "; one for all samples"
        return ArgumentError(
            f"fn.{operator}: {self.name} must be {self.describe()}, got {value!r}{hint}"
        )


def _depth(value: Any) -> int:
    if isinstance(value, torch.Tensor | np.ndarray):
        return value.ndim
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return 1 + max(map(_depth, value), default=0)
    return 0
