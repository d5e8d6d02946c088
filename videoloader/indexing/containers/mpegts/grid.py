"""The packet grid of a transport stream (ISO/IEC 13818-1, section 2.4.3).

A transport packet has 188 bytes: a header of four, an optional adaptation field, and a payload.
Blu-ray discs add four bytes before each packet, some receivers sixteen after each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.sources.local import nearby
from videoloader.sources.source import Source, rows_at

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Headers = NDArray[np.uint32]

PACKET = 188
_START = 0x400000
_SYNC = 0x47
_SIZES = (PACKET, 192, 204)
_HEAD = 17 * max(_SIZES)  # bytes to examine to find the grid
_READ = 1 << 13  # packets to read at once, which processors can cache
FREE_PACKETS, KEPT = 1 << 12, 8  # packets kept in memory: so many, plus one in `KEPT`
_MOST_KEPT = 1 << 18


@dataclass(frozen=True, slots=True)
class Grid:
    """All transport packets of a file.

    The sync byte of packet n is at `phase + n * step`. `headers` are the first four bytes of each
    as one integer, `starts` the offset of the payload in each, see `payload_starts`. `pids` are
    packet identifiers. `begun` are the packets in which sections and PES packets begin, and
    `begun_packets` their bytes; it is empty if these are a large part of the file.
    """

    source: Source
    step: int
    phase: int
    headers: Headers
    starts: Bytes
    pids: NDArray[np.uint16]
    begun: Ints
    begun_packets: Bytes

    @property
    def end(self) -> int:
        """End of the last packet, which is past the end of the file if it is truncated."""
        size = self.source.size
        rest = (size - self.phase) % self.step
        return size + (PACKET - rest if 0 < rest < PACKET else 0)

    def places(self, rows: Ints) -> Ints:
        """File offsets of transport packets."""
        return self.phase + rows * self.step

    def packets(self, rows: Ints) -> Bytes:
        """The bytes of transport packets, shape (len(rows), PACKET)."""
        return self.source.gather(self.places(rows), PACKET)

    def beginnings(self, pid: int) -> tuple[Ints, Bytes, Ints]:
        """The packets of a stream in which sections or PES packets begin.

        Returns also an array that holds their bytes, and the offset of each in it.
        """
        own = np.flatnonzero(self.pids[self.begun] == pid)
        rows = self.begun[own]
        if len(self.begun_packets):
            return rows, self.begun_packets, own * PACKET
        return rows, self.packets(rows).reshape(-1), np.arange(len(rows)) * PACKET


def read_grid(source: Source) -> Grid | None:
    """Find the grid of a file and read the header of every packet in it.

    Returns:
        None if the file is not a transport stream, or loses synchronization.
    """
    found = _find(source.read_up_to(0, _HEAD))
    if found is None:
        return None
    step, phase = found
    source = nearby(source)
    count = max((source.size - phase - PACKET) // step + 1, 0)
    headers = np.empty(count, dtype=np.uint32)
    starts = np.empty(count, dtype=np.uint8)
    pids = np.empty(count, dtype=np.uint16)
    begun, kept = [np.empty(0, dtype=np.int64)], 0
    begun_packets = np.empty(min(FREE_PACKETS + count // KEPT, _MOST_KEPT) * PACKET, np.uint8)
    stop = phase + (count - 1) * step + PACKET
    begin, places = 0, np.arange(_READ) * step
    for data in source.windows(phase, stop, _READ * step):
        part = slice(begin, begin + _READ)
        read = read_headers(data, step=step)
        if int(read.min()) >> 24 != _SYNC or int(read.max()) >> 24 != _SYNC:
            return None
        headers[part], pids[part] = read, pid_of(read)
        starts[part] = payload_starts(read, data, places)
        rows = beginnings(read)
        begun.append(begin + rows)
        size = len(rows) * PACKET
        if kept + size <= len(begun_packets):
            begun_packets[kept : kept + size] = rows_at(data, places[rows], PACKET).reshape(-1)
            kept += size
        else:
            begun_packets = begun_packets[:0]
        begin += _READ
    return Grid(
        source, step, phase, headers, starts, pids, np.concatenate(begun), begun_packets[:kept]
    )


def transport_end(source: Source) -> int:
    """End of the last packet of a transport stream; 0 if the file is not one."""
    grid = read_grid(source)
    return 0 if grid is None else grid.end


def begins_with_packets(head: bytes) -> bool:
    """Whether a file begins with transport packets."""
    return _find(head[:_HEAD]) is not None


def _find(beginning: bytes) -> tuple[int, int] | None:
    """Step and phase of the grid, from the first bytes of a file."""
    head = np.frombuffer(beginning, dtype=np.uint8)
    for step in _SIZES:
        for phase in np.flatnonzero(head[:step] == _SYNC).tolist():
            headers = read_headers(head, step=step, phase=phase)
            sound = (headers >> 24 == _SYNC) & ((headers & 0x30) != 0)
            if len(headers) > 2 and sound.all():
                return step, phase
    return None


def read_headers(data: Bytes, *, step: int, phase: int = 0) -> Headers:
    """The headers of all complete packets."""
    count = max((len(data) - phase - PACKET) // step + 1, 0)
    return np.ndarray((count,), ">u4", data, phase, (step,)).astype(np.uint32)


def pid_of(headers: Headers) -> NDArray[np.uint16]:
    """Packet identifier (PID) of each packet."""
    return (headers >> 8).astype(np.uint16) & np.uint16(0x1FFF)


def beginnings(headers: Headers) -> Ints:
    """Numbers of the packets in which a section or PES packet begins."""
    return np.flatnonzero((headers & _START) != 0)


def payload_starts(headers: Headers, data: Bytes, places: Ints) -> Bytes:
    """Offset of the payload within each packet, `PACKET` if it has none.

    `places` are the offsets of the packets in `data`.
    """
    octets = headers.astype(np.uint8)  # the last one; a quarter of the memory
    starts = np.full(len(headers), 4, dtype=np.uint8)
    adapted = np.flatnonzero((octets & 0x20) != 0)
    lengths = data[places[adapted] + 4]  # adaptation_field_length
    starts[adapted] = np.minimum(lengths, PACKET - 5) + np.uint8(5)
    # Several times as fast as an assignment by mask.
    np.maximum(starts, ((octets & 0x10) == 0) * np.uint8(PACKET), out=starts)
    return starts
