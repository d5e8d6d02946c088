"""What pixels are worth: brightness and contrast."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from videoloader.operators.arguments import (
    DTYPE,
    FLOAT,
    Argument,
    PerFrame,
    PerSample,
    column,
)
from videoloader.operators.batch import Batch, Context, Spec, parts
from videoloader.operators.convert import scale_and_shift
from videoloader.operators.operator import FRAMES, Input, declare
from videoloader.tensors import saturate

__all__ = ["brightness_contrast"]


def _number(name: str, default: float | None, doc: str) -> Argument:
    return Argument(name, FLOAT, default, doc, per_sample=True, per_frame=True)


def _infer_contrast(
    context: Context,  # noqa: ARG001
    frames: Spec,
    *,
    dtype: torch.dtype | None,
    **numbers: PerSample,  # noqa: ARG001
) -> Spec:
    return replace(frames, dtype=dtype or frames.dtype)


@declare(
    "brightness_contrast",
    inputs=(Input("frames", FRAMES),),
    arguments=(
        _number("brightness", 1.0, "factor of the brightness"),
        _number("brightness_shift", 0.0, "added, in parts of the output range"),
        _number("contrast", 1.0, "factor of the contrast; 0 is uniform"),
        _number(
            "contrast_center",
            None,
            "value that contrast leaves alone; by default the middle of the input's range",
        ),
        Argument("dtype", DTYPE, None, "element type of the output; the input's by default"),
    ),
    infer=_infer_contrast,
    is_elementwise=True,
)
def brightness_contrast(
    context: Context,
    frames: Batch,
    *,
    brightness: PerSample,
    brightness_shift: PerSample,
    contrast: PerSample,
    contrast_center: PerSample,
    dtype: torch.dtype | None,
) -> Batch:
    """Change brightness and contrast, by default of every frame of a clip alike.

    out = brightness_shift * range + brightness * (center + contrast * (in - center)), where range
    is 1 for floating point outputs and the largest value of an integer type. The middle of the
    input's range is 0.5, or 128 for uint8. Integer outputs are rounded and clamped.
    """
    source = frames.spec.dtype
    dtype = dtype or source
    high = 1.0 if dtype.is_floating_point else float(torch.iinfo(dtype).max)

    def offset_of(shift: float, bright: float, contrast: float, center: float | None) -> float:
        center = _middle(source) if center is None else center
        return shift * high + bright * center * (1 - contrast)

    factors = _each_of(operator.mul, brightness, contrast)
    offsets = _each_of(offset_of, brightness_shift, brightness, contrast, contrast_center)
    unchanged = [pair == (1, 0) for pair in zip(factors, offsets, strict=True)]
    if all(unchanged):
        return frames.each(lambda value: saturate(value, dtype))
    out = context.empty()
    for at in parts(frames, out, alike=(unchanged,)):
        values, place = frames.part(at), out.part(at)
        if unchanged[at.start]:
            place.copy_(saturate(values, dtype))
            continue
        factor, offset = (
            column(each[at], values.ndim, str(values.device)) for each in (factors, offsets)
        )
        scale_and_shift(values, factor, offset, place)
    return out


def _each_of(function: Callable[..., float], *values: PerSample) -> list[Any]:
    """The function of the values of each sample, or of each frame where any value is per frame."""
    results: list[Any] = []
    for given in zip(*values, strict=True):
        lengths = {len(value) for value in given if isinstance(value, PerFrame)}
        if not lengths:
            results.append(function(*given))
            continue
        frames = PerSample(given)
        rows = [frames.frames(at, max(lengths)) for at in range(len(given))]
        results.append(PerFrame(tuple(map(function, *rows))))
    return results


def _middle(dtype: torch.dtype) -> float:
    return 0.5 if dtype.is_floating_point else float(torch.iinfo(dtype).max // 2 + 1)
