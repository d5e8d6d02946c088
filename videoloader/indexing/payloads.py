"""Reads the bytes of packets by number, for decoders and parsers."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.nal import ByteReader, walk_units
from videoloader.errors import SourceError
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.libav import demux_packets
from videoloader.indexing.packing import TransportLayout
from videoloader.sources.source import Source, rows_at

_CHUNK = 64
_MAX_GAP = 1 << 16
MAX_SPAN = 1 << 24
HEAD = 1 << 10  # bytes of a packet in which its first units begin, unless messages are long
HEAD_GAP = 1 << 17
_SMALL, _LOCAL_SPAN = 1 << 12, 1 << 21  # bytes of a packet, and of packets read at once
_TOGETHER = 1 << 16  # packets that are examined together
_BEGUN = 48  # bytes to read at the beginning of each packet: a delimiter and a slice header


@dataclass(frozen=True, slots=True, eq=False)
class Packets:
    """The bytes of some packets, without a copy of each; iterating gives them as `bytes`.

    Attributes:
        memory: holds all of them.
        starts: where each begins in memory.
        sizes: of each, in bytes.
    """

    memory: bytes
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, payloads: Sequence[bytes]) -> Packets:
        """Packets with these bytes."""
        sizes = np.fromiter(map(len, payloads), dtype=np.int64, count=len(payloads))
        return cls(b"".join(payloads), sizes.cumsum() - sizes, sizes)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[bytes]:
        return map(self.memory.__getitem__, self._slices())

    def views(self) -> Iterator[memoryview]:
        """The bytes of each packet, without a copy."""
        return map(memoryview(self.memory).__getitem__, self._slices())

    def _slices(self) -> Iterator[slice]:
        return map(slice, self.starts.tolist(), (self.starts + self.sizes).tolist())

    def __getitem__(self, number: int) -> bytes:
        start = int(self.starts[number])
        return self.memory[start : start + int(self.sizes[number])]

    def some(self, which: slice | NDArray[np.bool_]) -> Packets:
        """A part of the packets."""
        return Packets(self.memory, self.starts[which], self.sizes[which])

    def places(self) -> Iterator[tuple[int, int]]:
        """Where each packet begins and ends in memory."""
        return zip(self.starts.tolist(), (self.starts + self.sizes).tolist(), strict=True)


class PacketReader:
    """Reads packets of one video by number. Must not be shared between threads.

    Nearby packets are fetched with one read. If only a demuxer can assemble packets
    (`VideoIndex.packing`), it continues from its position, or restarts to go backwards.
    """

    def __init__(self, index: VideoIndex, source: Source) -> None:
        self._source = source
        self._index = index
        self._offsets = index.packets["offset"]
        self._sizes = index.packets["size"]
        self._prefix = index.packing.prefix
        self._transport = index.packing.transport
        self._demuxed: Generator[bytes, None, None] | None = None
        self._next = 0

    def read(self, packets: NDArray[np.int64]) -> Packets:
        """The bytes of packets; the numbers ascend.

        Raises:
            SourceError: the file ends too early, or is not the one that was indexed.
        """
        if self._index.packing.is_demuxed:
            return Packets.of([self._demux(number) for number in packets.tolist()])
        if self._transport is not None:
            return Packets.of(self._unpack(self._transport, packets))
        places, sizes = self._offsets[packets], self._sizes[packets].astype(np.int64)
        blocks, held = [], 0
        for some, base, block in self._blocks(places, places + sizes):
            places[some] += held - base  # in what was read, from here on
            blocks.append(block)
            held += len(block)
        found = Packets(blocks[0] if len(blocks) == 1 else b"".join(blocks), places, sizes)
        return Packets.of([self._prefix + packet for packet in found]) if self._prefix else found

    def read_head(self, packet: int, size: int) -> bytes:
        """The first `size` bytes of a packet, or more if the packet is not contiguous.

        Raises:
            SourceError: as `read`.
        """
        if self._index.packing.is_demuxed or self._transport is not None:
            return self.read(np.array([packet]))[0]
        start, whole = int(self._offsets[packet]), int(self._sizes[packet])
        # Not `read`, which requests more from a server than it is asked for.
        return self._prefix + self._source.read_ranges([(start, min(whole, size))])[0]

    def _blocks(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64], *, behind: int = 0
    ) -> Iterator[tuple[slice, int, bytes]]:
        """Ranges of packets to fetch together, the offset of each range, and its bytes.

        `behind` is the number of bytes to fetch after the last packet.
        """
        spans, begins, ranges = [], [], []
        for first, last in _spans(starts, stops):
            begin = int(starts[first])
            spans.append(slice(first, last + 1))
            begins.append(begin)
            ranges.append((begin, int(stops[last]) + behind - begin))
        return zip(spans, begins, self._source.read_ranges(ranges), strict=True)

    def close(self) -> None:
        """Close the demuxer, if one is open."""
        if self._demuxed is not None:
            self._demuxed.close()
            self._demuxed = None

    def _unpack(self, layout: TransportLayout, packets: NDArray[np.int64]) -> list[bytes]:
        """Assemble packets that are stored in pieces; each ends where the next begins."""
        last = len(self._offsets) - 1
        inner = packets[packets < last]
        places = self._offsets[inner]
        starts, stops = layout.begins(places), layout.begins(self._offsets[inner + 1])
        payloads: list[bytes] = []
        for some, base, block in self._blocks(starts, stops, behind=layout.overlap):
            offsets, sizes = (places[some] - base).tolist(), self._sizes[inner[some]].tolist()
            payloads += layout.unpack(block, offsets, sizes)
        if len(inner) < len(packets):
            payloads += [self._unpack_last(layout)] * (len(packets) - len(inner))
        for number, payload in zip(packets.tolist(), payloads, strict=True):
            if len(payload) != self._sizes[number]:
                raise SourceError(
                    f"{self._source.name}: packet {number} is not the one that was indexed; "
                    "index it again"
                )
        return payloads

    def _unpack_last(self, layout: TransportLayout) -> bytes:
        """Assemble the last packet, whose end is unknown; reads up to the end of the file."""
        size, place = int(self._sizes[-1]), self._offsets[-1:]
        start = int(layout.begins(place)[0])
        reach = 2 * size + _MAX_GAP
        while True:
            block = self._source.read_up_to(start, reach)
            (payload,) = layout.unpack(block, [int(place[0]) - start], [size])
            if len(payload) == size or len(block) < reach:
                return payload
            reach *= 4

    def _demux(self, number: int) -> bytes:
        if self._demuxed is None or number < self._next:
            self.close()
            self._demuxed, self._next = demux_packets(self._source, self._index.stream), 0
        for payload in self._demuxed:
            self._next += 1
            if self._next == number + 1:
                if len(payload) != self._sizes[number]:
                    break
                return payload
        raise SourceError(
            f"{self._source.name}: packet {number} is not the one that was indexed; index it again"
        )


def read_packets(index: VideoIndex, source: Source) -> Iterator[bytes]:
    """Yield the bytes of all packets in decode order; holds few of them in memory at a time."""
    reader = PacketReader(index, source)
    try:
        for start in range(0, len(index.packets), _CHUNK):
            yield from reader.read(np.arange(start, min(start + _CHUNK, len(index.packets))))
    finally:
        reader.close()


def packet_windows(
    source: Source, starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Iterator[tuple[slice, ByteReader, NDArray[np.int64]]]:
    """Yield windows of packets, for parsers that examine only some of their bytes.

    Each item holds a range of packets, a reader, and the offset of each packet for that reader.
    In a local file with large packets, the reader reads from the file. Otherwise each window is
    read into memory once.
    """
    if source.is_local and not _are_small(starts, sizes):
        for begin in range(0, len(starts), _TOGETHER):
            some = slice(begin, min(begin + _TOGETHER, len(starts)))
            yield some, _begun_reader(source, starts[some]), starts[some]
        return
    for some, base, end in _stretches(source, starts, sizes):
        yield some, partial(rows_at, source.window(base, end - base)), starts[some] - base


def head_windows(
    source: Source, length_size: int, starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Iterator[tuple[slice, ByteReader, NDArray[np.int64]]]:
    """`packet_windows` for parsers that examine only the first bytes of NAL units.

    If packets are large, the bytes between are not fetched and read as zeros. A separate request
    for the beginning of a packet pays off if the gap is larger than what the server sends in the
    time of one of several concurrent requests.
    """
    if source.is_local:
        yield from packet_windows(source, starts, sizes)
        return
    for some, base, end in _stretches(source, starts, sizes):
        window = np.zeros(end - base, dtype=np.uint8)
        begins, ends = starts[some] - base, starts[some] + sizes[some] - base
        known = np.minimum(begins + HEAD, ends)
        for first, last in _spans(begins, known, max_gap=HEAD_GAP):
            # The bytes between two nearby heads are fetched with them.
            known[first:last] = np.minimum(ends[first:last], known[last])
        _fill(source, base, window, begins, known)
        # Packets with units beyond the head are fetched whole.
        short = np.zeros(len(begins), dtype=np.bool_)
        read = partial(rows_at, window)
        for packets, units, _ in walk_units(read, begins, sizes[some], length_size):
            short[packets] |= True if units is None else units + 2 > known[packets]
        short &= known < ends
        _fill(source, base, window, begins[short], ends[short])
        yield some, read, begins


def _fill(
    source: Source,
    base: int,
    window: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
) -> None:
    """Fetch ranges of a window that begins at `base`; adjacent ranges with one request."""
    spans = list(_spans(starts, stops, max_gap=HEAD_GAP))
    ranges = [(int(starts[a]), int(stops[b])) for a, b in spans]
    blocks = source.read_ranges([(base + start, stop - start) for start, stop in ranges])
    for (start, stop), block in zip(ranges, blocks, strict=True):
        window[start:stop] = np.frombuffer(block, dtype=np.uint8)


def _begun_reader(source: Source, starts: NDArray[np.int64]) -> ByteReader:
    """A reader of a file that caches the first `_BEGUN` bytes of every packet."""
    begun: list[NDArray[np.uint8]] = []

    def read(places: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        if width > _BEGUN or not len(places):
            return source.gather(places, width)
        if not begun:
            begun.append(source.gather(starts, _BEGUN).reshape(-1))
        packets = np.maximum(np.searchsorted(starts, places, side="right") - 1, 0)
        inside = places - starts[packets]
        known = (inside >= 0) & (inside <= _BEGUN - width)
        places_known = (packets * _BEGUN + inside)[known]
        if known.all():
            return rows_at(begun[0], places_known, width)
        rows = np.empty((len(places), width), dtype=np.uint8)
        rows[known] = rows_at(begun[0], places_known, width)
        rows[~known] = source.gather(places[~known], width)
        return rows

    return read if (starts[1:] > starts[:-1]).all() else source.gather


def _are_small(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> bool:
    """Whether reading packets whole takes no longer than reading the first bytes of each."""
    return len(starts) > 0 and int(starts[-1] + sizes[-1] - starts[0]) <= _SMALL * len(starts)


def _stretches(
    source: Source, starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Iterator[tuple[slice, int, int]]:
    """Ranges of packets, and the start and end of each in the file."""
    stops = starts + sizes
    most = _LOCAL_SPAN if source.is_local else MAX_SPAN
    for first, last in _spans(starts, stops, max_span=most):
        # One extra byte, since parsers read two bytes of a unit that may have only one.
        yield slice(first, last + 1), int(starts[first]), min(int(stops[last]) + 1, source.size)


def _spans(
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    *,
    max_gap: int = _MAX_GAP,
    max_span: int = MAX_SPAN,
) -> Iterator[tuple[int, int]]:
    """Ranges of packets (first, end) to fetch together: in file order, small gaps, limited span."""
    gaps = (starts[1:] - stops[:-1]).view(np.uint64)  # negative ones are the largest
    ends = [gap + 1 for gap in (gaps > max_gap).nonzero()[0].tolist()]
    for first, end in itertools.pairwise([0, *ends, len(starts)]):
        begin = first
        while begin < end:  # packets from `begin` to `end` are in file order
            reach = int(stops[begin:end].searchsorted(starts[begin] + max_span, side="right"))
            after = begin + max(reach, 1)
            yield begin, after - 1
            begin = after
