"""The samples of movie fragments (ISO/IEC 14496-12, section 8.8).

A long video has thousands of fragments of one or two seconds each. Python looks at the headers of
their runs only; all samples of all runs become arrays at once.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from videoloader.errors import FormatError
from videoloader.indexing.mp4.boxes import Box, box_ranges
from videoloader.indexing.mp4.layout import Fragment
from videoloader.indexing.mp4.runs import ALL_FIELDS, ROW_BYTES, Added, Run, end_of_data, samples_of
from videoloader.indexing.mp4.samples import NO_SAMPLES

__all__ = ["Defaults", "read_defaults", "read_fragments", "read_segment_times"]

# Flags of `tfhd`, each telling that a field is there (section 8.8.7.1).
_BASE, _ENTRY, _DURATION, _SIZE, _FLAGS = 1, 2, 8, 0x10, 0x20
_BASE_IS_MOOF = 0x20000
# Flags of `trun`, likewise (section 8.8.8.1).
_OFFSET, _FIRST_FLAGS = 1, 4

_UINT = struct.Struct(">I").unpack_from
_TWO_UINTS = struct.Struct(">II").unpack_from


class Defaults(NamedTuple):
    """What a `trex` box says of samples whose fragment does not."""

    entry: int = 1
    duration: int = 0
    size: int = 0
    flags: int = 0


def read_defaults(movie: Box) -> dict[int, Defaults]:
    """The defaults of each track by its identifier, from the `mvex` box."""
    defaults: dict[int, Defaults] = {}
    extends = movie.find(b"mvex")
    for box in () if extends is None else extends.children():
        if box.kind == b"trex":
            track, entry, duration, size, flags = box.unpack("5I", 4)
            defaults.setdefault(track, Defaults(entry, duration, size, flags))
    return defaults


def read_segment_times(
    segments: list[tuple[int, Box]], *, track: int, timescale: int
) -> dict[int, int]:
    """When the fragment at each byte begins, as far as `sidx` boxes tell it of a track."""
    times: dict[int, int] = {}
    for end, box in segments:
        version = box.unpack("B")[0]
        reference, scale = box.unpack("II", 4)
        if reference != track or version > 1 or scale == 0:
            continue
        time, first = box.unpack("QQ" if version else "II", 12)
        header = 28 if version else 20
        (count,) = box.unpack("H", header + 2)
        position = end + first
        for number in range(count):
            size, duration = box.unpack("II", header + 4 + 12 * number)
            if size >> 31:
                break  # it leads to further `sidx` boxes, which speak for themselves
            times[position] = (2 * time * timescale + scale) // (2 * scale)
            position += size
            time += duration
    return times


def read_fragments(
    fragments: list[Fragment],
    *,
    track: int,
    defaults: Defaults,
    num_entries: int,
    segment_times: dict[int, int],
    clock: int,
    file_size: int,
) -> Added:
    """The samples that fragments add to a track.

    Their `dts` is on the clock of the media.

    Args:
        fragments: all of the file.
        track: identifier of the track.
        defaults: of the track.
        num_entries: sample descriptions of the track.
        segment_times: of fragments by position, where they have no time of their own.
        clock: when the samples of the `moov` box end.
        file_size: no more samples than bytes are believed.

    Raises:
        FormatError: the boxes contradict each other or lead out of the file.
    """
    runs: list[Run] = []
    for fragment in fragments:
        runs += _read_fragment(fragment, track, defaults)
    # A track of one description has no samples of another; FFmpeg leaves them out.
    runs = [run for run in runs if num_entries > 1 or run.entry == 1]
    total = sum(run.num_samples for run in runs)
    if total > file_size:
        raise FormatError(f"fragments claim {total} samples in a file of {file_size} bytes")
    if not total:
        return Added(NO_SAMPLES, np.zeros(0, dtype=np.bool_), 0)
    return samples_of(runs, segment_times, clock, file_size)


def _read_fragment(fragment: Fragment, track: int, defaults: Defaults) -> list[Run]:
    """The runs of a track in a `moof` box."""
    data = fragment.content
    runs: list[Run] = []
    try:
        parts = [
            list(box_ranges(data, start, stop))
            for kind, start, stop in box_ranges(data, 0, len(data))
            if kind == b"traf"
        ]
        headers = [_header(data, part) for part in parts]
        # Where a part names no base for its offsets, it is the end of the data of the part before.
        chained = any(not flags & (_BASE | _BASE_IS_MOOF) for flags, _, _ in headers[1:])
        base = fragment.position
        for part, (flags, number, body) in zip(parts, headers, strict=True):
            if number != track and not chained:
                continue
            # A further part of the track that has no time of its own begins again, as in FFmpeg.
            time = runs[-1].time if runs and number == track else None
            found = _read_part(fragment, part, (flags, body), base, time, defaults)
            if number == track:
                runs += found
            if chained and found:
                base = end_of_data(found)
    except struct.error as error:
        raise FormatError(
            f"the fragment at byte {fragment.position} has a box that is too short"
        ) from error
    return runs


def _header(data: bytes, part: list[tuple[bytes, int, int]]) -> tuple[int, int, int]:
    """Flags, track, and where the other fields begin, of the `tfhd` box of a part."""
    for kind, body, _ in part:
        if kind == b"tfhd":
            flags, number = _TWO_UINTS(data, body)
            return flags, number, body + 8
    return 0, 0, 0


def _read_part(
    fragment: Fragment,
    part: list[tuple[bytes, int, int]],
    header: tuple[int, int],
    base: int,
    time: int | None,
    defaults: Defaults,
) -> list[Run]:
    """The runs of a `traf` box, with samples in them."""
    data, position = fragment.content, fragment.position
    has, at = header
    if has & _BASE:
        (base,) = struct.unpack_from(">Q", data, at)
        at += 8
    elif has & _BASE_IS_MOOF:
        base = position
    entry, duration, size, flags = defaults
    if has & _ENTRY:
        (entry,) = _UINT(data, at)
        at += 4
    if has & _DURATION:
        (duration,) = _UINT(data, at)
        at += 4
    if has & _SIZE:
        (size,) = _UINT(data, at)
        at += 4
    if has & _FLAGS:
        (flags,) = _UINT(data, at)
    runs: list[Run] = []
    for kind, body, stop in part:
        if kind == b"tfdt":
            (time,) = struct.unpack_from(">Q" if data[body] else ">I", data, body + 4)
        elif kind == b"trun":
            run, count = _TWO_UINTS(data, body)
            if not count:
                continue
            at = body + 8
            offset, first_flags = (-1 if runs else base), -1
            if run & _OFFSET:
                offset = base + struct.unpack_from(">i", data, at)[0]
                at += 4
                if offset < 0:
                    raise FormatError(f"the fragment at byte {position} has data before the file")
            if run & _FIRST_FLAGS:
                (first_flags,) = _UINT(data, at)
                at += 4
            layout = run & ALL_FIELDS
            end = at + count * ROW_BYTES[layout >> 8]
            if end > stop:
                raise FormatError(
                    f"box 'trun' in the fragment at byte {position} says {count} samples, but has "
                    f"{stop - body} bytes"
                )
            rows = data[at:end]
            facts = (position, not runs, layout, count, rows, first_flags, offset, time)
            runs.append(Run(*facts, entry, duration, size, flags))
    return runs
