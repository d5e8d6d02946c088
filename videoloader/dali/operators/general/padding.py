"""`fn.pad`: samples filled up to a common or an aligned size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from videoloader.dali.operators.arguments import FLOAT, INTS, Argument, PerSample
from videoloader.dali.operators.axes import AXES, AXIS_NAMES, axis_numbers, for_each
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.geometry.crop_windows_on_gpu import moves_from, windows_on_gpu
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError


def _infer(
    context: Context,
    values: Spec,
    *,
    axes: PerSample,
    axis_names: str | None,
    align: PerSample,
    shape: PerSample,
    fill_value: PerSample,
) -> Spec:
    ndim = len(values.shapes[0]) if len(values) else 0
    largest = [max(sides) for sides in zip(*values.shapes, strict=True)]
    padded = []
    for own, numbers, aligned, wanted in zip(values.shapes, axes, align, shape, strict=True):
        chosen = axis_numbers(ndim, values.layout, numbers, axis_names) or tuple(range(ndim))
        count = len(chosen)
        steps = for_each("align", (1,) if aligned is None else aligned, count)
        if any(step < 1 for step in steps):
            raise ArgumentError(f"align must be at least 1, got {steps}")
        sides = list(own)
        sizes = for_each("shape", (-1,) if wanted is None else wanted, count)
        for axis, step, least in zip(chosen, steps, sizes, strict=True):
            extent = max(own[axis], largest[axis] if least <= 0 else least)
            sides[axis] = -(-extent // step) * step
        padded.append(tuple(sides))
    return replace(values, shapes=tuple(padded))


def _pad_on_gpu(context: Context, values: Batch, *, fill_value: PerSample, **others: object) -> Any:
    """One launch for frames whose channels stay."""
    if not {*"HW"} <= {*values.layout}:
        return NotImplemented
    out = context.empty()
    channel = values.layout.find("C")
    if channel >= 0 and any(
        one[channel] != other[channel]
        for one, other in zip(values.spec.shapes, out.spec.shapes, strict=True)
    ):
        return NotImplemented
    fills = tuple((fill,) for fill in fill_value)
    moves = moves_from(((0, 0, 0),) * len(values))
    return windows_on_gpu(values, out, moves, fills, is_rounded=True)


@declare(
    "pad",
    inputs=("data",),
    arguments=(
        replace(AXES, per_sample=True, doc=f"{AXES.doc}; all by default"),
        AXIS_NAMES,
        Argument("align", INTS, None, "sizes are multiples of this", per_sample=True),
        Argument(
            "shape", INTS, None, "least sizes; -1 or 0: that of the largest sample", per_sample=True
        ),
        Argument("fill_value", FLOAT, 0.0, "of what is added", per_sample=True),
    ),
    infer=_infer,
    kernels={"cuda": _pad_on_gpu},
    exclusive=(("axes", "axis_names"),),
    whole_batch=True,
)
def pad(context: Context, values: Batch, *, fill_value: PerSample, **others: object) -> Batch:
    """Fill samples up at their ends, by default to the size of the largest one of the batch."""
    out = context.empty()
    for sample, target, fill in zip(values, out, fill_value, strict=True):
        number = torch.tensor(fill, dtype=torch.float64)
        target.copy_(saturate(number, target.dtype).to(target.device).expand(target.shape))
        target[tuple(slice(0, side) for side in sample.shape)].copy_(sample)
    return out
