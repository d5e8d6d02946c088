"""Presentation order of H.264 frames from slice headers (ITU-T H.264, sections 7.3.3 and 8.2.1)."""

from __future__ import annotations

from dataclasses import dataclass

from videoloader.codecs.bits import BitReader, unescape
from videoloader.codecs.h264 import sequence as h264
from videoloader.errors import FormatError

_HEADER = 160  # bytes; enough for slice headers except those with the longest weight tables
_P, _B, _SP = 0, 1, 3  # slice_type modulo 5
_INTRA = (2, 4)
_IDR = 5
_RESET = 5  # memory_management_control_operation that restarts the count
_MAX_LISTED = 128  # reference list modifications; more mean damage


class DisorderError(FormatError):
    """Pictures are missing or repeated."""


@dataclass(frozen=True, slots=True)
class _Setup:
    """Fields of a picture parameter set that slice headers depend on (section 7.3.2.2)."""

    sequence: int
    bottom_deltas: bool
    references: tuple[int, int]
    weighted: bool
    weighted_twice: bool


@dataclass(frozen=True, slots=True)
class _Picture:
    """Fields of the first slice header of a picture."""

    is_idr: bool
    is_reference: bool
    number: int
    order: int
    deltas: tuple[int, int]


class H264Order:
    """Picture order counts of successive frames.

    Streams in which FFmpeg's output order may differ from the order of the counts are refused:
    fields, gaps in frame_num, slice groups, redundant slices, counts that restart at other
    pictures than IDR.
    """

    def __init__(self) -> None:
        self._sequences: dict[int, h264.Sequence] = {}
        self._setups: dict[int, _Setup | None] = {}
        self._period = -1
        self._reference_number = 0  # PrevRefFrameNum
        self._last_number = 0  # prevFrameNum
        self._offset = 0  # FrameNumOffset
        self._reference_order = 0  # prevPicOrderCnt: high bits of the previous reference picture
        self._reference_low = 0
        self.max_reorder: int | None = None
        """Reorder delay: pictures that may precede one in decode order and follow it in output."""

    def learn(self, unit: bytes) -> tuple[int, int]:
        """Store a parameter set, NAL header included.

        Returns:
            Its type and id; a later set with the same two replaces it.

        Raises:
            FormatError: it is damaged.
        """
        if unit[0] & 31 == 7:
            sequence = h264.parse_sequence(unit)
            self._sequences[sequence.number] = sequence
            self.max_reorder = sequence.buffering.reordered
            return 7, sequence.number
        number, setup = _parse_setup(BitReader(unescape(unit)[1:]))
        self._setups[number] = setup
        return 8, number

    def count(self, unit: bytes) -> tuple[int, int]:
        """Sort key, in presentation order, of the next picture in decode order.

        `unit` is the beginning of its first slice, NAL header included.

        Raises:
            FormatError: it is damaged, or its order cannot be determined.
        """
        bits = BitReader(unescape(unit[:_HEADER])[1:])
        if bits.ue() != 0:
            raise DisorderError("an H.264 picture without its first slice")
        kind = bits.ue() % 5
        name = bits.ue()
        if name not in self._setups:
            raise DisorderError("an H.264 slice without its parameter sets")
        setup = self._setups[name]
        sequence = None if setup is None else self._sequences.get(setup.sequence)
        if setup is None or sequence is None:
            raise FormatError("an H.264 slice with parameter sets of rarer kinds, or without")
        picture = _parse_slice(bits, unit[0], kind, setup, sequence)
        limit = 1 << sequence.number_bits
        if picture.is_idr:
            self._period += 1
            self._offset = self._reference_order = self._reference_low = self._last_number = 0
        elif self._period < 0:
            raise FormatError("an H.264 stream that does not begin with an IDR picture")
        elif picture.number != (self._reference_number + 1) % limit:
            kind_of = FormatError if sequence.may_have_gaps else DisorderError
            raise kind_of("an H.264 stream with gaps between frame numbers")
        if picture.number < self._last_number:
            self._offset += limit
        self._last_number = picture.number
        if picture.is_reference:
            self._reference_number = picture.number
        return self._period, self._count(picture, sequence)

    def _count(self, picture: _Picture, sequence: h264.Sequence) -> int:
        match sequence.order_type:
            case 0:
                return self._count_coded(picture, sequence)
            case 1:
                return self._count_cycled(picture, sequence)
            case _:
                total = 2 * (self._offset + picture.number)
                return total - (not picture.is_reference)

    def _count_coded(self, picture: _Picture, sequence: h264.Sequence) -> int:
        """Type 0 (section 8.2.1.1): the low bits are coded, the high bits are derived."""
        high, half = self._reference_order, 1 << (sequence.order_bits - 1)
        if picture.order < self._reference_low and self._reference_low - picture.order >= half:
            high += 2 * half
        elif picture.order > self._reference_low and picture.order - self._reference_low > half:
            high -= 2 * half
        if picture.is_reference:
            self._reference_order, self._reference_low = high, picture.order
        return high + picture.order + min(picture.deltas[0], 0)

    def _count_cycled(self, picture: _Picture, sequence: h264.Sequence) -> int:
        """Type 1 (section 8.2.1.2): derived from frame_num and a cycle of offsets."""
        other, bottom, *cycle = sequence.order_cycle
        number = self._offset + picture.number if cycle else 0
        if not picture.is_reference and number > 0:
            number -= 1
        expected = 0
        if number > 0:
            rounds, rest = divmod(number - 1, len(cycle))
            expected = rounds * sum(cycle) + sum(cycle[: rest + 1])
        if not picture.is_reference:
            expected += other
        top = expected + picture.deltas[0]
        return min(top, top + bottom + picture.deltas[1])


def _parse_setup(bits: BitReader) -> tuple[int, _Setup | None]:
    """Id and fields of a picture parameter set; None if it has slice groups or redundant slices."""
    number, sequence = bits.ue(), bits.ue()
    bits.flag()  # entropy_coding_mode_flag
    bottom_deltas = bits.flag()
    if bits.ue() != 0:
        return number, None
    references = bits.ue() + 1, bits.ue() + 1
    weighted, twice = bits.flag(), bits.u(2) == 1
    for _ in range(3):
        bits.se()  # quantisation
    bits.u(2)  # deblocking_filter_control_present_flag, constrained_intra_pred_flag
    if bits.flag() or max(references) > 32:
        return number, None
    return number, _Setup(sequence, bottom_deltas, references, weighted, twice)


def _parse_slice(
    bits: BitReader, octet: int, kind: int, setup: _Setup, sequence: h264.Sequence
) -> _Picture:
    """Parse a slice header from frame_num on (section 7.3.3)."""
    if sequence.separate_planes:
        bits.u(2)
    is_idr, is_reference = octet & 31 == _IDR, octet >> 5 & 3 > 0
    if is_idr and not (is_reference and kind in _INTRA):
        raise FormatError("an H.264 IDR picture that is none")
    number = bits.u(sequence.number_bits)
    if sequence.may_have_fields and bits.flag():
        raise FormatError("an H.264 stream of fields")
    if is_idr:
        bits.ue()  # idr_pic_id
    order, deltas = 0, [0, 0]
    if sequence.order_type == 0:
        order = bits.u(sequence.order_bits)
        if setup.bottom_deltas:
            deltas[0] = bits.se()
    elif sequence.order_type == 1 and sequence.order_deltas:
        deltas[0] = bits.se()
        if setup.bottom_deltas:
            deltas[1] = bits.se()
    if is_reference:
        _check_marking(bits, kind, is_idr, setup, sequence)
    return _Picture(is_idr, is_reference, number, order, (deltas[0], deltas[1]))


def _check_marking(
    bits: BitReader, kind: int, is_idr: bool, setup: _Setup, sequence: h264.Sequence
) -> None:
    """Refuse slices whose reference marking (section 7.3.3.3) restarts the order count."""
    if kind == _B:
        bits.flag()  # direct_spatial_mv_pred_flag
    lists = 0 if kind not in (_P, _B, _SP) else 2 if kind == _B else 1
    references = list(setup.references[:lists])
    if lists and bits.flag():
        references = [bits.ue() + 1 for _ in range(lists)]
    for _ in range(lists):
        if bits.flag():
            _skip_commands(bits)
    if lists and (setup.weighted_twice if kind == _B else setup.weighted):
        _skip_weights(
            bits, references, has_chroma=sequence.chroma > 0 and not sequence.separate_planes
        )
    if is_idr:
        if bits.flag():
            raise FormatError("an H.264 stream that asks to drop pictures")
        return
    if not bits.flag():
        return
    for _ in range(_MAX_LISTED):
        command = bits.ue()
        if command == 0:
            return
        if command == _RESET:
            break
        for _ in range(2 if command == 3 else 1):
            bits.ue()
    raise FormatError("an H.264 stream that restarts its picture order count")


def _skip_commands(bits: BitReader) -> None:
    """Skip the modifications of a reference picture list (section 7.3.3.1)."""
    for _ in range(_MAX_LISTED):
        if bits.ue() == 3:
            return
        bits.ue()
    raise FormatError("an H.264 slice with endless changes of its references")


def _skip_weights(bits: BitReader, references: list[int], *, has_chroma: bool) -> None:
    """Skip the prediction weight table (section 7.3.3.2)."""
    bits.ue()
    if has_chroma:
        bits.ue()
    for _ in range(min(sum(references), _MAX_LISTED)):
        if bits.flag():
            bits.se(), bits.se()
        if has_chroma and bits.flag():
            for _ in range(4):
                bits.se()
