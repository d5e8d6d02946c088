"""`fn.normalize`: samples with a mean and a deviation of choice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from videoloader.dali.operators.arguments import BOOL, DTYPE, FLOAT, INT, Argument, Kind, PerSample
from videoloader.dali.operators.axes import AXES, AXIS_NAMES, axis_numbers
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.general.reductions import float_sum, kept_shape
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Shape, Spec
from videoloader.errors import ArgumentError

_MOST_DIMENSIONS = 64


def _numbers(value: Any) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", torch.float64)
    return torch.from_numpy(np.array(value, dtype=np.float64))


_TENSOR = Kind("float or tensor", _numbers, rank=_MOST_DIMENSIONS)


def _is_scalar(values: PerSample) -> bool:
    return all(value is None or value.ndim == 0 for value in values)


def _parameters(values: Spec, mean: PerSample, stddev: PerSample) -> list[Shape | None]:
    """For each sample, the shape of the tensors that are given for it; None if there are none."""
    shapes = []
    for shape, *given in zip(values.shapes, mean, stddev, strict=True):
        own = {tuple(value.shape) for value in given if value is not None and value.ndim}
        if len(own) > 1:
            raise ArgumentError(f"mean and stddev must have one shape, got {sorted(own)}")
        found = own.pop() if own else None
        if found is not None and (
            len(found) != len(shape)
            or any(a not in (1, b) for a, b in zip(found, shape, strict=True))
        ):
            raise ArgumentError(
                f"mean and stddev of shape {found} do not fit a sample of shape {shape}"
            )
        shapes.append(found)
    return shapes


def _axes(
    values: Spec, mean: PerSample, stddev: PerSample, axes: Sequence[int] | None, names: str | None
) -> tuple[int, ...]:
    """Dimensions to reduce: as given, else the dimensions of size 1 in mean or stddev."""
    given = _parameters(values, mean, stddev)
    ndim = len(values.shapes[0]) if len(values) else 0
    if axes is not None and any(axis < 0 for axis in axes):
        raise ArgumentError(f"axes must not be negative, got {tuple(axes)}")
    numbers = axis_numbers(ndim, values.layout, axes, names)
    if numbers == () and ndim:
        raise ArgumentError("axes is empty: there is nothing to normalize by")
    for shape, own in zip(values.shapes, given, strict=True):
        if numbers is not None and own not in (None, kept_shape(shape, numbers)):
            raise ArgumentError(
                f"mean and stddev along axes {numbers} of shape {shape} have shape "
                f"{kept_shape(shape, numbers)}, got {own}"
            )
    if numbers is not None:
        return numbers
    found = {
        tuple(axis for axis in range(ndim) if own is None or own[axis] == 1 != shape[axis])
        for shape, own in zip(values.shapes, given, strict=True)
    }
    return tuple(sorted(set().union(*found)))


class _Normalizing(NamedTuple):
    """Plan of `normalize`.

    Attributes:
        axes: dimensions that one mean is for.
        by_batch: whether it is one for all samples.
        mean, stddev: of each sample; None for those of the input.
        is_one: whether these are the same for all samples, or not given.
        ddof, epsilon, scale, shift: as given.
    """

    axes: tuple[int, ...]
    by_batch: bool
    mean: PerSample
    stddev: PerSample
    is_one: bool
    ddof: int
    epsilon: float
    scale: float
    shift: float


def _infer(
    context: Context,
    values: Spec,
    *,
    axes: Sequence[int] | None,
    axis_names: str | None,
    batch: bool,
    mean: PerSample,
    stddev: PerSample,
    dtype: torch.dtype,
    **numbers: Any,
) -> Planned:
    has_axes = axes is not None or axis_names is not None
    if batch and not (_is_scalar(mean) and _is_scalar(stddev)):
        raise ArgumentError("batch=True takes mean and stddev as scalars")
    along = _axes(values, mean, stddev, axes, axis_names)
    given = (value is not None for each in (mean, stddev) for value in each)
    if has_axes and len(values) and all(given) and _is_scalar(mean) and _is_scalar(stddev):
        raise ArgumentError("axes have no meaning with a scalar mean and a scalar stddev")
    if batch and len({kept_shape(shape, along) for shape in values.shapes}) > 1:
        raise ArgumentError(
            f"batch=True: samples differ in dimensions that are not reduced: {set(values.shapes)}"
        )
    is_one = _is_one(mean) and _is_one(stddev)
    plan = _Normalizing(along, batch, mean, stddev, is_one, **numbers)
    return Planned((replace(values, dtype=dtype),), plan)


def _by_batch(arguments: Mapping[str, Any]) -> bool:
    return bool(arguments["batch"])


@declare(
    "normalize",
    inputs=("data",),
    arguments=(
        replace(AXES, doc="dimensions that have one mean and deviation; all by default"),
        AXIS_NAMES,
        Argument("batch", BOOL, default=False, doc="one mean and deviation for the whole batch"),
        Argument(
            "mean",
            _TENSOR,
            None,
            "in place of the input's: a number, or of size 1 along the axes",
            per_sample=True,
        ),
        Argument("stddev", _TENSOR, None, "in place of the input's, as the mean", per_sample=True),
        Argument("ddof", INT, 0, "taken off the number of elements for the deviation", least=0),
        Argument("epsilon", FLOAT, 0.0, "added to the variance", least=0),
        Argument("scale", FLOAT, 1.0, "deviation of the output"),
        Argument("shift", FLOAT, 0.0, "mean of the output"),
        Argument("dtype", DTYPE, torch.float32, "element type of the output"),
    ),
    infer=_infer,
    exclusive=(("axes", "axis_names"),),
    whole_batch=_by_batch,
)
def normalize(context: Context, values: Batch, plan: _Normalizing) -> Batch:
    """Take the mean off and divide by the standard deviation.

    out = scale * (in - mean) / sqrt(variance + epsilon) + shift. Where mean and deviation are not
    given they are the input's, along `axes`. What does not vary becomes `shift`. Integer outputs
    are rounded and saturated.
    """
    if not len(values):
        return values
    _, by_batch, mean, stddev, is_one, ddof, epsilon, scale, shift = plan
    is_dense, dtype = values.block is not None and is_one, context.outputs[0].dtype
    groups: list[torch.Tensor] = [values.block] if is_dense else values.samples  # type: ignore[list-item]
    along = tuple([axis + is_dense for axis in plan.axes])
    along = (0, *along) if by_batch and is_dense else along

    def pooled(parts: list[Any]) -> list[Any]:
        return [sum(parts)] * len(parts) if by_batch else parts

    counts = pooled([math.prod(group.shape[axis] for axis in along) for group in groups])
    if mean[0] is None:
        sums = pooled([float_sum(group, along) for group in groups])
        centers = [total / count for total, count in zip(sums, counts, strict=True)]
    else:
        centers = [value.to(context.device) for value in mean]
    centered = [
        group.to(_wide(group.dtype)) - center.to(_wide(group.dtype))
        for group, center in zip(groups, centers, strict=False)
    ]
    if stddev[0] is None:
        squares = pooled([float_sum(value.square(), along) for value in centered])
        factors = [
            _inverse(total / (count - ddof) if count > ddof else total * 0, epsilon)
            for total, count in zip(squares, counts, strict=True)
        ]
    else:
        factors = [(value.square() + epsilon).rsqrt().to(context.device) for value in stddev]
    results = [
        saturate(value * (factor * scale).to(value.dtype) + shift, dtype)
        for value, factor in zip(centered, factors, strict=False)
    ]
    return Batch(results[0] if is_dense else results)


def _is_one(values: PerSample) -> bool:
    """Whether all samples have the same number, or none."""
    return _is_scalar(values) and len({None if v is None else v.item() for v in values}) == 1


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype.itemsize > torch.float32.itemsize else torch.float32


def _inverse(variance: torch.Tensor, epsilon: float) -> torch.Tensor:
    """One divided by the deviation; 0 where nothing varies."""
    variance = variance + epsilon
    return torch.where(variance > 0, variance.rsqrt(), 0.0)
