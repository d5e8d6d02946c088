"""Edit lists (ISO/IEC 14496-12, section 8.6.6): which samples are shown, and when.

Times equal FFmpeg's, since frame numbers refer to FFmpeg's full decode. Its rules beyond the
standard: the first shown frame is at time 0 (after a leading empty edit, at the end of that
edit). Each edit starts decoding at the last keyframe shown at or before its media time. It stops
at the first keyframe past its end, or at the second if frames are reordered, since B-frames of
the edit may follow the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError
from videoloader.indexing.containers.mp4.boxes import Box
from videoloader.indexing.containers.mp4.runs import Added
from videoloader.indexing.containers.mp4.samples import Ints, Samples

_EMPTY = -1
_MAX_TIME = 1 << 60
_MAX_EDITS = 1 << 14
_MAX_WORK = 1 << 26  # edits times samples


class RepetitionError(FormatError):
    """An edit list repeats more samples than allowed; FFmpeg does not limit this."""


@dataclass(frozen=True, slots=True)
class Edit:
    """`duration` ticks of the media from `start` on; an empty edit if `start` is -1."""

    start: int
    duration: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Samples in decode order, with their times; see `VideoIndex`.

    `samples` indexes the sample tables: a slice if the samples are contiguous.
    """

    samples: slice | Ints
    pts: Ints
    dts: Ints
    discard: NDArray[np.bool_]


def read_edits(track: Box, *, timescale: int, movie_timescale: int) -> list[Edit]:
    """The edit list of a `trak` box in ticks of the track, empty without one.

    As in FFmpeg, the box has as many entries as fit into it; the count field is ignored.
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
    """Every sample at its own time plus `delay`."""
    return Timeline(
        samples=slice(0, len(samples)),
        pts=samples.shown_at + delay,
        dts=samples.dts - samples.reach + delay,
        discard=np.zeros(len(samples), dtype=np.bool_),
    )


def initial_delay(edits: list[Edit]) -> int:
    """Delay that an edit list adds to its media times, in ticks; may be negative.

    Edit lists of fragmented files have no other effect: an empty edit delays the media, and the
    next edit gives the start in the media.
    """
    empty = edits[0].duration if edits and edits[0].start == _EMPTY else 0
    following = edits[1:] if edits and edits[0].start == _EMPTY else edits
    start = following[0].start if following and following[0].start >= 0 else 0
    return empty - start


def add_fragments(timeline: Timeline, samples: Samples, added: Added, *, delay: int) -> Timeline:
    """Append the samples of fragments to the samples of the `moov` box.

    As in FFmpeg, decode times of fragments do not compensate for negative composition offsets, so
    presentation times are shifted by the most negative offset. `timeline` is that of `samples`,
    `delay` the result of `initial_delay`.
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
    """The samples that an edit list keeps, the samples they need, and the times.

    Raises:
        FormatError: it repeats samples until they are more than `room`.
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
        # Edits that end before the media begins take no time.
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
        if np.count_nonzero(discard) < len(discard):
            anchor = first + int(discard.argmin())  # the first that is shown
            dts = samples.dts[chosen] + (begin - int(samples.dts[anchor]))
        else:
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
    """Sample to start decoding at for a media time: the last keyframe with dts and pts up to it.

    Samples without duration have the dts of the next one; of these it is the first keyframe.
    """
    dts = samples.dts
    place = _search(dts, time)
    found = samples.keys[: place + 1].nonzero()[0]
    if not len(found):
        if place < 0 or samples.composition is not None:
            return 0
        return int(np.argmax(dts == dts[place]))
    found = found[: int(np.argmax(dts[found] == dts[found[-1]])) + 1]
    if samples.composition is not None:
        found = found[shown_at[found] <= time]
    return int(found[-1]) if len(found) else 0


def _search(dts: Ints, time: int) -> int:
    """FFmpeg's binary search for the last sample up to `time`, or any sample with that dts.

    The result is -1 if all are later.
    """
    low, high = -1, len(dts)
    while high - low > 1:
        middle = (low + high) // 2
        if dts[middle] >= time:
            high = middle
        if dts[middle] <= time:
            low = middle
    return low


def _last_sample(samples: Samples, shown_at: Ints, edit: Edit, first: int) -> int:
    keys = first + samples.keys[first:].nonzero()[0]
    ends = keys[shown_at[keys] + samples.durations[keys] >= edit.start + edit.duration]
    needed = 1 if samples.composition is None else 2
    return int(ends[needed - 1]) if len(ends) >= needed else len(samples) - 1


def _earliest(times: Ints) -> int:
    """The minimum time; as in FFmpeg, times up to the last negative one are ignored."""
    if not len(times):
        return 0
    negative = (times < 0).nonzero()[0]
    if len(negative) and negative[-1] + 1 < len(times):
        return int(times[negative[-1] + 1 :].min())
    return int(times.min())
