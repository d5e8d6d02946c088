"""MPEG-1 and MPEG-2 video headers (ISO/IEC 11172-2 and 13818-2, section 6.2)."""

from __future__ import annotations

from fractions import Fraction

from videoloader.errors import FormatError
from videoloader.indexing.bitstream.bits import BitReader
from videoloader.indexing.bitstream.color import Color, color_from_codes
from videoloader.indexing.bitstream.picture import PictureFormat, pixel_format

__all__ = ["parse_sequence"]

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


def parse_sequence(data: bytes) -> tuple[str, PictureFormat, bytes]:
    """Read a sequence header and its extensions.

    Args:
        data: from the start code of the sequence header on.

    Returns:
        FFmpeg's name of the codec, the picture format, and the bytes of header and extensions.

    Raises:
        FormatError: it ends early or holds values that no stream may have.
    """
    stop = min((at for code in (0xB8, 0x00) if (at := data.find(_code(code))) >= 0), default=-1)
    if not data.startswith(_code(0xB3)) or stop < 0:
        raise FormatError("an MPEG video stream without a sequence header")
    data = data[:stop]
    bits = BitReader(data[4:])
    width, height = bits.u(12), bits.u(12)
    bits.u(4)  # aspect_ratio_information
    rate = _RATES.get(bits.u(4))
    codec, chroma, color = "mpeg1video", 1, Color(range="tv")
    for kind, extension in _extensions(data):
        if kind == 1:
            codec = "mpeg2video"
            extension.u(9)  # profile_and_level_indication, progressive_sequence
            chroma = extension.u(2)
            width += extension.u(2) << 12
            height += extension.u(2) << 12
            extension.u(22)  # bit_rate, marker, vbv_buffer_size, low_delay
            scale = Fraction(extension.u(2) + 1, extension.u(5) + 1)
            rate = rate * scale if rate else None
        elif kind == 2:
            extension.u(3)  # video_format
            if extension.flag():
                codes = extension.u(8), extension.u(8), extension.u(8)
                color = color_from_codes(*codes, full_range=False)
    if not (width and height and chroma):
        raise FormatError(f"MPEG video of {width}x{height} pixels, chroma format {chroma}")
    picture = PictureFormat(
        width, height, pixel_format(chroma, 8, color), 8, color, frame_rate=rate
    )
    return codec, picture, data


def _extensions(data: bytes) -> list[tuple[int, BitReader]]:
    """(extension_start_code_identifier, what follows it) of each extension."""
    found = []
    at = data.find(_code(0xB5))
    while at >= 0:
        bits = BitReader(data[at + 4 :])
        found.append((bits.u(4), bits))
        at = data.find(_code(0xB5), at + 4)
    return found


def _code(code: int) -> bytes:
    return b"\0\0\1" + bytes([code])
