"""Converts the `trun` boxes of a fragmented track to arrays of all samples at once.

Times follow FFmpeg: a fragment begins at its `tfdt`; without one, at its time in a `sidx` box, or
else at the end of the previous fragment. A sample whose dts is not after the last one of an
earlier fragment is a repetition, and is discarded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError
from videoloader.indexing.containers.mp4.samples import Ints, Samples, sums_before

# Flags of `trun` for the fields of each sample (section 8.8.8.1).
_DURATION, _SIZE, _FLAGS, _COMPOSITION = 0x100, 0x200, 0x400, 0x800
_FIELDS = (_DURATION, _SIZE, _FLAGS, _COMPOSITION)
ALL_FIELDS = 0xF00
ROW_BYTES = [4 * fields.bit_count() for fields in range(16)]
"""Bytes of a sample's row, by the flags of its fields, shifted right by 8."""

# Flags of a sample: sample_is_non_sync_sample; sample_depends_on is 1.
_NOT_KEY = 0x00010000 | 0x01000000
_MAX_TIME = 1 << 61


@dataclass(frozen=True, slots=True)
class Added:
    """The samples that fragments add to a track.

    `repeated` is a mask of samples that repeat an earlier fragment; `first_run` is the number of
    samples in the first run, which may repeat samples of the `moov` box.
    """

    samples: Samples
    repeated: NDArray[np.bool_]
    first_run: int


class TrackRun(NamedTuple):
    """One `trun` box.

    `layout` has the flags of the fields in a sample's row, `rows` holds the rows. `first_flags`
    is -1 if the first sample has no flags of its own; `offset` is -1 if the data follows that of
    the previous run. `is_first`: it is the first run of its `traf`, and begins at `time` (None if
    unknown).
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


def end_of_data(runs: list[TrackRun]) -> int:
    """End offset of the data of a `traf`."""
    end = 0
    for run in runs:
        begin = end if run.offset < 0 else run.offset
        if run.layout & _SIZE:
            end = begin + int(_table(run.layout, run.rows)[_SIZE].sum())
        else:
            end = begin + run.num_samples * run.size
    return end


def _table(layout: int, rows: bytes) -> dict[int, NDArray[Any]]:
    """The columns of the rows of runs, by their flags."""
    fields = [flag for flag in _FIELDS if layout & flag]
    table = np.frombuffer(rows, dtype=">u4").reshape(-1, max(len(fields), 1))
    return {flag: table[:, number] for number, flag in enumerate(fields)}


def samples_of(
    runs: list[TrackRun], segment_times: dict[int, int], clock: int, file_size: int
) -> Added:
    """All samples of the runs of a track, at least one; see `read_fragments`."""
    counts = np.array([run.num_samples for run in runs])
    ends = np.cumsum(counts)
    starts = ends - counts
    columns = _columns(runs, counts)
    sizes, flags = columns[_SIZE], columns[_FLAGS]
    durations = columns[_DURATION]
    if not sizes.all():
        raise FormatError("a fragment has a sample of 0 bytes")
    if sizes.max() > file_size:
        raise FormatError(f"truncated: a sample of {sizes.max()} bytes in a file of {file_size}")
    first = np.array([run.first_flags for run in runs])
    stated = (first >= 0) & ~_has(runs, _FLAGS)
    flags[starts[stated]] = first[stated]
    composition = None
    if _has(runs, _COMPOSITION).any():
        # Signed in any version of the box, as in `ctts`.
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


def _has(runs: list[TrackRun], flag: int) -> NDArray[np.bool_]:
    return np.array([run.layout & flag > 0 for run in runs])


def _columns(runs: list[TrackRun], counts: Ints) -> dict[int, Ints]:
    """Duration, size, flags and composition offset of every sample, from its row or defaults."""
    layouts = {run.layout for run in runs}
    if len(layouts) == 1:
        stated = _table(runs[0].layout, b"".join([run.rows for run in runs]))
        columns = {flag: column.astype(np.int64) for flag, column in stated.items()}
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
            rows = b"".join(
                [run.rows for run, is_chosen in zip(runs, chosen, strict=True) if is_chosen]
            )
            for flag, column in _table(layout, rows).items():
                columns[flag][samples] = column
    return columns


def _begins(
    runs: list[TrackRun], spans: list[int], segment_times: dict[int, int], clock: int
) -> list[int]:
    """Decode time of the first sample of each run."""
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


def _places(runs: list[TrackRun], extents: list[int], file_size: int) -> list[int]:
    """File offset of the data of each run."""
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
