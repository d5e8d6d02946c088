"""MPEG-4 part 2 layer and picture headers (ISO/IEC 14496-2, section 6.2)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from videoloader.codecs.bits import BitReader
from videoloader.codecs.color import Color, color_from_codes
from videoloader.codecs.picture import ASPECTS, PictureFormat
from videoloader.errors import FormatError

_VISUAL_OBJECT = b"\x00\x00\x01\xb5"
_GROUP = b"\x00\x00\x01\xb3"
_PICTURE = b"\x00\x00\x01\xb6"
_EXTENDED_ASPECT = 15
_RESERVED_ASPECTS = 6
_B_PICTURE = 2
_HEADER = 64  # bytes that hold any header read here


@dataclass(frozen=True, slots=True)
class Layer:
    """A video object layer: picture format, and bits of vop_time_increment."""

    picture: PictureFormat
    time_bits: int


def parse_setup(data: bytes) -> Layer | None:
    """Parse the headers before the first picture; None without a layer of rectangular shape.

    Raises:
        FormatError: a header ends early.
    """
    for start in range(0x20, 0x30):
        at = data.find(bytes([0, 0, 1, start]))
        if at >= 0:
            return _parse_layer(BitReader(data[at + 4 : at + 4 + _HEADER]), _color(data), data)
    return None


def setup_of(packet: bytes) -> bytes:
    """The headers before the first picture; extradata for decoding from elsewhere."""
    ends = [end for start in (_GROUP, _PICTURE) if (end := packet.find(start)) >= 0]
    return packet[: min(ends, default=0)]


def _color(data: bytes) -> Color:
    """The colour description of the visual object, if it has one."""
    at = data.find(_VISUAL_OBJECT)
    if at < 0:
        return Color()
    bits = BitReader(data[at + 4 : at + 4 + _HEADER])
    if bits.flag():
        bits.u(7)
    if bits.u(4) != 1 or not bits.flag():
        return Color()
    bits.u(3)  # video_format
    full_range = bits.flag()
    codes = (bits.u(8), bits.u(8), bits.u(8)) if bits.flag() else (2, 2, 2)
    return color_from_codes(*codes, full_range=full_range)


def _parse_layer(bits: BitReader, color: Color, data: bytes) -> Layer | None:
    bits.u(9)  # random_accessible_vol, video_object_type_indication
    if bits.flag():
        bits.u(7)
    shape = bits.u(4)  # the first numbers are those of H.264
    across, down = ASPECTS.get(shape, (0, 0)) if shape < _RESERVED_ASPECTS else (0, 0)
    if shape == _EXTENDED_ASPECT:
        across, down = bits.u(8), bits.u(8)
    low_delay = False
    if bits.flag():
        bits.u(2)
        low_delay = bits.flag()
        if bits.flag():
            bits.u(79)
    if bits.u(2) != 0:
        return None  # a shape other than a rectangle
    bits.u(1)
    resolution = bits.u(16)
    bits.u(1)
    time_bits = max(1, (resolution - 1).bit_length())
    if bits.flag():
        bits.u(time_bits)
    bits.u(1)
    width = bits.u(13)
    bits.u(1)
    height = bits.u(13)
    if not (resolution and width and height):
        raise FormatError(f"MPEG-4 layer of {width}x{height} pixels, {resolution} ticks a second")
    # DivX packs a B-picture into the packet of the previous picture, marked in user data.
    packed = any(part[:12].rstrip(b"\0").endswith(b"p") for part in data.split(b"DivX")[1:])
    reorders = False if low_delay and not packed else None
    aspect = Fraction(across, down) if across and down else None
    picture = PictureFormat(width, height, "yuv420p", 8, color, reorders=reorders, aspect=aspect)
    return Layer(picture, time_bits)


def is_one_picture(packet: bytes, time_bits: int, *, forwards: bool) -> bool:
    """Whether a packet is exactly one picture that a decoder shows.

    With `forwards`, also that it is no B-picture, which is shown before its reference.
    """
    at = packet.find(_PICTURE)
    if at < 0 or packet.find(_PICTURE, at + 4) >= 0:
        return False
    bits = BitReader(packet[at + 4 : at + 4 + _HEADER])
    try:
        if bits.u(2) == _B_PICTURE and forwards:
            return False
        while bits.flag():
            pass
        bits.u(2 + time_bits)
        return bits.flag()  # vop_coded
    except FormatError:
        return False
