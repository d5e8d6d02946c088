"""Colour operators that are one matrix: hue, saturation, colour spaces.

out = M in + offset for every pixel, with a matrix for each sample or frame. Plain torch is the
reference; on the CPU OpenCV does the same for most element types, on a GPU a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import (
    DTYPE,
    FLOAT,
    IMAGE,
    REQUIRED,
    Argument,
    PerFrame,
    PerSample,
)
from videoloader.dali.operators.color.brightness_contrast import each_of, largest, middle
from videoloader.dali.operators.color.color_on_gpu import ColorStage, columns, matrix_stage, recolor
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.inputs import PIXELS, Input
from videoloader.dali.operators.operator import OPERATORS, declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.dali.types import ImageType
from videoloader.decoding.images.pixels import GRAY_WEIGHTS, YCBCR
from videoloader.errors import ArgumentError
from videoloader.machinery.system.forking import cached_property

Matrix = NDArray[np.float64]
"""(..., channels out, channels in + 1): factors, and behind them what is added."""

Numbers = float | NDArray[np.float64]
"""A number, or one for each of several matrices."""

_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
_FROM_YIQ = np.linalg.inv(_YIQ)
_BY_OPENCV = (torch.uint8, torch.uint16, torch.int16, torch.float32)
_CHUNK = 1 << 15
"""Pixels at a time, whose float32 values stay in the cache."""


def transform(out: Batch, frames: Batch, matrices: Sequence[Matrix | PerFrame]) -> Batch:
    """Multiply the pixels of each sample by its matrix, or one for each frame, into `out`."""
    for sample, place, matrix in zip(frames, out, matrices, strict=True):
        if isinstance(matrix, PerFrame):
            for frame, result, own in zip(sample, place, matrix.values, strict=True):
                _transform(frame, result, own)
        else:
            _transform(sample, place, matrix)
    return out


def _transform(pixels: torch.Tensor, out: torch.Tensor, matrix: Matrix) -> None:
    if pixels.device.type == "cpu" and pixels.dtype in _BY_OPENCV:
        _transform_by_opencv(pixels, out, matrix)
        return
    numbers = torch.tensor(matrix, dtype=torch.float32, device=pixels.device)
    mixed = pixels.float() @ numbers[:, :-1].T + numbers[:, -1]
    out.copy_(saturate(mixed, out.dtype))


def _transform_by_opencv(pixels: torch.Tensor, out: torch.Tensor, matrix: Matrix) -> None:
    """The same by OpenCV in float32 (for uint8 it computes in ten bits), some rows at a time."""
    import cv2

    if not pixels.numel():
        return
    numbers = matrix.astype(np.float32)
    rows, places = pixels.numpy(), out
    if pixels.ndim > 3:
        rows = rows.reshape(-1, *pixels.shape[-2:])
        places = out.reshape(rows.shape[0], *out.shape[-2:]) if out.is_contiguous() else out
    if places.ndim > 3:  # each frame by itself: the memory has another order
        for frame, place in zip(pixels, out, strict=True):
            _transform_by_opencv(frame, place, matrix)
        return
    step = max(1, _CHUNK // max(1, rows.shape[1]))
    for at in range(0, len(rows), step):
        values = np.ascontiguousarray(rows[at : at + step], np.float32)
        mixed: NDArray[Any] = cv2.transform(values, numbers).reshape(*values.shape[:2], -1)
        place = places[at : at + step]
        if place.dtype == torch.uint8:
            np.clip(mixed, 0, 255, out=mixed)
            mixed += np.float32(0.5)
            place.numpy()[...] = mixed
        else:
            place.copy_(saturate(torch.from_numpy(mixed), place.dtype))


def _number(name: str, default: float, doc: str, least: float | None = None) -> Argument:
    return Argument(name, FLOAT, default, doc, per_sample=True, per_frame=True, least=least)


HUE = _number("hue", 0.0, "degrees by which hues turn")
SATURATION = _number("saturation", 1.0, "factor of the saturation; 0 is grey")
IMAGE_TYPE = Argument(
    "image_type", IMAGE, ImageType.RGB, "colour space; only RGB", choices=(ImageType.RGB,)
)


def _dtype(default: torch.dtype | None) -> Argument:
    doc = "element type of the output" + ("" if default else "; the input's by default")
    return Argument("dtype", DTYPE, default, doc)


def twist(hue: Numbers, saturation: Numbers) -> Matrix:
    """Turn and scale the chroma plane of YIQ: (..., 3, 3)."""
    angles = np.radians(hue)
    cosine, sine = saturation * _each(math.cos, angles), saturation * _each(math.sin, angles)
    turn = np.zeros((*cosine.shape, 3, 3))
    turn[..., 0, 0] = 1
    turn[..., 1, 1] = turn[..., 2, 2] = cosine
    turn[..., 1, 2], turn[..., 2, 1] = sine, -sine
    twisted: Matrix = _FROM_YIQ @ turn @ _YIQ
    return twisted


def _each(function: Callable[[float], float], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The C library's function, which gives the same on every machine."""
    return np.array([function(value) for value in values.reshape(-1).tolist()]).reshape(
        values.shape
    )


def _affine(matrix: Matrix, offset: Numbers = 0.0) -> Matrix:
    """The matrix with one more column."""
    whole = np.empty((*matrix.shape[:-1], matrix.shape[-1] + 1))
    whole[..., :-1] = matrix
    whole[..., -1] = np.asarray(offset)[..., None]
    return whole


@dataclass(frozen=True, eq=False)
class _Mixing:
    """Plan of an operator that is a matrix.

    Attributes:
        matrix_of: `matrix_of(middle, *numbers)`; numbers may be arrays, and then give a matrix for
            each of their elements.
        numbers: arguments of each sample.
        source, target: element types.
    """

    matrix_of: Callable[..., Matrix]
    numbers: tuple[PerSample, ...]
    source: torch.dtype
    target: torch.dtype

    @cached_property
    def matrices(self) -> list[Matrix | PerFrame]:
        """The matrix of each sample, or of each of its frames."""
        return each_of(partial(self.matrix_of, middle_of_twist(self.source)), *self.numbers)

    @cached_property
    def stage(self) -> ColorStage:
        """The same for the kernel."""
        values, counts = columns(self.numbers)
        matrices = self.matrix_of(middle_of_twist(self.source), *values)
        return matrix_stage(matrices, counts, self.target)


def _recolor_on_gpu(context: Context, frames: Batch, plan: _Mixing | _Conversion) -> Any:
    return NotImplemented if plan.stage.is_identity else recolor(context, frames, plan.stage)


def _declare(
    name: str,
    doc: str,
    arguments: tuple[Argument, ...],
    matrix_of: Callable[..., Matrix],
    *,
    dtype: torch.dtype | None = None,
    has_image_type: bool = True,
) -> None:
    """Declare an operator of numbers that give a matrix: see `_Mixing`."""

    def infer(
        context: Context, frames: Spec, *, dtype: torch.dtype | None, **given: Any
    ) -> Planned:
        for shape in set(frames.shapes):
            if shape[-1] != 3:
                raise ArgumentError(f"pixels have 3 channels here (RGB); got {shape[-1]}")
        out = frames if dtype in (None, frames.dtype) else replace(frames, dtype=dtype)
        numbers = tuple([given[argument.name] for argument in arguments])
        return Planned((out,), _Mixing(matrix_of, numbers, frames.dtype, out.dtype))

    def run(context: Context, frames: Batch, plan: _Mixing) -> Batch:
        return transform(context.empty(), frames, plan.matrices)

    run.__doc__ = doc
    common = (IMAGE_TYPE, _dtype(dtype)) if has_image_type else (_dtype(dtype),)
    declare(
        name,
        inputs=(Input("frames", PIXELS),),
        arguments=(*arguments, *common),
        infer=infer,
        kernels={"cuda": _recolor_on_gpu},
        is_color_stage=True,
    )(run)


def _scaled(factor: Numbers, matrix: Matrix) -> Matrix:
    scaled: Matrix = np.asarray(factor)[..., None, None] * matrix
    return scaled


def middle_of_twist(dtype: torch.dtype) -> float:
    """The value that `color_twist` turns contrast around: 128 for DALI's integers of any size."""
    return middle(dtype) if dtype.is_floating_point or dtype == torch.uint16 else 128.0


_declare(
    "hue",
    "Turn the hue of RGB pixels, by default of every frame of a clip alike.",
    (HUE,),
    lambda _, hue: _affine(twist(hue, 1.0)),
)
_declare(
    "saturation",
    "Scale the saturation of RGB pixels, by default of every frame of a clip alike.",
    (SATURATION,),
    lambda _, saturation: _affine(twist(0.0, saturation)),
)
_declare(
    "hsv",
    """Change hue, saturation and value of RGB pixels, by default of every frame of a clip alike.

    It is a linear map, as in DALI: the chroma plane of YIQ is turned and scaled, then all channels
    are scaled by `value`.
    """,
    (HUE, SATURATION, _number("value", 1.0, "factor of all channels")),
    lambda _, hue, saturation, value: _affine(_scaled(value, twist(hue, saturation))),
    dtype=torch.uint8,
    has_image_type=False,
)


def _color_twist(
    center: float, hue: Numbers, saturation: Numbers, contrast: Numbers, brightness: Numbers
) -> Matrix:
    factor, offset = brightness * contrast, brightness * center * (1 - contrast)
    return _affine(_scaled(factor, twist(hue, saturation)), offset)


_declare(
    "color_twist",
    """Change hue, saturation, contrast and brightness of RGB pixels, in this order and in one go.

    By default every frame of a clip alike. Contrast is about 0.5, or 128 for integers.
    """,
    (
        HUE,
        SATURATION,
        _number("contrast", 1.0, "factor of the contrast; 0 is uniform"),
        _number("brightness", 1.0, "factor of the brightness; 0 is black"),
    ),
    _color_twist,
)


def _to_rgb(kind: ImageType) -> Matrix:
    """(3, channels + 1): to RGB on the scale from 0 to 1."""
    if kind is ImageType.GRAY:
        return np.array([[1.0, 0.0]] * 3)
    if kind is ImageType.YCbCr:
        factors = np.linalg.inv(np.array(YCBCR)[:, :3])
        return np.hstack([factors, -factors @ np.array(YCBCR)[:, 3:]])
    order = [0, 1, 2] if kind is ImageType.RGB else [2, 1, 0]
    return _affine(np.eye(3)[order])


def _from_rgb(kind: ImageType) -> Matrix:
    """(channels, 4): from RGB on the scale from 0 to 1."""
    if kind is ImageType.GRAY:
        return np.array([[*GRAY_WEIGHTS, 0.0]])
    if kind is ImageType.YCbCr:
        return np.array(YCBCR)
    return _to_rgb(kind)


_SPACES = (ImageType.RGB, ImageType.BGR, ImageType.GRAY, ImageType.YCbCr)


@dataclass(frozen=True, eq=False)
class _Conversion:
    """Plan of `color_space_conversion`, for a number of samples of an element type."""

    count: int
    dtype: torch.dtype
    matrix: Matrix
    is_identity: bool

    @cached_property
    def stage(self) -> ColorStage:
        """The same for the kernel."""
        matrices = np.repeat(self.matrix[None], self.count, axis=0)
        return replace(matrix_stage(matrices, None, self.dtype), is_identity=self.is_identity)


def _infer_space(
    context: Context, frames: Spec, *, image_type: ImageType, output_type: ImageType
) -> Planned:
    first, second = _to_rgb(image_type), _from_rgb(output_type)
    channels = first.shape[1] - 1
    for shape in frames.shapes:
        if shape[-1] != channels:
            raise ArgumentError(
                f"{image_type.name} pixels have {channels} channels; got {shape[-1]}"
            )
    out = replace(frames, shapes=tuple((*shape[:-1], len(second)) for shape in frames.shapes))
    factors = second[:, :-1] @ first[:, :-1]
    offsets = second[:, :-1] @ first[:, -1:] + second[:, -1:]
    matrix = np.hstack([factors, offsets * largest(frames.dtype)])
    plan = _Conversion(len(frames), frames.dtype, matrix, image_type is output_type)
    return Planned((out,), plan)


@declare(
    "color_space_conversion",
    inputs=(Input("frames", PIXELS),),
    arguments=(
        Argument("image_type", IMAGE, REQUIRED, "colour space of the input", choices=_SPACES),
        Argument("output_type", IMAGE, REQUIRED, "that of the output", choices=_SPACES),
    ),
    infer=_infer_space,
    kernels={"cuda": _recolor_on_gpu},
    is_color_stage=True,
)
def color_space_conversion(context: Context, frames: Batch, plan: _Conversion) -> Batch:
    """Convert between RGB, BGR, grey and Y'CbCr (ITU-R BT.601, limited range)."""
    if plan.is_identity:
        return frames
    return transform(context.empty(), frames, [plan.matrix] * len(frames))


COLOR_SPACE_CONVERSION = OPERATORS["color_space_conversion"]
