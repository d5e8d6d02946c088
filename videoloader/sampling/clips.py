"""Clip samplers: values that say which frames of a video make up its clips; see `ClipSampler`.

A sampler with a target rate makes a grid of times, 1/rate seconds apart, and selects for each the
frame with the nearest presentation time (of two at equal distance, the later). So its clips are
evenly spaced in time even if the frames of the video are not. `timing="frames"` uses frame numbers
instead, as if all frames had the average duration.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.errors import ArgumentError
from videoloader.machinery.system.checks import one_of, real_number, whole_number
from videoloader.machinery.system.spelling import suggests_names
from videoloader.sampling.sampler import Frames
from videoloader.sampling.timeline import Timeline

_MOST_FRAMES = 1 << 24  # of a clip: 155 hours at 30 a second

Timing = Literal["times", "frames"]


class _Sampler:
    """Samplers by frame numbers or, at a target rate, by the times of the frames."""

    __slots__ = ()

    fps: float | None
    timing: Timing

    def frames(
        self,
        num_frames: int,
        *,
        fps: float | None = None,
        rng: np.random.Generator | None = None,
        boundaries: ArrayLike | None = None,
    ) -> Frames:
        """Frame numbers of the clip, or of all clips; for the arguments see `ClipSampler`."""
        if num_frames < 1:
            raise ArgumentError(f"cannot sample from a video of {num_frames} frames")
        if self.fps is not None and self.timing == "times":
            return self._by_time(Timeline.of(num_frames, fps, boundaries), self.fps, rng)
        return self._by_number(num_frames, fps, rng)

    def _by_time(self, line: Timeline, rate: float, rng: np.random.Generator | None) -> Frames:
        raise NotImplementedError

    def _by_number(
        self, num_frames: int, fps: float | None, rng: np.random.Generator | None
    ) -> Frames:
        raise NotImplementedError


@suggests_names
@dataclass(frozen=True, slots=True)
class RandomClip(_Sampler):
    """`count` frames, `stride` apart or at a target rate, from a random start.

    All starts at which the clip fits are equally likely. In a video shorter than the clip, the
    clip starts at the first frame. Without a generator, the clip is in the middle.

    >>> RandomClip(count=3, stride=2).frames(9)
    array([2, 4, 6])
    """

    count: int
    stride: int = 1
    fps: float | None = None
    timing: Timing = "times"

    def __post_init__(self) -> None:
        _check_count(self.count)
        _check_rate(self.stride, self.fps, self.timing)

    def _by_time(self, line: Timeline, rate: float, rng: np.random.Generator | None) -> Frames:
        steps = _steps(self.count, rate)
        return line.frames(line.start(steps[-1], line.begin, line.end, rng) + steps)

    def _by_number(
        self, num_frames: int, fps: float | None, rng: np.random.Generator | None
    ) -> Frames:
        offsets = _offsets(self.count, self.stride, self.fps, fps)
        return offsets + _pick(max(num_frames - int(offsets[-1]), 1), rng)


@suggests_names
@dataclass(frozen=True, slots=True)
class UniformClip(_Sampler):
    """`count` frames spread over the whole video, or as many as a target rate gives.

    `rule="ends"` takes the first and the last frame and rounds in between, as DALI's
    `uniform_sample` does: floor(i (N - 1) / (L - 1) + 0.5). `rule="centers"` takes the centre of
    each of `count` equal segments: floor((i + 0.5) N / L). A video with fewer frames repeats some.

    At a target rate there are duration * rate frames, rounded, at least one. Their times are
    1/rate apart; with `ends` they begin with the first frame, with `centers` the remaining time is
    equal on both sides.

    >>> UniformClip(4).frames(10)
    array([0, 3, 6, 9])
    >>> UniformClip(4, rule="centers").frames(10)
    array([1, 3, 6, 8])
    """

    count: int | None = None
    rule: Literal["ends", "centers"] = "ends"
    fps: float | None = None
    timing: Timing = "times"

    def __post_init__(self) -> None:
        if (self.count is None) == (self.fps is None):
            raise ArgumentError("give either count or fps to UniformClip")
        if self.count is not None:
            _check_count(self.count)
        _check_rate(1, self.fps, self.timing)
        one_of("rule", self.rule, ("ends", "centers"))

    def _by_number(
        self, num_frames: int, fps: float | None, _: np.random.Generator | None
    ) -> Frames:
        count = self.count
        if count is None:
            count = max(1, round(num_frames / _step(self.fps, fps)))
        position = np.arange(count, dtype=np.int64)
        if self.rule == "centers":
            return (2 * position + 1) * num_frames // (2 * count)
        if count == 1:
            return position
        return (2 * position * (num_frames - 1) + count - 1) // (2 * (count - 1))

    def _by_time(self, line: Timeline, rate: float, _: np.random.Generator | None) -> Frames:
        duration = line.end - line.begin
        steps = _steps(max(1, round(duration * rate)), rate)
        before = (duration - steps[-1]) / 2 if self.rule == "centers" else 0
        return line.frames(line.begin + before + steps)


@suggests_names
@dataclass(frozen=True, slots=True)
class DenseClips(_Sampler):
    """All clips of `count` frames that start `step` frames apart; by default contiguous.

    `partial` keeps one last clip that extends past the end of the video: the pad mode decides what
    these frames show, and their `mask` is False. Otherwise there are only clips that fit, possibly
    none. Clips at a target rate also start at a frame.

    >>> DenseClips(count=3, step=2).frames(6)
    array([[0, 1, 2],
           [2, 3, 4]])
    """

    count: int
    stride: int = 1
    step: int | None = None
    fps: float | None = None
    partial: bool = False
    timing: Timing = "times"

    def __post_init__(self) -> None:
        _check_count(self.count)
        _check_rate(self.stride, self.fps, self.timing)
        if self.step is not None:
            whole_number("step", self.step, least=1)

    def _by_number(
        self, num_frames: int, fps: float | None, _: np.random.Generator | None
    ) -> Frames:
        offsets = _offsets(self.count, self.stride, self.fps, fps)
        span = int(offsets[-1]) + 1
        step = span if self.step is None else self.step
        clips = count_even(np.int64(num_frames), span, step, partial=self.partial)
        starts: Frames = step * np.arange(clips, dtype=np.int64)
        return starts[:, None] + offsets

    def _by_time(self, line: Timeline, rate: float, _: np.random.Generator | None) -> Frames:
        num_frames, steps = len(line.begins), _steps(self.count, rate)
        after = line.frames(line.begins + steps[-1]) + 1  # of the last frame of each clip
        starts: list[int] = []
        start = covered = 0
        while start < num_frames and after[start] <= num_frames:
            starts.append(start)
            covered = int(after[start])
            start = covered if self.step is None else start + self.step
        if self.partial and start < num_frames and covered < num_frames:
            starts.append(start)
        return line.frames(line.begins[starts][:, None] + steps)


def count_even(num_frames: Any, span: int, step: int, *, partial: bool) -> Any:
    """Clips of `span` frames that start `step` apart, see `DenseClips`.

    Args:
        num_frames: of a video, or of each of many; numbers or arrays of NumPy.
        span: frames from the first to the last of a clip.
        step: frames from one start to the next.
        partial: keep one that extends past the end.
    """
    fitting = np.maximum((num_frames - span) // step + 1, 0)
    # The remainder is one more clip, unless the last clip that fits ends with the video.
    covered = np.where(fitting > 0, (fitting - 1) * step + span, 0)
    return fitting + (partial & (fitting * step < num_frames) & (covered < num_frames))


@suggests_names
@dataclass(frozen=True, slots=True)
class EvenClips(_Sampler):
    """`clips` clips of `count` frames, spread evenly over the video: views for testing.

    If a clip fits at N starts, clip i has start number floor(i (N - 1) / (clips - 1) + 0.5): the
    first clip begins with the video, the last one ends with it; a single clip is in the middle. In
    a short video they overlap; in a video shorter than a clip, all start at the first frame.

    >>> EvenClips(3, count=4).frames(10)
    array([[0, 1, 2, 3],
           [3, 4, 5, 6],
           [6, 7, 8, 9]])
    """

    clips: int
    count: int
    stride: int = 1
    fps: float | None = None
    timing: Timing = "times"

    def __post_init__(self) -> None:
        whole_number("clips", self.clips, least=1)
        _check_count(self.count)
        _check_rate(self.stride, self.fps, self.timing)

    def _by_time(self, line: Timeline, rate: float, _: np.random.Generator | None) -> Frames:
        steps = _steps(self.count, rate)
        starts = self._starts(line.num_starts(steps[-1]))
        return line.frames(line.begins[starts][:, None] + steps)

    def _by_number(
        self, num_frames: int, fps: float | None, _: np.random.Generator | None
    ) -> Frames:
        offsets = _offsets(self.count, self.stride, self.fps, fps)
        return self._starts(num_frames - int(offsets[-1]))[:, None] + offsets

    def _starts(self, fitting: int) -> Frames:
        """The first frame of each clip, if a clip fits at the first so many frames."""
        last = max(fitting, 1) - 1
        if self.clips == 1:
            return np.array([last // 2])
        places = np.arange(self.clips, dtype=np.int64)
        starts: Frames = (2 * places * last + self.clips - 1) // (2 * (self.clips - 1))
        return starts


@suggests_names
@dataclass(frozen=True, slots=True)
class SegmentClip(_Sampler):
    """A snippet of `length` frames from each of `segments` equal parts of the video.

    This is the sampling of temporal segment networks (Wang et al., ECCV 2016, section 3.1): at a
    random position in each part, or in its middle without a generator or with `center`. At a
    target rate the parts are equal in time; a snippet that fits at no frame of its part starts at
    the beginning of the part. The frame numbers, (segments * length,), are segment after segment.

    >>> SegmentClip(3).frames(9)
    array([1, 4, 7])
    """

    segments: int
    length: int = 1
    stride: int = 1
    fps: float | None = None
    center: bool = False
    timing: Timing = "times"

    def __post_init__(self) -> None:
        _check_count(self.segments, "segments")
        _check_count(self.length, "length")
        _check_rate(self.stride, self.fps, self.timing)

    def _by_number(
        self, num_frames: int, fps: float | None, rng: np.random.Generator | None
    ) -> Frames:
        offsets = _offsets(self.length, self.stride, self.fps, fps)
        edges = np.arange(self.segments + 1, dtype=np.int64) * num_frames // self.segments
        room = np.maximum(np.diff(edges) - offsets[-1], 1)
        starts: Frames = (room - 1) // 2 if self.center or rng is None else rng.integers(room)
        frames: Frames = ((edges[:-1] + starts)[:, None] + offsets).reshape(-1)
        return frames

    def _by_time(self, line: Timeline, rate: float, rng: np.random.Generator | None) -> Frames:
        draw = None if self.center else rng
        steps = _steps(self.length, rate)
        edges = np.linspace(line.begin, line.end, self.segments + 1).tolist()
        starts = [line.start(steps[-1], low, high, draw) for low, high in pairwise(edges)]
        return line.frames((np.array(starts)[:, None] + steps).reshape(-1))


def _steps(count: int, rate: float) -> NDArray[np.float64]:
    """Times of a grid in seconds, relative to its first."""
    return np.arange(count) / rate


def _offsets(count: int, stride: int, target: float | None, fps: float | None) -> Frames:
    position = np.arange(count, dtype=np.int64)
    if target is None:
        return position * stride
    frames: Frames = np.floor(position * _step(target, fps) + 0.5).astype(np.int64)
    return frames


def _step(target: float | None, fps: float | None) -> float:
    if fps is None or fps <= 0 or target is None:
        raise ArgumentError(f"a sampler with fps={target} needs the frame rate of the video")
    return float(fps) / target


def _pick(choices: int, rng: np.random.Generator | None) -> int:
    return (choices - 1) // 2 if rng is None else int(rng.integers(choices))


def _check_count(count: int, name: str = "count") -> None:
    whole_number(name, count, least=1)
    check_length(count)


def check_length(count: int) -> None:
    """Refuse a clip with so many frames that their numbers would fill the memory.

    Raises:
        ArgumentError: it has more frames than allowed.
    """
    if count > _MOST_FRAMES:
        raise ArgumentError(f"a clip has at most {_MOST_FRAMES} frames, got {count}")


def _check_rate(stride: int, fps: float | None, timing: str) -> None:
    one_of("timing", timing, get_args(Timing))
    whole_number("stride", stride, least=1)
    if fps is not None:
        real_number("fps", fps, above=0)
        if stride != 1:
            raise ArgumentError(f"give stride or fps, not both (stride={stride}, fps={fps})")
