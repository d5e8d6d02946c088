"""Times to frames: the frame on screen at a time, or the one whose presentation time is nearest."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.errors import ArgumentError, FrameRangeError
from videoloader.sampling.padding import PadMode, check_pad_mode

__all__ = ["NANOSECOND", "frames_at_times", "nearest_frames"]

Seconds = NDArray[np.float64]
Frames = NDArray[np.int64]

NANOSECOND = 1e-9  # far more than the rounding of seconds in float64, far less than any frame lasts
# How far before its start a frame is given; see `frames_at_times`.
_TICKS = 0.55  # containers round by up to half a tick, and the time may be rounded again
_SECONDS = 6e-5  # a time rounded to 4 digits is off by 5e-5, and fine ticks add a little
_RELATIVE = 1e-6  # error of a time computed in float32 in a few steps
_LARGEST_PART = 1 / 8  # of the duration of the frame before


class FrameTimes(Protocol):
    """What finding frames by time needs to know of a video; `VideoIndex` is one."""

    @property
    def time_base(self) -> Fraction:
        """Seconds in a tick."""

    @property
    def boundaries(self) -> NDArray[np.float64]:
        """The presentation times in seconds, ascending, and the end of the last frame."""

    @property
    def order_in_time(self) -> NDArray[np.int64] | None:
        """Frames by presentation time, where damaged timestamps do not ascend."""


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

    A time that was rounded may lie just before the start of its frame. A frame is therefore given
    from a little before its start on: 0.55 ticks, or 6e-5 s plus 1e-6 of the time, whichever is
    more, but never more than 1/8 of the duration of the frame before. So times in float32 or
    rounded to 4 digits find their frame. Of frames with the same presentation time the last is
    given.

    Args:
        times: presentation times in seconds, any shape.
        video: the index of the video.
        nearest: give the frame whose presentation time is nearest, before or after. In the middle
            between two, to the nanosecond, it is the later one.
        tolerance: the most seconds between a time and the presentation time of the frame given for
            it, with `nearest` and without. Times outside the video are left to `pad_mode`.
        pad_mode: `none` makes a time outside the video an error.
        name: of the video, for errors.

    Returns:
        Frame numbers, one-dimensional; -1 for times before the first frame, the number of frames
        for times at the end of the last one or later.

    Raises:
        FrameRangeError: a time lies outside the video and `pad_mode` is `none`, or the frame found
            is further away than the tolerance.
        ArgumentError: a time is not a finite number, or the tolerance is negative.
    """
    wanted = _as_seconds(times, name)
    if tolerance is not None and not tolerance >= 0:
        raise ArgumentError(f"tolerance is in seconds, at least 0, got {tolerance!r}")
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


def nearest_frames(times: Seconds, begins: Seconds) -> Frames:
    """Number of the nearest of ascending times; in the middle between two, the later one."""
    before = np.maximum(begins.searchsorted(times, side="right") - 1, 0)
    after = np.minimum(before + 1, len(begins) - 1)
    later = begins[after] - times <= times - begins[before] + NANOSECOND
    return _last_of_equals(begins, np.where(later, after, before))


def _find(
    begins: Seconds, end: float, times: Seconds, time_base: Fraction, *, nearest: bool
) -> Frames:
    """Places among the frames in order of time: -1 before the first, their number past the last."""
    if not len(begins):
        return np.full(times.shape, -1, dtype=np.int64)
    tick = time_base.numerator / time_base.denominator
    places = nearest_frames(times, begins) if nearest else _on_screen(times, begins, tick)
    if not ((times < begins[0]) | (times >= end)).any():
        return places
    windows = _windows(np.array([0, len(begins) - 1]), begins, tick)
    places[times < begins[0] - windows[0]] = -1
    # A last frame of unknown duration is on screen at its own time at least.
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
    """Seconds before its start from which each frame is given."""
    starts = begins[places]
    earlier = begins.searchsorted(starts, side="left") - 1
    later = begins.searchsorted(starts, side="right")
    # No frame is before the first: its own duration takes that place, if there is a next frame.
    own = np.where(later < len(begins), begins[later.clip(max=len(begins) - 1)], np.inf) - starts
    limit = _LARGEST_PART * np.where(earlier < 0, own, starts - begins[earlier])
    return np.minimum(_widest(starts, tick), limit)


def _widest(starts: Seconds, tick: float) -> Seconds:
    """Seconds before its start from which a frame behind a long one is given."""
    return np.maximum(_TICKS * tick, _SECONDS + _RELATIVE * np.abs(starts))


def _last_of_equals(begins: Seconds, places: Frames) -> Frames:
    last: Frames = begins.searchsorted(begins[places], side="right") - 1
    return last


def _describe(video: FrameTimes, time: float, tolerance: float) -> str:
    """Why no frame is near enough to a time."""
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


def _as_seconds(times: ArrayLike, name: str) -> Seconds:
    try:
        wanted = np.asarray(times, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name}: times are numbers, in seconds, got {times!r}") from error
    if not np.isfinite(wanted).all():
        raise ArgumentError(f"{name}: time {wanted[~np.isfinite(wanted)][0]} is not finite")
    return wanted
