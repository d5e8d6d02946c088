"""Splits byte streams of NAL units (ITU-T H.264 and H.265, annex B) into packets like FFmpeg."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.codec import NalSyntax
from videoloader.codecs.nal import annexb_units
from videoloader.sources.source import Source, rows_at

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_PIECE = 1 << 22
_HEAD = 5  # bytes kept of each unit


@dataclass(frozen=True, slots=True)
class AnnexBUnits:
    """NAL units of a stream: offset of each after its start code, and its first bytes."""

    nal: NalSyntax
    places: Ints
    heads: Bytes

    @property
    def kinds(self) -> Bytes:
        """nal_unit_type of each."""
        return self.nal.kinds(self.heads[:, 0])

    @property
    def is_slice(self) -> Flags:
        """Mask of the slices of pictures that decoders output."""
        return self.nal.are_of(self.nal.slices, self.heads[:, 0])

    @property
    def is_before(self) -> Flags:
        """Mask of units that belong to the next picture: parameter sets, messages, delimiters."""
        return self.nal.are_of(self.nal.before, self.heads[:, 0])


def find_units(nal: NalSyntax, source: Source) -> AnnexBUnits:
    """Find all units of a stream, piece by piece."""
    parts, rows = [np.empty(0, dtype=np.int64)], [np.empty((0, _HEAD), dtype=np.uint8)]
    for begin in range(0, source.size, _PIECE):
        last = _PIECE + 2  # a start code may begin at the end of the piece
        piece = source.read_up_to(begin, last + _HEAD)
        places = np.array(array("q", annexb_units(piece, last)), dtype=np.int64)
        places = places[places + begin + 2 < source.size]
        parts.append(places + begin)
        rows.append(rows_at(np.frombuffer(piece, dtype=np.uint8), places, _HEAD))
    return AnnexBUnits(nal, np.concatenate(parts), np.concatenate(rows))


def unit_bytes(units: AnnexBUnits, source: Source, number: int) -> bytes:
    """The bytes of a unit, without trailing zeros."""
    last = number + 1 == len(units.places)
    start = int(units.places[number])
    stop = source.size if last else int(units.places[number + 1]) - 3
    return source.read(start, stop - start).rstrip(b"\0")


def split_pictures(units: AnnexBUnits) -> tuple[Ints, Ints]:
    """Split a stream into packets of one picture each.

    Returns:
        Index of the first unit of each packet, and of its first slice (the number of units if
        the packet has none).
    """
    slices = units.is_slice
    numbers = np.flatnonzero(slices)
    if not len(numbers):
        return numbers, numbers
    begins = np.ones(len(numbers), dtype=np.bool_)
    begins[1:] = _begins_picture(units, numbers)
    # A unit before a picture starts a packet if there was a slice since the last packet start.
    before = np.flatnonzero(units.is_before)
    earlier = np.searchsorted(numbers, before)  # slices before it
    _, first_of_gap = np.unique(earlier, return_index=True)
    first_of_gap = first_of_gap[earlier[first_of_gap] > 0]
    cuts_before, gaps = before[first_of_gap], earlier[first_of_gap]
    inside = gaps < len(numbers)
    begins[gaps[inside]] = True
    firsts = np.flatnonzero(begins)
    starts = numbers[firsts].copy()
    starts[np.searchsorted(firsts, gaps[inside])] = cuts_before[inside]
    starts[0] = 0
    slices_of = numbers[firsts]
    if not inside.all():  # units after the last picture form a packet of their own
        starts = np.append(starts, cuts_before[~inside])
        slices_of = np.append(slices_of, len(units.places))
    return starts, slices_of


def packet_begins(units: AnnexBUnits, source: Source, starts: Ints) -> Ints:
    """Offsets of packets: the start code, including one zero byte before it if there is one."""
    codes = units.places[starts] - 3
    codes -= (codes > 0) & (source.gather(np.maximum(codes - 1, 0), 1)[:, 0] == 0)
    codes[0] = 0
    return codes


def _begins_picture(units: AnnexBUnits, numbers: Ints) -> Flags:
    """For each slice but the first, whether it belongs to another picture than the previous one."""
    heads = units.heads[numbers]
    if units.nal.has_sub_layers:
        first: Flags = heads[1:, 2] >= 0x80  # first_slice_segment_in_pic_flag
        return first
    blocks = _first_blocks(heads)
    later: Flags = blocks[1:] <= blocks[:-1]
    return later


def _first_blocks(heads: Bytes) -> Ints:
    """first_mb_in_slice of H.264 slices, an Exp-Golomb code of 31 bits at most."""
    word = np.zeros(len(heads), dtype=np.int64)
    for byte in range(1, 5):
        word = word << 8 | heads[:, byte]
    _, digits = np.frexp(word.astype(np.float64))  # exact below 2 ** 53
    zeros = 32 - digits.astype(np.int64)
    shift = np.maximum(31 - 2 * zeros, 0)
    return np.where(zeros < 16, (word >> shift) - 1, 1 << 31)
