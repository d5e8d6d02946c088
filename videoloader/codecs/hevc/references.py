"""References between HEVC pictures (ITU-T H.265, sections 7.3.6 and 8.3.2).

Every slice has a reference picture set: the pictures that stay in the decoded picture buffer.
The current picture may refer to some of them, later pictures to the others. All of them count
as its dependencies, because decoders reject a picture if any member of its set is missing, used
or not. A picture that is in no set of the remaining pictures can be removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from videoloader.codecs.bits import BitReader, unescape
from videoloader.codecs.hevc import sequence as hevc
from videoloader.codecs.hevc.order import is_anchor, whole_count
from videoloader.codecs.hevc.sets import ReferenceSet, parse_set
from videoloader.codecs.picture import CodedPicture
from videoloader.errors import FormatError

_HEADER = 64  # bytes; enough for a slice header up to its reference picture sets
_IDR, _BLA, _RANDOM_ACCESS = (19, 20), (16, 17, 18), range(16, 24)
_ENDS = (36, 37)
_MAX_LISTED = 16
_MAX_ANCHORS = 64  # prevTid0Pic candidates to remember; a smaller limit keeps more pictures


class HevcReferences:
    """Tracks the decoded picture buffer through successive packets of one picture each."""

    def __init__(self) -> None:
        self._sets = hevc.ParameterSets()
        self._held: dict[int, int] = {}  # picture numbers by picture order count
        self._anchors: list[tuple[int, int]] = []  # order count and number, since the last IDR/BLA
        self._is_fresh = True
        self.count = 0
        """Pictures read so far."""

    @property
    def held(self) -> set[int]:
        """Numbers of the pictures that later ones may refer to."""
        return {*self._held.values(), *(number for _, number in self._anchors[-1:])}

    def learn(self, unit: bytes | memoryview) -> None:
        """Store a parameter set, NAL header included.

        Raises:
            FormatError: it is damaged.
        """
        if len(unit) > 2:
            self._sets.learn(bytes(unit))

    def read(self, units: Iterable[bytes | memoryview]) -> list[CodedPicture]:
        """The picture of the next packet; empty if the packet has no slices.

        Raises:
            FormatError: it is damaged, or has several pictures.
        """
        first, is_fixed, ends, has_slices = b"", False, False, False
        for unit in units:
            if len(unit) < 3 or (unit[0] & 1) << 5 | unit[1] >> 3:
                continue  # enhancement layer; the base layer never refers to it
            kind = unit[0] >> 1 & 63
            if kind < 32:
                has_slices = True
                if unit[2] >> 7:  # first_slice_segment_in_pic_flag
                    if first:
                        raise FormatError("an HEVC packet of several pictures")
                    first = bytes(unit[:_HEADER])
            elif kind in hevc.PARAMETER_SETS:
                self.learn(unit)
                is_fixed = True
            ends |= kind in _ENDS
        if has_slices and not first:
            raise FormatError("an HEVC picture without its first slice")
        pictures = [self._follow(first, is_fixed=is_fixed or ends)] if first else []
        self._is_fresh |= ends
        return pictures

    def _follow(self, unit: bytes, *, is_fixed: bool) -> CodedPicture:
        kind, layer = unit[0] >> 1, (unit[1] & 7) - 1
        bits = BitReader(unescape(unit)[2:])
        bits.u(2 if kind in _RANDOM_ACCESS else 1)  # first slice, no_output_of_prior_pics_flag
        setup, sequence = self._sets.of_slice(bits)
        bits.u(setup.has_output_flag + 2 * sequence.separate_planes)
        if self._is_fresh or kind in _IDR or kind in _BLA:
            self._held, self._anchors, self._is_fresh = {}, [], False
        limit = 1 << sequence.order_bits
        low = 0 if kind in _IDR else bits.u(sequence.order_bits)
        count = whole_count(low, self._anchors[-1][0] if self._anchors else 0, limit)
        if kind not in _IDR:
            self._held = self._kept(bits, sequence, count)
        references = {*self._held.values(), *self._anchor(count, limit)}
        self._held[count] = self.count
        if is_anchor(kind, layer):
            self._anchors = [*self._anchors[1 - _MAX_ANCHORS :], (count, self.count)]
        self.count += 1
        return CodedPicture(tuple(sorted(references)), is_fixed=is_fixed)

    def _kept(self, bits: BitReader, sequence: hevc.Sequence, count: int) -> dict[int, int]:
        """The pictures that stay; for a long-term reference, all with matching low bits."""
        kept: dict[int, int] = {}
        for delta in _short_term(bits, sequence):
            if count + delta in self._held:
                kept[count + delta] = self._held[count + delta]
        for low in _long_term(bits, sequence):
            fits = (1 << sequence.order_bits) - 1
            kept |= {c: number for c, number in self._held.items() if (c - low) & fits == 0}
        return kept

    def _anchor(self, count: int, limit: int) -> set[int]:
        """The earliest anchor (prevTid0Pic candidate) from which `count` is derived correctly.

        Any later anchor gives the same count. As long as this one is kept, other anchors can be
        dropped without changing a count. Empty if a picture that stays is such an anchor already.
        """
        staying = set(self._held.values())
        earliest: set[int] = set()
        for anchor, number in reversed(self._anchors):
            if not -limit // 2 < count - anchor <= limit // 2:
                break
            if number in staying:
                return set()
            earliest = {number}
        return earliest


def _short_term(bits: BitReader, sequence: hevc.Sequence) -> ReferenceSet:
    """The short-term reference picture set of a slice, coded in it or in the parameter set."""
    sets = sequence.sets
    return sets[_choice(bits, len(sets))] if bits.flag() else parse_set(bits, sets)


def _long_term(bits: BitReader, sequence: hevc.Sequence) -> Iterator[int]:
    """Low bits of the order counts of long-term references."""
    known = sequence.long_term
    if known is None:
        return
    listed = bits.ue() if known else 0
    own = bits.ue()
    if listed + own > _MAX_LISTED:
        raise FormatError(f"an HEVC slice with {listed + own} long-term references")
    for number in range(listed + own):
        if number < listed:
            yield known[_choice(bits, len(known))]
        else:
            yield bits.u(sequence.order_bits)
            bits.flag()  # used_by_curr_pic_lt_flag
        if bits.flag():
            bits.ue()  # delta_poc_msb_cycle_lt


def _choice(bits: BitReader, count: int) -> int:
    """Read an index below `count`, coded in as few bits as possible."""
    number = bits.u(max(count - 1, 0).bit_length())
    if number >= count:
        raise FormatError("an HEVC slice names a reference picture set that is not there")
    return number
