"""Windows at random places, for crops of images and of data of other dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from videoloader.dali.operators.arguments import INT, INTS, RANGE, REQUIRED, Argument, PerSample
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import declare
from videoloader.dali.operators.random.random import SEED, SHAPE_LIKE
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.decoding.framing import random_part
from videoloader.errors import ArgumentError

AREA = Argument("random_area", RANGE, (0.08, 1.0), "part of the image, equally likely")
RATIO = Argument(
    "random_aspect_ratio", RANGE, (0.75, 1.333333), "width to height, its logarithm equally likely"
)


def _infer_generator(context: Context, shapes: Spec, **arguments: Any) -> tuple[Spec, Spec]:
    if shapes.dtype.is_floating_point or any(own not in ((2,), (3,)) for own in shapes.shapes):
        raise ArgumentError("the input is the shape of an image: two or three integers, HW or HWC")
    one = Spec.alike(len(shapes), (2,), torch.int32)
    return one, one


@declare(
    "random_crop_generator",
    draws=True,
    inputs=("shapes",),
    devices=("cpu",),
    arguments=(
        AREA,
        RATIO,
        Argument("num_attempts", INT, 10, "tries for a window that fits"),
        SEED,
    ),
    num_outputs=2,
    infer=_infer_generator,
)
def random_crop_generator(
    context: Context,
    shapes: Batch,
    *,
    random_area: tuple[float, float],
    random_aspect_ratio: tuple[float, float],
    num_attempts: int,
) -> tuple[Batch, Batch]:
    """Draw a window of images of these shapes: its anchor (y, x) and its shape (height, width).

    The area is equally likely, the ratio of width to height on a logarithmic scale. After some
    tries that do not fit it is the largest window in the middle with a ratio in the bounds.
    `fn.slice` and `fn.decoders.image_slice` take both outputs.
    """
    anchors, sizes = [], []
    for position, shape in enumerate(shapes):
        height, width = shape.tolist()[:2]
        window = random_part(
            (height, width),
            random_area,
            random_aspect_ratio,
            context.random(position),
            num_attempts,
        )
        anchors.append(torch.tensor(window[:2], dtype=torch.int32))
        sizes.append(torch.tensor(window[2:], dtype=torch.int32))
    return Batch(anchors), Batch(sizes)


def _infer_roi(
    context: Context,
    *like: Spec,
    crop_shape: PerSample,
    in_shape: PerSample,
    roi_end: PerSample,
    roi_shape: PerSample,
    **others: Any,
) -> Spec:
    for end, extent in zip(roi_end, roi_shape, strict=True):
        if (end is None) == (extent is None):
            raise ArgumentError("the region needs roi_end or roi_shape, and not both")
    for name, values in (("crop_shape", crop_shape), ("in_shape", in_shape)):
        if any(side < 0 for each in values if each is not None for side in each):
            raise ArgumentError(f"{name} must not be negative, got {values.values}")
    if like and any(each is not None for each in in_shape):
        raise ArgumentError("give in_shape or an input that has it, not both")
    shapes = tuple((len(each),) for each in crop_shape) or ((0,),) * context.count
    return Spec(shapes, torch.int64)


@declare(
    "roi_random_crop",
    draws=True,
    inputs=(SHAPE_LIKE,),
    devices=("cpu",),
    arguments=(
        Argument("crop_shape", INTS, REQUIRED, "of the window", per_sample=True),
        Argument(
            "roi_start", INTS, REQUIRED, "where the region of interest begins", per_sample=True
        ),
        Argument("roi_end", INTS, None, "where it ends, exclusively", per_sample=True),
        Argument("roi_shape", INTS, None, "its shape, in place of its end", per_sample=True),
        Argument("in_shape", INTS, None, "bounds of the window", per_sample=True),
        SEED,
    ),
    infer=_infer_roi,
)
def roi_random_crop(
    context: Context,
    *like: Batch,
    crop_shape: PerSample,
    roi_start: PerSample,
    roi_end: PerSample,
    roi_shape: PerSample,
    in_shape: PerSample,
) -> Batch:
    """Draw where a window of a given shape begins, with as much of a region in it as it can hold.

    A window that is larger than the region holds all of it, a smaller one lies inside. It stays in
    the bounds of the input, or of `in_shape`, if there are any.
    """
    bounds = [tuple(value.shape) for value in like[0]] if like else in_shape.values
    starts = []
    for position in range(context.count):
        crop, start, given = crop_shape[position], roi_start[position], roi_shape[position]
        if given is not None:
            _check_lengths(crop, start, given)
        end = (
            roi_end[position]
            if given is None
            else [a + b for a, b in zip(start, given, strict=True)]
        )
        _check_lengths(crop, start, end)
        limit = bounds[position] if bounds[position] is not None else None
        low, high = _range(crop, start, end, limit)
        starts.append(torch.from_numpy(context.random(position).integers(low, high, endpoint=True)))
    return Batch(starts)


def _check_lengths(*values: Sequence[int]) -> None:
    if len({len(value) for value in values}) > 1:
        raise ArgumentError(f"the window and its region have other dimensions: {values}")


def _range(
    crop: Sequence[int], start: Sequence[int], end: Sequence[int], bounds: Sequence[int] | None
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Least and greatest start of the window in each dimension."""
    first, last, size = (np.array(each, dtype=np.int64) for each in (start, end, crop))
    if (last < first).any():
        raise ArgumentError(f"the region ends in front of its start: {tuple(start)}, {tuple(end)}")
    inside = last - size
    low, high = np.minimum(first, inside), np.maximum(first, inside)
    if bounds is None:
        return low, high
    if len(bounds) < len(crop):
        raise ArgumentError(f"an input of shape {tuple(bounds)} has fewer dimensions than the crop")
    limit = np.array(bounds[: len(crop)], dtype=np.int64)
    if (first < 0).any() or (last > limit).any():
        raise ArgumentError(
            f"the region {tuple(start)} to {tuple(end)} is not in an input of shape {tuple(bounds)}"
        )
    if (size > limit).any():
        raise ArgumentError(f"a crop of {tuple(crop)} is larger than the input, {tuple(bounds)}")
    return np.maximum(low, 0), np.minimum(high, limit - size)
