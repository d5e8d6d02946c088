"""Frames at given times: the frame on screen, or the one with the nearest presentation time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.errors import ArgumentError, FrameRangeError
from videoloader.machinery.system.checks import real_number
from videoloader.sampling.arrays import real_numbers
from videoloader.sampling.padding import PadMode, check_pad_mode

Seconds = NDArray[np.float64]
Frames = NDArray[np.int64]

NANOSECOND = 1e-9  # far more than the rounding of seconds in float64, far less than any frame lasts
# Margins by which a frame is returned before its start; see `frames_at_times`.
_TICKS = 0.55  # containers round by up to half a tick, and the time may be rounded again
_SECONDS = 6e-5  # a time rounded to 4 digits has an error of 5e-5, plus a margin for fine ticks
_RELATIVE = 1e-6  # error of a time computed in float32 in a few steps
_LARGEST_PART = 1 / 8  # of the duration of the previous frame


class FrameTimes(Protocol):
    """Properties of a video that finding frames by time needs; `VideoIndex` has them."""

    @property
    def time_base(self) -> Fraction:
        """Seconds in a tick."""

    @property
    def boundaries(self) -> NDArray[np.float64]:
        """The presentation times in seconds, ascending, and the end of the last frame."""

    @property
    def order_in_time(self) -> NDArray[np.int64] | None:
        """Frames sorted by presentation time; None if timestamps ascend already."""


def frames_at_times(
    times: ArrayLike,
    video: FrameTimes,
    *,
    nearest: bool = False,
    tolerance: float | None = None,
    pad_mode: PadMode | str = "none",
    name: str = "video",
) -> Frames:
    """The frame on screen at each time: the last that begins at or before it.

    A rounded time may be just before the start of its frame. So a frame is already returned for
    times slightly before its start: by 0.55 ticks, or by 6e-5 s plus 1e-6 of the time, whichever
    is more, but at most by 1/8 of the duration of the previous frame. Then times in float32 or
    rounded to 4 digits find their frame. Of frames with equal times, the last is returned.

    Args:
        times: presentation times in seconds, any shape.
        video: the index of the video.
        nearest: return the frame with the nearest presentation time, before or after. Of two at
            equal distance (to the nanosecond), it is the later one.
        tolerance: maximum seconds between a time and the presentation time of its frame, with and
            without `nearest`. Times outside the video are handled by `pad_mode`.
        pad_mode: `none` makes a time outside the video an error.
        name: of the video, for errors.

    Returns:
        Frame numbers, one-dimensional; -1 for times before the first frame, the number of frames
        for times at the end of the last one or later.

    Raises:
        FrameRangeError: a time is outside the video and `pad_mode` is `none`, or the frame found
            is farther away than the tolerance.
        ArgumentError: a time is not a finite number, or the tolerance is negative.

    >>> from videoloader import index_video
    >>> frames_at_times([0.0, 0.5, 1.99], index_video("clip.mp4"))
    array([ 0, 15, 59])
    """
    wanted = real_numbers(f"{name}: times in seconds", times)
    if not np.isfinite(wanted).all():
        raise ArgumentError(f"{name}: time {wanted[~np.isfinite(wanted)][0]} is not finite")
    if tolerance is not None:
        real_number("tolerance", tolerance, most=math.inf)
    begins, end = video.boundaries[:-1], float(video.boundaries[-1])
    places = _find(begins, end, wanted, video.time_base, nearest=nearest)
    inside = (places >= 0) & (places < len(begins))
    if check_pad_mode(pad_mode) == "none" and not inside.all():
        begin = float(video.boundaries[0])
        raise FrameRangeError(
            f"{name}: time {wanted[~inside][0]:.9g} s requested, the video runs from {begin:g} to "
            f'{end:g} s; pass pad_mode="edge" to repeat the edge frame'
        )
    frames = places
    if video.order_in_time is not None:
        frames = places.copy()
        frames[inside] = video.order_in_time[places[inside]]
    if tolerance is not None:
        far = np.flatnonzero(inside)
        far = far[np.abs(begins[places[far]] - wanted[far]) > tolerance + NANOSECOND]
        if len(far):
            raise FrameRangeError(f"{name}: {_describe(video, wanted[far[0]], tolerance)}")
    return frames


def frames_between(
    begin: float, end: float, video: FrameTimes, *, name: str = "video"
) -> tuple[int, int]:
    """The first frame on screen from a time to before another, and the frame after the last.

    Both times may be rounded, see `frames_at_times`: a frame that begins at `end`, or as much
    before it as rounding does, is not among them. The frame on screen at `begin` always is.

    Raises:
        FrameRangeError: no frame is on screen then.
        ArgumentError: a time is not a finite number.
    """
    (first,), (stop,) = ranges_between([begin], [end], video, name=name)
    if first == stop:
        raise FrameRangeError(
            f"{name}: {begin:g} to {end:g} s requested, the video runs from "
            f"{video.boundaries[0]:g} to {video.boundaries[-1]:g} s"
        )
    return int(first), int(stop)


def ranges_between(
    begins: ArrayLike, ends: ArrayLike, video: FrameTimes, *, name: str = "video"
) -> tuple[Frames, Frames]:
    """The first frame and the end of several ranges, see `frames_between`.

    Where no frame is on screen both are the same.

    Raises:
        ArgumentError: a time is not a finite number.
    """
    first = frames_at_times(begins, video, pad_mode="edge", name=name)
    stop = frames_at_times(ends, video, pad_mode="edge", name=name)
    starts = video.boundaries[:-1]
    is_outside = (first >= len(starts)) | (stop < 0)
    is_inside = (stop >= 0) & (stop < len(starts))
    places = stop[is_inside]
    if video.order_in_time is not None:
        places = np.argsort(video.order_in_time)[places]  # in order of time, as `starts`
    tick = video.time_base.numerator / video.time_base.denominator
    after = np.asarray(ends, dtype=np.float64)[is_inside] - starts[places]
    stop[is_inside] += after > _windows(places, starts, tick)
    first = np.maximum(first, 0)
    return first, np.where(is_outside, first, np.maximum(stop, first + 1))


def nearest_frames(times: Seconds, begins: Seconds) -> Frames:
    """Number of the nearest of ascending times; of two at equal distance, the later one."""
    before = np.maximum(begins.searchsorted(times, side="right") - 1, 0)
    after = np.minimum(before + 1, len(begins) - 1)
    later = begins[after] - times <= times - begins[before] + NANOSECOND
    return _last_of_equals(begins, np.where(later, after, before))


def _find(
    begins: Seconds, end: float, times: Seconds, time_base: Fraction, *, nearest: bool
) -> Frames:
    """Ranks in order of time: -1 before the first frame, the number of frames past the last."""
    if not len(begins):
        return np.full(times.shape, -1, dtype=np.int64)
    tick = time_base.numerator / time_base.denominator
    places = nearest_frames(times, begins) if nearest else _on_screen(times, begins, tick)
    if not ((times < begins[0]) | (times >= end)).any():
        return places
    windows = _windows(np.array([0, len(begins) - 1]), begins, tick)
    places[times < begins[0] - windows[0]] = -1
    # A last frame of unknown duration is on screen at least at its own time.
    places[(times >= end) & (times > begins[-1] + windows[1])] = len(begins)
    return places


def _on_screen(times: Seconds, begins: Seconds, tick: float) -> Frames:
    before = begins.searchsorted(times, side="right") - 1
    after = np.minimum(before + 1, len(begins) - 1)
    starts = begins[after]
    begun = starts - times <= _widest(starts, tick)
    if begun.any():
        begun &= starts - times <= _windows(after, begins, tick)
    return np.where(begun, _last_of_equals(begins, after), before)


def _windows(places: Frames, begins: Seconds, tick: float) -> Seconds:
    """Margin in seconds by which each frame is returned before its start."""
    starts = begins[places]
    earlier = begins.searchsorted(starts, side="left") - 1
    later = begins.searchsorted(starts, side="right")
    # The first frame has no previous one: use its own duration, if there is a next frame.
    own = np.where(later < len(begins), begins[later.clip(max=len(begins) - 1)], np.inf) - starts
    limit = _LARGEST_PART * np.where(earlier < 0, own, starts - begins[earlier])
    return np.minimum(_widest(starts, tick), limit)


def _widest(starts: Seconds, tick: float) -> Seconds:
    """The largest margin: of a frame after a long one."""
    return np.maximum(_TICKS * tick, _SECONDS + _RELATIVE * np.abs(starts))


def _last_of_equals(begins: Seconds, places: Frames) -> Frames:
    last: Frames = begins.searchsorted(begins[places], side="right") - 1
    return last


def _describe(video: FrameTimes, time: float, tolerance: float) -> str:
    """Message: no frame is within the tolerance of a time."""
    begins = video.boundaries[:-1]
    (frame,) = frames_at_times([time], video, nearest=True)
    start = begins[nearest_frames(np.array([time]), begins)[0]]
    distance = abs(start - time)
    text = (
        f"time {time:.9g} s requested with a tolerance of {tolerance:g} s, "
        f"the nearest frame is {frame} at {start:.9g} s, {distance:.3g} s away"
    )
    if distance <= tolerance + NANOSECOND:
        return f"{text}, but another is on screen; pass nearest=True"
    return f"{text}; raise the tolerance, or see that the times belong to this video"
