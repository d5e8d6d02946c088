"""`PictureFormat`: picture properties that a sequence header states."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from videoloader.codecs.bits import BitReader
from videoloader.codecs.color import Color, color_from_codes

__all__ = ["PictureFormat", "cropped_left", "parse_vui_color", "pixel_format"]

_EXTENDED_SAR = 255


@dataclass(frozen=True, slots=True)
class PictureFormat:
    """Size and sample format of the pictures of a stream.

    `width` and `height` are those of the displayed picture, after cropping; 0 if the header does
    not state them. `reorders` is False if presentation order is decode order for certain, None
    if the header does not decide it. `sub_layers` is the number of temporal sub-layers (HEVC).
    `starts_cropped`: the picture is cropped on the left or top. `frame_rate` is frames a second,
    None if the header does not state it. `frame_number_bits` (H.264) is the size of frame_num in
    slice headers if pictures may be fields, 0 if all are frames.
    """

    width: int
    height: int
    pixel_format: str
    bit_depth: int
    color: Color = field(default_factory=Color)
    reorders: bool | None = None
    sub_layers: int = 1
    starts_cropped: bool = False
    frame_rate: Fraction | None = None
    frame_number_bits: int = 0


def pixel_format(chroma: int, depth: int, color: Color) -> str:
    """FFmpeg's name of the pixel format that a decoder outputs.

    `chroma` is chroma_format_idc: 0 for grey, 1 for 4:2:0, 2 for 4:2:2 and 3 for 4:4:4.

    >>> pixel_format(1, 10, Color())
    'yuv420p10le'
    """
    endian = f"{depth}le" if depth > 8 else ""
    if chroma == 0:
        return f"gray{endian}"
    if chroma == 3 and color.matrix == "gbr":
        return f"gbrp{endian}"
    family = "yuvj" if color.range == "pc" and depth == 8 else "yuv"
    return f"{family}{('420', '422', '444')[chroma - 1]}p{endian}"


def parse_vui_color(bits: BitReader) -> Color:
    """The colour in the VUI of a sequence parameter set, read from its beginning.

    H.264 (annex E.1.1) and HEVC (annex E.2.1) begin alike.
    """
    if bits.flag() and bits.u(8) == _EXTENDED_SAR:
        bits.u(32)
    if bits.flag():
        bits.flag()  # overscan_appropriate_flag
    if not bits.flag():
        return Color()
    bits.u(3)  # video_format
    full_range = bits.flag()
    codes = (bits.u(8), bits.u(8), bits.u(8)) if bits.flag() else (2, 2, 2)
    return color_from_codes(*codes, full_range=full_range)


def cropped_left(columns: int, chroma: int, depth: int) -> int:
    """Number of columns that FFmpeg's decoders crop on the left if the header asks for `columns`.

    They round down to keep the rows of every plane aligned to 32 bytes.

    >>> cropped_left(26, 1, 8), cropped_left(64, 1, 8)
    (0, 64)
    """
    if columns <= 0:
        return 0
    width = 2 if depth > 8 else 1
    across = columns // 2 if chroma in (1, 2) else columns
    align = min(_power(offset * width) for offset in (columns, across) if offset)
    unit = 1 << max(5 + _power(columns) - align, 0)
    return columns if align >= 5 else columns // unit * unit


def _power(number: int) -> int:
    """Exponent of the largest power of two that divides `number`."""
    return (number & -number).bit_length() - 1
