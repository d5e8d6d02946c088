"""Where pixels go: flip and crop, and the arithmetic of crop windows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch

from videoloader.errors import ArgumentError
from videoloader.operators.arguments import BOOL, DTYPE, FLOAT, FLOATS, TEXT, Argument
from videoloader.operators.convert import saturate
from videoloader.operators.decoded import DecodedForm
from videoloader.operators.operator import FRAMES, declare

__all__ = [
    "CROP_ARGUMENTS",
    "WINDOW",
    "absorb_crop",
    "anchor",
    "check_crop",
    "crop",
    "crop_window",
    "flip",
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
        least=0,
        most=1,
    ),
    Argument(
        "crop_pos_y",
        FLOAT,
        0.5,
        "place of the window: 0 is topmost, 1 lowest",
        per_sample=True,
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


def absorb_crop(form: DecodedForm, arguments: Mapping[str, Any]) -> DecodedForm | None:
    """The form behind `crop`."""
    if arguments.get("dtype") not in (None, torch.uint8):
        return None
    window = {name: arguments[name] for name in WINDOW}
    return form.cropped(*crop_window(*form.size, **window))


@declare(
    "crop",
    inputs=("frames",),
    layouts=FRAMES,
    arguments=(*CROP_ARGUMENTS, Argument("dtype", DTYPE, None, "element type of the output")),
    check=check_crop,
    absent=CROP_ABSENT,
    absorb=absorb_crop,
    absorbed_per_sample=WINDOW,
)
def crop(frames: torch.Tensor, *, dtype: torch.dtype | None, **window: Any) -> torch.Tensor:
    """Cut a window out of frames, the same one out of every frame of a clip.

    Along each side the window begins at round(position * (side - window)), half up. A window
    that does not fit is an error. The output shares memory with the input.
    """
    rows, columns = crop_window(frames.shape[-3], frames.shape[-2], **window)
    return saturate(frames[..., rows, columns, :], dtype or frames.dtype)


def _absorb_flip(form: DecodedForm, arguments: Mapping[str, Any]) -> DecodedForm | None:
    if arguments["vertical"]:
        return None
    return form.flipped() if arguments["horizontal"] else form


@declare(
    "flip",
    inputs=("frames",),
    layouts=FRAMES,
    arguments=(
        Argument("horizontal", BOOL, default=True, doc="swap left and right", per_sample=True),
        Argument("vertical", BOOL, default=False, doc="swap top and bottom", per_sample=True),
    ),
    absent={"depthwise": 0},
    absorb=_absorb_flip,
    absorbed_per_sample=("horizontal",),
)
def flip(frames: torch.Tensor, *, horizontal: bool, vertical: bool) -> torch.Tensor:
    """Mirror frames, every frame of a clip alike."""
    sides = [side for side, wanted in ((-2, horizontal), (-3, vertical)) if wanted]
    return frames.flip(sides) if sides else frames
