"""Dimensions of samples: the ones that an argument names, and the resulting layout."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch

from videoloader.dali.operators.arguments import INTS, TEXT, Argument
from videoloader.dali.operators.operator import Check
from videoloader.dali.tensors.batch import Batch, Shape
from videoloader.errors import ArgumentError, ArgumentIndexError
from videoloader.sampling import pad_frames

AXES = Argument("axes", INTS, None, "numbers of dimensions; negative ones count from the last")
AXIS_NAMES = Argument("axis_names", TEXT, None, "the dimensions by their letters in the layout")

T = TypeVar("T")

_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def check_layout(layout: str, shapes: Sequence[Shape]) -> None:
    """Fail if a layout has another number of letters than samples have dimensions."""
    for shape in shapes[:1]:
        if layout and len(layout) != len(shape):
            raise ArgumentError(f"layout {layout!r} does not fit a sample of shape {shape}")


def check_letter(operator: str) -> Check:
    """A check that `axis_name` of an operator is one letter, if it is given."""

    def check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
        name = arguments["axis_name"]
        if name is not None and len(name) != 1:
            raise ArgumentError(f"fn.{operator}: axis_name must be one letter, got {name!r}")

    return check


def for_each(name: str, values: Sequence[T], count: int, what: str = "dimensions") -> tuple[T, ...]:
    """One value for each of `count` dimensions (or as `what` says); a single one holds for all."""
    if len(values) not in (1, count):
        raise ArgumentError(
            f"{name} must have 1 value or one for each of {count} {what}, got {tuple(values)}"
        )
    return tuple(values) * (count if len(values) == 1 else 1)


def axis_number(axis: int, ndim: int) -> int:
    """The number of a dimension, from the first on."""
    if not -ndim <= axis < ndim:
        raise ArgumentIndexError(
            f"axis {axis} is out of range for a sample of {ndim} dimensions ({-ndim} to {ndim - 1})"
        )
    return axis % ndim


def axis_numbers(
    ndim: int, layout: str, axes: Sequence[int] | None, names: str | None
) -> tuple[int, ...] | None:
    """The numbers of dimensions; None if neither numbers nor names are given."""
    if names is not None:
        for name in names:
            if name not in layout:
                raise ArgumentError(f"axis {name!r} is not in the layout {layout!r} of the input")
        axes = [layout.index(name) for name in names]
    if axes is None:
        return None
    numbers = tuple(axis_number(axis, ndim) for axis in axes)
    if len(set(numbers)) < len(numbers):
        raise ArgumentError(f"axes name a dimension twice: {tuple(axes)}")
    return numbers


def without(sequence: Sequence[Any], axes: Collection[int]) -> tuple[Any, ...]:
    """A shape or a layout without some dimensions."""
    return tuple(item for axis, item in enumerate(sequence) if axis not in axes)


def by_block(batch: Batch, function: Callable[[torch.Tensor, int], torch.Tensor]) -> Batch:
    """Apply a function to the whole block, or to each sample.

    Args:
        batch: of tensors.
        function: of a tensor and the number of dimensions in front of those of a sample.
    """
    front = 0 if batch.block is None else 1
    return batch.each(lambda value: function(value, front))


def padded(
    values: torch.Tensor, axis: int, before: int, after: int, mode: str, fill: float = 0.0
) -> torch.Tensor:
    """Values with a border before and after them along one axis.

    Args:
        values: of any type that torch can index.
        axis: the dimension.
        before: how many stand in front.
        after: how many stand behind.
        mode: "constant", or a mode of `pad_frames`.
        fill: the constant.
    """
    length = values.shape[axis]
    if mode == "constant":
        shape = list(values.shape)
        shape[axis] = before + length + after
        wide = values.new_full(shape, fill)
        wide.narrow(axis, before, length).copy_(values)
        return wide
    ends = []
    for outside in (np.arange(-before, 0), np.arange(length, length + after)):
        indices, _ = pad_frames(outside, length, mode)
        ends.append(values.index_select(axis, torch.from_numpy(indices).to(values.device)))
    return torch.cat([ends[0], values, ends[1]], axis)


def storable(value: torch.Tensor) -> torch.Tensor:
    """The same bits as a signed integer type, for operations that only move elements.

    Torch has few operations for unsigned integers of 16 bits and more. View the result as
    `value.dtype`.
    """
    return value.view(_SIGNED[value.dtype]) if value.dtype in _SIGNED else value
