"""`fn.warp_affine` and `fn.rotate`: frames seen through an affine transform."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from videoloader.errors import ArgumentError
from videoloader.operators.arguments import (
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
from videoloader.operators.batch import Batch, Context, Spec
from videoloader.operators.geometry.matrices import MATRIX, Matrix, affine, rotation
from videoloader.operators.operator import FRAMES, Input, declare
from videoloader.tensors import saturate
from videoloader.types import InterpType

__all__ = ["canvas_size", "rotate", "warp_affine"]

_FRAMES = (*FRAMES, "CFHW")
_MOST_PIXELS = 1 << 22  # that are sampled at a time on the CPU

_ARGUMENTS = (
    Argument("size", FLOATS, None, "(height, width) of the output", per_sample=True, least=0),
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


def canvas_size(height: int, width: int, degrees: float) -> tuple[int, int]:
    """Height and width of the smallest canvas, as DALI has it, for a picture that is rotated.

    An odd side stays odd, so that the centre stays between the same pixels; where the picture is
    turned by more than 45 degrees, its height counts for the width of the canvas.

    >>> canvas_size(100, 150, 30), canvas_size(101, 150, 88)
    ((162, 180), (154, 107))
    """
    angle = float(np.float32(degrees) * np.float32(math.pi / 180))
    cos, sin = abs(math.cos(angle)), abs(math.sin(angle))
    rows = math.ceil(cos * height + sin * width - 0.01)
    columns = math.ceil(cos * width + sin * height - 0.01)
    like = (height, width) if sin <= cos else (width, height)
    return rows + (rows - like[0]) % 2, columns + (columns - like[1]) % 2


def _rounded(size: Sequence[float], operator: str) -> tuple[int, int]:
    sides = tuple(math.floor(side + 0.5) for side in size)
    if len(sides) != 2 or min(sides) < 1:
        raise ArgumentError(
            f"fn.{operator}: size must be (height, width), at least 1, got {tuple(size)}"
        )
    return sides[0], sides[1]


def _warped(
    context: Context,
    frames: Batch,
    matrices: Sequence[Sequence[Matrix]],
    interp_type: InterpType,
    fill_value: float | None,
) -> Batch:
    """Each sample through its matrices: one, or one for each frame."""
    out = context.empty()
    for sample, result, own in zip(frames, out, matrices, strict=True):
        pictures = sample.reshape(-1, *sample.shape[-3:])
        places = result.reshape(-1, *result.shape[-3:]) if result.is_contiguous() else None
        table = torch.from_numpy(np.stack(own)).to(sample.device, torch.float32)
        table = table.expand(len(pictures), 2, 3)
        step = len(pictures) or 1
        if sample.device.type == "cpu":
            step = max(1, _MOST_PIXELS // max(result.shape[-3:-1].numel(), 1))
        done = [
            _sampled(
                pictures[at : at + step], table[at : at + step], result, interp_type, fill_value
            )
            for at in range(0, len(pictures), step)
        ]
        if places is None:
            result.copy_(torch.cat(done).reshape(result.shape))
        elif done:
            torch.cat(done, out=places)
    return out


def _sampled(
    pictures: torch.Tensor,
    matrices: torch.Tensor,
    like: torch.Tensor,
    interp_type: InterpType,
    fill_value: float | None,
) -> torch.Tensor:
    """Pictures (P, H, W, C) at the places that matrices (P, 2, 3) give for pixels of `like`."""
    rows, columns = like.shape[-3:-1]
    height, width = pictures.shape[1:3]
    y, x = torch.meshgrid(
        torch.arange(rows, device=like.device) + 0.5,
        torch.arange(columns, device=like.device) + 0.5,
        indexing="ij",
    )
    targets = torch.stack([x, y, torch.ones_like(x)], dim=-1).reshape(1, -1, 3)
    sources = (targets @ matrices.transpose(1, 2)).reshape(-1, rows, columns, 2)
    if interp_type is InterpType.INTERP_NN:
        return _nearest(pictures, sources, like.dtype, fill_value)
    planes = pictures.permute(0, 3, 1, 2).float()
    shift = fill_value or 0.0
    grid = 2 * sources / sources.new_tensor([width, height]) - 1
    padding = "border" if fill_value is None else "zeros"
    planes = planes - shift if shift else planes
    values = F.grid_sample(planes, grid, "bilinear", padding, align_corners=False) + shift
    return saturate(values.permute(0, 2, 3, 1), like.dtype)


def _nearest(
    pictures: torch.Tensor, sources: torch.Tensor, dtype: torch.dtype, fill_value: float | None
) -> torch.Tensor:
    height, width = pictures.shape[1:3]
    column, row = (each.floor().long() for each in sources.unbind(-1))
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    at = row.clamp(0, height - 1) * width + column.clamp(0, width - 1)
    flat = saturate(pictures, dtype).reshape(len(pictures), height * width, -1)
    index = at.reshape(len(pictures), -1, 1).expand(-1, -1, flat.shape[-1])
    values = flat.gather(1, index).reshape(*sources.shape[:-1], -1)
    if fill_value is None:
        return values
    filler = saturate(torch.tensor(fill_value, device=values.device), dtype)
    return torch.where(inside[..., None], values, filler)


def _own(value: Any, count: int) -> tuple[Any, ...]:
    """The value for all frames of a sample, or that of each of them."""
    return value.values if isinstance(value, PerFrame) else (value,) * count


def _infer_warp(
    context: Context,  # noqa: ARG001
    frames: Spec,
    *,
    size: PerSample,
    dtype: torch.dtype | None,
    **others: Any,  # noqa: ARG001
) -> Spec:
    sizes = [
        (shape[-3], shape[-2]) if wanted is None else _rounded(wanted, "warp_affine")
        for shape, wanted in zip(frames.shapes, size, strict=True)
    ]
    return frames.with_frames(sizes, dtype=dtype or frames.dtype)


@declare(
    "warp_affine",
    inputs=(Input("frames", _FRAMES),),
    positional=("matrix",),
    arguments=(
        Argument(
            "matrix",
            MATRIX,
            REQUIRED,
            "(2, 3): from points (x, y) of the output to points of the input, in pixels",
            per_sample=True,
            per_frame=True,
        ),
        Argument(
            "inverse_map", BOOL, default=True, doc="False: from the input to the output instead"
        ),
        *_ARGUMENTS,
    ),
    infer=_infer_warp,
)
def warp_affine(
    context: Context,
    frames: Batch,
    *,
    matrix: PerSample,
    inverse_map: bool,
    size: PerSample,  # noqa: ARG001
    fill_value: float | None,
    interp_type: InterpType,
    dtype: torch.dtype | None,  # noqa: ARG001
) -> Batch:
    """See frames through an affine transform, every frame of a clip alike by default.

    Pixel centres lie at half-integers.
    """
    tables = []
    for value in matrix:
        own = [affine(each, 2) for each in _own(value, 1)]
        tables.append(own if inverse_map else [_inverse(each) for each in own])
    return _warped(context, frames, tables, interp_type, fill_value)


def _inverse(matrix: Matrix) -> Matrix:
    try:
        linear = np.linalg.inv(matrix[:, :2])
    except np.linalg.LinAlgError as error:
        raise ArgumentError(
            f"fn.warp_affine: inverse_map=False needs a matrix that has an inverse, got {matrix}"
        ) from error
    return np.concatenate([linear, -linear @ matrix[:, 2:]], axis=1)


def _infer_rotated(
    context: Context,  # noqa: ARG001
    frames: Spec,
    *,
    angle: PerSample,
    keep_size: bool,
    size: PerSample,
    dtype: torch.dtype | None,
    **others: Any,  # noqa: ARG001
) -> Spec:
    sizes = []
    for position, shape in enumerate(frames.shapes):
        height, width = shape[-3], shape[-2]
        if size[position] is not None:
            sizes.append(_rounded(size[position], "rotate"))
        elif keep_size:
            sizes.append((height, width))
        else:  # one canvas for all frames of a clip
            each = [canvas_size(height, width, own) for own in _own(angle[position], 1)]
            sizes.append((max(rows for rows, _ in each), max(columns for _, columns in each)))
    return frames.with_frames(sizes, dtype=dtype or frames.dtype)


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
        Argument("keep_size", BOOL, default=False, doc="the output has the size of the input"),
        *_ARGUMENTS,
    ),
    infer=_infer_rotated,
    absent={"axis": None},
)
def rotate(
    context: Context,
    frames: Batch,
    *,
    angle: PerSample,
    keep_size: bool,  # noqa: ARG001
    size: PerSample,  # noqa: ARG001
    fill_value: float | None,
    interp_type: InterpType,
    dtype: torch.dtype | None,  # noqa: ARG001
) -> Batch:
    """Rotate frames about their centre, every frame of a clip alike by default.

    The output is as large as the rotated frame needs. Frames of a clip that are rotated by angles
    of their own lie in the middle of one canvas.
    """
    tables = []
    for position, (before, after) in enumerate(
        zip(frames.spec.shapes, context.outputs[0].shapes, strict=True)
    ):
        centers = [np.array([shape[-2], shape[-3]]) / 2 for shape in (before, after)]
        own = []
        for degrees in _own(angle[position], 1):
            linear = rotation(degrees)
            own.append(
                np.concatenate([linear, (centers[0] - linear @ centers[1])[:, None]], axis=1)
            )
        tables.append(own)
    return _warped(context, frames, tables, interp_type, fill_value)
