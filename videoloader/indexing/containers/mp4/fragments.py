"""The samples of movie fragments (ISO/IEC 14496-12, section 8.8).

A long video has thousands of fragments of one or two seconds each. Most of them have the same
boxes at the same offsets, so numpy parses the headers of all of them at once, and the samples of
all runs too.
"""

from __future__ import annotations

import struct
from itertools import islice, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError
from videoloader.indexing.containers.mp4.boxes import Box, box_ranges
from videoloader.indexing.containers.mp4.layout import Fragment
from videoloader.indexing.containers.mp4.runs import (
    ALL_FIELDS,
    ROW_BYTES,
    Added,
    TrackRun,
    end_of_data,
    samples_of,
)
from videoloader.indexing.containers.mp4.samples import NO_SAMPLES

# Flags of `tfhd`; each marks a field as present (section 8.8.7.1).
_BASE, _ENTRY, _DURATION, _SIZE, _FLAGS = 1, 2, 8, 0x10, 0x20
_BASE_IS_MOOF = 0x20000
# Flags of `trun`, likewise (section 8.8.8.1).
_OFFSET, _FIRST_FLAGS = 1, 4

_ALWAYS = 1 << 31
# Fields by their flags, in file order.
_PART_FIELDS = [
    (_BASE, "base", ">u8"),
    (_ENTRY, "entry", ">u4"),
    (_DURATION, "duration", ">u4"),
    (_SIZE, "size", ">u4"),
    (_FLAGS, "flags", ">u4"),
]
_RUN_FIELDS = [
    (_ALWAYS, "count", ">u4"),
    (_OFFSET, "offset", ">i4"),
    (_FIRST_FLAGS, "first_flags", ">u4"),
]
_NOTHING = Added(NO_SAMPLES, np.zeros(0, dtype=np.bool_), 0)
_SHAPES = 8  # maximum number of shapes in a file

_UINT = struct.Struct(">I").unpack_from
_TWO_UINTS = struct.Struct(">II").unpack_from


class Defaults(NamedTuple):
    """Defaults in a `trex` box for samples whose fragment states none."""

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
    """Start time of fragments by file offset, from the `sidx` boxes of a track."""
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
                break  # it references further `sidx` boxes, which are read themselves
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
    room: int,
) -> Added:
    """The samples that fragments add to a track; their `dts` is in media time.

    Args:
        fragments: all fragments of the file.
        track: identifier of the track.
        defaults: of the track.
        num_entries: number of sample descriptions of the track.
        segment_times: start times by offset, for fragments without `tfdt`.
        clock: end of the samples of the `moov` box, in ticks.
        file_size: maximum size of a sample.
        room: maximum number of samples.

    Raises:
        FormatError: the boxes are inconsistent or refer to bytes past the end of the file.
    """
    if not fragments:
        return _NOTHING
    runs: list[TrackRun] = []
    known = _read_alike(fragments, track, defaults)
    for number, fragment in enumerate(fragments):
        found = known.get(number)
        runs += _read_fragment(fragment, track, defaults) if found is None else found
    # With one description, samples that refer to another are invalid; FFmpeg drops them.
    runs = [run for run in runs if num_entries > 1 or run.entry == 1]
    total = sum(run.num_samples for run in runs)
    if total > room:
        raise FormatError(f"{total} samples in fragments, but the file has room for {room}")
    if not total:
        return _NOTHING
    return samples_of(runs, segment_times, clock, file_size)


class _Shape(NamedTuple):
    """Layout of a fragment with one `traf` and one `trun` box.

    `part` and `run` are the offsets of these boxes, `rows` is the offset of the rows of the run.
    `fields` has the offset and type of each number that may differ between fragments of one
    shape; `fixed` is a mask of the bytes that may not.
    """

    track: int
    part: int
    run: int
    layout: int
    rows: int
    fields: dict[str, tuple[int, str]]
    fixed: NDArray[np.bool_]


def _shape_of(data: bytes) -> _Shape | None:
    """The shape of a fragment; None if it has more than one `traf` and one `trun`."""
    outer = list(islice(box_ranges(data, 0, len(data)), 3))
    if [kind for kind, _, _ in outer] != [b"mfhd", b"traf"]:
        return None
    inner = list(islice(box_ranges(data, outer[1][1], len(data)), 4))
    if [kind for kind, _, _ in inner if kind != b"tfdt"] != [b"tfhd", b"trun"]:
        return None
    bodies = {kind: (body, stop) for kind, body, stop in inner}
    fields: dict[str, tuple[int, str]] = {}

    def take(box: bytes, at: int, names: list[tuple[int, str, str]], flags: int) -> int | None:
        """Record the fields of a box; returns their end, None if that is outside the box."""
        for flag, name, dtype in names:
            if flags & flag:
                fields[name] = at, dtype
                at += np.dtype(dtype).itemsize
        return at if at <= bodies[box][1] else None

    header, run = bodies[b"tfhd"][0], bodies[b"trun"][0]
    if max(header, run) + 8 > len(data):
        return None
    flags, track = _TWO_UINTS(data, header)
    run_flags = _UINT(data, run)[0]
    if b"tfdt" in bodies:
        time = bodies[b"tfdt"][0]
        if take(b"tfdt", time + 4, [(1, "time", ">u8" if data[time] else ">u4")], 1) is None:
            return None
    rows = take(b"trun", run + 4, _RUN_FIELDS, run_flags | _ALWAYS)
    if rows is None or take(b"tfhd", header + 8, _PART_FIELDS, flags) is None:
        return None
    fixed = np.ones(rows, dtype=np.bool_)
    part = outer[1][1] - 8
    variable = [(outer[0][1], outer[0][2]), (part, part + 4), (run - 8, run - 4)]
    variable += [(at, at + np.dtype(dtype).itemsize) for at, dtype in fields.values()]
    for begin, end in variable:
        fixed[begin:end] = False
    return _Shape(track, part, run - 8, run_flags & ALL_FIELDS, rows, fields, fixed)


def _read_alike(
    fragments: list[Fragment], track: int, defaults: Defaults
) -> dict[int, list[TrackRun]]:
    """The runs of fragments that have one of a few simple shapes, by number of the fragment."""
    known: dict[int, list[TrackRun]] = {}
    numbers = np.arange(len(fragments))
    sizes = np.array([len(fragment.content) for fragment in fragments], dtype=np.int64)
    for _ in range(_SHAPES):
        if not len(numbers):
            break
        shape = _shape_of(fragments[numbers[0]].content)
        if shape is None:
            numbers = numbers[1:]
            continue
        tried = numbers[sizes[numbers] >= shape.rows]
        heads = b"".join([fragments[number].content[: shape.rows] for number in tried.tolist()])
        table = np.frombuffer(heads, np.uint8).reshape(-1, shape.rows)
        alike = (table == table[0])[:, shape.fixed].all(axis=1)
        for begin in (shape.part, shape.run):  # both boxes end where the fragment does
            alike &= _column(table, begin, ">u4") == sizes[tried] - begin
        counts = _column(table, *shape.fields["count"])
        alike &= counts > 0
        alike &= counts * ROW_BYTES[shape.layout >> 8] == sizes[tried] - shape.rows
        found = tried[alike].tolist()
        if shape.track == track:
            runs = _runs_of(shape, table[alike], [fragments[number] for number in found], defaults)
            # Offsets before the file are left to `_read_fragment`, which raises an error.
            known |= {n: [run] for n, run in zip(found, runs, strict=True) if run.offset >= 0}
        else:
            known |= {number: [] for number in found}
        numbers = np.setdiff1d(numbers[1:], found, assume_unique=True)
    return known


def _runs_of(
    shape: _Shape, heads: NDArray[np.uint8], fragments: list[Fragment], defaults: Defaults
) -> list[TrackRun]:
    """The one run of each fragment of a shape."""
    stated = {name: _column(heads, *field).tolist() for name, field in shape.fields.items()}
    positions = [fragment.position for fragment in fragments]
    offsets = stated.get("base", positions)
    if "offset" in stated:
        offsets = [base + offset for base, offset in zip(offsets, stated["offset"], strict=True)]
    usual = [stated.get(name, repeat(value)) for name, value in defaults._asdict().items()]
    return list(
        map(
            TrackRun,
            positions,
            repeat(object=True),
            repeat(shape.layout),
            stated["count"],
            [fragment.content[shape.rows :] for fragment in fragments],
            stated.get("first_flags", repeat(-1)),
            offsets,
            stated.get("time", repeat(None)),
            *usual,
        )
    )


def _column(heads: NDArray[np.uint8], at: int, dtype: str) -> NDArray[Any]:
    """One number of each row of bytes; 32-bit numbers as int64."""
    octets = np.ascontiguousarray(heads[:, at : at + np.dtype(dtype).itemsize])
    values = octets.view(dtype)[:, 0]
    return values if dtype == ">u8" else values.astype(np.int64)


def _read_fragment(fragment: Fragment, track: int, defaults: Defaults) -> list[TrackRun]:
    """The runs of a track in a `moof` box."""
    data = fragment.content
    runs: list[TrackRun] = []
    try:
        parts = [
            list(box_ranges(data, start, stop))
            for kind, start, stop in box_ranges(data, 0, len(data))
            if kind == b"traf"
        ]
        headers = [_header(data, part) for part in parts]
        # The default base of offsets is the end of the data of the previous `traf`.
        chained = any(not flags & (_BASE | _BASE_IS_MOOF) for flags, _, _ in headers[1:])
        base = fragment.position
        for part, (flags, number, body) in zip(parts, headers, strict=True):
            if number != track and not chained:
                continue
            # As in FFmpeg, a further `traf` of the track without `tfdt` starts at the same time.
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
    """Flags, track, and offset of the optional fields of the `tfhd` box of a part."""
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
) -> list[TrackRun]:
    """The runs of a `traf` box that have samples."""
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
    runs: list[TrackRun] = []
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
            runs.append(TrackRun(*facts, entry, duration, size, flags))
    return runs
