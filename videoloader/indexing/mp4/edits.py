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
from videoloader.indexing.mp4.runs import Added
from videoloader.indexing.mp4.samples import Ints, Samples

__all__ = [
    "Edit",
    "RepetitionError",
    "Timeline",
    "add_fragments",
    "edit_timeline",
    "initial_delay",
    "plain_timeline",
    "read_edits",
]

_EMPTY = -1
_MAX_TIME = 1 << 60
_MAX_EDITS = 1 << 14
_MAX_WORK = 1 << 26  # edits times samples


class RepetitionError(FormatError):
    """An edit list that would cost more than any file may; FFmpeg bounds it as little."""


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
    """The edit list of a `trak` box in ticks of the track, empty without one.

    As in FFmpeg, the box has as many entries as fit into it, whatever its count says.
    """
    box = track.find(b"edts", b"elst")
    if box is None:
        return []
    version, layout = box.unpack("B")[0], "IiI"
    if version == 1:
        layout = "QqI"
    step = 20 if version == 1 else 12
    count = (box.size - 8) // step
    if count > _MAX_EDITS:
        raise RepetitionError(f"an edit list of {count} entries")
    edits = []
    for number in range(count):
        duration, start, _ = box.unpack(layout, 8 + step * number)
        if abs(start) > _MAX_TIME:
            raise FormatError(f"box 'elst' has an edit from {start} on")
        ticks = (2 * duration * timescale + movie_timescale) // (2 * movie_timescale)
        edits.append(Edit(start, min(ticks, _MAX_TIME)))
    return edits


def plain_timeline(samples: Samples, *, delay: int = 0) -> Timeline:
    """Every sample at its own time, and that much later."""
    return Timeline(
        samples=slice(0, len(samples)),
        pts=samples.shown_at + delay,
        dts=samples.dts - samples.reach + delay,
        discard=np.zeros(len(samples), dtype=np.bool_),
    )


def initial_delay(edits: list[Edit]) -> int:
    """How much later, or earlier if negative, an edit list begins than its media.

    Files in fragments may be played while they are written, so their edit lists do nothing else:
    an empty edit delays the media, and the next one says where in the media to begin.
    """
    empty = edits[0].duration if edits and edits[0].start == _EMPTY else 0
    following = edits[1:] if edits and edits[0].start == _EMPTY else edits
    start = following[0].start if following and following[0].start >= 0 else 0
    return empty - start


def add_fragments(timeline: Timeline, samples: Samples, added: Added, *, delay: int) -> Timeline:
    """The samples of the `moov` box, then those of fragments.

    As in FFmpeg, fragments do not allow for negative composition offsets in their decode times, so
    all samples are shown as much later as the farthest of those reaches back.

    Args:
        timeline: of the samples of the `moov` box.
        samples: those.
        added: what fragments add.
        delay: what `initial_delay` gives.
    """
    behind = added.samples
    reach = max(samples.reach, behind.reach)
    own = Timeline(
        samples=slice(len(samples), len(samples) + len(behind)),
        pts=behind.shown_at + (delay + reach),
        dts=behind.dts + delay,
        discard=added.repeated,
    )
    if not len(timeline.pts):
        return own
    first = slice(0, added.first_run)
    own.discard[first] |= own.dts[first] <= timeline.dts[-1]
    np.add(timeline.pts, reach - samples.reach, out=timeline.pts)
    return _joined([timeline, own])


def edit_timeline(samples: Samples, edits: list[Edit], *, room: int) -> Timeline:
    """The samples that an edit list keeps, those needed to decode them, and their times.

    Args:
        samples: of the track.
        edits: the list.
        room: how many samples there may be, those that are repeated counted each time.

    Raises:
        FormatError: the list would repeat the media without end.
    """
    if len(edits) * len(samples) > _MAX_WORK:
        raise RepetitionError(f"an edit list of {len(edits)} entries for {len(samples)} samples")
    if not len(samples):
        return _joined([])
    reach, shown_at = samples.reach, samples.shown_at
    parts: list[Timeline] = []
    total = 0
    clock, leading = -reach, 0
    for edit in edits:
        begin = clock
        # What ends before the media begin takes no time.
        duration = 0 if edit.start + edit.duration < 0 else edit.duration
        clock += duration
        if clock > _MAX_TIME:
            raise FormatError(f"box 'elst' has edits of {clock} ticks")
        if not parts and edit.start == _EMPTY:
            leading += duration
            continue
        first = _first_sample(samples, shown_at, edit.start)
        last = _last_sample(samples, shown_at, edit, first)
        total += last + 1 - first
        if total > min(64 * len(samples) + 4096, room):
            raise RepetitionError(
                f"an edit list of {len(edits)} entries repeats the media on and on"
            )
        chosen = slice(first, last + 1)
        shown = shown_at[chosen]
        discard = (shown < edit.start) | (shown >= edit.start + duration)
        anchor = first + int(np.argmin(discard))  # the first that is shown
        dts = samples.dts[chosen] + (begin - int(samples.dts[anchor]))
        if discard.all():
            dts = np.full(len(discard), begin, dtype=np.int64)
        pts = dts + reach
        if samples.composition is not None:
            pts += samples.composition[chosen]
        parts.append(Timeline(chosen, pts, dts, discard))
    whole = _joined(parts)
    kept = whole.pts[~whole.discard] if whole.discard.any() else whole.pts
    if (late := _earliest(kept) - leading) > 0:
        np.subtract(whole.pts, late, out=whole.pts)
        np.subtract(whole.dts, late, out=whole.dts)
    return whole


def _joined(parts: list[Timeline]) -> Timeline:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return Timeline(nothing, nothing.copy(), nothing.copy(), nothing.astype(np.bool_))
    return Timeline(
        samples=np.concatenate([_numbers(part.samples) for part in parts]),
        pts=np.concatenate([part.pts for part in parts]),
        dts=np.concatenate([part.dts for part in parts]),
        discard=np.concatenate([part.discard for part in parts]),
    )


def _numbers(samples: slice | Ints) -> Ints:
    if isinstance(samples, slice):
        return np.arange(samples.start, samples.stop, dtype=np.int64)
    return samples


def _first_sample(samples: Samples, shown_at: Ints, time: int) -> int:
    """Where decoding for a media time begins: the last keyframe both decoded and shown by then."""
    by_then = samples.dts <= time
    if samples.composition is not None:
        by_then &= shown_at <= time
    found = np.flatnonzero(by_then & samples.keys)
    if not len(found) and samples.composition is None:
        found = np.flatnonzero(by_then)
    return int(found[-1]) if len(found) else 0


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
