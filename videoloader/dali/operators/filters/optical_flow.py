"""Optical flow between the frames of a clip, by OpenCV's dense inverse search (DIS)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import BOOL, FLOAT, IMAGE, INT, Argument
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.deprecated import Deprecated
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.dali.types import ImageType
from videoloader.errors import ArgumentError

_PRESETS = {0.0: "MEDIUM", 0.5: "FAST", 1.0: "ULTRAFAST"}
_CHANNELS = {ImageType.RGB: 3, ImageType.BGR: 3, ImageType.GRAY: 1}
_LEAST_SIDE = 12  # of a picture that DIS takes

Flow = NDArray[np.float32]


def _infer(
    context: Context,
    frames: Spec,
    *hints: Spec,
    output_grid: int,
    hint_grid: int,
    enable_external_hints: bool,
    image_type: ImageType,
    **others: Any,
) -> Spec:
    if frames.dtype != torch.uint8:
        raise ArgumentError(f"fn.optical_flow takes frames of uint8, got {frames.dtype}")
    if enable_external_hints != bool(hints):
        wrong = "are given, but not enabled" if hints else "are enabled, but not given"
        raise ArgumentError(f"fn.optical_flow: external hints {wrong}")
    shapes = []
    for position, (count, height, width, channels) in enumerate(frames.shapes):
        if channels != _CHANNELS[image_type]:
            raise ArgumentError(
                f"fn.optical_flow: frames of type {image_type.name} have "
                f"{_CHANNELS[image_type]} channels, got {channels}"
            )
        if count < 2:
            raise ArgumentError(f"fn.optical_flow takes clips of 2 frames or more, got {count}")
        if min(height, width) < _LEAST_SIDE:
            raise ArgumentError(
                f"fn.optical_flow takes frames of {_LEAST_SIDE}x{_LEAST_SIDE} or more, "
                f"got {height}x{width}"
            )
        shapes.append((count - 1, *_grid(height, width, output_grid), 2))
        if hints:
            expected = (count - 1, *_grid(height, width, hint_grid), 2)
            if hints[0].shapes[position] != expected:
                raise ArgumentError(
                    f"fn.optical_flow: hints for clips of shape {frames.shapes[position]} with "
                    f"hint_grid={hint_grid} have shape {expected}, "
                    f"got {hints[0].shapes[position]}"
                )
    return replace(frames, shapes=tuple(shapes), dtype=torch.float32, layout="FHWC")


def _grid(height: int, width: int, cell: int) -> tuple[int, int]:
    """Rows and columns of cells that cover a picture."""
    return -(-height // cell), -(-width // cell)


def _means(flow: Flow, cell: int) -> Flow:
    """The mean vector of each cell; cells at the border repeat the last row and column."""
    height, width = flow.shape[:2]
    rows, columns = _grid(height, width, cell)
    more = ((0, rows * cell - height), (0, columns * cell - width), (0, 0))
    wide = np.pad(flow, more, mode="edge")
    means: Flow = wide.reshape(rows, cell, columns, cell, 2).mean((1, 3))
    return means


def _at_pixels(hints: Flow, cell: int, height: int, width: int) -> Flow:
    """The vector of its cell for each pixel."""
    wide = hints.repeat(cell, 0).repeat(cell, 1)[:height, :width]
    return np.ascontiguousarray(wide, np.float32)


@declare(
    "optical_flow",
    inputs=(Input("frames", ("FHWC",)), Input("hints", ("FHWC",), is_optional=True)),
    arguments=(
        Argument(
            "preset",
            FLOAT,
            0.0,
            "0.0 is the slowest and best, 0.5 is between, 1.0 is the fastest",
            choices=tuple(_PRESETS),
        ),
        Argument(
            "output_grid", INT, 4, "side of the square of pixels of a vector", choices=(1, 2, 4)
        ),
        Argument(
            "hint_grid", INT, 4, "side of the square of pixels of a hint", choices=(1, 2, 4, 8)
        ),
        Argument(
            "enable_temporal_hints",
            BOOL,
            default=False,
            doc="begin the search at the flow between the two frames before",
        ),
        Argument(
            "enable_external_hints",
            BOOL,
            default=False,
            doc="begin the search at the vectors of the second input",
        ),
        Argument("image_type", IMAGE, ImageType.RGB, "colour space", choices=tuple(_CHANNELS)),
    ),
    devices=("cpu",),
    absent_devices={
        "gpu": "no library that this package uses offers NVIDIA's optical flow; pass "
        'device="cpu", which is OpenCV\'s DIS, and frames on the CPU, such as frames.cpu()'
    },
    infer=_infer,
    deprecated=(Deprecated("output_format", renamed_to="output_grid"),),
)
def optical_flow(
    context: Context,
    frames: Batch,
    *hints: Batch,
    preset: float,
    output_grid: int,
    hint_grid: int,
    enable_temporal_hints: bool,
    enable_external_hints: bool,
    image_type: ImageType,
) -> Batch:
    """Estimate how the picture moves from each frame of a clip to the next, by OpenCV's DIS.

    The output is float32 FHWC, one frame less than the input: a vector (x, y) in pixels of the
    input for each square of `output_grid` x `output_grid` pixels. What is at (x, y) in a frame is
    at (x, y) + vector in the next one.

    Hints are such vectors for squares of `hint_grid` pixels. External ones come before temporal
    ones.
    """
    import cv2

    out = context.empty()
    to_gray = {ImageType.RGB: cv2.COLOR_RGB2GRAY, ImageType.BGR: cv2.COLOR_BGR2GRAY}
    for position, (clip, place) in enumerate(zip(frames, out, strict=True)):
        search = cv2.DISOpticalFlow.create(
            getattr(cv2, f"DISOpticalFlow_PRESET_{_PRESETS[preset]}")
        )
        pictures: list[Any] = [
            cv2.cvtColor(picture, to_gray[image_type])
            if image_type in to_gray
            else np.ascontiguousarray(picture[..., 0])
            for picture in np.ascontiguousarray(clip.numpy())
        ]
        height, width = pictures[0].shape
        flow: Any = None
        for number in range(len(pictures) - 1):
            start: Any = flow.copy() if flow is not None and enable_temporal_hints else None
            if hints:
                hint = hints[0][position][number].float().numpy()
                start = _at_pixels(hint, hint_grid, height, width)
            flow = search.calc(pictures[number], pictures[number + 1], start)
            place[number].copy_(torch.from_numpy(_means(flow, output_grid)))
    return out
