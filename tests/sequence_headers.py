"""Sequence parameter sets of H.264 and HEVC, as far as a hardware decoder goes by them.

Read from a string of bits, by the tables of ITU-T H.264 and H.265 and nothing of the library's.
"""

import re
from typing import NamedTuple

UNIT = re.compile(rb"\x00\x00\x01(.+?)(?=\x00\x00[\x00\x01]|\Z)", re.DOTALL)
HIGH = {100, 110, 122, 244, 44, 83, 86, 118, 128}
BLOCKS = {10: 396, 11: 900, 12: 2376, 13: 2376, 20: 2376, 21: 4752, 22: 8100, 30: 8100}
BLOCKS |= {31: 18000, 32: 20480, 40: 32768, 41: 32768, 42: 34816, 50: 110400, 51: 184320}


class Header(NamedTuple):
    """Coded size, and frames that a stream keeps: by level, references, buffer, reordering."""

    width: int
    height: int
    level: int
    references: int
    buffered: int
    reordered: int


class Bits:
    def __init__(self, unit):
        data = unit.replace(b"\0\0\3", b"\0\0")
        self.text = "".join(f"{octet:08b}" for octet in data)

    def u(self, count):
        taken, self.text = self.text[:count], self.text[count:]
        return int(taken, 2) if taken else 0

    def ue(self):
        zeros = self.text.index("1")
        return self.u(2 * zeros + 1) - 1


def read_sequence(codec, data):
    """The sequence parameter sets in a byte stream."""
    if codec == "h264":
        return [h264(unit) for unit in UNIT.findall(data) if unit[0] & 31 == 7]
    if codec == "hevc":
        return [hevc(unit) for unit in UNIT.findall(data) if unit[0] >> 1 == 33]
    return []


def h264(unit):
    bits = Bits(unit[1:])
    profile, _, level = bits.u(8), bits.u(8), bits.u(8)
    bits.ue()
    if profile in HIGH:
        if bits.ue() == 3:
            bits.u(1)
        bits.ue(), bits.ue(), bits.u(1)
        assert not bits.u(1), "scaling lists"
    bits.ue()
    order = bits.ue()
    assert order != 1
    if order == 0:
        bits.ue()
    references = bits.ue()
    bits.u(1)
    width, height = bits.ue() + 1, bits.ue() + 1
    if not bits.u(1):
        bits.u(1)
        height *= 2
    bits.u(1)
    if bits.u(1):
        [bits.ue() for _ in range(4)]
    most = min(BLOCKS[level] // (width * height), 16)
    reordered, buffered = h264_limits(bits) if bits.u(1) else (most, most)
    return Header(16 * width, 16 * height, most, references, buffered, reordered)


def h264_limits(bits):
    """From the usability information; without a hypothetical decoder, as libx264 writes it."""
    if bits.u(1) and bits.u(8) == 255:
        bits.u(32)
    if bits.u(1):
        bits.u(1)
    if bits.u(1):
        bits.u(4)
        if bits.u(1):
            bits.u(24)
    if bits.u(1):
        bits.ue(), bits.ue()
    if bits.u(1):
        bits.u(65)
    assert bits.u(2) == 0, "a hypothetical decoder"
    bits.u(1)
    assert bits.u(1), "no limits"
    bits.u(1)
    [bits.ue() for _ in range(4)]
    return bits.ue(), bits.ue()


def hevc(unit):
    bits = Bits(unit[2:])
    bits.u(4)
    assert bits.u(3) == 0, "sub-layers"
    bits.u(1 + 88)
    level = bits.u(8)
    bits.ue()
    if bits.ue() == 3:
        bits.u(1)
    width, height = bits.ue(), bits.ue()
    if bits.u(1):
        [bits.ue() for _ in range(4)]
    bits.ue(), bits.ue(), bits.ue()
    bits.u(1)
    buffered, reordered = bits.ue() + 1, bits.ue()
    return Header(width, height, level, 0, buffered, reordered)
