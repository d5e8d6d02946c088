"""VP8 and VP9 packets that are decoded but never shown (alternate reference frames)."""

from __future__ import annotations

__all__ = ["is_hidden"]


def is_hidden(codec: str, packet: bytes) -> bool:
    """Whether no frame of a packet is shown.

    VP8 has the flag in its frame tag (RFC 6386, section 9.1), VP9 in its uncompressed header
    (VP9 Bitstream & Decoding Process Specification, section 6.2). A VP9 superframe (annex B of
    the same) is judged by its last frame, the only one that may be shown.
    """
    if codec == "vp8":
        return len(packet) > 0 and not packet[0] >> 4 & 1
    return _vp9_is_hidden(_last_frame(packet))


def _last_frame(packet: bytes) -> bytes:
    if not packet or packet[-1] & 0xE0 != 0xC0:
        return packet
    count, width = (packet[-1] & 7) + 1, (packet[-1] >> 3 & 3) + 1
    index = 2 + width * count
    if len(packet) < index or packet[-index] != packet[-1]:
        return packet
    sizes = [
        int.from_bytes(packet[place : place + width], "little")
        for place in range(len(packet) - index + 1, len(packet) - 1, width)
    ]
    return packet[sum(sizes[:-1]) : sum(sizes)]


def _vp9_is_hidden(frame: bytes) -> bool:
    if len(frame) < 2 or frame[0] >> 6 != 2:
        return False
    bits = int.from_bytes(frame[:2], "big")
    profile = (bits >> 13 & 1) | (bits >> 12 & 1) << 1
    position = 11 - (profile == 3)
    if bits >> position & 1:  # show_existing_frame
        return False
    return not bits >> (position - 2) & 1
