"""H.263 picture headers (ITU-T H.263, section 5.1)."""

from __future__ import annotations

__all__ = ["is_intra"]

_EXTENDED = 7  # source format of a header with PLUSPTYPE


def is_intra(packet: bytes) -> bool | None:
    """Whether a picture refers to no other, None where the header is no plain one.

    >>> is_intra(bytes([0, 0, 0x80, 0x02, 0x08, 0])), is_intra(bytes([0, 0, 0x80, 0x02, 0x0A, 0]))
    (True, False)
    """
    bits = int.from_bytes(packet[:6], "big")
    if len(packet) < 6 or bits >> 26 != 0x20 or bits >> 10 & 7 == _EXTENDED:
        return None
    return not bits >> 9 & 1
