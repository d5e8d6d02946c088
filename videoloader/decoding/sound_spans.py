"""Which time spans a clip is heard in."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.audio.request import SoundSpan
from videoloader.errors import ArgumentError
from videoloader.indexing.index import VideoIndex
from videoloader.sampling import pad_frames
from videoloader.sampling.padding import check_pad_mode
from videoloader.sampling.timeline import Timeline

ClipSpans: TypeAlias = tuple[SoundSpan, ...]
"""The spans that are heard with a clip, one after another."""

_SILENT = ("none", "edge", "constant")
_MOST_FOLDED = 1 << 20  # frames of a clip from the first to the last, where it is reflected


def sound_spans(
    index: VideoIndex,
    frames: ArrayLike,
    pad_mode: str = "none",
    *,
    start: int = 0,
    stop: int | None = None,
) -> ClipSpans:
    """Time spans of a clip's sound: from the start of its earliest frame to the end of its latest.

    Always forward, whatever the order of the frames, and with all that lies between them. Before
    the range of frames and behind it time goes on with frames of average duration. There it is
    silent with `edge` and `constant`. With `wrap` and `reflect` the sound is that of the frames
    that stand there, backwards where these run backwards.

    Args:
        index: of the video.
        frames: numbers that the clip asks for, before padding.
        pad_mode: what stands for frames outside the range.
        start: first frame of the range.
        stop: its end, exclusive; that of the video by default.

    Returns:
        The spans, one after another; none of a clip without frames or duration.

    Raises:
        ArgumentError: a reflected or wrapped clip is longer than 2^20 frames.
    """
    wanted = np.asarray(frames, dtype=np.int64).reshape(-1)
    count = index.num_frames
    if not wanted.size or not count:
        return ()
    stop = count if stop is None else stop
    mode = check_pad_mode(pad_mode)
    fps, bounds = float(index.average_fps) or None, index.boundaries
    if fps is None and bounds[-1] <= bounds[0]:  # a still picture of unknown duration
        return ()
    line = Timeline.of(count, fps, bounds)
    first, end = _extent(index, wanted, start, stop)
    if mode not in _SILENT and not start <= first <= end <= stop:
        return _folded(line, first, end, mode, start, stop)
    cuts = [first, *(cut for cut in (start, stop) if first < cut < end), end]
    return tuple(
        SoundSpan(
            _time(line, one), _time(line, other), "forward" if start <= one < stop else "silence"
        )
        for one, other in pairwise(cuts)
    )


def _extent(index: VideoIndex, wanted: NDArray[np.int64], start: int, stop: int) -> tuple[int, int]:
    """The first place in time of frames, and the place behind their last; for damaged timestamps.

    Frames of one time share the first of their places and the last.
    """
    is_inside = (wanted >= start) & (wanted < stop)
    inside, outside = wanted[is_inside], wanted[~is_inside]
    firsts, ends = [outside], [outside + 1]
    if inside.size:
        shown, times = index.pts[inside], index.pts
        if index.order_in_time is not None:
            times = times[index.order_in_time]
        firsts.append(np.searchsorted(times, shown.min(), side="left").reshape(1))
        ends.append(np.searchsorted(times, shown.max(), side="right").reshape(1))
    return int(np.concatenate(firsts).min()), int(np.concatenate(ends).max())


def _folded(line: Timeline, first: int, end: int, mode: str, start: int, stop: int) -> ClipSpans:
    """The spans of the frames that stand at places from `first` to before `end`."""
    if end - first > _MOST_FOLDED:
        raise ArgumentError(
            f"a clip from frame {first} to {end - 1} is too long for the sound of "
            f'pad_mode="{mode}"; pass pad_mode="edge"'
        )
    places = np.arange(first, end)
    frames, _ = pad_frames(places, len(line.begins), mode, start=start, stop=stop)
    length = stop - start
    if mode == "wrap":
        steps = np.ones_like(frames)
    else:
        period = 2 * length if mode == "reflect_1001" else max(2 * length - 2, 1)
        steps = np.where((places - start) % period < length, 1, -1)
    is_cut = (steps[1:] != steps[:-1]) | (frames[1:] - frames[:-1] != steps[:-1])
    bounds = [0, *(np.flatnonzero(is_cut) + 1).tolist(), len(frames)]
    spans = []
    for begin, behind in pairwise(bounds):
        low, high = sorted((int(frames[begin]), int(frames[behind - 1])))
        play: Literal["forward", "backward"] = "forward" if steps[begin] > 0 else "backward"
        spans.append(SoundSpan(_time(line, low), _time(line, high + 1), play))
    return tuple(spans)


def _time(line: Timeline, frame: int) -> float:
    """Start of a frame; outside the video frames have average duration."""
    return line.time(frame) if frame >= 0 else line.begin + frame * line.period
