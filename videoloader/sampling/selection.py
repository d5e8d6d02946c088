"""Frame numbers selected by start, stop, count, and stride or rate; or replaced by keyframes."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.machinery.system.checks import one_of, whole_number
from videoloader.sampling.clips import check_length
from videoloader.sampling.sampler import SampledVideo
from videoloader.sampling.timeline import Timeline
from videoloader.sampling.times import NANOSECOND

Snap: TypeAlias = Literal["none", "keyframe"]
SNAPS = ("none", "keyframe")


def select_frames(
    *,
    num_frames: int,
    start: int = 0,
    stop: int | None = None,
    stride: int = 1,
    count: int | None = None,
) -> NDArray[np.int64]:
    """Frame numbers start, start + stride, ... before `stop`, or exactly `count` of them.

    Numbers may be outside the video: see `pad_frames`. A negative stride plays backwards, by
    default to the first frame.

    Args:
        num_frames: frames in the video.
        start: first frame.
        stop: end, exclusive; by default the end of the video in the direction of the stride.
        stride: step, not 0.
        count: number of frames, instead of `stop`.

    >>> select_frames(num_frames=10, start=1, stride=4)
    array([1, 5, 9])
    >>> select_frames(num_frames=10, start=8, stride=3, count=3)
    array([ 8, 11, 14])
    >>> select_frames(num_frames=10, start=2, stride=-1)
    array([2, 1, 0])
    """
    for name, value in (("start", start), ("stop", stop), ("stride", stride), ("count", count)):
        if value is not None:
            whole_number(name, value, least=0 if name == "count" else None)
    if stride == 0:
        raise ArgumentError("stride must not be 0")
    if count is None:
        end = (num_frames if stride > 0 else -1) if stop is None else stop
        return np.arange(start, end, stride, dtype=np.int64)
    if stop is not None:
        raise ArgumentError(f"give stop or count, not both (stop={stop}, count={count})")
    check_length(count)
    return start + stride * np.arange(count, dtype=np.int64)


def select_at_rate(
    video: SampledVideo,
    fps: float,
    *,
    start: int = 0,
    stop: int | None = None,
    count: int | None = None,
) -> NDArray[np.int64]:
    """The frames nearest to times 1 / fps apart, from the time of frame `start` on.

    Past the end of the video, frames are counted as if they continued with average duration.

    Args:
        video: its index.
        fps: target rate, above 0.
        start: first frame, at least 0; it may be past the end.
        stop: end, exclusive: all times are before that of this frame; by default that of the video.
        count: number of frames, instead of `stop`.

    >>> from videoloader import index_video
    >>> index = index_video("clip.mp4")  # 30 frames a second
    >>> select_at_rate(index, 10, start=30, count=4)
    array([30, 33, 36, 39])
    """
    num_frames = video.num_frames
    if not num_frames:
        return np.empty(0, dtype=np.int64)
    line = Timeline.of(num_frames, float(video.average_fps) or None, video.boundaries)
    begin = line.time(start)
    if count is not None:
        check_length(count)
        return line.frames(begin + np.arange(count) / fps)
    stop = num_frames if stop is None else stop
    span = max(line.time(stop) - begin - NANOSECOND, 0.0)
    frames = line.frames(begin + np.arange(np.ceil(span * fps)) / fps)
    return np.minimum(frames, stop - 1)


def clip_span(count: int, stride: int) -> int:
    """Frames from the first to the last of a clip, both included.

    >>> clip_span(16, 4)
    61
    """
    return 1 + (count - 1) * abs(stride)


def check_snap(snap: str) -> None:
    """Raise unless `snap` is one of `SNAPS`.

    >>> check_snap("keyframes")
    Traceback (most recent call last):
    videoloader.errors.ArgumentError: snap must be one of none, keyframe, got 'keyframes'
    """
    one_of("snap", snap, SNAPS)


def snap_to_keyframes(
    frames: NDArray[np.int64], keyframes: NDArray[np.int64], name: str = "video"
) -> NDArray[np.int64]:
    """The last keyframe at or before each frame; before the first keyframe, that one.

    Args:
        frames: frame numbers inside the video; -1 (a filled frame) is unchanged.
        keyframes: frame numbers of the keyframes, ascending.
        name: of the video, for errors.

    Raises:
        ArgumentError: the video has no keyframes.

    >>> snap_to_keyframes(np.array([0, 11, 12, 30, -1]), np.array([0, 12, 24]))
    array([ 0,  0, 12, 24, -1])
    """
    if not len(keyframes):
        raise ArgumentError(f'{name}: no frame is a keyframe; use snap="none"')
    places = np.searchsorted(keyframes, frames, side="right") - 1
    return np.where(frames < 0, frames, keyframes[places.clip(0)])
