"""`fn.tensor_resize`: any dimensions of tensors resized, by sizes or by scales."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from videoloader.dali.operators.arguments import FLOATS, TEXT, Argument, PerSample
from videoloader.dali.operators.axes import AXES, AXIS_NAMES, axis_numbers, for_each
from videoloader.dali.operators.context import Context, Planned, once_for_equal
from videoloader.dali.operators.geometry.resampling import Axis, resample
from videoloader.dali.operators.geometry.resize import Resampling
from videoloader.dali.operators.geometry.resize_on_gpu import Weights, resize_on_gpu
from videoloader.dali.operators.geometry.sizes import FILTER_ARGUMENTS, FITTING, MODE, resize_axes
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.dali.types import InterpType
from videoloader.errors import ArgumentError


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    if not {"sizes", "scales"} & set(given):
        raise ArgumentError("fn.tensor_resize needs sizes or scales")
    if "scales" in given and arguments["mode"] in ("not_larger", "not_smaller"):
        raise ArgumentError(
            f"fn.tensor_resize: mode={arguments['mode']!r} has no meaning beside scales"
        )
    if ("roi_start" in given) != ("roi_end" in given):
        raise ArgumentError("fn.tensor_resize: roi_start and roi_end come together")


def _axes(values: Spec, position: int, given: Mapping[str, Any]) -> tuple[Axis, ...]:
    """How each dimension of a sample is resized."""
    shape = values.shapes[position]
    own = PerSample.at(position, given)
    named, numbers = own.pop("axis_names"), own.pop("axes")
    chosen = axis_numbers(len(shape), values.layout, numbers, named)
    if chosen is None:
        chosen = tuple(range(len(shape)))
    sides = [shape[axis] for axis in chosen]
    size, scales = own.pop("sizes"), own.pop("scales")
    if scales is not None:
        scales = for_each("scales", scales, len(sides))
        size = tuple(scale * side for scale, side in zip(scales, sides, strict=True))
    resized = dict(zip(chosen, resize_axes(sides, size=size, **own), strict=True))
    return tuple(
        resized.get(axis, Axis(0.0, float(side), side, InterpType.INTERP_NN, antialias=False))
        for axis, side in enumerate(shape)
    )


class _Resizing(NamedTuple):
    """Plan of `tensor_resize`.

    Attributes:
        samples: how all dimensions of each are resampled; equal samples share one.
        pictures: the samples as pictures for the kernel; None if any is none.
        weights: of the axes of these.
    """

    samples: list[Resampling]
    pictures: list[_Picture] | None
    weights: Weights


def _infer(context: Context, values: Spec, *, dtype: torch.dtype | None, **given: Any) -> Planned:
    axes = [_axes(values, position, given) for position in range(len(values))]
    shapes = tuple(tuple(axis.outputs for axis in own) for own in axes)
    found = once_for_equal(_picture, values.shapes, axes)
    pictures = [picture for picture in found if picture is not None]
    plan = _Resizing(
        once_for_equal(Resampling, values.shapes, axes),
        pictures if len(pictures) == len(found) else None,
        Weights([own.axes for own in pictures], [own.source[1:3] for own in pictures]),
    )
    return Planned((replace(values, shapes=shapes, dtype=dtype or values.dtype),), plan)


def _on_gpu(context: Context, values: Batch, plan: _Resizing) -> Any:
    """One or two dimensions side by side are rows and columns of pictures."""
    if plan.pictures is None or not all(each.is_contiguous() for each in values):
        return NotImplemented
    out = context.empty()
    sources = [value.view(each.source) for value, each in zip(values, plan.pictures, strict=True)]
    targets = [place.view(each.target) for place, each in zip(out, plan.pictures, strict=True)]
    made = resize_on_gpu(context, Batch(sources, "FHWC"), plan.weights, Batch(targets, "FHWC"))
    return made if made is NotImplemented else made._replace(out=out)


class _Picture(NamedTuple):
    """A tensor as frames (F, H, W, C) before and after, and the axes of rows and columns."""

    source: tuple[int, ...]
    target: tuple[int, ...]
    axes: tuple[Axis, ...]


def _picture(shape: Sequence[int], axes: Sequence[Axis]) -> _Picture | None:
    """How a tensor is seen; None if dimensions change that are not side by side."""
    changed = [
        at
        for at, (side, axis) in enumerate(zip(shape, axes, strict=True))
        if (axis.start, axis.end, axis.size) != (0, side, side)
    ]
    if not changed or len(changed) > 2 or changed[-1] - changed[0] != len(changed) - 1:
        return None
    first, last = changed[0], changed[-1]
    before, behind = math.prod(shape[:first]), math.prod(shape[last + 1 :])
    if first == last:  # what lies behind is a row
        whole = Axis(0.0, float(behind), behind, InterpType.INTERP_NN, antialias=False)
        sides, own, channels = (shape[first], behind), (axes[first], whole), 1
    else:
        sides, own, channels = (shape[first], shape[last]), (axes[first], axes[last]), behind
    return _Picture(
        (before, *sides, channels), (before, *(axis.outputs for axis in own), channels), own
    )


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
            "size_rounding", TEXT, "round", "of extents", choices=("round", "truncate", "ceil")
        ),
        *FITTING,
        *FILTER_ARGUMENTS,
    ),
    infer=_infer,
    kernels={"cuda": _on_gpu},
    exclusive=(("axes", "axis_names"), ("sizes", "scales")),
    check=_check,
    unused=("minibatch_size", "temp_buffer_hint"),
)
def tensor_resize(context: Context, values: Batch, plan: _Resizing) -> Batch:
    """Resize all dimensions of tensors, or only `axes`, as `fn.resize` does with pictures."""
    out = context.empty()
    for value, own, place in zip(values, plan.samples, out, strict=True):
        made = resample(value[..., None], own.axes, own.taps, context.outputs[0].dtype)
        place.copy_(made[..., 0])
    return out
