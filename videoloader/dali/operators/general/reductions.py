"""Sums, means, deviations and extremes along dimensions of samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

import torch

from videoloader.dali.operators.arguments import BOOL, DTYPE, INT, Argument
from videoloader.dali.operators.axes import AXES, AXIS_NAMES, axis_numbers, by_block, without
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.dali.tensors.conversion import from_ordered, to_ordered
from videoloader.errors import ArgumentError

_ARGUMENTS = (
    replace(AXES, doc=f"{AXES.doc}; all by default"),
    AXIS_NAMES,
    Argument("keep_dims", BOOL, default=False, doc="keep reduced dimensions, of size 1"),
)

Reduction: TypeAlias = Callable[[torch.Tensor, tuple[int, ...]], torch.Tensor]
"""A tensor and the dimensions that it reduces, which it keeps."""


class _Reducing(NamedTuple):
    """Plan of a reduction."""

    axes: tuple[int, ...]
    keeps_axes: bool
    ddof: int = 0

    def finished(self, kept: torch.Tensor, front: int) -> torch.Tensor:
        """The final shape of a result, whose reduced dimensions come after `front` others."""
        shifted = [axis + front for axis in self.axes]
        return kept if self.keeps_axes else kept.reshape(without(kept.shape, shifted))


def _planned(
    values: Spec,
    axes: Sequence[int] | None,
    names: str | None,
    dtype: torch.dtype,
    *,
    keep_dims: bool,
    ddof: int = 0,
) -> Planned:
    ndim = len(values.shapes[0]) if len(values) else 0
    found = axis_numbers(ndim, values.layout, axes, names)
    plan = _Reducing(tuple(range(ndim)) if found is None else found, keep_dims, ddof)
    if keep_dims:
        shapes = tuple(kept_shape(shape, plan.axes) for shape in values.shapes)
        return Planned((replace(values, shapes=shapes, dtype=dtype),), plan)
    shapes = tuple(without(shape, plan.axes) for shape in values.shapes)
    layout = "".join(without(values.layout, plan.axes))
    return Planned((replace(values, shapes=shapes, dtype=dtype, layout=layout),), plan)


def kept_shape(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """A shape with size 1 in place of the reduced dimensions."""
    return tuple(1 if axis in axes else side for axis, side in enumerate(shape))


def _sum(values: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """The sum in float64, or of integers in int64, whose bits also hold for uint64."""
    if values.dtype.is_floating_point:
        return _summed(values, axes, torch.float64)
    if values.dtype == torch.uint64:
        values = values.view(torch.int64)
    elif values.dtype in (torch.uint16, torch.uint32):
        values = values.to(torch.int64)
    return _summed(values, axes, torch.int64)


def _summed(values: torch.Tensor, axes: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    if not axes:
        return values.to(dtype)  # for torch no dimensions are all of them
    return values.sum(axes, keepdim=True, dtype=dtype)


def _volume(values: torch.Tensor, axes: tuple[int, ...]) -> int:
    return math.prod(values.shape[axis] for axis in axes)


def float_sum(values: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """The sum in float64, of integers too: 64-bit sums may leave their range."""
    if values.dtype in (torch.int64, torch.uint64):
        values = values.to(torch.float64)
    return _sum(values, axes).to(torch.float64)


def _mean(values: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    return float_sum(values, axes) / _volume(values, axes)  # NaN of nothing


def _squares(values: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    """The sum of squares in float64."""
    return _summed(values.to(torch.float64).square(), axes, torch.float64)


def _mean_square(values: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    return _squares(values, axes) / _volume(values, axes)


def _extreme(values: torch.Tensor, axes: tuple[int, ...], *, largest: bool) -> torch.Tensor:
    dtype = values.dtype
    if not axes:
        return values
    if not _volume(values, axes):
        shape = kept_shape(values.shape, axes)
        limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
        limit = limits.min if largest else limits.max
        return torch.full(shape, limit, dtype=dtype, device=values.device)
    ordered = to_ordered(values)
    found = ordered.amax(axes, keepdim=True) if largest else ordered.amin(axes, keepdim=True)
    return from_ordered(found, dtype)


def _sum_type(dtype: torch.dtype) -> torch.dtype:
    """The type of a sum: the largest of the kind of its elements; of floating point their own."""
    if dtype.is_floating_point:
        return dtype
    is_signed = dtype != torch.bool and torch.iinfo(dtype).min < 0
    return torch.int64 if is_signed else torch.uint64


def _mean_type(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype.is_floating_point else torch.float32


def _own_type(dtype: torch.dtype) -> torch.dtype:
    return dtype


def _declare(
    name: str, reduce: Reduction, result: Callable[[torch.dtype], torch.dtype], doc: str
) -> None:

    def infer(
        context: Context,
        values: Spec,
        *,
        axes: Sequence[int] | None,
        axis_names: str | None,
        keep_dims: bool,
        dtype: torch.dtype | None = None,
    ) -> Planned:
        kind = dtype or result(values.dtype)
        return _planned(values, axes, axis_names, kind, keep_dims=keep_dims)

    def run(context: Context, values: Batch, plan: _Reducing) -> Batch:
        dtype = context.outputs[0].dtype

        def reduced(value: torch.Tensor, front: int) -> torch.Tensor:
            kept = reduce(value, tuple([axis + front for axis in plan.axes]))
            if dtype == torch.uint64 and kept.dtype == torch.int64:
                kept = kept.view(dtype)
            return plan.finished(saturate(kept, dtype), front)

        return by_block(values, reduced)

    run.__doc__ = doc
    typed = (Argument("dtype", DTYPE, None, "element type of the output"),)
    declare(
        f"reductions.{name}",
        inputs=("data",),
        arguments=(*_ARGUMENTS, *(() if result is _own_type else typed)),
        infer=infer,
        exclusive=(("axes", "axis_names"),),
    )(run)


_SATURATED = "The output is rounded and saturated."

_declare(
    "sum",
    _sum,
    _sum_type,
    f"Sum elements: integers to 64 bits, others to their own type. {_SATURATED}",
)
_declare("mean", _mean, _mean_type, f"Give the mean, of integers in float32. {_SATURATED}")
_declare(
    "mean_square",
    _mean_square,
    _mean_type,
    f"Give the mean of squares, of integers in float32. {_SATURATED}",
)
_declare(
    "rms",
    lambda values, axes: _mean_square(values, axes).sqrt(),
    _mean_type,
    f"Give the root of the mean of squares, of integers in float32. {_SATURATED}",
)
_declare("max", partial(_extreme, largest=True), _own_type, "Give the largest element.")
_declare("min", partial(_extreme, largest=False), _own_type, "Give the smallest element.")


def _infer_deviation(
    context: Context,
    values: Spec,
    mean: Spec,
    *,
    axes: Sequence[int] | None,
    axis_names: str | None,
    keep_dims: bool,
    ddof: int,
) -> Planned:
    kind = _mean_type(values.dtype)
    planned = _planned(values, axes, axis_names, kind, keep_dims=keep_dims, ddof=ddof)
    numbers = planned.plan.axes
    for shape, own in zip(values.shapes, mean.shapes, strict=True):
        if math.prod(own) not in (1, math.prod(kept_shape(shape, numbers))):
            raise ArgumentError(
                f"a mean of shape {own} is none of a sample of shape {shape} along axes {numbers}"
            )
    return planned


def _declare_deviation(name: str, finish: Callable[[torch.Tensor], torch.Tensor], doc: str) -> None:
    def run(context: Context, values: Batch, mean: Batch, plan: _Reducing) -> Batch:
        dtype = context.outputs[0].dtype

        def deviation(value: torch.Tensor, center: torch.Tensor, front: int) -> torch.Tensor:
            shifted = tuple(axis + front for axis in plan.axes)
            shape = kept_shape(value.shape, shifted)
            ones = (*center.shape[:front], *(1 for _ in range(value.ndim - front)))
            center = center.reshape(shape if center.numel() == math.prod(shape) else ones)
            squares = _squares(value.to(torch.float64) - center.to(torch.float64), shifted)
            freedom = max(0, _volume(value, shifted) - plan.ddof)  # without any it is infinite
            result = finish(squares / freedom).to(dtype).reshape(shape)
            return plan.finished(result, front)

        if values.block is not None and mean.block is not None:
            return Batch(deviation(values.block, mean.block, 1))
        return Batch([deviation(*pair, 0) for pair in zip(values, mean, strict=True)])

    run.__doc__ = doc
    declare(
        f"reductions.{name}",
        inputs=("data", "mean"),
        arguments=(*_ARGUMENTS, Argument("ddof", INT, 0, "taken off the number of elements")),
        infer=_infer_deviation,
        exclusive=(("axes", "axis_names"),),
    )(run)


_declare_deviation(
    "std_dev",
    torch.sqrt,
    "Give the standard deviation of the first input, whose mean is the second: the root of the sum"
    "\n    of squared differences divided by the number of elements less `ddof`.",
)
_declare_deviation(
    "variance",
    lambda variance: variance,
    "Give the variance of the first input, whose mean is the second: the sum of squared differences"
    "\n    divided by the number of elements less `ddof`.",
)
