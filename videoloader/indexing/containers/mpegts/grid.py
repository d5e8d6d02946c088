"""The packet grid of a transport stream (ISO/IEC 13818-1, section 2.4.3).

A transport packet has 188 bytes: a header of four, an optional adaptation field, and a payload.
Blu-ray discs add four bytes before each packet, some receivers sixteen after each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.sources.local import nearby
from videoloader.sources.source import Source, rows_at

__all__ = [
    "PACKET",
    "Grid",
    "beginnings",
    "begins_with_packets",
    "has_payload",
    "payload_starts",
    "pid_of",
    "read_grid",
    "read_headers",
    "transport_end",
]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Headers = NDArray[np.uint32]

PACKET = 188
_START = 0x400000
_SYNC = 0x47
_SIZES = (PACKET, 192, 204)
_HEAD = 17 * max(_SIZES)  # bytes to examine to find the grid
_READ = 1 << 14  # packets to read at once
_FREE_PACKETS, _KEPT = 1 << 12, 8  # packets kept in memory: so many, plus one in `_KEPT`
_MOST_KEPT = 1 << 18


@dataclass(frozen=True, slots=True)
class Grid:
    """All transport packets of a file.

    The sync byte of packet n is at `phase + n * step`. `headers` are the first four bytes of each
    as one integer, `adaptations` the next two bytes: length and flags of the adaptation field, if
    there is one. `pids` are packet identifiers. `begun_packets` holds the bytes of the packets
    `begun`, in which sections and PES packets begin; it is empty if these are a large part of the
    file.
    """

    source: Source
    step: int
    phase: int
    headers: Headers
    adaptations: NDArray[np.uint16]
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
        if len(self.begun):
            known = np.minimum(np.searchsorted(self.begun, rows), len(self.begun) - 1)
            if np.array_equal(self.begun[known], rows):
                return self.begun_packets[known]
        return self.source.gather(self.places(rows), PACKET)

    def starts(self, rows: Ints) -> Ints:
        """Offset of the payload within each transport packet, see `payload_starts`."""
        return payload_starts(self.headers[rows], self.adaptations[rows] >> 8)


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
    adaptations = np.empty(count, dtype=np.uint16)
    begun, begun_packets = [np.empty(0, dtype=np.int64)], [np.empty((0, PACKET), dtype=np.uint8)]
    room = min(_FREE_PACKETS + count // _KEPT, _MOST_KEPT)
    for begin in range(0, count, _READ):
        part = slice(begin, min(begin + _READ, count))
        size = (part.stop - begin - 1) * step + PACKET
        data = source.window(phase + begin * step, size)
        headers[part] = read_headers(data, step=step)
        if not (headers[part] >> 24 == _SYNC).all():
            return None
        adaptations[part] = _fields(data, ">u2", step=step, phase=0, at=4)
        rows = beginnings(headers[part])
        room -= len(rows)
        if room >= 0:
            begun.append(begin + rows)
            begun_packets.append(rows_at(data, rows * step, PACKET))
    if room < 0:
        begun, begun_packets = begun[:1], begun_packets[:1]
    return Grid(
        source,
        step,
        phase,
        headers,
        adaptations,
        pid_of(headers),
        np.concatenate(begun),
        np.concatenate(begun_packets),
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
    return _fields(data, ">u4", step=step, phase=phase, at=0).astype(np.uint32)


def _fields(data: Bytes, dtype: str, *, step: int, phase: int, at: int) -> NDArray[Any]:
    """The field at offset `at` of each complete packet."""
    count = max((len(data) - phase - PACKET) // step + 1, 0)
    return np.ndarray((count,), dtype, data, phase + at, (step,))


def pid_of(headers: Headers) -> NDArray[np.uint16]:
    """Packet identifier (PID) of each packet."""
    return (headers >> 8).astype(np.uint16) & np.uint16(0x1FFF)


def beginnings(headers: Headers) -> Ints:
    """Numbers of the packets in which a section or PES packet begins."""
    return np.flatnonzero((headers & _START) != 0)


def has_payload(headers: Headers) -> NDArray[np.bool_]:
    """Mask of the packets with a payload."""
    present: NDArray[np.bool_] = (headers & 0x10) != 0
    return present


def payload_starts(headers: Headers, lengths: NDArray[Any]) -> Ints:
    """Offset of the payload within each packet, `PACKET` if it has none.

    `lengths` is the byte after the header of each (adaptation_field_length).
    """
    starts = np.full(len(headers), 4, dtype=np.int64)
    adapted = np.flatnonzero((headers & 0x20) != 0)
    starts[adapted] += 1 + lengths[adapted].astype(np.int64)
    starts[~has_payload(headers)] = PACKET
    return np.minimum(starts, PACKET)
