"""Scans the NAL units of an H.264 or HEVC stream for keyframes, order and parameter sets."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.codec import Described, NalSyntax
from videoloader.codecs.h264.order import DisorderError
from videoloader.codecs.nal import recovers_at_once, split_units
from videoloader.errors import FormatError
from videoloader.indexing.containers.annexb import AnnexBUnits, unit_bytes
from videoloader.sources.source import Source

SLICE_HEADER = 160
"""Bytes of a slice to read; enough for its header."""

_START = b"\0\0\1"
_READ_SETS = 1 << 16  # total bytes of parameter sets to read; files rarely have more than 100


class NalScan:
    """Collects keyframes, picture order and parameter sets from units in decode order.

    `keys` and `ranks` have one entry per picture, `ranks` only while `order_known`; `setups` are
    (first packet, parameter sets that apply from it on).

    Args:
        nal: syntax of the codec.
        room: maximum total bytes of `setups`; `is_excessive` is set beyond it.
    """

    def __init__(self, nal: NalSyntax, *, room: int = _READ_SETS) -> None:
        self._nal = nal
        self.is_excessive = False
        self._room = room
        self._unread = _READ_SETS
        self.keys: list[bool] = []
        self.ranks: list[tuple[int, int]] = []
        self.setups: list[tuple[int, bytes]] = []
        self.sequence: bytes | None = None
        """The first sequence parameter set."""
        self.order_known = True
        self.is_damaged = False
        """Whether pictures are missing, repeated or out of order."""
        self._order = nal.new_order()
        self._sets: dict[tuple[int, int], bytes] = {}
        self._read: set[bytes] = set()
        self._changed = False
        self._recovers = False
        self._is_ended = False

    def take(self, units: Iterable[bytes | memoryview]) -> int:
        """Process all units of one packet, in order.

        Returns:
            Number of pictures that begin in it; only the first is recorded.
        """
        nal, pictures = self._nal, 0
        for unit in units:
            if len(unit) < 2 or nal.is_further_layer(unit):
                continue
            kind = nal.kind(unit[0])
            if kind in nal.slices and len(unit) > 2:
                if not pictures:
                    self.picture(bytes(unit[:SLICE_HEADER]))
                # first_mb_in_slice is 0 (H.264), or first_slice_segment_in_pic_flag is set (HEVC).
                pictures += not pictures or unit[nal.header_size] >= 0x80
                self.order_known &= kind != nal.partition
            elif kind in nal.parameters:
                self.learn(bytes(unit).rstrip(b"\0"))
            elif kind == nal.recovery_message:
                self.message(bytes(unit))
            elif kind in nal.ends:
                self._is_ended = True
        return pictures

    def learn(self, unit: bytes) -> None:
        """Process a parameter set."""
        if unit not in self._read:
            self._read.add(unit)
            self._unread -= len(unit)
        if self._unread < 0:
            self.order_known = False
            return
        try:
            name = self._order.learn(unit)
        except (FormatError, IndexError):
            self.order_known = False
            return
        if self.sequence is None and name[0] == self._nal.sequence:
            self.sequence = unit
        self._changed |= self._sets.get(name) != unit
        self._sets[name] = unit

    def message(self, unit: bytes) -> None:
        """Process an SEI unit that may make the next picture a random access point."""
        self._recovers |= recovers_at_once(unit)

    def picture(self, head: bytes) -> None:
        """Process the first slice of a picture."""
        self.order_known &= not self._is_ended
        is_key = self._recovers or bool(self._nal.keys[head[0]])
        if self._changed and (is_key or not self.keys):
            self._add_setup()
        self.keys.append(is_key)
        self._recovers = False
        if self.order_known:
            try:
                self.ranks.append(self._order.count(head))
            except DisorderError:
                self.order_known, self.is_damaged = False, True
            except (FormatError, IndexError):
                self.order_known = False

    def warnings(self, name: str) -> tuple[str, ...]:
        """Warnings about the pictures; `name` is the name of the file."""
        if not self.is_damaged:
            return ()
        return (
            f"{name}: damaged: pictures are missing, repeated or out of order; those that FFmpeg "
            "gives are found by decoding, and some may look otherwise than where decoding begins "
            "at the start",
        )

    def _add_setup(self) -> None:
        sets = b"".join(_START + unit for _, unit in sorted(self._sets.items()))
        self._room -= len(sets)
        self.is_excessive |= self._room < 0
        if not self.is_excessive:
            self.setups.append((len(self.keys), sets))
        self._changed = False

    def order(self) -> NDArray[np.int64] | None:
        """The pictures in presentation order, None if it could not be determined."""
        if not self.order_known:
            return None
        ranks = np.array(self.ranks, dtype=np.int64).reshape(-1, 2)
        shown = np.lexsort((ranks[:, 1], ranks[:, 0]))
        ranks = ranks[shown]
        if (ranks[1:] == ranks[:-1]).all(axis=1).any() or self._reorders_too_much(shown):
            self.order_known, self.is_damaged = False, True
            return None
        return shown

    def _reorders_too_much(self, shown: NDArray[np.int64]) -> bool:
        """Whether a picture exceeds the reorder delay of the parameter sets.

        Decoders have output later pictures by then, and drop it.
        """
        if self._order.max_reorder is None:
            return False
        # A picture that is late by n has at least n earlier packets that follow it in output.
        late = shown - np.arange(len(shown))
        return bool(late.max(initial=0) > self._order.max_reorder)


def _some(kind: int | None) -> list[int]:
    return [] if kind is None else [kind]


def scan_units(units: AnnexBUnits, source: Source, slices: NDArray[np.int64]) -> NalScan | None:
    """Scan all units of a stream; None if its parameter sets exceed the limit."""
    nal, kinds = units.nal, units.kinds
    scan = NalScan(nal, room=source.size)
    wanted = np.isin(kinds, [*nal.parameters, *_some(nal.recovery_message)])
    scan.order_known = not np.isin(kinds, _some(nal.partition)).any()
    scan.order_known &= not np.isin(kinds[: slices[-1]], list(nal.ends)).any()
    wanted[slices] = True
    firsts = set(slices.tolist())
    for number in np.flatnonzero(wanted).tolist():
        if number in firsts:
            scan.picture(source.read_up_to(int(units.places[number]), SLICE_HEADER))
        elif kinds[number] == nal.recovery_message:
            scan.message(unit_bytes(units, source, number))
        else:
            scan.learn(unit_bytes(units, source, number))
    return None if scan.is_excessive else scan


def describe_start_coded(
    codec: str, nal: NalSyntax, setup: bytes, sample: bytes
) -> Described | None:
    """Describe a stream whose units have start codes.

    Its parameter sets are in the extradata of the container or in the first packet; they become
    the extradata. None if there are none.
    """
    scan = NalScan(nal)
    scan.take(split_units(setup))
    scan.take(split_units(sample))
    if scan.sequence is None:
        return None
    picture = nal.parse_sequence(scan.sequence).picture
    return Described(codec, picture, scan.setups[0][1] if scan.setups else b"")
