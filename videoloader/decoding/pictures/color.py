"""Colour of the samples of a picture: matrix, range, and position of chroma."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.color import Color
from videoloader.codecs.registry import codec_of
from videoloader.decoding.output import OutputFormat
from videoloader.decoding.pictures.matrix import matrix_for

if TYPE_CHECKING:
    from av import VideoFrame

Siting: TypeAlias = Literal["left", "center"]

_MATRIX_NAMES = {1: "bt709", 4: "fcc", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m"}
_MATRIX_NAMES |= {8: "ycgco", 9: "bt2020nc", 10: "bt2020c"}
_CHOSEN = {"bt601": "smpte170m", "bt709": "bt709", "bt2020": "bt2020nc"}
_RANGES = {"limited": "tv", "full": "pc"}
_HD_LINES = 720
_TAGGED_RANGES = {1: "tv", 2: "pc"}


def matrix_and_range(
    frame: VideoFrame, color: Color, output: OutputFormat | None = None
) -> tuple[str, str]:
    """The matrix and range to convert a frame by: its own tags count first, then the stream's."""
    return resolve(
        _MATRIX_NAMES.get(int(frame.colorspace)) or color.matrix,
        _TAGGED_RANGES.get(int(frame.color_range)) or color.range,
        pixel_format=frame.format.name,
        height=frame.height,
        output=output or OutputFormat(),
    )


def tag(frame: VideoFrame, color: Color) -> None:
    """Write the stream's matrix and range into a frame that has no tags of its own."""
    for name, codes, value in (
        ("colorspace", _MATRIX_NAMES, color.matrix),
        ("color_range", _TAGGED_RANGES, color.range),
    ):
        known = {text: code for code, text in codes.items()}
        if int(getattr(frame, name)) not in codes and value in known:
            setattr(frame, name, known[value])


def resolve(
    matrix: str | None,
    color_range: str | None,
    *,
    pixel_format: str,
    height: int,
    output: OutputFormat,
) -> tuple[str, str]:
    """The matrix and range to convert by, under FFmpeg's names.

    Args:
        matrix: the tag, None where there is none.
        color_range: the tag, `tv` or `pc`; None where there is none.
        pixel_format: FFmpeg's name; those of JPEG have full range, whatever the tag.
        height: rows of the picture.
        output: says which to take instead of the tags, and what untagged video is.
    """
    if output.matrix in _CHOSEN:
        matrix = _CHOSEN[output.matrix]
    elif matrix in (None, "gbr"):  # RGB formats have no chroma; ignore the tag
        is_hd = height >= _HD_LINES and output.matrix != "swscale"
        matrix = "bt709" if is_hd else "smpte170m"
    if output.color_range in _RANGES:
        return matrix, _RANGES[output.color_range]
    return matrix, "pc" if pixel_format.startswith("yuvj") else color_range or "tv"


def chroma_siting(codec: str, output: OutputFormat | None = None) -> Siting:
    """Where a sample of halved chroma lies: on the left one of its two pixels, or between them.

    Vertically it lies between its two rows. An output may want it taken for centered.
    """
    if output is not None and output.chroma == "centered":
        return "center"
    return codec_of(codec).chroma_siting


@cache
def rgb_matrix(
    kind: str, color_range: str, *, depth: int, shift: int = 0, top: float = 255.0
) -> NDArray[np.float64]:
    """The 3x4 matrix that takes three samples and 1 to (R, G, B) from 0 to `top`; read it only.

    Args:
        kind: a name of FFmpeg's for a matrix; `rgb` where the samples are R, G and B, and `gray`
            where all three are luma.
        color_range: `tv` or `pc`, the range of the samples.
        depth: bits of a sample.
        shift: bits that the samples were moved up by.
        top: value of white.

    Raises:
        UnsupportedError: a matrix without a conversion to RGB.
    """
    is_plain = kind in ("rgb", "gray")
    name = "gbr" if is_plain else kind
    found = matrix_for(name, color_range, bit_depth=depth, storage_bits=depth + shift)
    return found[:, [2, 0, 1, 3] if is_plain else [0, 1, 2, 3]] * (top / 255)
