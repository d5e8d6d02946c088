"""Edit lists (ISO/IEC 14496-12, section 8.6.6): which samples are shown, and when.

The times are those that FFmpeg gives, since its full decode is what a frame number refers to.
Its rules beyond the standard: the first shown frame is at time 0 (after a leading empty edit at
the end of that edit); each edit begins to decode at the last keyframe shown at or before its
media time, and goes on to the first keyframe past its end, or the second where frames are
reordered, as B-frames that belong to the edit may follow the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError
from videoloader.indexing.mp4.boxes import Box
from videoloader.indexing.mp4.samples import Samples

__all__ = ["Edit", "Timeline", "edit_timeline", "plain_timeline", "read_edits"]

Ints = NDArray[np.int64]

_EMPTY = -1
_MAX_WORK = 1 << 28  # samples looked at, over all edits
_MAX_TICKS = 1 << 60


@dataclass(frozen=True, slots=True)
class Edit:
    """`duration` ticks of the media from `start` on, or of nothing where `start` is -1."""

    start: int
    duration: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Samples in the order in which they are decoded, with their times; see `VideoIndex`.

    `samples` picks them out of the tables: a slice where they are all of a stretch.
    """

    samples: slice | Ints
    pts: Ints
    dts: Ints
    discard: NDArray[np.bool_]


def read_edits(track: Box, *, timescale: int, movie_timescale: int) -> list[Edit]:
    """The edit list of a `trak` box in ticks of the track, empty without one."""
    box = track.find(b"edts", b"elst")
    if box is None:
        return []
    version, layout = box.unpack("B")[0], "IiI"
    if version == 1:
        layout = "QqI"
    step = 20 if version == 1 else 12
    (count,) = box.unpack("I", 4)
    if count * step > box.size - 8:
        raise FormatError(f"box 'elst' says {count} entries, but has {box.size} bytes")
    edits = []
    for number in range(count):
        duration, start, _ = box.unpack(layout, 8 + step * number)
        ticks = (2 * duration * timescale + movie_timescale) // (2 * movie_timescale)
        if abs(start) > _MAX_TICKS or ticks * count > _MAX_TICKS:
            raise FormatError(f"an edit of {duration} ticks from {start} on")
        edits.append(Edit(start, ticks))
    return edits


def plain_timeline(samples: Samples) -> Timeline:
    """Every sample at its own time."""
    return Timeline(
        samples=slice(0, len(samples)),
        pts=_shown_at(samples),
        dts=samples.dts - _reach(samples),
        discard=np.zeros(len(samples), dtype=np.bool_),
    )


def edit_timeline(samples: Samples, edits: list[Edit]) -> Timeline:
    """The samples that an edit list keeps, those needed to decode them, and their times.

    Raises:
        FormatError: the list would repeat the media without end.
    """
    if len(edits) * len(samples) > _MAX_WORK:
        raise FormatError(f"an edit list of {len(edits)} entries over {len(samples)} samples")
    reach, shown_at = _reach(samples), _shown_at(samples)
    parts: list[Timeline] = []
    total = 0
    clock, leading = -reach, 0
    for edit in edits:
        begin = clock
        clock += edit.duration
        if not parts and edit.start == _EMPTY:
            leading += edit.duration
            continue
        first = _first_sample(samples, shown_at, edit.start)
        last = _last_sample(samples, shown_at, edit, first)
        total += last + 1 - first
        if total > 64 * len(samples) + 4096:
            raise FormatError(f"an edit list of {len(edits)} entries repeats the media on and on")
        chosen = slice(first, last + 1)
        shown = shown_at[chosen]
        discard = (shown < edit.start) | (shown >= edit.start + edit.duration)
        anchor = first + int(np.argmin(discard))  # the first that is shown
        shift = begin - int(samples.dts[anchor])
        parts.append(
            Timeline(chosen, shown + (shift + reach), samples.dts[chosen] + shift, discard)
        )
    whole = _joined(parts)
    kept = whole.pts[~whole.discard] if whole.discard.any() else whole.pts
    if (late := _earliest(kept) - leading) > 0:
        np.subtract(whole.pts, late, out=whole.pts)
        np.subtract(whole.dts, late, out=whole.dts)
    return whole


def _joined(parts: list[Timeline]) -> Timeline:
    if len(parts) == 1:
        return parts[0]
    stretches = [np.arange(part.samples.start, part.samples.stop) for part in parts]  # type: ignore[union-attr]
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return Timeline(nothing, nothing.copy(), nothing.copy(), nothing.astype(np.bool_))
    return Timeline(
        samples=np.concatenate(stretches),
        pts=np.concatenate([part.pts for part in parts]),
        dts=np.concatenate([part.dts for part in parts]),
        discard=np.concatenate([part.discard for part in parts]),
    )


def _reach(samples: Samples) -> int:
    """How far negative composition offsets reach back; decode times are moved to allow for it."""
    return 0 if samples.composition is None else max(0, -int(samples.composition.min()))


def _shown_at(samples: Samples) -> Ints:
    """When each sample is shown, on the clock of the media; an array of its own."""
    return samples.dts + (0 if samples.composition is None else samples.composition)


def _first_sample(samples: Samples, shown_at: Ints, time: int) -> int:
    """Where decoding for a media time begins: the last keyframe both decoded and shown by then."""
    by_then = samples.dts <= time
    if samples.composition is not None:
        by_then &= shown_at <= time
    for candidates in (by_then & samples.keys, by_then):
        found = np.flatnonzero(candidates)
        if len(found):
            return int(found[-1])
    return 0


def _last_sample(samples: Samples, shown_at: Ints, edit: Edit, first: int) -> int:
    keys = first + np.flatnonzero(samples.keys[first:])
    ends = keys[shown_at[keys] + samples.durations[keys] >= edit.start + edit.duration]
    needed = 1 if samples.composition is None else 2
    return int(ends[needed - 1]) if len(ends) >= needed else len(samples) - 1


def _earliest(times: Ints) -> int:
    """The least time; but whatever comes before a negative one does not count, as in FFmpeg."""
    if not len(times):
        return 0
    negative = np.flatnonzero(times < 0)
    if len(negative) and negative[-1] + 1 < len(times):
        return int(times[negative[-1] + 1 :].min())
    return int(times.min())
