"""Reads the headers at the beginning of access units.

A PES packet that begins an access unit usually has its headers in the first bytes of its first
transport packet. So the first bytes of all PES packets are parsed together, and the few whose
headers are longer are parsed one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.nal import annexb_units
from videoloader.codecs.registry import codec_of
from videoloader.indexing.containers.mpegts.grid import PACKET, Bytes, Grid, Ints
from videoloader.indexing.containers.mpegts.pes import PesPackets, elementary_bytes
from videoloader.sources.source import rows_at

HEADER = 14  # bytes of a picture's header to keep, type byte first

# Role of a unit in the splitting into access units, as in FFmpeg's parsers.
_BEFORE, _PICTURE = 1, 2
_PARAMETERS, _MESSAGES = 4, 8
_BATCH = 1 << 22
_WIDTHS = (48, PACKET)  # bytes to parse of all PES packets, then of those that need more


@cache
def _kinds(codec: str) -> Bytes:
    kinds = np.zeros(256, dtype=np.uint8)
    nal = codec_of(codec).nal
    if nal is None:  # MPEG-1 and MPEG-2
        kinds[[0xB3, 0xB8]] = _BEFORE
        kinds[0xB3] |= _PARAMETERS
        kinds[0x00] = _PICTURE
        return kinds
    octets = np.arange(256, dtype=np.uint8)
    kinds[nal.are_of(nal.before, octets)] = _BEFORE
    kinds[nal.are_of(nal.parameters, octets)] |= _PARAMETERS
    kinds[nal.kinds(octets) == nal.recovery_message] |= _MESSAGES
    kinds[nal.are_of(nal.slices, octets)] = _PICTURE
    kinds[octets & nal.layer_bits > 0] = 0
    return kinds


@dataclass(frozen=True, slots=True)
class TransportUnits:
    """The units at the beginning of each PES packet.

    `headers` are the first bytes of the first picture or slice header, after its start code.
    `parameters` and `messages`: parameter sets or SEI precede it.
    """

    headers: Bytes
    parameters: NDArray[np.bool_]
    messages: NDArray[np.bool_]


def read_units(codec: str, grid: Grid, pes: PesPackets) -> TransportUnits | None:
    """Parse the beginning of every PES packet.

    Returns:
        None if one of them does not begin an access unit, or has no picture.
    """
    count = len(pes.first)
    begins = pes.starts[pes.first].astype(np.int64)
    rooms = PACKET - begins
    units = TransportUnits(
        np.zeros((count, HEADER), dtype=np.uint8),
        np.zeros(count, dtype=np.bool_),
        np.zeros(count, dtype=np.bool_),
    )
    left = np.arange(count)
    for width in _WIDTHS:
        if not len(left):
            break
        beginnings = rows_at(pes.heads, (pes.places + begins)[left], width)
        done = _walk(codec, beginnings, np.minimum(rooms[left], width), units, left)
        if done is None:
            return None
        left = left[~done]
    for number in left.tolist():
        whole = pes_bytes(grid, pes, number, number + 1)
        padded = np.append(whole, np.zeros(HEADER + 4, dtype=np.uint8))[None]
        done = _walk(codec, padded, np.array([padded.shape[1]]), units, np.array([number]))
        if done is None or not done[0]:
            return None
    return units


def pes_bytes(grid: Grid, pes: PesPackets, first: int, stop: int) -> Bytes:
    """The bytes of the elementary stream in consecutive PES packets, `first` to before `stop`."""
    begin = int(pes.first[first])
    end = int(pes.first[stop]) if stop < len(pes.first) else len(pes.rows)
    packets = grid.packets(pes.rows[begin:end]).reshape(-1)
    return elementary_bytes(packets, np.arange(end - begin) * PACKET, pes.starts[begin:end])


def count_pictures(codec: str, grid: Grid, pes: PesPackets, numbers: Ints) -> Ints | None:
    """Number of access units in each of some PES packets; reads all their bytes.

    Returns:
        None if a PES packet ends between the units before a picture and the picture.
    """
    counts = np.zeros(len(numbers), dtype=np.int64)
    for begin, end in _batches(numbers, pes.sizes):
        first = int(numbers[begin])
        data = pes_bytes(grid, pes, first, first + end - begin)
        codes = np.array([*annexb_units(data.tobytes())], dtype=np.int64) - 3
        kinds = _kinds_at(codec, data, codes)
        codes, kinds = codes[kinds > 0], kinds[kinds > 0]
        stops = np.cumsum(pes.sizes[first : first + end - begin])
        owners = np.searchsorted(stops, codes, side="right")
        last = np.append(owners[1:] != owners[:-1], True)[: len(owners)]
        if not (kinds[last] == _PICTURE).all():
            return None
        # Count first slices: the units before a first slice belong to its access unit.
        counts[begin:end] = np.bincount(owners[kinds == _PICTURE], minlength=end - begin)
    return counts


def _batches(numbers: Ints, sizes: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of `numbers` that are consecutive and have at most a few megabytes each."""
    begin, held = 0, 0
    for place in range(len(numbers)):
        held += int(sizes[numbers[place]])
        ends = place + 1 == len(numbers) or int(numbers[place + 1]) != int(numbers[place]) + 1
        if ends or held > _BATCH:
            yield begin, place + 1
            begin, held = place + 1, 0


def _kinds_at(codec: str, data: Bytes, codes: Ints) -> Bytes:
    """Kinds of the units at start codes; 0 for later slices of a picture and other layers."""
    last = len(data) - 1
    kinds: Bytes = _kinds(codec)[data[np.minimum(codes + 3, last)]]
    nal = codec_of(codec).nal
    if nal is None:
        return kinds
    if nal.has_sub_layers:
        kinds = np.where(data[np.minimum(codes + 4, last)] >> 3, np.uint8(0), kinds)
    # first_mb_in_slice is not 0, or first_slice_segment_in_pic_flag is not set.
    later = data[np.minimum(codes + 3 + nal.header_size, last)] < 0x80
    kinds[(kinds == _PICTURE) & later] = 0
    return kinds


def _walk(
    codec: str, matrix: Bytes, rooms: Ints, units: TransportUnits, numbers: Ints
) -> NDArray[np.bool_] | None:
    """Parse the units at the beginning of PES packets up to the first picture of each.

    A row of `matrix` has `rooms` valid bytes; what is found is stored in `units` at `numbers`.

    Returns:
        Mask of the rows that were long enough; None if one does not begin an access unit.
    """
    width = matrix.shape[1]
    if width < HEADER + 4:
        return None
    flat = matrix.reshape(-1)
    marks = (flat[2:-1] == 1) & ((flat[:-3] | flat[1:-2]) == 0)
    rows, columns = np.divmod(np.flatnonzero(marks), width)
    within = columns < width - 3
    rows, columns = rows[within], columns[within]
    inside = columns + 3 + HEADER <= rooms[rows]
    kinds = _kinds_at(codec, flat, rows * width + columns)
    first = np.ones(len(rows), dtype=np.bool_)
    first[1:] = rows[1:] != rows[:-1]
    heads = first & inside
    early = columns <= 3  # leading zeros are allowed
    if not (early & (kinds > 0))[heads].all() or not _lead_is_empty(matrix, rows, columns, heads):
        return None
    pictures = np.flatnonzero((kinds == _PICTURE) & inside)
    pictures = pictures[np.append(True, np.diff(rows[pictures]) > 0)[: len(pictures)]]
    done = np.zeros(len(matrix), dtype=np.bool_)
    done[rows[pictures]] = True
    place = np.zeros(len(matrix), dtype=np.int64)
    place[rows[pictures]] = columns[pictures]
    before = done[rows] & (columns < place[rows])
    for kind, table in ((_PARAMETERS, units.parameters), (_MESSAGES, units.messages)):
        table[numbers[rows[before & ((kinds & kind) != 0)]]] = True
    chosen = np.flatnonzero(done)
    units.headers[numbers[chosen]] = rows_at(flat, chosen * width + place[chosen] + 3, HEADER)
    return done


def _lead_is_empty(matrix: Bytes, rows: Ints, columns: Ints, heads: NDArray[np.bool_]) -> bool:
    """Whether only zeros precede the first start code of each row."""
    for column in range(1, 4):
        behind = rows[heads & (columns == column)]
        if matrix[behind, :column].any():
            return False
    return True
