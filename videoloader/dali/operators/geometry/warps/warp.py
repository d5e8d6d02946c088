"""`fn.warp_affine` and `fn.rotate`: frames seen through an affine transform."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from videoloader.dali.operators.arguments import (
    BOOL,
    DTYPE,
    FLOAT,
    FLOATS,
    INTERP,
    REQUIRED,
    Argument,
    PerFrame,
    PerSample,
)
from videoloader.dali.operators.context import Context, Planned, once_for_equal
from videoloader.dali.operators.deprecated import OUTPUT_DTYPE
from videoloader.dali.operators.geometry.sizes import whole_size
from videoloader.dali.operators.geometry.warps.matrices import (
    MATRIX,
    Matrix,
    affine,
    inverse,
    rotation,
)
from videoloader.dali.operators.geometry.warps.sampling import chunks, pixel_places, sample_at
from videoloader.dali.operators.geometry.warps.warps_on_cpu import can_warp, warp_pictures
from videoloader.dali.operators.geometry.warps.warps_on_gpu import warp_on_gpu
from videoloader.dali.operators.inputs import FRAMES, Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate, saturate_numbers
from videoloader.dali.tensors.batch import Batch, Shape, Spec
from videoloader.dali.types import InterpType
from videoloader.errors import ArgumentError

_FRAMES = (*FRAMES, "CFHW", "DHWC", "FDHWC", "CDHW", "FCDHW", "CFDHW")

_ARGUMENTS = (
    Argument(
        "size",
        FLOATS,
        None,
        "(height, width) or (depth, height, width) of the output; fractions are cut off",
        per_sample=True,
        least=0,
    ),
    Argument(
        "fill_value",
        FLOAT,
        None,
        "what lies outside the input; by default copies of the pixel at the border",
    ),
    Argument(
        "interp_type",
        INTERP,
        InterpType.INTERP_LINEAR,
        "how a pixel is computed",
        choices=(InterpType.INTERP_NN, InterpType.INTERP_LINEAR),
    ),
    Argument("dtype", DTYPE, None, "element type of the output; the input's by default"),
)


def canvas_size(
    sides: Sequence[int], angles: Sequence[float], axes: Sequence[Sequence[float] | None] = (None,)
) -> tuple[int, ...]:
    """The smallest canvas, as DALI has it, for a picture or a volume in all its rotations.

    An odd side stays odd, so that the centre stays between the same pixels; where the picture is
    turned by more than 45 degrees, its height counts for the width of the canvas. Of several
    rotations the majority decides whether a side is odd.

    Args:
        sides: (height, width) or (depth, height, width).
        angles: in degrees.
        axes: for each angle, or one for all; None for pictures.

    >>> canvas_size((100, 150), [30]), canvas_size((101, 150), [88])
    ((162, 180), (154, 107))
    """
    lengths = np.array(sides[::-1])  # along x, y, z
    needed, odd = [], []
    for angle, axis in zip(angles, itertools.cycle(axes), strict=False):
        radians = float(np.float32(angle) * np.float32(math.pi / 180))
        spread = np.abs(rotation(math.degrees(radians), axis))
        needed.append(np.ceil(spread @ lengths - 0.01).astype(int))
        odd.append(lengths[spread.argmax(axis=1)] % 2)
    largest = np.max(needed, axis=0)
    wanted = 2 * np.sum(odd, axis=0) > len(odd)
    return tuple(int(side) for side in (largest + (largest % 2 != wanted))[::-1])


def _with_sides(frames: Spec, sides: Sequence[tuple[int, ...]], dtype: torch.dtype | None) -> Spec:
    shapes = [
        (*shape[: -1 - len(own)], *own, shape[-1])
        for shape, own in zip(frames.shapes, sides, strict=True)
    ]
    return replace(frames, shapes=tuple(shapes), dtype=dtype or frames.dtype)


def _dimensions(frames: Batch | Spec) -> int:
    """2 for pictures, 3 for volumes."""
    return 3 if "D" in frames.layout else 2


def _outside(fill_value: float | None, dtype: torch.dtype) -> tuple[str, tuple[float, ...]]:
    """The border mode of a warp, and its fill value in the type of the output."""
    if fill_value is None:
        return "replicate", (0.0,)
    return "constant", saturate_numbers((fill_value,), dtype)


class Warping(NamedTuple):
    """Plan of a warp.

    Attributes:
        matrices: from the output to the input, of each sample: one, or one for each frame.
        interp_type: how a pixel is computed.
        border: what lies outside; one of `kernels.BORDERS`.
        fill: of a constant border, for all channels or each.
    """

    matrices: Sequence[Sequence[Matrix]]
    interp_type: InterpType
    border: str
    fill: tuple[float, ...]


def _planned(
    out: Spec,
    matrices: Sequence[Sequence[Matrix]],
    interp_type: InterpType,
    fill_value: float | None,
) -> Planned:
    return Planned((out,), Warping(matrices, interp_type, *_outside(fill_value, out.dtype)))


def _warped(context: Context, frames: Batch, plan: Warping) -> Batch:
    """Each sample through its matrices."""
    out = context.empty()
    count = _dimensions(frames)
    matrices, interp_type, border, fill = plan
    for sample, result, own in zip(frames, out, matrices, strict=True):
        pictures = sample.reshape(-1, *sample.shape[-1 - count :])
        if interp_type is InterpType.INTERP_NN:
            pictures = saturate(pictures, result.dtype)
        sides = tuple(result.shape[-1 - count : -1])
        table = torch.from_numpy(np.stack(own)).to(sample.device, torch.float32)
        table = table.expand(len(pictures), count, count + 1)
        targets = F.pad(pixel_places(sides, sample.device).reshape(-1, count), (0, 1), value=1.0)
        done = []
        for at in chunks(len(pictures), sides, sample.device):
            places = (targets @ table[at].transpose(1, 2)).reshape(-1, *sides, count)
            values = sample_at(pictures[at], places, interp_type, border, fill)
            done.append(saturate(values, result.dtype))
        if done:
            result.copy_(torch.cat(done).reshape(result.shape))
    return out


def _by_opencv(context: Context, frames: Batch, plan: Warping) -> Any:
    """The same by OpenCV; NotImplemented if it does not support the arguments."""
    if _dimensions(frames) != 2 or not len(frames):
        return NotImplemented
    out = context.empty()
    matrices, interp_type, border, fill = plan
    pairs = []
    for sample, result in zip(frames, out, strict=True):
        if sample.ndim not in (3, 4):
            return NotImplemented
        is_clip = sample.ndim == 4
        pictures, slots = (each if is_clip else each[None] for each in (sample, result))
        if not can_warp(pictures, slots, interp_type, fill):
            return NotImplemented
        pairs.append((pictures, slots))
    for (pictures, slots), own in zip(pairs, matrices, strict=True):
        warp_pictures(pictures, own, slots, border, fill)
    return out


def _by_kernel(context: Context, frames: Batch, plan: Warping) -> Any:
    """The same by one CUDA kernel; NotImplemented if it does not support the arguments."""
    return warp_on_gpu(context, frames, *plan)


def _own(value: Any, count: int) -> tuple[Any, ...]:
    """The value for all frames of a sample, or the value of each."""
    return value.values if isinstance(value, PerFrame) else (value,) * count


def _infer_warp(
    context: Context,
    frames: Spec,
    *,
    matrix: PerSample,
    inverse_map: bool,
    size: PerSample,
    fill_value: float | None,
    interp_type: InterpType,
    dtype: torch.dtype | None,
) -> Planned:
    count = _dimensions(frames)
    sides = [
        shape[-1 - count : -1]
        if wanted is None
        else whole_size(wanted, count, "warp_affine", "truncate")
        for shape, wanted in zip(frames.shapes, size, strict=True)
    ]
    tables = _affine_matrices(matrix, count, is_inverse=inverse_map)
    return _planned(_with_sides(frames, sides, dtype), tables, interp_type, fill_value)


@declare(
    "warp_affine",
    inputs=(Input("frames", _FRAMES),),
    positional=("matrix",),
    arguments=(
        Argument(
            "matrix",
            MATRIX,
            REQUIRED,
            "(2, 3), of volumes (3, 4): from points (x, y, z) of the output to points of the "
            "input, in pixels",
            per_sample=True,
            per_frame=True,
        ),
        Argument(
            "inverse_map", BOOL, default=True, doc="False: from the input to the output instead"
        ),
        *_ARGUMENTS,
    ),
    infer=_infer_warp,
    deprecated=(OUTPUT_DTYPE,),
    kernels={"cpu": _by_opencv, "cuda": _by_kernel},
)
def warp_affine(context: Context, frames: Batch, plan: Warping) -> Batch:
    """See frames through an affine transform, every frame of a clip alike by default.

    Pixel centres lie at half-integers.
    """
    return _warped(context, frames, plan)


def _affine_matrices(
    values: PerSample, dimensions: int, *, is_inverse: bool
) -> tuple[tuple[Matrix, ...], ...]:
    """The matrices of each sample, from the output to the input; equal samples share them."""

    def matrices_of(value: Any) -> tuple[Matrix, ...]:
        own = [affine(each, dimensions) for each in _own(value, 1)]
        return tuple(own if is_inverse else [inverse(each, "warp_affine") for each in own])

    return tuple(once_for_equal(matrices_of, values))


def _turns(angle: Any, axis: Any, dimensions: int) -> list[tuple[float, Any]]:
    """The rotations of a sample: one, or one for each frame."""
    if (axis is None) != (dimensions == 2):
        raise ArgumentError(
            "fn.rotate: volumes are rotated about an axis (x, y, z), pictures have none"
        )
    count = max((len(each) for each in (angle, axis) if isinstance(each, PerFrame)), default=1)
    return list(zip(_own(angle, count), _own(axis, count), strict=True))


def _infer_rotated(
    context: Context,
    frames: Spec,
    *,
    angle: PerSample,
    axis: PerSample,
    keep_size: bool,
    size: PerSample,
    fill_value: float | None,
    interp_type: InterpType,
    dtype: torch.dtype | None,
) -> Planned:
    count = _dimensions(frames)
    sides = _rotated_sides(frames.shapes, count, angle, axis, size, keep_size)
    out = _with_sides(frames, sides, dtype)
    tables = _rotations(frames.shapes, out.shapes, count, angle, axis)
    return _planned(out, tables, interp_type, fill_value)


def _rotated_sides(
    shapes: tuple[Shape, ...],
    count: int,
    angle: PerSample,
    axis: PerSample,
    size: PerSample,
    keep_size: bool,
) -> tuple[tuple[int, ...], ...]:
    """The sides of each rotated sample, computed once for equal samples."""

    def sides_of(shape: Shape, degrees: Any, about: Any, own: Any) -> tuple[int, ...]:
        turns = _turns(degrees, about, count)
        if own is not None:
            return whole_size(own, count, "rotate", "truncate")
        if keep_size:
            return shape[-1 - count : -1]
        angles, axes = zip(*turns, strict=True)  # one canvas for all frames of a clip
        return canvas_size(shape[-1 - count : -1], angles, axes)

    return tuple(once_for_equal(sides_of, shapes, angle, axis, size))


@declare(
    "rotate",
    inputs=(Input("frames", _FRAMES),),
    arguments=(
        Argument(
            "angle",
            FLOAT,
            REQUIRED,
            "in degrees, counter-clockwise",
            per_sample=True,
            per_frame=True,
        ),
        Argument(
            "axis",
            FLOATS,
            None,
            "(x, y, z) that volumes are rotated about",
            per_sample=True,
            per_frame=True,
        ),
        Argument("keep_size", BOOL, default=False, doc="the output has the size of the input"),
        *_ARGUMENTS,
    ),
    infer=_infer_rotated,
    deprecated=(OUTPUT_DTYPE,),
    kernels={"cpu": _by_opencv, "cuda": _by_kernel},
)
def rotate(context: Context, frames: Batch, plan: Warping) -> Batch:
    """Rotate frames about their centre, every frame of a clip alike by default.

    The output is as large as the rotated frame needs. Frames of a clip that are rotated by angles
    of their own lie in the middle of one canvas.
    """
    return _warped(context, frames, plan)


def _rotations(
    before: tuple[Shape, ...],
    after: tuple[Shape, ...],
    count: int,
    angle: PerSample,
    axis: PerSample,
) -> tuple[tuple[Matrix, ...], ...]:
    """The matrices of each sample, from the output to the input; equal samples share them."""

    def matrices_of(source: Shape, target: Shape, turned: Any, axes: Any) -> tuple[Matrix, ...]:
        centers = [np.array(shape[-1 - count : -1])[::-1] / 2 for shape in (source, target)]
        own = []
        for degrees, about in _turns(turned, axes, count):
            # A rotation about an axis is seen from its tip; y points down in pictures.
            linear = rotation(degrees) if about is None else rotation(-degrees, about)
            own.append(
                np.concatenate([linear, (centers[0] - linear @ centers[1])[:, None]], axis=1)
            )
        return tuple(own)

    return tuple(once_for_equal(matrices_of, before, after, angle, axis))
