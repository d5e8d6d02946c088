"""Dimensions of samples: which ones an argument means, and what becomes of their layout."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch

from videoloader.errors import ArgumentError, ArgumentIndexError
from videoloader.operators.arguments import INTS, TEXT, Argument
from videoloader.tensors.batch import Batch, Shape

__all__ = [
    "AXES",
    "AXIS_NAMES",
    "axis_number",
    "axis_numbers",
    "by_block",
    "check_axes",
    "check_layout",
    "storable",
    "without",
]

AXES = Argument("axes", INTS, None, "numbers of dimensions; negative ones count from the last")
AXIS_NAMES = Argument("axis_names", TEXT, None, "the dimensions by their letters in the layout")

_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def check_axes(name: str) -> Callable[[Collection[str], Mapping[str, Any]], None]:
    """A check that `axes` and `axis_names` are not both given to an operator."""

    def check(given: Collection[str], arguments: Mapping[str, Any]) -> None:  # noqa: ARG001
        if "axes" in given and "axis_names" in given:
            raise ArgumentError(f"fn.{name} takes axes or axis_names, not both")

    return check


def check_layout(layout: str, shapes: Sequence[Shape]) -> None:
    """Fail if a layout has another number of letters than samples have dimensions."""
    for shape in shapes[:1]:
        if layout and len(layout) != len(shape):
            raise ArgumentError(f"layout {layout!r} does not fit a sample of shape {shape}")


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
    """What is not of these dimensions: of a shape or a layout."""
    return tuple(item for axis, item in enumerate(sequence) if axis not in axes)


def by_block(batch: Batch, function: Callable[[torch.Tensor, int], torch.Tensor]) -> Batch:
    """Apply a function to the whole block, or to each sample.

    Args:
        batch: of tensors.
        function: of a tensor and the number of dimensions in front of those of a sample.
    """
    front = 0 if batch.block is None else 1
    return batch.each(lambda value: function(value, front))


def storable(value: torch.Tensor) -> torch.Tensor:
    """The same bits as a signed type: torch moves those of unsigned types on no device it lacks.

    Torch has few operations for integers of 16 bits and more without a sign. What only moves
    elements works on the signed type of the same size; view the result as `value.dtype`.
    """
    return value.view(_SIGNED[value.dtype]) if value.dtype in _SIGNED else value
