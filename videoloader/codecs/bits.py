"""Reading bits of a parameter set: fixed fields and Exp-Golomb codes."""

from __future__ import annotations

from videoloader.errors import FormatError

_LOADED = 64  # bytes; more than most parameter sets have


class BitReader:
    """Bits of `data`, most significant first.

    >>> bits = BitReader(bytes([0xA6]))
    >>> bits.u(1), bits.ue(), bits.ue()
    (1, 1, 2)
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._next = 0  # offset of the first byte not yet in `_value`
        self._value = 0
        self._left = 0  # unread bits of `_value`

    def u(self, count: int) -> int:
        """An unsigned field of `count` bits."""
        if count > self._left:
            self._load(count)
        self._left -= count
        return (self._value >> self._left) & ((1 << count) - 1)

    def _load(self, count: int) -> None:
        """Load at least `count` bits; not all at once, since shifts of a long integer are slow."""
        more = self._data[self._next : self._next + count // 8 + _LOADED]
        self._next += len(more)
        self._value = (self._value & ((1 << self._left) - 1)) << 8 * len(more)
        self._value |= int.from_bytes(more, "big")
        self._left += 8 * len(more)
        if count > self._left:
            self._left = 0
            raise FormatError("a parameter set ends in the middle of a field")

    def flag(self) -> bool:
        """One bit."""
        if not self._left:
            self._load(1)
        self._left -= 1
        return self._value >> self._left & 1 == 1

    def ue(self) -> int:
        """An unsigned Exp-Golomb code (ITU-T H.264, section 9.1)."""
        while True:
            rest = self._value & ((1 << self._left) - 1)
            zeros = self._left - rest.bit_length()
            if zeros > 32:
                raise FormatError("a parameter set holds an Exp-Golomb code over 32 bits")
            if 2 * zeros < self._left:
                self._left -= 2 * zeros + 1
                return (rest >> self._left) - 1
            self._load(self._left + 1)

    def se(self) -> int:
        """A signed Exp-Golomb code (ITU-T H.264, section 9.1.1)."""
        code = self.ue()
        return (code + 1) // 2 if code % 2 else -(code // 2)


def unescape(nal: bytes) -> bytes:
    """A NAL unit without its emulation prevention bytes (ITU-T H.264, section 7.3.1)."""
    return nal.replace(b"\x00\x00\x03", b"\x00\x00")
