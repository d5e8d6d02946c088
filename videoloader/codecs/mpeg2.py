"""MPEG-1 and MPEG-2 sequence and picture headers (ISO/IEC 11172-2; 13818-2, section 6.2)."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from videoloader.codecs.bits import BitReader
from videoloader.codecs.color import Color, color_from_codes
from videoloader.codecs.picture import PictureFormat, pixel_format
from videoloader.errors import FormatError

_SEQUENCE = b"\x00\x00\x01\xb3"
_EXTENSION = b"\x00\x00\x01\xb5"
_GROUP = b"\x00\x00\x01\xb8"
_PICTURE = b"\x00\x00\x01\x00"
_B_PICTURE = 3
_HEADER = 32  # bytes; enough for the fields of a header
_SEQUENCE_EXTENSION, _DISPLAY_EXTENSION, _PICTURE_EXTENSION = 1, 2, 8
_FRAME = 3  # picture_structure of a whole frame

# frame_rate_code (table 6-4).
_RATES = {
    1: Fraction(24000, 1001),
    2: Fraction(24),
    3: Fraction(25),
    4: Fraction(30000, 1001),
    5: Fraction(30),
    6: Fraction(50),
    7: Fraction(60000, 1001),
    8: Fraction(60),
}


_DISPLAYS = {2: Fraction(4, 3), 3: Fraction(16, 9), 4: Fraction(221, 100)}  # table 6-3


class Sequence(NamedTuple):
    """A sequence header: FFmpeg's name of the codec, the picture format, and its bytes.

    The bytes include extensions and serve as extradata for decoding from elsewhere in the stream.
    They are empty if no picture follows, since then their end is unknown.
    """

    codec: str
    picture: PictureFormat
    setup: bytes


def parse_sequence(data: bytes) -> Sequence | None:
    """The first sequence header in `data`, or None.

    Raises:
        FormatError: it ends early or holds values that the standard does not allow.
    """
    at = data.find(_SEQUENCE)
    if at < 0:
        return None
    ends = [end for code in (_GROUP, _PICTURE) if (end := data.find(code, at + 4)) >= 0]
    setup = data[at : min(ends)] if ends else b""
    bits = BitReader(data[at + 4 : at + 4 + _HEADER])
    width, height = bits.u(12), bits.u(12)
    shape, interlaced = bits.u(4), False
    rate = _RATES.get(bits.u(4))
    codec, chroma, color, low_delay = "mpeg1video", 1, Color(range="tv"), False
    if (extended := _extension(data, at, _SEQUENCE_EXTENSION)) is not None:
        codec = "mpeg2video"
        extended.u(8)  # profile_and_level_indication
        interlaced = not extended.flag()  # progressive_sequence
        chroma = extended.u(2)
        width |= extended.u(2) << 12
        height |= extended.u(2) << 12
        extended.u(21)  # bit_rate, marker, vbv_buffer_size
        low_delay = extended.flag()
        scale = Fraction(extended.u(2) + 1, extended.u(5) + 1)
        rate = rate * scale if rate else None
        display = _extension(data, at, _DISPLAY_EXTENSION)
        if display is not None:
            display.u(3)  # video_format
            if display.flag():
                codes = (display.u(8), display.u(8), display.u(8))
                color = color_from_codes(*codes, full_range=False)
    if not (width and height and chroma):
        raise FormatError(f"MPEG sequence of {width}x{height} pixels, chroma format {chroma}")
    picture = PictureFormat(
        width,
        height,
        pixel_format(chroma, 8, Color()),
        8,
        color,
        reorders=False if low_delay else None,
        frame_rate=rate,
        aspect=_aspect(codec, shape, width, height),
        interlaced=interlaced,
    )
    return Sequence(codec, picture, setup)


def _aspect(codec: str, shape: int, width: int, height: int) -> Fraction | None:
    """Aspect ratio of pixels, from aspect_ratio_information; None if that does not give it."""
    if shape == 1:
        return Fraction(1)
    display = _DISPLAYS.get(shape) if codec == "mpeg2video" else None
    return None if display is None else display * height / width


def _extension(data: bytes, start: int, kind: int) -> BitReader | None:
    """The fields of an extension after a sequence header and before the first picture."""
    at = data.find(_EXTENSION, start)
    while at >= 0:
        bits = BitReader(data[at + 4 : at + 4 + _HEADER])
        if len(data) > at + 4 and bits.u(4) == kind:
            return bits
        at = data.find(_EXTENSION, at + 4)
    return None


def is_b_picture(packet: bytes) -> bool:
    """Whether a packet begins with a B-picture, or has no picture."""
    at = packet.find(_PICTURE)
    return at < 0 or len(packet) < at + 6 or packet[at + 5] >> 3 & 7 == _B_PICTURE


def is_one_picture(packet: bytes, *, forwards: bool) -> bool:
    """Whether a packet holds a whole frame, and with `forwards` no B-picture."""
    return not splits_fields(packet) and not (forwards and is_b_picture(packet))


def splits_fields(packet: bytes) -> bool:
    """Whether a packet holds a single field instead of a frame."""
    at = packet.find(_PICTURE)
    structure = None if at < 0 else _extension(packet, at, _PICTURE_EXTENSION)
    if structure is None:
        return False
    structure.u(18)
    return structure.u(2) != _FRAME and packet.find(_PICTURE, at + 4) < 0
