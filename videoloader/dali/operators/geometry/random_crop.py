"""`fn.random_resized_crop`: a random part of frames, in one size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from videoloader.dali.operators.arguments import INT, INTS, REQUIRED, Argument, PerSample
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.geometry.resampling import Axis
from videoloader.dali.operators.geometry.resize import Resizing, resized
from videoloader.dali.operators.geometry.resize_on_gpu import resize_on_gpu
from videoloader.dali.operators.geometry.sizes import FILTER_ARGUMENTS, part_axis
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.operators.random.random_windows import AREA, RATIO
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.decoding.framing import random_part
from videoloader.errors import ArgumentError


def _size(size: tuple[int, ...]) -> tuple[int, int]:
    if len(size) not in (1, 2) or min(size) < 1:
        raise ArgumentError(f"size must be (height, width) or one number, at least 1, got {size}")
    return size[0], size[-1]


def _infer(
    context: Context, frames: Spec, *, size: PerSample, dtype: torch.dtype | None, **others: Any
) -> Spec:
    return replace(frames.with_frames([_size(each) for each in size]), dtype=dtype or frames.dtype)


def _axes(
    context: Context,
    frames: Spec,
    *,
    size: PerSample,
    random_area: tuple[float, float],
    random_aspect_ratio: tuple[float, float],
    num_attempts: int,
    dtype: torch.dtype | None,
    **filters: Any,
) -> list[tuple[Axis, ...]]:
    """The axes of each sample, with a random part."""
    axes: list[tuple[Axis, ...]] = []
    kinds = _by_sample(filters, len(frames))
    each = zip(frames.shapes, size, kinds, context.draws(), strict=True)
    for shape, wanted, own, rng in each:
        top, left, rows, columns = random_part(
            (shape[-3], shape[-2]), random_area, random_aspect_ratio, rng, tries=num_attempts
        )
        height, width = wanted[0], wanted[-1]
        axes.append((part_axis(top, rows, height, **own), part_axis(left, columns, width, **own)))
    return axes


def _by_sample(arguments: Mapping[str, Any], count: int) -> Sequence[dict[str, Any]]:
    """The arguments of each sample; one object for all of them where none differs."""
    varying = [value for value in arguments.values() if isinstance(value, PerSample)]
    if all(value.is_all(value[0]) for value in varying if len(value)):
        return [PerSample.at(0, arguments)] * count if count else []
    return [PerSample.at(position, arguments) for position in range(count)]


def _on_gpu(context: Context, frames: Batch, **arguments: Any) -> Any:
    axes = _axes(context, frames.spec, **arguments)
    return resize_on_gpu(context, frames, Resizing.of(frames.spec, axes).weights)


@declare(
    "random_resized_crop",
    inputs=(Input("frames", ("HWC", "FHWC", "CHW", "FCHW", "CFHW")),),
    draws=True,
    arguments=(
        Argument("size", INTS, REQUIRED, "(height, width) of the output", per_sample=True),
        replace(AREA, most=1),
        replace(RATIO, default=(3 / 4, 4 / 3)),
        Argument("num_attempts", INT, 10, "draws before a part in the middle is taken", least=1),
        *FILTER_ARGUMENTS,
        Argument("seed", INT, None, "in place of the pipeline's; -1: the pipeline's", least=-1),
    ),
    infer=_infer,
    kernels={"cuda": _on_gpu},
    unused=("minibatch_size", "temp_buffer_hint"),
)
def random_resized_crop(context: Context, frames: Batch, **arguments: Any) -> Batch:
    """Resize a random part of frames, the same one of every frame of a clip."""
    axes = _axes(context, frames.spec, **arguments)
    return resized(context, frames, Resizing.of(frames.spec, axes).samples)
