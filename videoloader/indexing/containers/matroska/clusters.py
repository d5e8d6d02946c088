"""Walks all clusters (RFC 9559, section 5.1.3) to find the header of every block.

An hour of video has hundreds of thousands of blocks, and each is located by the size of the
previous one. So the walk only locates blocks, in many clusters at a time where possible; their
headers are parsed afterwards, all at once.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.indexing.containers.matroska.ebml import (
    LEVEL_1,
    MAX_HEAD,
    Id,
    NeedsDemuxerError,
    read_head,
)
from videoloader.indexing.containers.matroska.heads import (
    HEAD,
    Heads,
    follow_simple_blocks,
    read_heads,
)
from videoloader.sources.local import LocalSource
from videoloader.sources.source import Source, rows_at

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

CHUNK = 1 << 19  # bytes to read at once
# The same of a large local file, if the next block begins near, or far. A read lets go of the
# interpreter, so that of many threads each waits for the others at every read.
_MORE, _LESS = 1 << 17, 1 << 12
_NEAR = 1 << 15  # bytes behind those that were read
SAMPLE = 64  # blocks to find before it is decided how to read a file
SMALL = 6000  # average bytes up to which reading all of a file is faster than a read a block
_MAX_TIME = 1 << 52
_SKIPPED = frozenset(
    {Id.VOID, Id.CRC, Id.POSITION, Id.PREVIOUS_SIZE, Id.SILENT_TRACKS, Id.ENCRYPTED_BLOCK}
)
_BLOCKS = frozenset({Id.SIMPLE_BLOCK, Id.GROUP})
_IN_CLUSTER = _SKIPPED | _BLOCKS | {Id.TIMESTAMP}
_unpack_block = struct.Struct(">BH").unpack_from  # ID, and up to two bytes of the size


@dataclass(frozen=True, slots=True)
class Blocks:
    """All blocks of all tracks in the order of the file, one entry a block in every array.

    `clocks` is the timestamp of a block's cluster in ticks. `durations` (0 if unknown) and
    `refers` (references other blocks) are read from its BlockGroup. `end` is the end of the last
    element by its stated size, which is past the end of a truncated file.
    """

    heads: Heads
    clocks: Ints
    durations: Ints
    refers: NDArray[np.bool_]
    end: int


class _CutError(Exception):
    """The file ends within the head of an element."""


def scan_clusters(source: Source, start: int, stop: int | None) -> Blocks:
    """Find the blocks of a segment from its first cluster on.

    An incomplete last block of a truncated file is omitted.

    Raises:
        NeedsDemuxerError: sizes of elements are inconsistent.
    """
    scan = _Scan(source)
    scan.run(start, stop)
    return scan.blocks()


class _Scan:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._base = 0
        self._view = memoryview(b"")  # bytes from `_base` on
        # Of a remote file or one in memory, as small ones are, all bytes are walked.
        self._is_file = isinstance(source, LocalSource)
        self._ahead = _MORE if self._is_file else CHUNK
        self._found: list[int] = []  # blocks in the view: their offsets in it
        self._parts: list[tuple[Ints, Bytes]] = []  # offsets and first bytes of earlier blocks
        self._count = 0  # earlier blocks
        self._walked = 0  # bytes of clusters that were walked to find blocks
        self._clocks: list[tuple[int, int]] = []  # offset in the file, cluster time from there on
        self._groups: list[tuple[int, int, bool]] = []  # block, duration, whether it refers
        self._end = 0

    def run(self, position: int, stop: int | None) -> None:
        """Walk the elements of a segment."""
        limit = self._source.size if stop is None else min(stop, self._source.size)
        whole: list[tuple[int, int]] = []
        try:
            self._walk(position, stop, limit, whole)
        except _CutError:
            if stop is not None and stop <= self._source.size:
                raise NeedsDemuxerError(f"the segment ends within a head, at byte {stop}") from None
            self._end = max(self._end, limit + 1)
        if stop is not None and stop < self._source.size:
            raise NeedsDemuxerError(
                f"the file goes on behind its segment, which ends at byte {stop}"
            )
        self._clusters(np.array(whole, dtype=np.int64).reshape(-1, 2))

    def _walk(
        self, position: int, stop: int | None, limit: int, whole: list[tuple[int, int]]
    ) -> None:
        """Walk elements; clusters of known size are added to `whole` instead of being walked."""
        is_open = False  # in an element of unknown size (live streams), ended by the next one
        while position < limit:
            kind, body, size = self._head(position)
            end = None if size is None else body + size
            self._end = max(self._end, end or 0)
            if kind == Id.CLUSTER:
                is_open = False
                if end is not None and stop is not None and end > stop:
                    raise NeedsDemuxerError(f"the cluster at byte {position} runs past the segment")
                if end is not None and end <= limit - HEAD and self._is_sparse():
                    whole.append((self._cluster(body, end, limit, only_clock=True), end))
                    position = end
                else:
                    position = self._cluster(body, end, limit)
                    self._walked += position - body
            elif kind in LEVEL_1 or (is_open and kind not in (Id.EBML, Id.SEGMENT)):
                is_open = is_open or end is None
                position = body if end is None else end
            else:
                raise NeedsDemuxerError(f"element {kind:x} at byte {position} of the segment")

    def _is_sparse(self) -> bool:
        """Whether reading only the heads of blocks is faster than reading everything."""
        count = self._count + len(self._found)
        if not self._is_file or count < SAMPLE:
            return False
        is_sparse = self._walked > count * SMALL
        self._ahead = _MORE if is_sparse else CHUNK
        return is_sparse

    def _clusters(self, ranges: Ints) -> None:
        begins, ends = ranges[:, 0], ranges[:, 1]
        found, heads, stopped = follow_simple_blocks(self._source.gather, begins, ends)
        self._parts.append((found, heads))
        for position, end in zip(stopped.tolist(), ranges[:, 1].tolist(), strict=True):
            if position < end:
                self._cluster(position, end, end, has_clock=True)

    def blocks(self) -> Blocks:
        """The blocks found so far."""
        self._keep()
        places = np.concatenate([places for places, _ in self._parts])
        rows = np.concatenate([rows for _, rows in self._parts])
        if (places[1:] < places[:-1]).any():
            order = np.argsort(places, kind="stable")
            places, rows = places[order], rows_at(rows.reshape(-1), order * HEAD, HEAD)
        heads = read_heads(places, rows)
        clocks = np.array(self._clocks or [(0, 0)], dtype=np.int64)
        since = np.searchsorted(clocks[:, 0], places, side="right") - 1
        durations = np.zeros(len(places), dtype=np.int64)
        refers = np.zeros(len(places), dtype=np.bool_)
        if self._groups:
            groups = np.array(self._groups, dtype=np.int64)
            members = np.searchsorted(places, groups[:, 0])
            durations[members] = groups[:, 1]
            refers[members] = groups[:, 2] > 0
        return Blocks(heads, clocks[since, 1], durations, refers, self._end)

    def _cluster(
        self,
        position: int,
        end: int | None,
        limit: int,
        *,
        has_clock: bool = False,
        only_clock: bool = False,
    ) -> int:
        """Walk a cluster (`end` is None if unknown); returns its end."""
        if end is not None:
            limit = min(end, limit)
        while position < limit:
            if has_clock:
                if only_clock:
                    return position
                position = self._simple_blocks(position, limit)
                if position + 1 >= limit:
                    break
            kind, body, size = self._head(position)
            if kind in LEVEL_1 and end is None and kind not in _SKIPPED:
                return position
            if kind not in _IN_CLUSTER or (kind in _BLOCKS and not has_clock):
                raise NeedsDemuxerError(f"element {kind:x} at byte {position} of a cluster")
            if size is None or (end is not None and body + size > end):
                raise NeedsDemuxerError(
                    f"element {kind:x} at byte {position} runs past its cluster"
                )
            if body + size > limit:
                self._end = max(self._end, body + size)
                return limit  # a truncated file
            if kind == Id.TIMESTAMP:
                self._clocks.append((position, self._uint(body, size)))
                has_clock = True
            elif kind == Id.SIMPLE_BLOCK:
                self._note(position)
            elif kind == Id.GROUP:
                self._group(body, body + size)
            position = body + size
        return position

    def _simple_blocks(self, position: int, limit: int) -> int:
        """Record consecutive simple blocks; returns the end of the last."""
        found = self._found
        is_more = True
        while is_more:
            place = self._reach(position)
            view, simple, append = self._view, Id.SIMPLE_BLOCK, found.append
            end = limit - self._base
            last = min(end, len(view)) - HEAD
            while place <= last:
                kind, size = _unpack_block(view, place)
                if kind != simple:
                    break
                append(place)
                # The first bit of a size that is set gives its length.
                if size >= 0x8000:
                    place += 2 + (size >> 8 & 0x7F)
                elif size >= 0x4000:
                    place += 3 + (size & 0x3FFF)
                elif size >= 0x2000:
                    place += 4 + ((size & 0x1FFF) << 8 | view[place + 3])
                else:
                    place = end + 1  # rare: the caller reads it
            is_more = last < place <= end - HEAD
            if place > end:
                place = found.pop()
            position = self._base + place
        return position

    def _group(self, position: int, end: int) -> None:
        block, duration, refers = -1, 0, False
        while position < end:
            kind, body, size = self._head(position)
            if size is None or body + size > end:
                raise NeedsDemuxerError(f"element {kind:x} at byte {position} runs past its group")
            if kind == Id.BLOCK:
                if block >= 0:
                    raise NeedsDemuxerError(f"the group at byte {position} has two blocks")
                block = position
                self._note(position)
            elif kind == Id.BLOCK_DURATION:
                duration = self._uint(body, size)
            elif kind == Id.REFERENCE:
                refers = True
            position = body + size
        if block >= 0:
            self._groups.append((block, duration, refers))

    def _uint(self, body: int, size: int) -> int:
        place = self._reach(body)
        data = bytes(self._view[place : place + size]) if size <= 8 else b""
        value = int.from_bytes(data, "big") if size <= 8 else _MAX_TIME
        if value >= _MAX_TIME:
            raise NeedsDemuxerError(f"the time at byte {body} is out of all bounds")
        return value

    def _head(self, position: int) -> tuple[int, int, int | None]:
        place = self._reach(position)
        data = bytes(self._view[place : place + MAX_HEAD])
        try:
            kind, length, size = read_head(data, position)
        except NeedsDemuxerError:
            if len(data) < MAX_HEAD and any(data):
                raise _CutError from None
            raise
        return kind, position + length, size

    def _note(self, position: int) -> None:
        """Record a block that begins at `position`."""
        self._found.append(self._reach(position))

    def _reach(self, position: int) -> int:
        """Move the view so that it holds a complete header, or the rest of the source.

        Returns:
            The offset in it of `position`.
        """
        place = position - self._base
        left = len(self._view) - place
        if place < 0 or (left < HEAD and position + left < self._source.size) or left < 0:
            self._keep()
            is_far = self._ahead == _MORE and left <= -_NEAR
            ahead = _LESS if is_far else self._ahead
            self._base, place = position, 0
            size = max(min(ahead, self._source.size - position), 0)
            self._view = self._source.window(position, size).data
        return place

    def _keep(self) -> None:
        """Copy the first bytes of the blocks in the view, before it is moved."""
        if self._found:
            places = np.array(self._found)
            self._found.clear()
            heads = rows_at(np.frombuffer(self._view, dtype=np.uint8), places, HEAD)
            self._parts.append((self._base + places, heads))
            self._count += len(places)
