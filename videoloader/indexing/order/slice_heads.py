"""Reads the first bytes of the first slice of packets of H.264 and HEVC streams."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.codec import NalSyntax
from videoloader.codecs.nal import annexb_units, length_units, walk_units
from videoloader.codecs.registry import nal_syntax
from videoloader.codecs.slice_counts import SLICE_BEGIN
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.payloads import packet_windows, read_packets
from videoloader.sources.source import Source

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_HEAD = 64  # bytes to read at a time: a delimiter, a short message and a slice header
_ROUNDS = 2  # maximum reads for each packet


def all_slice_heads(index: VideoIndex, source: Source) -> Bytes | None:
    """First slice bytes of all packets, shape (packets, SLICE_BEGIN); None if one has no slice.

    Bytes past the end of a short slice are undefined.
    """
    table, nal = index.packets, nal_syntax(index.codec)
    if not index.length_size or not index.packing.is_plain:
        found = [
            _first_slice(nal, index.length_size, payload) for payload in read_packets(index, source)
        ]
        return (
            None
            if not all(found)
            else np.frombuffer(b"".join(found), np.uint8).reshape(len(found), SLICE_BEGIN)
        )
    parts: list[Bytes] = []
    sizes = table["size"].astype(np.int64)
    for some, read, starts in packet_windows(source, table["offset"], sizes):
        places = np.full(len(starts), -1, dtype=np.int64)
        for packets, units, heads in walk_units(read, starts, sizes[some], index.length_size):
            if units is not None:
                new = nal.are_of(nal.slices, heads[:, 0]) & (places[packets] < 0)
                places[packets[new]] = units[new]
        if (places < 0).any():
            return None
        parts.append(read(places, SLICE_BEGIN))
    return np.concatenate(parts)


def _first_slice(nal: NalSyntax, length_size: int, payload: bytes) -> bytes:
    """The head of the first slice of one packet, empty if it has none."""
    if length_size:
        units = length_units(memoryview(payload), length_size)
        heads = (bytes(unit[:SLICE_BEGIN]) for unit in units)
    else:
        heads = (payload[start : start + SLICE_BEGIN] for start in annexb_units(payload))
    for head in heads:
        if head and nal.kind(head[0]) in nal.slices:
            return head.ljust(SLICE_BEGIN, b"\0")
    return b""


def some_slice_heads(
    nal: NalSyntax, length_size: int, source: Source, starts: Ints, sizes: Ints
) -> tuple[Bytes, NDArray[np.bool_]]:
    """First slice bytes of some packets, reading at most 128 bytes of each in short reads.

    Returns:
        The heads, shape (packets, SLICE_BEGIN), and a mask of packets whose slice was found.
    """
    heads = np.zeros((len(starts), SLICE_BEGIN), dtype=np.uint8)
    found = np.zeros(len(starts), dtype=np.bool_)
    ends = starts + sizes
    left, places = np.arange(len(starts)), starts
    for _ in range(_ROUNDS):
        limits = np.minimum(ends[left] - places, _HEAD)
        ranges = list(zip(places.tolist(), limits.tolist(), strict=True))
        behind: list[tuple[int, int]] = []
        for number, place, data in zip(
            left.tolist(), places.tolist(), source.read_ranges(ranges), strict=True
        ):
            whole = place + len(data) >= int(ends[number])
            unit, after = _find_slice(nal, data, length_size, is_whole=whole)
            if unit is not None:
                head = data[unit : unit + SLICE_BEGIN]
                heads[number, : len(head)] = np.frombuffer(head, dtype=np.uint8)
                found[number] = True
            elif place + after < int(ends[number]):
                behind.append((number, place + after))
        if not behind:
            break
        left, places = np.array(behind, dtype=np.int64).T
    return heads, found


def _find_slice(
    nal: NalSyntax, data: bytes, length_size: int, *, is_whole: bool
) -> tuple[int | None, int]:
    """Offset of the first slice, None if it is past `data`; and the offset to continue at."""
    position = 0
    while position + length_size < len(data):
        unit = position + length_size
        if nal.kind(data[unit]) in nal.slices:
            is_there = is_whole or unit + SLICE_BEGIN <= len(data)
            return (unit, unit) if is_there else (None, position)
        position = unit + int.from_bytes(data[position:unit], "big")
    return None, position
