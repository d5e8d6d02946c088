"""Where pixels go: flip and crop, and the arithmetic of crop windows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from videoloader.errors import ArgumentError
from videoloader.operators.arguments import (
    BOOL,
    DTYPE,
    FLOAT,
    FLOATS,
    TEXT,
    Argument,
    PerFrame,
    PerSample,
)
from videoloader.operators.batch import Batch, Context, Spec, parts
from videoloader.operators.decoded import DecodedForm
from videoloader.operators.operator import FRAMES, Input, declare
from videoloader.tensors import saturate

__all__ = [
    "CROP_ARGUMENTS",
    "WINDOW",
    "Windows",
    "absorb_crop",
    "anchor",
    "check_crop",
    "crop",
    "crop_window",
    "crop_windows",
    "cut",
    "flip",
    "mirrored",
    "window_sizes",
]

CROP_ARGUMENTS = (
    Argument(
        "crop", FLOATS, None, "(height, width) of the window, in pixels", per_sample=True, least=0
    ),
    Argument("crop_h", FLOAT, None, "height of the window; 0: all", per_sample=True, least=0),
    Argument("crop_w", FLOAT, None, "width of the window; 0: all", per_sample=True, least=0),
    Argument(
        "crop_pos_x",
        FLOAT,
        0.5,
        "place of the window: 0 is leftmost, 1 rightmost",
        per_sample=True,
        per_frame=True,
        least=0,
        most=1,
    ),
    Argument(
        "crop_pos_y",
        FLOAT,
        0.5,
        "place of the window: 0 is topmost, 1 lowest",
        per_sample=True,
        per_frame=True,
        least=0,
        most=1,
    ),
    Argument(
        "rounding",
        TEXT,
        "round",
        "how the corner of the window becomes a whole number",
        choices=("round", "truncate"),
    ),
)
"""The window arguments that every cropping operator shares."""

WINDOW = tuple(argument.name for argument in CROP_ARGUMENTS)
"""Their names."""

CROP_ABSENT = {
    "crop_d": 0.0,
    "crop_pos_z": 0.5,
    "out_of_bounds_policy": "error",
    "fill_values": 0.0,
}


def check_crop(given: Collection[str], arguments: Mapping[str, Any]) -> None:  # noqa: ARG001
    """`crop` excludes `crop_h` and `crop_w`, which come together."""
    if "crop" in given and {"crop_h", "crop_w"} & set(given):
        raise ArgumentError("give either crop or crop_h and crop_w, not both")
    if ("crop_h" in given) != ("crop_w" in given):
        raise ArgumentError("crop_h and crop_w come together: give both (0 keeps the whole side)")


def anchor(position: float, room: int, rounding: str = "round") -> int:
    """First pixel of a window that can move by `room` pixels, as DALI has it.

    The product is taken in float32 and rounded half up.

    >>> anchor(0.5, 7), anchor(0.5, 7, "truncate"), anchor(1.0, 7)
    (4, 3, 7)
    """
    place = np.float32(position) * np.float32(room)
    return int(place) if rounding == "truncate" else int(np.floor(place + np.float32(0.5)))


def crop_window(
    height: int,
    width: int,
    *,
    crop: tuple[float, ...] | None,
    crop_h: float | None,
    crop_w: float | None,
    crop_pos_x: float,
    crop_pos_y: float,
    rounding: str,
) -> tuple[slice, slice]:
    """Rows and columns of the window; the whole side where its size is missing or 0."""
    if crop is not None:
        if len(crop) != 2:
            raise ArgumentError(f"crop must be (height, width), got {crop}")
        crop_h, crop_w = crop
    rows, columns = int(crop_h or height), int(crop_w or width)
    if rows > height or columns > width:
        raise ArgumentError(
            f"a window of {rows} x {columns} does not fit into a frame of {height} x {width} "
            "(height x width); resize first or crop less"
        )
    top = anchor(crop_pos_y, height - rows, rounding)
    left = anchor(crop_pos_x, width - columns, rounding)
    return slice(top, top + rows), slice(left, left + columns)


Windows = tuple[tuple[slice, slice], ...]
"""Rows and columns of a clip: one window for all frames, or one for each."""


def crop_windows(frames: Spec, arguments: Mapping[str, PerSample | Any]) -> list[Windows]:
    """The windows of each sample, by the arguments of `CROP_ARGUMENTS`."""
    found = []
    for position, shape in enumerate(frames.shapes):
        own = {
            name: value[position] if isinstance(value, PerSample) else value
            for name, value in arguments.items()
        }
        lengths = {len(value) for value in own.values() if isinstance(value, PerFrame)}
        windows = []
        for frame in range(max(lengths)) if lengths else (0,):
            values = {k: v.values[frame] if isinstance(v, PerFrame) else v for k, v in own.items()}
            windows.append(crop_window(shape[-3], shape[-2], **values))
        found.append(tuple(windows))
    return found


def window_sizes(windows: Sequence[Windows]) -> list[tuple[int, int]]:
    """(height, width) of the windows of each sample."""
    return [
        (rows.stop - rows.start, columns.stop - columns.start) for ((rows, columns), *_) in windows
    ]


def cut(pictures: torch.Tensor, windows: Windows) -> torch.Tensor:
    """The windows of pictures (..., H, W, C), or of one clip where each frame has its own."""
    if len(windows) == 1:
        rows, columns = windows[0]
        return pictures[..., rows, columns, :]
    (clip,) = pictures
    each = zip(clip, windows, strict=True)
    return torch.stack([frame[rows, columns] for frame, (rows, columns) in each])[None]


def absorb_crop(form: DecodedForm, arguments: Mapping[str, Any]) -> DecodedForm | None:
    """The form behind `crop`."""
    if arguments.get("dtype") not in (None, torch.uint8):
        return None
    window = {name: arguments[name] for name in WINDOW}
    return form.cropped(*crop_window(*form.size, **window))


def _infer_crop(
    context: Context,  # noqa: ARG001
    frames: Spec,
    *,
    dtype: torch.dtype | None,
    **window: Any,
) -> Spec:
    sizes = window_sizes(crop_windows(frames, window))
    return frames.with_frames(sizes, dtype=dtype or frames.dtype)


@declare(
    "crop",
    inputs=(Input("frames", FRAMES),),
    arguments=(*CROP_ARGUMENTS, Argument("dtype", DTYPE, None, "element type of the output")),
    infer=_infer_crop,
    check=check_crop,
    absent=CROP_ABSENT,
    absorb=absorb_crop,
    absorbed_per_sample=WINDOW,
)
def crop(context: Context, frames: Batch, *, dtype: torch.dtype | None, **window: Any) -> Batch:
    """Cut a window out of frames, the same one out of every frame of a clip by default.

    Along each side the window begins at round(position * (side - window)), half up. A window
    that does not fit is an error. The output shares memory with the input.
    """
    windows = crop_windows(frames.spec, window)
    dtype = dtype or context.outputs[0].dtype
    pieces = [
        Batch(saturate(cut(frames.part(at), windows[at.start]), dtype))
        for at in parts(frames, alike=(windows,))
    ]
    return Batch.joined(pieces)


def _absorb_flip(form: DecodedForm, arguments: Mapping[str, Any]) -> DecodedForm | None:
    if arguments["vertical"]:
        return None
    return form.flipped() if arguments["horizontal"] else form


def _side(name: str, doc: str, *, default: bool) -> Argument:
    return Argument(name, BOOL, default=default, doc=doc, per_sample=True, per_frame=True)


@declare(
    "flip",
    inputs=(Input("frames", FRAMES),),
    arguments=(
        _side("horizontal", "swap left and right", default=True),
        _side("vertical", "swap top and bottom", default=False),
    ),
    absent={"depthwise": 0},
    absorb=_absorb_flip,
    absorbed_per_sample=("horizontal",),
)
def flip(context: Context, frames: Batch, *, horizontal: PerSample, vertical: PerSample) -> Batch:
    """Mirror frames, by default every frame of a clip alike."""
    ways = list(zip(horizontal, vertical, strict=True))
    pieces = parts(frames, alike=(ways,))
    if len(pieces) == 1 and not any(isinstance(way, PerFrame) for way in ways[0]):
        return frames.each(lambda value: _mirrored(value, ways[0]))
    out = context.empty()
    for position, (sample, result) in enumerate(zip(frames, out, strict=True)):
        if not any(isinstance(way, PerFrame) for way in ways[position]):
            result.copy_(_mirrored(sample, ways[position]))
            continue
        sides = (way.frames(position, len(sample)) for way in (horizontal, vertical))
        for frame, place, *way in zip(sample, result, *sides, strict=True):
            place.copy_(_mirrored(frame, way))
    return out


def _mirrored(frames: torch.Tensor, way: Sequence[bool]) -> torch.Tensor:
    return mirrored(frames, horizontal=way[0], vertical=way[1])


def mirrored(frames: torch.Tensor, *, horizontal: bool, vertical: bool = False) -> torch.Tensor:
    """Frames (..., H, W, C) mirrored; themselves if neither side is wanted."""
    sides = [side for side, wanted in ((-2, horizontal), (-3, vertical)) if wanted]
    return frames.flip(sides) if sides else frames
