"""What the samples of a picture mean: matrix, range, and where chroma lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.indexing.bitstream.color import Color

if TYPE_CHECKING:
    from av import VideoFrame

__all__ = ["Siting", "chroma_siting", "matrix_and_range", "rgb_matrix"]

Siting: TypeAlias = Literal["left", "center"]

# Kr and Kb (ITU-T H.273, table 4).
_WEIGHTS = {
    "bt709": (0.2126, 0.0722),
    "fcc": (0.30, 0.11),
    "bt470bg": (0.299, 0.114),
    "smpte170m": (0.299, 0.114),
    "smpte240m": (0.212, 0.087),
    "bt2020nc": (0.2627, 0.0593),
    "bt2020c": (0.2627, 0.0593),
}
_MATRIX_NAMES = {1: "bt709", 4: "fcc", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m"}
_MATRIX_NAMES |= {9: "bt2020nc", 10: "bt2020c"}
_HD_LINES = 720
_LIMITED, _FULL = 1, 2

_CENTERED = {"flv1", "h261", "h263", "mjpeg", "mpeg1video"}


def matrix_and_range(frame: VideoFrame, color: Color) -> tuple[str, str]:
    """The matrix and range to convert a frame by.

    The frame's own description comes first, then the stream's. Without a matrix it is BT.709 from
    720 lines up and BT.601 below; without a range it is limited.
    """
    matrix = _MATRIX_NAMES.get(int(frame.colorspace)) or color.matrix
    if matrix not in _WEIGHTS:
        matrix = "bt709" if frame.height >= _HD_LINES else "smpte170m"
    spread = {_LIMITED: "tv", _FULL: "pc"}.get(int(frame.color_range)) or color.range or "tv"
    return matrix, "pc" if frame.format.name.startswith("yuvj") else spread


def chroma_siting(codec: str) -> Siting:
    """Where a sample of halved chroma lies: on the left one of its two pixels, or between them.

    Vertically it lies between its two rows.
    """
    return "center" if codec in _CENTERED else "left"


def rgb_matrix(
    kind: str, *, is_full: bool, depth: int, shift: int = 0, top: float = 255.0
) -> NDArray[np.float64]:
    """The 3x4 matrix that takes (Y, Cb, Cr, 1) to (R, G, B) from 0 to `top`.

    ITU-T H.273, section 8.3.

    Args:
        kind: a name of FFmpeg's for a matrix; `rgb` where the samples are R, G and B, and `gray`
            where all three are luma.
        is_full: range of the samples.
        depth: bits of a sample.
        shift: bits that the samples were moved up by.
        top: value of white.
    """
    unit = float(1 << shift + depth - 8)
    end = float((1 << depth) - 1 << shift)
    black, luma, chroma = (0.0, end, end) if is_full else (16 * unit, 219 * unit, 224 * unit)
    if kind in ("rgb", "gray"):
        return top / luma * np.eye(3, 4) - [[0, 0, 0, top / luma * black]]
    red, blue = _WEIGHTS[kind]
    green = 1 - red - blue
    mixed = np.array(
        [
            [1, 0, 2 * (1 - red)],
            [1, -2 * blue * (1 - blue) / green, -2 * red * (1 - red) / green],
            [1, 2 * (1 - blue), 0],
        ]
    )
    mixed = top * mixed / [luma, chroma, chroma]
    return np.column_stack([mixed, -mixed @ [black, 128 * unit, 128 * unit]])
