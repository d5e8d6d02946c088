"""Chunks of RIFF files, and the indexes of AVI: `idx1` and OpenDML 1.02."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.sources.source import Source

Ints = NDArray[np.int64]

_LISTS = (b"LIST", b"RIFF")
_OTHERS = (b"JUNK", b"ix", b"idx1")  # chunks between the packets of a movie
_READ = 1 << 20
_MAX_CHUNKS = 1 << 12  # not counting those within the movie
_UNKNOWN = (0, 0xFFFFFFFF)  # size fields of files whose writers could not seek back
_INDEX = np.dtype([("id", "S4"), ("flags", "<u4"), ("offset", "<u4"), ("size", "<u4")])
_PIECE = np.dtype([("offset", "<u4"), ("size", "<u4")])
_SUPER = np.dtype([("offset", "<u8"), ("size", "<u4"), ("duration", "<u4")])
_HEAD = struct.Struct("<4sI").unpack_from


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk or list: FourCC, list type, and location of its content."""

    kind: bytes
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Found:
    """Offset and size of all packets of a stream, shape (count, 2), empty ones included.

    `end` is the end of the last packet, which is past the end of a truncated file.
    """

    places: Ints
    end: int


def walk_chunks(source: Source, position: int, stop: int) -> Iterator[Chunk]:
    """Yield consecutive chunks; a list has its list type as kind."""
    for _ in range(_MAX_CHUNKS):
        if position + 8 > stop:
            return
        head = source.read_up_to(position, 12)
        kind, size = _HEAD(head)
        start, end = position + 8, min(position + 8 + size, stop)
        if kind in _LISTS and start + 4 <= end:
            kind, start = head[8:], start + 4
        elif kind in _LISTS and size in _UNKNOWN and start + 4 <= stop:
            yield Chunk(head[8:], start + 4, stop)
            return
        yield Chunk(kind, start, end)
        position += 8 + size + size % 2


def riff_end(source: Source) -> int:
    """End of a RIFF file by the sizes of its chunks; 0 if it is not RIFF or sizes are unknown."""
    end = 0
    for _ in range(_MAX_CHUNKS):
        head = source.read_up_to(end, 8)
        if len(head) < 8 or not head.startswith(b"RIFF"):
            break
        size = _HEAD(head)[1]
        if size in _UNKNOWN:
            break
        end += 8 + size
    return end


def find_packets(source: Source, *, stream: int, index: Chunk | None) -> Found | None:
    """Find the packets of a stream by its OpenDML index or `idx1`, or by walking the chunks.

    None if there is no movie, or if it has gaps and no index covers them.
    """
    parts = list(walk_chunks(source, 12, source.size))
    inside = [c for p in parts if p.kind == b"AVIX" for c in walk_chunks(source, p.start, p.stop)]
    movies = [chunk for chunk in (*parts, *inside) if chunk.kind == b"movi"]
    if not movies:
        return None
    kinds = [b"%02d%s" % (stream, kind) for kind in (b"dc", b"db")]
    table = next((part for part in parts if part.kind == b"idx1"), None)
    places: Ints | None = None
    if index is not None:
        places = _opendml_places(source, index)
    elif table is not None:
        places = _table_places(source, table, movies[0], kinds)
    if places is not None and not _are_packets(source, places, kinds):
        places = None
    if places is not None and places[:, 1].sum() > source.size:
        return None  # packets overlap: reading all could take unbounded time
    at = 0 if places is None or not len(places) else int(places.sum(axis=1).max())
    tail: list[tuple[int, int]] = []
    for movie in movies:
        if movie.stop > at:
            begin = max(at + at % 2, movie.start)
            is_whole, at = _walk_movie(source, begin, movie.stop, kinds, tail)
            if not is_whole and places is None:
                return None
    rest = np.array(tail, dtype=np.int64).reshape(-1, 2)
    return Found(rest if places is None else np.concatenate([places, rest]), at)


def _walk_movie(
    source: Source, position: int, stop: int, kinds: list[bytes], found: list[tuple[int, int]]
) -> tuple[bool, int]:
    """Append packets from `position` on to `found`; returns (has no gaps, end)."""
    while position + 8 <= stop:
        kind, size = _HEAD(source.read(position, 8))
        body = position + 8
        if kind == b"LIST":
            position = body + 4
            continue
        if not (kind[:2].isdigit() or kind.startswith(_OTHERS)):
            return _is_empty(source, position, stop), position
        if body + size > source.size:
            return True, body + size
        if kind in kinds:
            found.append((body, size))
        position = body + size + size % 2
    return True, min(position, source.size)


def _is_empty(source: Source, start: int, stop: int) -> bool:
    """Whether all bytes from `start` to `stop` are zero."""
    places = range(start, stop, _READ)
    return not any(source.read(at, min(_READ, stop - at)).strip(b"\0") for at in places)


def _table_places(source: Source, table: Chunk, movie: Chunk, kinds: list[bytes]) -> Ints | None:
    """Packet locations in an `idx1` chunk."""
    count = (table.stop - table.start) // _INDEX.itemsize
    entries = np.frombuffer(source.read(table.start, count * _INDEX.itemsize), dtype=_INDEX)
    entries = entries[np.isin(entries["id"], kinds)]
    places = np.stack([entries["offset"], entries["size"]], axis=1).astype(np.int64)
    places[:, 0] += 8
    # Offsets are relative to the FourCC 'movi', or to the beginning of the file.
    base = movie.start - 4
    if len(places) and _are_packets(source, places[:1] + np.array([base, 0]), kinds):
        places[:, 0] += base
    return places


def _opendml_places(source: Source, index: Chunk) -> Ints | None:
    """Packet locations in an OpenDML super index, or in a single standard index."""
    pieces = []
    if index.stop - index.start < 24:
        return None
    longs, _, kind, count = struct.unpack("<HBBI", source.read(index.start, 8))
    if kind == 1:
        return _piece(source, index.start, index.stop)
    if kind != 0 or longs != 4 or 24 + count * _SUPER.itemsize > index.stop - index.start:
        return None
    total = 0
    for entry in np.frombuffer(source.read(index.start + 24, count * _SUPER.itemsize), _SUPER):
        start = int(entry["offset"]) + 8
        total += int(entry["size"])
        if start + 24 > source.size or total > source.size:
            return None
        piece = _piece(source, start, min(start - 8 + int(entry["size"]), source.size))
        if piece is None:
            return None
        pieces.append(piece)
    return np.concatenate(pieces) if pieces else None


def _piece(source: Source, start: int, stop: int) -> Ints | None:
    if start + 24 > stop:
        return None
    longs, part, kind, count, _, base = struct.unpack("<HBBI4sQ", source.read(start, 20))
    if kind != 1 or longs != 2 or part or start + 24 + count * 8 > stop or base > source.size:
        return None
    entries = np.frombuffer(source.read(start + 24, count * _PIECE.itemsize), _PIECE)
    sizes = entries["size"] & 0x7FFFFFFF
    return np.stack([entries["offset"].astype(np.int64) + base, sizes], axis=1).astype(np.int64)


def _are_packets(source: Source, places: Ints, kinds: list[bytes]) -> bool:
    """Whether a matching chunk header precedes every packet, and all are within the file."""
    starts, sizes = places[:, 0], places[:, 1]
    if not ((starts >= 8) & (starts + sizes <= source.size)).all():
        return False
    heads = source.gather(starts - 8, 8)
    names = heads[:, :4].copy().view("S4")[:, 0]
    stated = heads[:, 4:].copy().view("<u4")[:, 0]
    return bool((np.isin(names, kinds) & (stated == sizes)).all())
