"""`PictureFormat`: properties that a sequence header states; `CodedPicture`: references."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from videoloader.codecs.bits import BitReader
from videoloader.codecs.color import Color, color_from_codes

_EXTENDED_SAR = 255
# aspect_ratio_idc (ITU-T H.264, table E-1; HEVC has the same)
ASPECTS = dict(
    enumerate(
        (
            *((1, 1), (12, 11), (10, 11), (16, 11), (40, 33), (24, 11), (20, 11), (32, 11)),
            *((80, 33), (18, 11), (15, 11), (64, 33), (160, 99), (4, 3), (3, 2), (2, 1)),
        ),
        start=1,
    )
)


@dataclass(frozen=True, slots=True)
class CodedPicture:
    """A coded picture. Pictures are numbered from 0 in the order in which they are read.

    `references` are the numbers of all pictures that decoding it may read. `is_shown`: it is the
    picture that its packet shows. `is_fixed`: it must not be dropped, since it carries parameters.
    """

    references: tuple[int, ...]
    is_shown: bool = True
    is_fixed: bool = False


@dataclass(frozen=True, slots=True)
class PictureFormat:
    """Size and sample format of the pictures of a stream.

    `width` and `height` are those of the displayed picture, after cropping; 0 if the header does
    not state them. `reorders` is False if presentation order is decode order for certain, None
    if the header does not decide it. `sub_layers` is the number of temporal sub-layers (HEVC).
    `starts_cropped`: the picture is cropped on the left or top. `frame_rate` is frames a second,
    None if the header does not state it. `frame_number_bits` (H.264) is the size of frame_num in
    slice headers if pictures may be fields, 0 if all are frames. `aspect` is the width of a pixel
    relative to its height, `interlaced` whether pictures may consist of fields; None if the header
    does not state it.
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
    aspect: Fraction | None = None
    interlaced: bool | None = None


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


def parse_vui_start(bits: BitReader) -> tuple[Color, Fraction | None]:
    """The colour, and aspect ratio of pixels, in the VUI of a sequence parameter set.

    H.264 (annex E.1.1) and HEVC (annex E.2.1) begin alike.
    """
    aspect = None
    if bits.flag():
        kind = bits.u(8)
        across, down = ASPECTS.get(kind, (0, 0))
        if kind == _EXTENDED_SAR:
            across, down = bits.u(16), bits.u(16)
        aspect = Fraction(across, down) if across and down else None
    if bits.flag():
        bits.flag()  # overscan_appropriate_flag
    if not bits.flag():
        return Color(), aspect
    bits.u(3)  # video_format
    full_range = bits.flag()
    codes = (bits.u(8), bits.u(8), bits.u(8)) if bits.flag() else (2, 2, 2)
    return color_from_codes(*codes, full_range=full_range), aspect


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
