"""`fn.tensor_resize`: any dimensions of tensors resized, by sizes or by scales."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import torch

from videoloader.errors import ArgumentError
from videoloader.operators.arguments import FLOATS, TEXT, Argument, PerSample
from videoloader.operators.axes import AXES, AXIS_NAMES, axis_numbers, check_axes
from videoloader.operators.batch import Batch, Context, Spec
from videoloader.operators.geometry.resampling import Axis, resample
from videoloader.operators.geometry.sizes import FILTER_ARGUMENTS, FITTING, MODE, resize_axes
from videoloader.operators.inputs import Input
from videoloader.operators.operator import declare
from videoloader.types import InterpType

__all__ = ["tensor_resize"]


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    check_axes("tensor_resize")(given, arguments)
    if ("sizes" in given) == ("scales" in given):
        raise ArgumentError("fn.tensor_resize needs sizes or scales, and not both")
    if "scales" in given and arguments["mode"] in ("not_larger", "not_smaller"):
        raise ArgumentError(
            f"fn.tensor_resize: mode={arguments['mode']!r} has no meaning beside scales"
        )
    if ("roi_start" in given) != ("roi_end" in given):
        raise ArgumentError("fn.tensor_resize: roi_start and roi_end come together")


def _axes(values: Spec, position: int, given: Mapping[str, Any]) -> tuple[Axis, ...]:
    """How each dimension of a sample is resized."""
    shape = values.shapes[position]
    own = {k: v[position] if isinstance(v, PerSample) else v for k, v in given.items()}
    named, numbers = own.pop("axis_names"), own.pop("axes")
    chosen = axis_numbers(len(shape), values.layout, numbers, named)
    if chosen is None:
        chosen = tuple(range(len(shape)))
    sides = [shape[axis] for axis in chosen]
    size, scales = own.pop("sizes"), own.pop("scales")
    if scales is not None:
        if len(scales) not in (1, len(sides)):
            raise ArgumentError(f"scales must be one number or {len(sides)} numbers, got {scales}")
        scales = scales * (len(sides) if len(scales) == 1 else 1)
        size = tuple(scale * side for scale, side in zip(scales, sides, strict=True))
    resized = dict(zip(chosen, resize_axes(sides, size=size, **own), strict=True))
    return tuple(
        resized.get(axis, Axis(0.0, float(side), side, InterpType.INTERP_NN, antialias=False))
        for axis, side in enumerate(shape)
    )


def _infer(context: Context, values: Spec, *, dtype: torch.dtype | None, **given: Any) -> Spec:  # noqa: ARG001
    shapes = tuple(
        tuple(axis.outputs for axis in _axes(values, position, given))
        for position in range(len(values))
    )
    return replace(values, shapes=shapes, dtype=dtype or values.dtype)


@declare(
    "tensor_resize",
    inputs=(Input("values"),),
    arguments=(
        Argument(
            "sizes",
            FLOATS,
            None,
            "extents of the output, or one for all; 0: not given, negative: mirrored",
            per_sample=True,
        ),
        Argument(
            "scales",
            FLOATS,
            None,
            "extents of the output in parts of those of the whole input",
            per_sample=True,
        ),
        AXES,
        AXIS_NAMES,
        MODE,
        Argument("max_size", FLOATS, None, "bound of the output: one number, or one for each axis"),
        Argument(
            "alignment",
            FLOATS,
            (0.5,),
            "where the place of the input is that stays the same if an extent is rounded: 0 the "
            "beginning, 1 the end",
            per_sample=True,
        ),
        Argument(
            "size_rounding",
            TEXT,
            "round",
            "of extents",
            choices=("round", "truncate", "ceil"),
        ),
        *FITTING,
        *FILTER_ARGUMENTS,
    ),
    infer=_infer,
    check=_check,
    unused=("minibatch_size", "temp_buffer_hint"),
)
def tensor_resize(
    context: Context, values: Batch, *, dtype: torch.dtype | None, **given: Any
) -> Batch:
    """Resize all dimensions of tensors, or those of `axes`, as `fn.resize` does with pictures."""
    spec, out = values.spec, context.empty()
    for position, (value, place) in enumerate(zip(values, out, strict=True)):
        axes = _axes(spec, position, given)
        place.copy_(resample(value[..., None], axes, dtype or spec.dtype)[..., 0])
    return out
