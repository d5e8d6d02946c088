"""References of AV1 frames, and removal of frames from temporal units.

A frame inherits state only through its reference slots (AV1 specification, section 7.20):
samples, motion vectors, probabilities, segmentation, loop filter deltas, film grain. So it
depends only on the pictures in the slots that its header names.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Ordered
from dataclasses import dataclass

from videoloader.codecs.av1 import units as av1
from videoloader.codecs.bits import BitReader
from videoloader.codecs.picture import CodedPicture
from videoloader.errors import FormatError

_TILES, _REDUNDANT_HEADER, _TILE_LIST = 4, 7, 8
_INTRA_ONLY, _SWITCH_FRAME = 2, 3
_SLOTS, _REFERENCES = 8, 7
_ALL_SLOTS = 0xFF
_HEADER = 256  # bytes; enough for a frame header up to its reference slots


@dataclass(frozen=True, slots=True)
class _Frame:
    """Reference slots that a frame header names (section 5.9.2).

    `existing` is the slot that is shown (show_existing_frame), -1 for a coded frame.
    """

    is_key: bool
    is_shown: bool
    existing: int = -1
    refreshed: int = _ALL_SLOTS
    slots: tuple[int, ...] = ()


class Av1References:
    """Tracks the pictures in the reference slots through successive temporal units."""

    def __init__(self, sequence: av1.Sequence) -> None:
        self._sequence = sequence
        self._slots: list[int] = [-1] * _SLOTS
        self._keys = [False] * _SLOTS
        self.count = 0
        """Pictures read so far."""

    @property
    def held(self) -> set[int]:
        """Numbers of the pictures that later ones may refer to."""
        return {number for number in self._slots if number >= 0}

    def read(self, packet: bytes) -> list[CodedPicture]:
        """The pictures of the next temporal unit, in decode order.

        Raises:
            FormatError: it is damaged, or has spatial layers, which are not supported.
        """
        is_fixed = False
        pictures = []
        for kind, extension, payload, _ in av1.units(packet):
            if kind == av1.SEQUENCE_HEADER:
                sequence = av1.parse_sequence(packet)
                if sequence is None:
                    raise FormatError("an AV1 sequence header is damaged")
                self._sequence, is_fixed = sequence, True
            elif kind == _TILE_LIST or extension >> 3 & 3:
                raise FormatError("an AV1 stream of spatial layers or tile lists")
            elif kind in (av1.FRAME_HEADER, av1.FRAME):
                frame = _parse_frame(BitReader(bytes(payload[:_HEADER])), self._sequence, extension)
                pictures.append(self._follow(frame, is_fixed))
        if sum(picture.is_shown for picture in pictures) > 1:
            raise FormatError("an AV1 temporal unit that shows several frames")
        return pictures

    def _follow(self, frame: _Frame, is_fixed: bool) -> CodedPicture:
        slots = frame.slots if frame.existing < 0 else (frame.existing,)
        references = {self._slots[slot] for slot in slots} - {-1}
        refreshed, is_key = frame.refreshed, frame.is_key
        if frame.existing >= 0:
            # Showing an existing key frame refreshes all slots (section 7.21).
            is_key = self._keys[frame.existing]
            refreshed = _ALL_SLOTS if is_key else 0
        for slot in range(_SLOTS):
            if refreshed >> slot & 1:
                self._slots[slot], self._keys[slot] = self.count, is_key
        self.count += 1
        return CodedPicture(tuple(sorted(references)), frame.is_shown, is_fixed)


def is_disposable(packet: bytes, sequence: av1.Sequence) -> bool:
    """Whether a temporal unit can be dropped without affecting later ones.

    True if no frame of it, hidden ones included, refreshes a reference slot. False for a unit
    that has a sequence header or cannot be parsed.
    """
    frames = 0
    try:
        for kind, extension, payload, _ in av1.units(packet):
            if kind == av1.SEQUENCE_HEADER:
                return False
            if kind in (av1.FRAME_HEADER, av1.FRAME):
                frames += 1
                # Showing an existing key frame refreshes slots, so such a unit is not disposable.
                # A repeated header of a frame is a redundant copy, which has another OBU type.
                if _parse_frame(BitReader(bytes(payload[:_HEADER])), sequence, extension).refreshed:
                    return False
    except FormatError:
        return False
    return frames > 0


def keep_frames(packet: bytes, keep: Ordered[bool]) -> bytes:
    """The temporal unit without the frames for which `keep` is False."""
    kept, begin, number = [], 0, -1
    for kind, _, _, end in av1.units(packet):
        number += kind in (av1.FRAME_HEADER, av1.FRAME)
        is_of_frame = kind in (av1.FRAME_HEADER, av1.FRAME, _TILES, _REDUNDANT_HEADER)
        if not is_of_frame or keep[max(number, 0)]:
            kept.append(packet[begin:end])
        begin = end
    return b"".join(kept)


def _parse_frame(bits: BitReader, sequence: av1.Sequence, extension: int) -> _Frame:
    """Parse a frame header up to its reference slots (section 5.9.2)."""
    if sequence.reduced_still:
        return _Frame(is_key=True, is_shown=True)
    if bits.flag():
        return _Frame(is_key=False, is_shown=True, existing=bits.u(3))
    kind = bits.u(2)
    is_key = kind == av1.KEY_FRAME
    shown = bits.flag()
    if shown and sequence.decoder_model and not sequence.equal_interval:
        bits.u(sequence.time_bits)
    if not shown:
        bits.flag()  # showable_frame
    fills = kind == _SWITCH_FRAME or (is_key and shown)
    resilient = fills or bits.flag()
    if is_key and shown:
        return _Frame(is_key, shown)
    bits.flag()  # disable_cdf_update
    screen = sequence.screen_content
    if screen == av1.SELECT:
        screen = bits.u(1)
    if screen and sequence.integer_mv == av1.SELECT:
        bits.flag()
    bits.u(sequence.frame_id_bits)
    if kind != _SWITCH_FRAME:
        bits.flag()  # frame_size_override_flag
    bits.u(sequence.order_hint_bits)
    is_intra = is_key or kind == _INTRA_ONLY
    if not (is_intra or resilient):
        bits.u(3)  # primary_ref_frame, an index into ref_frame_idx below
    if sequence.decoder_model and bits.flag():
        temporal, spatial = extension >> 5, (extension >> 3) & 3
        for idc, present in sequence.operating_points:
            if present and (idc == 0 or (idc >> temporal & 1 and idc >> (spatial + 8) & 1)):
                bits.u(sequence.removal_bits)
    refreshed = _ALL_SLOTS if fills else bits.u(8)
    if is_intra:
        return _Frame(is_key, shown, refreshed=refreshed)
    if resilient and sequence.order_hint_bits:
        bits.u(_SLOTS * sequence.order_hint_bits)
    slots = tuple(_parse_slots(bits, sequence))
    return _Frame(is_key, shown, refreshed=refreshed, slots=slots)


def _parse_slots(bits: BitReader, sequence: av1.Sequence) -> Iterator[int]:
    if sequence.order_hint_bits and bits.flag():  # frame_refs_short_signaling
        yield from range(_SLOTS)
        return
    for _ in range(_REFERENCES):
        yield bits.u(3)
        bits.u(sequence.frame_id_delta_bits)
