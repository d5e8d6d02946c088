"""Where a slice of an image lies, by all the ways in which DALI lets it be given."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch

from videoloader.errors import ArgumentError

__all__ = ["check_slice", "slice_window"]

_NAMES = ("start", "rel_start", "end", "rel_end", "shape", "rel_shape")


def check_slice(given: Collection[str], arguments: Mapping[str, Any]) -> None:  # noqa: ARG001
    """A window has one beginning and one end, along axes that are named in one way."""
    for several in (
        ("start", "rel_start"),
        ("end", "rel_end", "shape", "rel_shape"),
        ("axes", "axis_names"),
    ):
        both = [name for name in several if name in given]
        if len(both) > 1:
            raise ArgumentError(f"{' and '.join(both)} say the same; give one of them")


def slice_window(
    size: tuple[int, int], inputs: Sequence[torch.Tensor], arguments: Mapping[str, Any]
) -> tuple[slice, slice]:
    """Rows and columns of a window.

    Args:
        size: (height, width) of the image.
        inputs: nothing, or where it begins and how large it is.
        arguments: those of the operator, for one sample.

    Raises:
        ArgumentError: it does not lie in the image, or is given in ways that do not go together.
    """
    axes = _axes(arguments)
    named = [name for name in _NAMES if arguments[name] is not None]
    if inputs and named:
        raise ArgumentError(f"give inputs for the window or {', '.join(named)}, not both")
    if inputs and len(inputs) != 2:
        raise ArgumentError("anchor and shape come together")
    starts, stops = (
        _given(size, axes, arguments) if not inputs else _by_inputs(size, axes, inputs, arguments)
    )
    window = [slice(0, side) for side in size]
    for axis, start, stop in zip(axes, starts, stops, strict=True):
        first, last = _rounded(start), _rounded(stop)
        if not 0 <= first <= last <= size[axis]:
            raise ArgumentError(
                f"a window from {first} to {last} along {'HW'[axis]} does not lie in an image of "
                f"{size[0]} x {size[1]} (height x width)"
            )
        window[axis] = slice(first, last)
    return window[0], window[1]


def _axes(arguments: Mapping[str, Any]) -> list[int]:
    names = arguments["axis_names"]
    axes = arguments["axes"]
    if axes == (1, 0) and names is not None:
        if not set(names) <= set("HW"):
            raise ArgumentError(f"axis_names are H and W, got {names!r}")
        return ["HW".index(name) for name in names]
    axes = [axis + 3 if axis < 0 else axis for axis in axes]
    if not set(axes) <= {0, 1} or len(set(axes)) != len(axes):
        raise ArgumentError(f"axes are 0 and 1 (height and width), each once, got {axes}")
    return axes


def _by_inputs(
    size: tuple[int, int],
    axes: Sequence[int],
    inputs: Sequence[torch.Tensor],
    arguments: Mapping[str, Any],
) -> tuple[list[float], list[float]]:
    sides = []
    for name, values in zip(("anchor", "shape"), inputs, strict=True):
        is_relative = values.dtype.is_floating_point and arguments[f"normalized_{name}"]
        numbers = [float(value) for value in values.flatten().tolist()]
        _check_length(name, numbers, axes)
        sides.append(
            [n * size[a] if is_relative else n for n, a in zip(numbers, axes, strict=True)]
        )
    starts, lengths = sides
    return starts, [start + length for start, length in zip(starts, lengths, strict=True)]


def _given(
    size: tuple[int, int], axes: Sequence[int], arguments: Mapping[str, Any]
) -> tuple[list[float], list[float]]:
    def numbers(name: str) -> list[float] | None:
        absolute, relative = arguments[name], arguments[f"rel_{name}"]
        if absolute is None and relative is None:
            return None
        if absolute is not None:
            _check_length(name, absolute, axes)
            return [float(value) for value in absolute]
        _check_length(f"rel_{name}", relative, axes)
        return [value * size[axis] for value, axis in zip(relative, axes, strict=True)]

    starts = numbers("start") or [0.0] * len(axes)
    stops = numbers("end")
    if stops is None:
        lengths = numbers("shape")
        if lengths is None:
            return starts, [float(size[axis]) for axis in axes]
        stops = [start + length for start, length in zip(starts, lengths, strict=True)]
    return starts, stops


def _check_length(name: str, values: Sequence[float], axes: Sequence[int]) -> None:
    if len(values) != len(axes):
        raise ArgumentError(f"{name} has {len(values)} values for {len(axes)} axes")


def _rounded(value: float) -> int:
    return math.floor(value + 0.5) if value >= 0 else math.ceil(value - 0.5)
