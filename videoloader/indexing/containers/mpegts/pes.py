"""PES packets (ISO/IEC 13818-1, section 2.4.3.6): places on the grid of packets, and times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import UnsupportedError
from videoloader.indexing.containers.mpegts.grid import (
    PACKET,
    Bytes,
    Grid,
    Headers,
    Ints,
    beginnings,
    payload_starts,
    read_grid,
)
from videoloader.indexing.packets import NO_TIME
from videoloader.sources.source import Source, rows_at

_PAYLOAD = PACKET - 4  # most bytes of payload in a transport packet
_HEADER, _TIMED = 9, 19  # bytes of a header before the optional fields; with pts and dts
_ERROR = 0x800000  # transport_error_indicator
_PERIOD = 1 << 33
_MINUTE = 60 * 90000
_HEAD = 1 << 15  # transport packets to search for the beginning


@dataclass(frozen=True, slots=True)
class PesPackets:
    """The PES packets of one stream, in file order.

    `rows` are the transport packets of the stream, `starts` the offset of the elementary stream
    in each. `first` are indexes into `rows` at which PES packets begin; `heads` holds these
    transport packets at offsets `places`. `sizes` are bytes of the elementary stream in
    each PES packet. `pts` and `dts` are as coded, `NO_TIME` if missing. `damaged`: transport
    packets of it are lost or received with errors, or it is not as long as its header states.
    """

    rows: Ints
    starts: Bytes
    first: Ints
    heads: Bytes
    places: Ints
    sizes: Ints
    pts: Ints
    dts: Ints
    damaged: NDArray[np.bool_]


def read_pes(grid: Grid, pid: int) -> PesPackets | None:
    """Find the PES packets of a stream.

    Returns:
        None if there is none, or one has an unusual header.

    Raises:
        UnsupportedError: the stream is scrambled.
    """
    begun, heads, places = grid.beginnings(pid)
    if not len(begun):
        return None
    rows = np.flatnonzero(grid.pids == pid)
    # Drop the remainder of a PES packet whose start is missing.
    rows = rows[np.searchsorted(rows, begun[0]) :]
    headers = grid.headers[rows]
    first = beginnings(headers)
    flags = int(np.bitwise_or.reduce(headers))
    if flags & 0xC0:
        raise UnsupportedError(f"the video stream (PID {pid:#x}) is scrambled")
    starts = grid.starts[rows]
    begins = starts[first].astype(np.int64)
    if (begins + _TIMED > PACKET).any():
        return None
    timed = rows_at(heads, places + begins, _TIMED)
    if not _is_ordinary(timed):
        return None
    lengths = _HEADER + timed[:, 8].astype(np.int64)
    if (begins + lengths > PACKET).any():
        return None
    starts[first] = begins + lengths
    sizes = np.add.reduceat(PACKET - starts, first, dtype=np.int64)
    pts, dts = _times(timed)
    stated = timed[:, 4].astype(np.int64) << 8 | timed[:, 5]
    damaged = (stated > 0) & (stated + 6 - lengths != sizes)
    # As in FFmpeg, the PES packet before a gap is damaged, even if the next one begins behind it.
    hit = np.append(_gaps(grid, rows, headers) - 1, np.flatnonzero((headers & _ERROR) != 0))
    damaged[np.searchsorted(first, hit, side="right") - 1] = True
    return PesPackets(rows, starts, first, heads, places, sizes, pts, dts, damaged)


def damaged_pes(source: Source, pid: int) -> Ints | None:
    """Offsets of the damaged PES packets of a stream; None if they are not read."""
    grid = read_grid(source)
    pes = None if grid is None else read_pes(grid, pid)
    if grid is None or pes is None:
        return None
    return grid.places(pes.rows[pes.first[pes.damaged]])


def elementary_starts(data: Bytes, places: Ints, headers: Headers) -> Bytes:
    """Offset of the elementary stream within each transport packet of a stream."""
    starts = payload_starts(headers, data, places)
    first = beginnings(headers)
    begins = starts[first].astype(np.int64)
    lengths = data[np.minimum(places[first] + begins + 8, len(data) - 1)]
    starts[first] = np.minimum(begins + _HEADER + lengths, PACKET)
    return starts


def elementary_bytes(data: Bytes, places: Ints, starts: Bytes) -> Bytes:
    """The concatenated payloads of transport packets.

    `places` are the offsets of the packets in `data`, ascending, and `starts` those of the payload
    within each packet.
    """
    if not len(places):
        return np.zeros(0, dtype=np.uint8)
    whole = rows_at(data, places + 4, _PAYLOAD).reshape(-1)
    # Most packets are full of payload; copy the packets between two others at once.
    partial = np.flatnonzero(starts > 4)
    begins = (partial * _PAYLOAD + starts[partial] - 4).tolist()
    ends = np.append(partial[1:], len(places)) * _PAYLOAD
    first = int(partial[0]) if len(partial) else len(places)
    pieces = [whole[: first * _PAYLOAD]]
    pieces += [whole[begin:end] for begin, end in zip(begins, ends.tolist(), strict=True)]
    return np.concatenate(pieces)


def unwrap(grid: Grid, times: Ints, together: tuple[int, ...]) -> Ints:
    """Unwrap 33-bit timestamps, as FFmpeg does.

    The first time of a program decides: if it is within a minute of the wrap-around, times before
    the wrap become negative; otherwise small times continue after the wrap.
    """
    reference = _first_time(grid, together)
    if reference is None:
        return times
    known = times != NO_TIME
    if reference >= _PERIOD - _MINUTE:
        return times - np.where(known & (times >= reference - _MINUTE), _PERIOD, 0)
    return times + np.where(known & (times < reference - _MINUTE), _PERIOD, 0)


def _first_time(grid: Grid, pids: tuple[int, ...]) -> int | None:
    """Decode time of the first PES packet of a program to be complete."""
    earliest: tuple[int, int] | None = None
    for head in (_HEAD, len(grid.headers)):
        for pid in pids:
            found = _first_complete(grid, np.flatnonzero(grid.pids[:head] == pid))
            if found is not None:
                earliest = min(earliest or found, found)
        if earliest is not None:
            return earliest[1]
    return None


def _first_complete(grid: Grid, rows: Ints) -> tuple[int, int] | None:
    """(transport packet that completes it, decode time) of the first PES packet with a time."""
    begun = beginnings(grid.headers[rows])
    for number in range(min(len(begun), 8)):  # the first ones may have no time
        stop = int(begun[number + 1]) if number + 1 < len(begun) else len(rows)
        own = rows[begun[number] : stop]
        starts = grid.starts[own].astype(np.int64)
        if starts[0] + _TIMED > PACKET:
            continue
        heads = rows_at(grid.packets(own[:1])[0], starts[:1], _TIMED)
        if not _is_timed(heads[0]):
            continue
        stated = int(heads[0, 4]) << 8 | int(heads[0, 5])
        filled = np.flatnonzero(np.cumsum(PACKET - starts) >= stated + 6)
        if stated and len(filled):
            end = int(own[filled[0]])
        else:
            end = int(rows[stop]) if stop < len(rows) else len(grid.headers)
        return end, int(_times(heads)[1][0])
    return None


def _is_timed(head: Bytes) -> bool:
    return head[:3].tobytes() == b"\0\0\1" and int(head[7]) >= 0x80


def _is_ordinary(heads: Bytes) -> bool:
    """Whether PES headers are headers of video: start code, stream number, marker bits."""
    prefix = heads[:, 0] | heads[:, 1] | (heads[:, 2] ^ 1)
    number = heads[:, 3]
    video = ((number & 0xF0) == 0xE0) | (number == 0xFD)
    marked = (heads[:, 6] & 0xC0) == 0x80
    room = heads[:, 8] >= np.array([0, 0, 5, 10], dtype=np.uint8)[heads[:, 7] >> 6]
    return not prefix.any() and bool((video & marked & room).all())


def _times(heads: Bytes) -> tuple[Ints, Ints]:
    flags = heads[:, 7] >> 6
    pts = np.where(flags & 2, _time(heads[:, 9:14]), NO_TIME)
    return pts, np.where(flags == 3, _time(heads[:, 14:19]), pts)


def _time(coded: Bytes) -> Ints:
    """Decode a 33-bit timestamp, stored in five bytes with marker bits."""
    a, b, c, d, e = (coded[:, byte].astype(np.int64) for byte in range(5))
    return (a >> 1 & 7) << 30 | b << 22 | (c >> 1) << 15 | d << 7 | e >> 1


def _gaps(grid: Grid, rows: Ints, headers: Headers) -> Ints:
    """Numbers of the transport packets of a stream before which others are lost."""
    octets = headers.astype(np.uint8)
    steps = octets[1:] - octets[:-1] & 15
    odd: Ints = 1 + np.flatnonzero(steps != octets[1:] >> 4 & 1)  # counters count payloads
    # The discontinuity indicator of an adaptation field allows a gap.
    fields = grid.source.gather(grid.places(rows[odd]) + 4, 2)
    is_allowed = ((headers[odd] & 0x20) != 0) & (fields[:, 0] > 0) & (fields[:, 1] >= 0x80)
    found: Ints = odd[~is_allowed]
    return found
