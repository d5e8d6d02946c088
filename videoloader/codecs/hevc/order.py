"""Presentation order of HEVC frames from slice headers (ITU-T H.265, sections 7.3.6 and 8.3.1)."""

from __future__ import annotations

from videoloader.codecs.bits import BitReader, unescape
from videoloader.codecs.hevc import sequence as hevc
from videoloader.errors import FormatError

_HEADER = 32  # bytes; enough for a slice header up to the picture order count
_IDR = (19, 20)
_BLA = (16, 17, 18)
_RADL, _RASL = (6, 7), (8, 9)
_LAST_SUB_LAYER = 14  # types 0 to 14, even: sub-layer non-reference pictures


class HevcOrder:
    """Picture order counts of successive pictures.

    Streams in which FFmpeg's output order may differ from the order of the counts, or which drop
    pictures, are refused: spliced streams, pictures that are not output.
    """

    def __init__(self) -> None:
        self._sets = hevc.ParameterSets()
        self._period = -1
        self._anchor = 0  # PicOrderCnt of prevTid0Pic
        self.max_reorder: int | None = None
        """Reorder delay: pictures that may precede one in decode order and follow it in output."""

    def learn(self, unit: bytes) -> tuple[int, int]:
        """Store a parameter set, NAL header included.

        Returns:
            Its type and id; a later set with the same two replaces it.

        Raises:
            FormatError: it is damaged.
        """
        found = self._sets.learn(unit)
        if isinstance(found, hevc.Sequence):
            self.max_reorder = found.buffering.reordered
            found = found.number
        return unit[0] >> 1, found

    def count(self, unit: bytes) -> tuple[int, int]:
        """Sort key, in presentation order, of the next picture in decode order.

        `unit` is the beginning of its first slice, NAL header included.

        Raises:
            FormatError: it is damaged, or its order cannot be determined.
        """
        kind, layer = unit[0] >> 1, (unit[1] & 7) - 1
        bits = BitReader(unescape(unit[:_HEADER])[2:])
        if not bits.flag():
            raise FormatError("an HEVC picture without its first slice")
        if 16 <= kind <= 23 and bits.flag() and self._period >= 0:
            raise FormatError("an HEVC stream that asks to drop pictures")
        setup, sequence = self._sets.of_slice(bits)
        if setup.has_output_flag and not bits.flag():
            raise FormatError("an HEVC stream with pictures that are not for output")
        bits.u(2 * sequence.separate_planes)
        low = 0 if kind in _IDR else bits.u(sequence.order_bits)
        return self._period_of(kind), self._count(kind, layer, low, 1 << sequence.order_bits)

    def _period_of(self, kind: int) -> int:
        if kind in _BLA or (self._period < 0 and kind not in _IDR):
            # Decoders drop the RASL pictures of these, and of a CRA picture that begins a stream.
            raise FormatError("an HEVC stream that does not begin with an IDR picture")
        self._period += kind in _IDR
        return self._period

    def _count(self, kind: int, layer: int, low: int, limit: int) -> int:
        if kind in _IDR:
            self._anchor = 0
            return 0
        total = whole_count(low, self._anchor, limit)
        if is_anchor(kind, layer):
            self._anchor = total
        return total


def whole_count(low: int, anchor: int, limit: int) -> int:
    """A full picture order count, from its low bits and prevTid0Pic's count (section 8.3.1)."""
    step = (low - anchor) % limit
    return anchor + step - limit * (step > limit // 2)


def is_anchor(kind: int, layer: int) -> bool:
    """Whether a picture of this type and temporal sub-layer can be prevTid0Pic of later ones."""
    is_leading = kind in _RADL or kind in _RASL
    return layer == 0 and not is_leading and not (kind <= _LAST_SUB_LAYER and kind % 2 == 0)
