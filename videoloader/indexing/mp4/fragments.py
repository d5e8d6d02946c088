"""The samples of movie fragments (ISO/IEC 14496-12, section 8.8).

A long video has thousands of fragments of one or two seconds each. Python looks at the headers of
their runs only; all samples of all runs become arrays at once.

Times follow FFmpeg: a fragment begins at its `tfdt`; without one at the time that a `sidx` box
gives it, or else where the fragment before it ended. A sample that is decoded no later than the
last one of an earlier fragment repeats what that had, and is discarded.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError
from videoloader.indexing.mp4.boxes import Box
from videoloader.indexing.mp4.layout import Fragment
from videoloader.indexing.mp4.samples import NO_SAMPLES, Ints, Samples, sums_before

__all__ = ["Added", "Defaults", "read_defaults", "read_fragments", "read_segment_times"]

# Flags of `tfhd`, each telling that a field is there (section 8.8.7.1).
_BASE, _ENTRY, _DURATION, _SIZE, _FLAGS = 1, 2, 8, 0x10, 0x20
_BASE_IS_MOOF = 0x20000
# Flags of `trun`, likewise (section 8.8.8.1): two fields of the run, four of each sample.
_OFFSET, _FIRST_FLAGS = 1, 4
_DURATION_FIELD, _SIZE_FIELD, _FLAGS_FIELD, _COMPOSITION = 0x100, 0x200, 0x400, 0x800
_FIELDS = (_DURATION_FIELD, _SIZE_FIELD, _FLAGS_FIELD, _COMPOSITION)
_ALL_FIELDS = 0xF00
_WIDTHS = [4 * fields.bit_count() for fields in range(16)]  # bytes of a row
# Flags of a sample: no sync sample; depends on others.
_NOT_KEY = 0x00010000 | 0x01000000
_MAX_TIME = 1 << 61

_BOX = struct.Struct(">I4s").unpack_from
_UINT = struct.Struct(">I").unpack_from
_TWO_UINTS = struct.Struct(">II").unpack_from


class Defaults(NamedTuple):
    """What a `trex` box says of samples whose fragment does not."""

    entry: int = 1
    duration: int = 0
    size: int = 0
    flags: int = 0


@dataclass(frozen=True, slots=True)
class Added:
    """The samples that fragments add to a track.

    `repeated` tells which of them repeat what an earlier fragment had; `first_run` how many
    are in the first run, which may repeat samples of the `moov` box.
    """

    samples: Samples
    repeated: NDArray[np.bool_]
    first_run: int


class _Run(NamedTuple):
    """One `trun` box.

    `layout` has the flags of the fields in a sample's row, `rows` are those rows. `first_flags` is
    -1 where the first sample is like the others, `offset` where the data lie behind those of the
    run before. `is_first` of its part; such a run begins at `time`, None where that is not told.
    """

    fragment: int
    is_first: bool
    layout: int
    num_samples: int
    rows: bytes
    first_flags: int
    offset: int
    time: int | None
    entry: int
    duration: int
    size: int
    flags: int


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
    runs: list[_Run] = []
    for fragment in fragments:
        runs += _read_fragment(fragment, track, defaults)
    # A track of one description has no samples of another; FFmpeg leaves them out.
    runs = [run for run in runs if num_entries > 1 or run.entry == 1]
    total = sum(run.num_samples for run in runs)
    if total > file_size:
        raise FormatError(f"fragments claim {total} samples in a file of {file_size} bytes")
    if not total:
        return Added(NO_SAMPLES, np.zeros(0, dtype=np.bool_), 0)
    return _samples(runs, segment_times, clock, file_size)


def _boxes(data: bytes, start: int, stop: int) -> list[tuple[bytes, int, int]]:
    """Type, begin and end of each box; like `Box.children`, and faster."""
    boxes = []
    last = stop - 8
    while start <= last:
        size, kind = _BOX(data, start)
        body = start + 8
        end = start + size
        if size < 8:
            if size == 1 and body <= last:
                end = start + struct.unpack_from(">Q", data, body)[0]
                body += 8
            elif size == 0:
                end = stop
            if end < body:
                break
        boxes.append((kind, body, end if end < stop else stop))
        start = end
    return boxes


def _read_fragment(fragment: Fragment, track: int, defaults: Defaults) -> list[_Run]:
    """The runs of a track in a `moof` box."""
    data = fragment.content
    runs: list[_Run] = []
    try:
        parts = [
            _boxes(data, start, stop)
            for kind, start, stop in _boxes(data, 0, len(data))
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
                base = _end_of_data(found)
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
) -> list[_Run]:
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
    runs: list[_Run] = []
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
            layout = run & _ALL_FIELDS
            end = at + count * _WIDTHS[layout >> 8]
            if end > stop:
                raise FormatError(
                    f"box 'trun' in the fragment at byte {position} says {count} samples, but has "
                    f"{stop - body} bytes"
                )
            rows = data[at:end]
            facts = (position, not runs, layout, count, rows, first_flags, offset, time)
            runs.append(_Run(*facts, entry, duration, size, flags))
    return runs


def _end_of_data(runs: list[_Run]) -> int:
    """Where the data of a part end."""
    end = 0
    for run in runs:
        begin = end if run.offset < 0 else run.offset
        if run.layout & _SIZE_FIELD:
            end = begin + int(_table(run.layout, run.rows)[_SIZE_FIELD].sum())
        else:
            end = begin + run.num_samples * run.size
    return end


def _table(layout: int, rows: bytes) -> dict[int, NDArray[Any]]:
    """The columns of the rows of runs, by their flags."""
    fields = [flag for flag in _FIELDS if layout & flag]
    table = np.frombuffer(rows, dtype=">u4").reshape(-1, max(len(fields), 1))
    return {flag: table[:, number] for number, flag in enumerate(fields)}


def _samples(
    runs: list[_Run], segment_times: dict[int, int], clock: int, file_size: int
) -> Added:
    counts = np.array([run.num_samples for run in runs])
    ends = np.cumsum(counts)
    starts = ends - counts
    columns = _columns(runs, counts)
    sizes, flags = columns[_SIZE_FIELD], columns[_FLAGS_FIELD]
    durations = columns[_DURATION_FIELD]
    if not sizes.all():
        raise FormatError("a fragment has a sample of 0 bytes")
    if sizes.max() > file_size:
        raise FormatError(f"truncated: a sample of {sizes.max()} bytes in a file of {file_size}")
    first = np.array([run.first_flags for run in runs])
    told = (first >= 0) & ~_has(runs, _FLAGS_FIELD)
    flags[starts[told]] = first[told]
    composition = None
    if _has(runs, _COMPOSITION).any():
        # Signed whatever version the box claims, as in `ctts`.
        composition = columns[_COMPOSITION].astype(np.uint32).view(np.int32).astype(np.int64)
    dts = sums_before(durations)
    spans = np.add.reduceat(durations, starts).tolist()
    begins = np.array(_begins(runs, spans, segment_times, clock))
    dts += np.repeat(begins - dts[starts], counts)
    offsets = sums_before(sizes)
    extents = np.add.reduceat(sizes, starts).tolist()
    offsets += np.repeat(np.array(_places(runs, extents, file_size)) - offsets[starts], counts)
    before = np.empty(len(runs), dtype=np.int64)
    before[0], before[1:] = np.iinfo(np.int64).min, dts[ends[:-1] - 1]
    repeated = np.zeros(len(dts), dtype=np.bool_)
    if (begins <= before).any():
        repeated = dts <= np.repeat(before, counts)
    entries = np.repeat(np.array([run.entry - 1 for run in runs]), counts)
    keys = (flags & _NOT_KEY) == 0
    samples = Samples(offsets, sizes, dts, durations, composition, keys, entries)
    return Added(samples, repeated, runs[0].num_samples)


def _has(runs: list[_Run], flag: int) -> NDArray[np.bool_]:
    return np.array([run.layout & flag > 0 for run in runs])


def _columns(runs: list[_Run], counts: Ints) -> dict[int, Ints]:
    """All four facts of every sample, from its row or else by default."""
    layouts = {run.layout for run in runs}
    if len(layouts) == 1:
        told = _table(runs[0].layout, b"".join([run.rows for run in runs]))
        columns = {flag: column.astype(np.int64) for flag, column in told.items()}
    else:
        columns = {}
    for flag, name in zip(_FIELDS, ("duration", "size", "flags", None), strict=True):
        if flag not in columns:
            usual = [0 if name is None else getattr(run, name) for run in runs]
            columns[flag] = np.repeat(np.array(usual, dtype=np.int64), counts)
    if len(layouts) > 1:
        for layout in layouts:
            chosen = [run.layout == layout for run in runs]
            samples = np.repeat(np.array(chosen), counts)
            rows = b"".join([run.rows for run, is_chosen in zip(runs, chosen, strict=True) if is_chosen])
            for flag, column in _table(layout, rows).items():
                columns[flag][samples] = column
    return columns


def _begins(
    runs: list[_Run], spans: list[int], segment_times: dict[int, int], clock: int
) -> list[int]:
    """When each run begins to be decoded."""
    begins: list[int] = []
    for run, span in zip(runs, spans, strict=True):
        if run.is_first:
            time = run.time if run.time is not None else segment_times.get(run.fragment)
            clock = clock if time is None else time
        if clock + span > _MAX_TIME:
            raise FormatError(f"the fragment at byte {run.fragment} begins at time {clock}")
        begins.append(clock)
        clock += span
    return begins


def _places(runs: list[_Run], extents: list[int], file_size: int) -> list[int]:
    """Where the data of each run begin."""
    places: list[int] = []
    end = 0
    for run, extent in zip(runs, extents, strict=True):
        place = end if run.offset < 0 else run.offset
        end = place + extent
        if end > file_size:
            raise FormatError(
                f"truncated: the data of the fragment at byte {run.fragment} run to byte {end}, "
                f"but the file ends at {file_size}"
            )
        places.append(place)
    return places
