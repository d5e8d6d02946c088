"""Picture headers of H.263 (ITU-T H.263, section 5.1) and of Sorenson's H.263 in FLV."""

from __future__ import annotations

from videoloader.codecs.bits import BitReader
from videoloader.codecs.picture import PictureFormat

_HEAD = 8  # bytes of a packet that tell the type of its picture
_START = 0x20  # the first 22 bits of a picture
_EXTENDED = 7  # source format of a header with PLUSPTYPE
_SORENSON_SIZES = {2: (352, 288), 3: (176, 144), 4: (128, 96), 5: (320, 240), 6: (160, 120)}
_SIZES = {1: (128, 96), 2: (176, 144), 3: (352, 288), 4: (704, 576), 5: (1408, 1152)}


def is_intra(packet: bytes) -> bool | None:
    """Whether a picture is an intra picture; None if it has no picture header.

    >>> is_intra(bytes.fromhex("0000800208000000")), is_intra(bytes.fromhex("000080020a000000"))
    (True, False)
    >>> is_intra(bytes.fromhex("000080021ca80100")), is_intra(bytes.fromhex("000080061ca80104"))
    (True, False)
    """
    if len(packet) < _HEAD:
        return None
    bits = BitReader(packet[:_HEAD])
    if bits.u(22) != _START:
        return None
    bits.u(8 + 5)  # temporal reference, flags
    if bits.u(3) != _EXTENDED:
        return not bits.u(1)
    if bits.u(3) == 1:  # the extended part of PLUSPTYPE is there
        bits.u(18)
    return not bits.u(3)


def parse_picture(packet: bytes) -> PictureFormat | None:
    """The format of a picture; None if it has no baseline header.

    >>> parse_picture(bytes.fromhex("0000800208000000")).width
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
