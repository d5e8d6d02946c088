"""Transport streams written by hand: one program, one video stream."""

import itertools

__all__ = ["PACKET", "VIDEO", "check_sum", "transport"]

PACKET = 188
VIDEO, MAP = 0x100, 0x1000


def check_sum(section):
    value = 0xFFFFFFFF
    for octet in section:
        value ^= octet << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04C11DB7 if value >> 31 else 0)) & 0xFFFFFFFF
    return value.to_bytes(4, "big")


def _table(pid, section):
    section += check_sum(section)
    return (bytes([0x47, 0x40 | pid >> 8, pid & 0xFF, 0x10, 0]) + section).ljust(PACKET, b"\xff")


def _time(mark, time):
    return bytes(
        [
            mark << 4 | (time >> 30 & 7) << 1 | 1,
            time >> 22 & 255,
            (time >> 15 & 127) << 1 | 1,
            time >> 7 & 255,
            (time & 127) << 1 | 1,
        ]
    )


def transport(pes, *, kind=0x1B, before=b""):
    """A stream of PES packets (pts, dts, bytes).

    Args:
        pes: the packets.
        kind: stream type, 0x1B for H.264 and 0x24 for HEVC.
        before: bytes in front of each transport packet, as Blu-ray discs have.
    """
    counters = itertools.count()
    packets = [
        _table(0, bytes([0, 0xB0, 13, 0, 1, 0xC1, 0, 0, 0, 1, 0xE0 | MAP >> 8, MAP & 255])),
        _table(
            MAP,
            bytes([2, 0xB0, 18, 0, 1, 0xC1, 0, 0, 0xE0 | VIDEO >> 8, VIDEO & 255, 0xF0, 0])
            + bytes([kind, 0xE0 | VIDEO >> 8, VIDEO & 255, 0xF0, 0]),
        ),
    ]
    for pts, dts, data in pes:
        head = b"\0\0\1\xe0\0\0\x80\xc0\x0a" + _time(3, pts) + _time(1, dts)
        rest, start = head + data, 0x40
        while rest:
            part, rest = rest[:184], rest[184:]
            stuffing, control = b"", 0x10
            if len(part) < 184:
                missing = 184 - len(part)
                stuffing = bytes([missing - 1]) + (b"\0" + b"\xff" * (missing - 2))[: missing - 1]
                control = 0x30
            counter = next(counters) & 15
            header = bytes([0x47, start | VIDEO >> 8, VIDEO & 255, control | counter])
            packets.append(header + stuffing + part)
            start = 0
    assert all(len(packet) == PACKET for packet in packets)
    return b"".join(before + packet for packet in packets)
