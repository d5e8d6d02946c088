"""MPEG-1 and MPEG-2 headers (ISO/IEC 11172-2 and 13818-2): the sequence, and kinds of pictures."""

from __future__ import annotations

from videoloader.errors import FormatError
from videoloader.indexing.bitstream.bits import BitReader
from videoloader.indexing.bitstream.color import Color, color_from_codes
from videoloader.indexing.bitstream.picture import PictureFormat, pixel_format

__all__ = ["is_b_picture", "parse_sequence", "setup_of", "splits_fields"]

_SEQUENCE = b"\x00\x00\x01\xb3"
_EXTENSION = b"\x00\x00\x01\xb5"
_GROUP = b"\x00\x00\x01\xb8"
_PICTURE = b"\x00\x00\x01\x00"
_B_PICTURE = 3
_HEADER = 32
_SEQUENCE_EXTENSION, _DISPLAY_EXTENSION, _PICTURE_EXTENSION = 1, 2, 8
_FRAME = 3  # picture_structure of a whole frame


def parse_sequence(data: bytes) -> tuple[PictureFormat, bool] | None:
    """The pictures of a stream, and whether it is MPEG-2; None without a sequence header.

    Raises:
        FormatError: a header ends early or holds values that no stream may have.
    """
    at = data.find(_SEQUENCE)
    if at < 0:
        return None
    bits = BitReader(data[at + 4 : at + 4 + _HEADER])
    width, height = bits.u(12), bits.u(12)
    chroma, color = 1, Color(range="tv")
    extended = _extension(data, at, _SEQUENCE_EXTENSION)
    low_delay = False
    if extended is not None:
        extended.u(9)
        chroma = extended.u(2)
        width |= extended.u(2) << 12
        height |= extended.u(2) << 12
        extended.u(21)
        low_delay = extended.flag()
        display = _extension(data, at, _DISPLAY_EXTENSION)
        if display is not None:
            display.u(3)
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
    )
    return picture, extended is not None


def setup_of(packet: bytes) -> bytes:
    """The sequence header in front of a picture, which decoders that begin elsewhere need too."""
    at = packet.find(_SEQUENCE)
    ends = [end for start in (_GROUP, _PICTURE) if (end := packet.find(start, at + 4)) >= 0]
    return packet[at : min(ends)] if at >= 0 and ends else b""


def _extension(data: bytes, start: int, kind: int) -> BitReader | None:
    """The fields of an extension behind a header, up to the first picture's own."""
    at = data.find(_EXTENSION, start)
    while at >= 0:
        bits = BitReader(data[at + 4 : at + 4 + _HEADER])
        if len(data) > at + 4 and bits.u(4) == kind:
            return bits
        at = data.find(_EXTENSION, at + 4)
    return None


def is_b_picture(packet: bytes) -> bool:
    """Whether a packet begins with a B-picture, or with none at all."""
    at = packet.find(_PICTURE)
    return at < 0 or len(packet) < at + 6 or packet[at + 5] >> 3 & 7 == _B_PICTURE


def splits_fields(packet: bytes) -> bool:
    """Whether a packet is one of two fields, and not a frame."""
    at = packet.find(_PICTURE)
    structure = None if at < 0 else _extension(packet, at, _PICTURE_EXTENSION)
    if structure is None:
        return False
    structure.u(18)
    return structure.u(2) != _FRAME and packet.find(_PICTURE, at + 4) < 0
