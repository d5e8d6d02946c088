"""The streams of a transport stream (ISO/IEC 13818-1, section 2.4.4): PAT and PMT."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from videoloader.codecs import tags
from videoloader.indexing.containers.mpegts.grid import PACKET, Bytes, Grid, Ints
from videoloader.indexing.traits import NO_AUDIO, Audio
from videoloader.sources.source import rows_at

# Further stream types, and registered names, that FFmpeg makes video streams of.
_OTHER_VIDEO = {0x10, 0x1C, 0x20, 0x21, 0x32, 0x33, 0x42, 0xD1, 0xD2, 0xD4, 0xEA}
_VIDEO_NAMES = {b"HEVC", b"AV01", b"VC-1", b"drac", b"VVC ", b"LCEV", b"JXSV"}
_TWO_STREAMS = {0x83}  # Dolby TrueHD on Blu-ray discs; FFmpeg makes two streams of it
_NO_STREAMS = {0x0000, 0x0001, 0x0002, 0x1FFF, *range(0x10, 0x20)}
_MAX_PROGRAMS = 256


@dataclass(frozen=True, slots=True)
class ElementaryStream:
    """A stream in the program tables.

    `number` is FFmpeg's stream number; `together` are the PIDs of all streams of its program,
    `audio` the first one of audio among them.
    """

    number: int
    pid: int
    kind: int
    is_video: bool
    together: tuple[int, ...]
    audio: Audio = NO_AUDIO


def read_streams(grid: Grid) -> list[ElementaryStream] | None:
    """All streams, in the order in which FFmpeg numbers them.

    Returns:
        None without tables, or if they change; FFmpeg's demuxer is needed then.
    """
    constant = _constant_section(grid, *grid.beginnings(0), pid=0)
    if constant is None or constant[1][0] != 0:
        return None
    first, table = constant
    programs = [
        (table[at] << 8 | table[at + 1], (table[at + 2] & 0x1F) << 8 | table[at + 3])
        for at in range(8, len(table) - 7, 4)
    ]
    maps = [pid for number, pid in programs if number]  # program 0 is the network information table
    if not maps or len(maps) > _MAX_PROGRAMS or len(set(maps)) < len(maps):
        return None
    found: list[tuple[int, bytes]] = []
    for pid in maps:
        rows, data, places = grid.beginnings(pid)
        if not len(rows):
            continue
        constant = _constant_section(grid, rows, data, places, pid=pid)
        if constant is None or constant[1][0] != 2:
            return None
        # FFmpeg ignores program maps before the first PAT.
        later = rows[rows > first]
        found.append((int(later[0]) if len(later) else len(grid.headers), constant[1]))
    streams: list[ElementaryStream] = []
    for _, section in sorted(found):
        entries = list(_entries(section))
        together = tuple(pid for _, pid, _ in entries)
        audio = next((Audio(codec=c) for kind, _, n in entries if (c := _audio(kind, n))), NO_AUDIO)
        for kind, pid, names in entries:
            if kind in _TWO_STREAMS:
                return None
            if any(stream.pid == pid for stream in streams):
                return None
            video = kind in tags.MPEGTS or kind in _OTHER_VIDEO or bool(names & _VIDEO_NAMES)
            streams.append(ElementaryStream(len(streams), pid, kind, video, together, audio))
    named = _NO_STREAMS | set(maps) | {stream.pid for stream in streams}
    owners = grid.pids[grid.begun]
    for pid in np.flatnonzero(np.bincount(owners)).tolist():
        is_video = pid not in named and _is_video(grid, grid.begun[owners == pid][:1])
        if is_video:
            streams.append(ElementaryStream(len(streams), pid, -1, is_video, (pid,)))
    return streams


def _constant_section(
    grid: Grid, rows: Ints, data: Bytes, places: Ints, *, pid: int
) -> tuple[int, bytes] | None:
    """Row of the first section of a table, and its bytes; None if later sections differ.

    Sections begin in `rows`, the transport packets at `places` in `data`.
    """
    if not len(rows):
        return None
    starts = grid.starts[rows]
    # Repeated packets of an unchanged table differ only in the continuity counter.
    bodies = rows_at(data, places + 4, PACKET - 4)
    if not ((bodies == bodies[0]).all() and (starts == starts[0]).all()):
        return None
    section = _assemble(grid, int(rows[0]), int(starts[0]), pid)
    return None if section is None else (int(rows[0]), section)


def _assemble(grid: Grid, row: int, start: int, pid: int) -> bytes | None:
    payload = grid.packets(np.array([row]))[0, start:].tobytes()
    if not payload or 1 + payload[0] + 3 > len(payload):
        return None
    section = payload[1 + payload[0] :]
    size = 3 + ((section[1] & 0x0F) << 8 | section[2])
    if len(section) < size:
        more = row + 1 + np.flatnonzero(grid.pids[row + 1 : row + 4096] == pid)[:24]
        for packet, begin in zip(grid.packets(more), grid.starts[more].tolist(), strict=True):
            section += packet[begin:].tobytes()
    section = section[:size]
    if len(section) < size or size < 12 or _crc(section):
        return None
    return section


def _entries(section: bytes) -> Iterator[tuple[int, int, set[bytes]]]:
    """(stream type, PID, names) of each stream of a program map.

    Names are registered ones, and the tags of descriptors that only audio streams have.
    """
    at = 12 + ((section[10] & 0x0F) << 8 | section[11])
    while at + 5 <= len(section) - 4:
        kind, pid = section[at], (section[at + 1] & 0x1F) << 8 | section[at + 2]
        stop = at + 5 + ((section[at + 3] & 0x0F) << 8 | section[at + 4])
        at += 5
        names = set()
        while at + 2 <= min(stop, len(section) - 4):
            if section[at] == 0x05:
                names.add(section[at + 2 : at + 6])
            elif section[at] in tags.MPEGTS_SOUND_DESCRIPTORS:
                names.add(section[at : at + 1])
            at += 2 + section[at + 1]
        at = stop
        yield kind, pid, names


def _audio(kind: int, names: set[bytes]) -> str | None:
    """FFmpeg's name of the codec of an audio stream; None for other streams."""
    if kind in tags.MPEGTS_SOUND:
        return tags.MPEGTS_SOUND[kind]
    if kind in _OTHER_VIDEO or kind in tags.MPEGTS:
        return None
    known = tags.MPEGTS_SOUND_NAMES | {
        bytes([tag]): codec for tag, codec in tags.MPEGTS_SOUND_DESCRIPTORS.items()
    }
    return next((known[name] for name in names if name in known), None)


def _is_video(grid: Grid, rows: Ints) -> bool:
    """Whether a stream in no table begins like video; FFmpeg finds such streams."""
    payload = grid.packets(rows)[0, int(grid.starts[rows[0]]) :].tobytes()
    return payload[:3] == b"\0\0\1" and len(payload) > 3 and payload[3] & 0xF0 == 0xE0


def _crc(section: bytes) -> int:
    """CRC-32 of a section, its own CRC included; 0 if it is valid (annex A)."""
    value = 0xFFFFFFFF
    for octet in section:
        value ^= octet << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04C11DB7 if value >> 31 else 0)) & 0xFFFFFFFF
    return value
