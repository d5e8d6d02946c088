"""The grid of a transport stream (ISO/IEC 13818-1, section 2.4.3): packets of one size.

A transport packet is 188 bytes: a header of four, perhaps an adaptation field, and a payload.
Blu-ray discs put four bytes before each, some receivers sixteen behind each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.indexing.source import Source

__all__ = [
    "PACKET",
    "Grid",
    "beginnings",
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
_PROBED = 16  # packets looked at to find the grid


@dataclass(frozen=True, slots=True)
class Grid:
    """All transport packets of a file.

    `data` is the whole file, mapped if it is a local one. Packet n begins, with its sync byte, at
    `phase + n * step`; `headers` are the first four bytes of each as one number, and `pids` say
    which stream, or table, each belongs to.
    """

    data: Bytes
    step: int
    phase: int
    headers: Headers
    pids: NDArray[np.uint16]

    @property
    def end(self) -> int:
        """Where the last packet ends, which is past the end of the file if part of it is cut."""
        rest = (len(self.data) - self.phase) % self.step
        return len(self.data) + (PACKET - rest if 0 < rest < PACKET else 0)

    def places(self, rows: Ints) -> Ints:
        """Where in the file transport packets begin."""
        return self.phase + rows * self.step

    def packets(self, rows: Ints) -> Bytes:
        """The bytes of transport packets, shape (len(rows), PACKET)."""
        shape, strides = (len(self.headers), PACKET), (self.step, 1)
        whole = np.ndarray(shape, np.uint8, self.data, self.phase, strides)
        return whole[rows]


def read_grid(source: Source) -> Grid | None:
    """Find the grid of a file and read the header of every packet in it.

    Returns:
        None if the file is no transport stream, or loses the grid on the way.
    """
    head = np.frombuffer(source.read_up_to(0, (_PROBED + 1) * max(_SIZES)), dtype=np.uint8)
    found = _find(head)
    if found is None:
        return None
    step, phase = found
    data = source.window(0, source.size)
    headers = read_headers(data, step=step, phase=phase)
    if not ((headers >> 24) == _SYNC).all():
        return None
    return Grid(data, step, phase, headers, pid_of(headers))


def transport_end(source: Source) -> int:
    """Where the last packet of a transport stream ends; 0 if this is none."""
    grid = read_grid(source)
    return 0 if grid is None else grid.end


def _find(head: Bytes) -> tuple[int, int] | None:
    for step in _SIZES:
        for phase in np.flatnonzero(head[:step] == _SYNC).tolist():
            headers = read_headers(head, step=step, phase=phase)
            sound = (headers >> 24 == _SYNC) & ((headers & 0x30) != 0)
            if len(headers) > 2 and sound.all():
                return step, phase
    return None


def read_headers(data: Bytes, *, step: int, phase: int = 0) -> Headers:
    """The headers of all whole packets."""
    count = max((len(data) - phase - PACKET) // step + 1, 0)
    return np.ndarray((count,), ">u4", data, phase, (step,)).astype(np.uint32)


def pid_of(headers: Headers) -> NDArray[np.uint16]:
    """Which stream, or table, each packet belongs to."""
    return (headers >> 8).astype(np.uint16) & np.uint16(0x1FFF)


def beginnings(headers: Headers) -> Ints:
    """Numbers of the packets in which a section or PES packet begins."""
    return np.flatnonzero((headers & _START) != 0)


def has_payload(headers: Headers) -> NDArray[np.bool_]:
    """Which packets carry more than an adaptation field."""
    present: NDArray[np.bool_] = (headers & 0x10) != 0
    return present


def payload_starts(data: Bytes, places: Ints, headers: Headers) -> Ints:
    """Where in each packet its payload begins, `PACKET` if it has none.

    Args:
        data: bytes that hold the packets.
        places: where in `data` each packet begins.
        headers: of the same packets.
    """
    starts = np.full(len(places), 4, dtype=np.int64)
    adapted = np.flatnonzero((headers & 0x20) != 0)
    starts[adapted] += 1 + data[places[adapted] + 4].astype(np.int64)
    starts[~has_payload(headers)] = PACKET
    return np.minimum(starts, PACKET)
