"""Operators that give the same elements another shape, type or layout. No data is copied."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from videoloader.dali.operators.arguments import DTYPE, FLOATS, INTS, TEXT, Argument, PerSample
from videoloader.dali.operators.axes import AXIS_NAMES, axis_numbers, check_layout, without
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import Check, declare
from videoloader.dali.tensors.batch import Batch, Shape, Spec
from videoloader.errors import ArgumentError, ArgumentIndexError

_TARGET = (
    Argument("shape", INTS, None, "of the output; -1: what fits", per_sample=True),
    Argument(
        "rel_shape",
        FLOATS,
        None,
        "of the output, in sizes of the input; -1: what fits",
        per_sample=True,
    ),
    Argument("src_dims", INTS, None, "dimensions to keep; -1: a new one", per_sample=True),
)
_SHAPES = (("shape", "rel_shape"),)
_LAYOUT = Argument("layout", TEXT, None, "of the output; the input's if the dimensions are as many")


def _check(operator: str) -> Check:
    def check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
        if not given:
            raise ArgumentError(f"fn.{operator} changes nothing: give a shape or a layout")

    return check


def _target(
    shape: Shape,
    wanted: Sequence[int] | None,
    factors: Sequence[float] | None,
    sources: Sequence[int] | None,
    volume: int,
) -> Shape:
    """The shape of a sample.

    Args:
        shape: of the input.
        wanted: shape that is asked for.
        factors: of the sides of the input, in place of it.
        sources: which side of the input each is; -1 for none, of size 1.
        volume: elements of the output.
    """
    if wanted is None:
        sides = list(shape) if sources is None else [_side(shape, source) for source in sources]
        wanted = sides if factors is None else _scaled(shape, sides, factors, sources is not None)
    free = [axis for axis, side in enumerate(wanted) if side < 0]
    if len(free) > 1:
        raise ArgumentError(f"only one extent can be negative, got {tuple(wanted)}")
    sides = list(wanted)
    if free:
        others = math.prod(side for side in sides if side >= 0)
        if others == 0 or volume == 0:
            raise ArgumentError(
                f"the extent of dimension {free[0]} is open: a sample of shape {shape} is empty"
            )
        sides[free[0]] = volume // others
    if math.prod(sides) != volume:
        raise ArgumentError(
            f"a sample of shape {shape} does not fit shape {tuple(wanted)}: "
            f"{volume} elements are not {math.prod(sides)}"
        )
    return tuple(sides)


def _side(shape: Shape, source: int) -> int:
    if not -1 <= source < len(shape):
        raise ArgumentIndexError(
            f"src_dims has {source}; a sample of shape {shape} has dimensions 0 to {len(shape) - 1}"
        )
    return 1 if source == -1 else shape[source]


def _scaled(
    shape: Shape, sides: Sequence[int], factors: Sequence[float], has_sources: bool
) -> list[int]:
    if has_sources and len(factors) != len(sides):
        raise ArgumentError(
            f"src_dims and rel_shape have different lengths: {len(sides)} and {len(factors)}"
        )
    ends_open = len(factors) == len(sides) + 1 and factors[-1] < 0
    if len(factors) > len(sides) and not ends_open:
        raise ArgumentError(
            f"rel_shape has {len(factors)} elements for a sample of shape {shape}; src_dims adds "
            "dimensions"
        )
    scaled = [
        -1 if factor < 0 else int(side * factor + 0.5)
        for side, factor in zip(sides, factors, strict=False)
    ]
    return [*scaled, -1] if ends_open else scaled


def _infer(
    context: Context,
    values: Spec,
    *,
    shape: PerSample,
    rel_shape: PerSample,
    src_dims: PerSample,
    layout: str | None,
    dtype: torch.dtype | None = None,
) -> Spec:
    kind = dtype or values.dtype
    targets = []
    for own, wanted, factors, sources in zip(
        values.shapes, shape, rel_shape, src_dims, strict=True
    ):
        size = math.prod(own) * values.dtype.itemsize
        if size % kind.itemsize:
            raise ArgumentError(f"{size} bytes are no whole number of elements of {kind}")
        if wanted is factors is None and own and kind.itemsize != values.dtype.itemsize:
            kept = own if sources is None else [_side(own, source) for source in sources]
            wanted = (*kept[:-1], kept[-1] * values.dtype.itemsize // kind.itemsize)
        targets.append(_target(own, wanted, factors, sources, size // kind.itemsize))
    if layout is None:
        is_kept = all(len(target) == len(values.layout) for target in targets)
        layout = values.layout if is_kept else ""
    check_layout(layout, targets)
    return Spec(tuple(targets), kind, layout, values.device)


def _viewed(context: Context, values: Batch) -> Batch:
    """The bytes of the input under the shapes and the type of the output."""
    spec = context.outputs[0]
    if values.block is not None and not spec.is_ragged and len(spec):
        block = values.block.contiguous().reshape(len(spec), -1).view(spec.dtype)
        return Batch(block.reshape(len(spec), *spec.shapes[0]))
    return Batch(
        [
            sample.contiguous().reshape(-1).view(spec.dtype).reshape(shape)
            for sample, shape in zip(values, spec.shapes, strict=True)
        ]
    )


@declare(
    "reshape",
    inputs=("data",),
    positional=("shape",),
    arguments=(*_TARGET, _LAYOUT),
    infer=_infer,
    exclusive=_SHAPES,
    check=_check("reshape"),
)
def reshape(context: Context, values: Batch, **arguments: Any) -> Batch:
    """Give samples another shape, another layout, or both.

    The shape is given itself, or in sizes of the input's (`rel_shape`), or by the dimensions of
    the input to keep (`src_dims`). One extent may be -1: it takes what the others leave.
    """
    return _viewed(context, values)


@declare(
    "reinterpret",
    inputs=("data",),
    positional=("shape",),
    arguments=(*_TARGET, _LAYOUT, Argument("dtype", DTYPE, None, "element type of the output")),
    infer=_infer,
    exclusive=_SHAPES,
    check=_check("reinterpret"),
)
def reinterpret(context: Context, values: Batch, **arguments: Any) -> Batch:
    """Take the bytes of samples for elements of another type.

    Without a shape the last dimension grows or shrinks. Shapes are given as for `reshape`.
    """
    return _viewed(context, values)


def _infer_squeeze(
    context: Context, values: Spec, *, axes: PerSample, axis_names: str | None
) -> Spec:
    shapes, layouts = [], {values.layout}
    for own, numbers in zip(values.shapes, axes, strict=True):
        taken = axis_numbers(len(own), values.layout, numbers, axis_names) or ()
        shapes.append(without(own, taken))
        if math.prod(shapes[-1]) != math.prod(own):
            raise ArgumentError(f"dimensions {taken} of shape {own} are not all of size 1")
        layouts = {"".join(without(values.layout, taken))}
    return replace(values, shapes=tuple(shapes), layout=layouts.pop())


def _check_squeeze(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    if not given:
        raise ArgumentError("fn.squeeze needs axes or axis_names")


@declare(
    "squeeze",
    inputs=("data",),
    arguments=(
        Argument("axes", INTS, None, "dimensions to drop, from 0 on", per_sample=True),
        AXIS_NAMES,
    ),
    infer=_infer_squeeze,
    exclusive=(("axes", "axis_names"),),
    check=_check_squeeze,
)
def squeeze(context: Context, values: Batch, **arguments: Any) -> Batch:
    """Drop dimensions of size 1."""
    return _viewed(context, values)
