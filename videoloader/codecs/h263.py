"""H.263 picture headers (ITU-T H.263, section 5.1), and those of Sorenson's H.263 in FLV."""

from __future__ import annotations

from videoloader.codecs.bits import BitReader
from videoloader.codecs.picture import PictureFormat

_EXTENDED = 7  # source format of a header with PLUSPTYPE
_SORENSON_SIZES = {2: (352, 288), 3: (176, 144), 4: (128, 96), 5: (320, 240), 6: (160, 120)}
_SIZES = {1: (128, 96), 2: (176, 144), 3: (352, 288), 4: (704, 576), 5: (1408, 1152)}


def is_intra(packet: bytes) -> bool | None:
    """Whether a picture is an intra picture; None if it has no baseline header.

    >>> is_intra(bytes([0, 0, 0x80, 0x02, 0x08, 0])), is_intra(bytes([0, 0, 0x80, 0x02, 0x0A, 0]))
    (True, False)
    """
    bits = int.from_bytes(packet[:6], "big")
    if len(packet) < 6 or bits >> 26 != 0x20 or bits >> 10 & 7 == _EXTENDED:
        return None
    return not bits >> 9 & 1


def parse_picture(packet: bytes) -> PictureFormat | None:
    """The format of a picture; None if it has no baseline header.

    >>> parse_picture(bytes([0, 0, 0x80, 0x02, 0x08, 0])).width
    176
    """
    if is_intra(packet) is None:
        return None
    size = _SIZES.get(int.from_bytes(packet[:6], "big") >> 10 & 7)
    return None if size is None else PictureFormat(*size, "yuv420p", 8, reorders=False)


def parse_sorenson(sample: bytes) -> PictureFormat | None:
    """The format of a Sorenson H.263 picture; None if it is not an intra picture."""
    if len(sample) < 12:
        return None
    bits = BitReader(sample[:12])
    if bits.u(17) != 1:
        return None
    bits.u(13)  # version, temporal reference
    code = bits.u(3)
    if code < 2:
        width, height = bits.u(8 + 8 * code), bits.u(8 + 8 * code)
    else:
        width, height = _SORENSON_SIZES.get(code, (0, 0))
    if bits.u(2) != 0 or not width or not height:
        return None
    return PictureFormat(width, height, "yuv420p", 8, reorders=False)
