"""Clip samplers: values that say which frames of a video make up its clips.

Every sampler has `frames(num_frames, fps=, rng=)`, which gives frame numbers in presentation
order. They may lie past the end of a short video; the pad mode of whoever decodes decides what
stands there. Nothing here remembers anything: the same arguments and generator, the same clip.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError

__all__ = ["ClipSampler", "DenseClips", "RandomClip", "SegmentClip", "UniformClip"]

Frames = NDArray[np.int64]


@runtime_checkable
class ClipSampler(Protocol):
    """What every clip sampler offers."""

    def frames(
        self,
        num_frames: int,
        *,
        fps: float | None = None,
        rng: np.random.Generator | None = None,
    ) -> Frames:
        """Frame numbers of the clip, shape (F,), or of all clips, shape (clips, F).

        Args:
            num_frames: frames in the video, at least 1.
            fps: average frame rate of the video, needed where the sampler has a target rate.
            rng: what a random sampler draws from; without one it takes the middle choice.
        """
        ...


@dataclass(frozen=True, slots=True)
class RandomClip:
    """`count` frames, `stride` apart or at a target rate, from a random start.

    Every start at which the clip fits is equally likely. A video shorter than the clip is taken
    from its first frame. Without a generator the clip is the one in the middle.

    >>> RandomClip(count=3, stride=2).frames(9)
    array([2, 4, 6])
    """

    count: int
    stride: int = 1
    fps: float | None = None

    def __post_init__(self) -> None:
        _check_count(self.count)
        _check_rate(self.stride, self.fps)

    def frames(
        self,
        num_frames: int,
        *,
        fps: float | None = None,
        rng: np.random.Generator | None = None,
    ) -> Frames:
        """Frame numbers, shape (count,)."""
        _check_num_frames(num_frames)
        offsets = _offsets(self.count, self.stride, self.fps, fps)
        return offsets + _pick(max(num_frames - int(offsets[-1]), 1), rng)


@dataclass(frozen=True, slots=True)
class UniformClip:
    """`count` frames spread over the whole video, or as many as a target rate gives.

    `rule="ends"` takes the first and the last frame and rounds in between, as DALI's
    `uniform_sample` does: floor(i (N - 1) / (L - 1) + 0.5). `rule="centers"` takes the centre of
    each of `count` equal segments: floor((i + 0.5) N / L). A video with fewer frames repeats some.

    >>> UniformClip(4).frames(10)
    array([0, 3, 6, 9])
    >>> UniformClip(4, rule="centers").frames(10)
    array([1, 3, 6, 8])
    """

    count: int | None = None
    rule: Literal["ends", "centers"] = "ends"
    fps: float | None = None

    def __post_init__(self) -> None:
        if (self.count is None) == (self.fps is None):
            raise ArgumentError("give either count or fps to UniformClip")
        if self.count is not None:
            _check_count(self.count)
        _check_rate(1, self.fps)
        if self.rule not in ("ends", "centers"):
            raise ArgumentError(f'rule must be "ends" or "centers", got {self.rule!r}')

    def frames(
        self,
        num_frames: int,
        *,
        fps: float | None = None,
        rng: np.random.Generator | None = None,  # noqa: ARG002  (the protocol of all samplers)
    ) -> Frames:
        """Frame numbers, shape (count,)."""
        _check_num_frames(num_frames)
        count = self.count
        if count is None:
            count = max(1, round(num_frames / _step(self.fps, fps)))
        position = np.arange(count, dtype=np.int64)
        if self.rule == "centers":
            return (2 * position + 1) * num_frames // (2 * count)
        if count == 1:
            return position
        return (2 * position * (num_frames - 1) + count - 1) // (2 * (count - 1))


@dataclass(frozen=True, slots=True)
class DenseClips:
    """Every clip of `count` frames, one beginning each `step` frames; by default end to end.

    `partial` keeps one last clip that reaches past the end of the video; otherwise only clips
    that fit are given, which may be none.

    >>> DenseClips(count=3, step=2).frames(6)
    array([[0, 1, 2],
           [2, 3, 4]])
    """

    count: int
    stride: int = 1
    step: int | None = None
    fps: float | None = None
    partial: bool = False

    def __post_init__(self) -> None:
        _check_count(self.count)
        _check_rate(self.stride, self.fps)
        if self.step is not None and self.step < 1:
            raise ArgumentError(f"step must be at least 1, got {self.step}")

    def frames(
        self,
        num_frames: int,
        *,
        fps: float | None = None,
        rng: np.random.Generator | None = None,  # noqa: ARG002  (the protocol of all samplers)
    ) -> Frames:
        """Frame numbers, shape (clips, count)."""
        _check_num_frames(num_frames)
        offsets = _offsets(self.count, self.stride, self.fps, fps)
        span = int(offsets[-1]) + 1
        step = span if self.step is None else self.step
        fitting = max(0, (num_frames - span) // step + 1)
        # What remains is one more clip, unless the last one that fits already ends the video.
        covered = (fitting - 1) * step + span if fitting else 0
        clips = fitting + (self.partial and fitting * step < num_frames and covered < num_frames)
        starts: Frames = step * np.arange(clips, dtype=np.int64)
        return starts[:, None] + offsets


@dataclass(frozen=True, slots=True)
class SegmentClip:
    """A snippet of `length` frames out of each of `segments` equal parts of the video.

    This is the sampling of temporal segment networks (Wang et al., ECCV 2016, section 3.1): at a
    random place of each part, or in its middle without a generator or with `center`.

    >>> SegmentClip(3).frames(9)
    array([1, 4, 7])
    """

    segments: int
    length: int = 1
    stride: int = 1
    fps: float | None = None
    center: bool = False

    def __post_init__(self) -> None:
        _check_count(self.segments)
        _check_count(self.length)
        _check_rate(self.stride, self.fps)

    def frames(
        self,
        num_frames: int,
        *,
        fps: float | None = None,
        rng: np.random.Generator | None = None,
    ) -> Frames:
        """Frame numbers, shape (segments * length,), segment after segment."""
        _check_num_frames(num_frames)
        offsets = _offsets(self.length, self.stride, self.fps, fps)
        edges = np.arange(self.segments + 1, dtype=np.int64) * num_frames // self.segments
        room = np.maximum(np.diff(edges) - offsets[-1], 1)
        draw = None if self.center else rng
        starts: Frames = (room - 1) // 2 if draw is None else draw.integers(room)
        frames: Frames = ((edges[:-1] + starts)[:, None] + offsets).reshape(-1)
        return frames


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


def _check_count(count: int) -> None:
    if count < 1:
        raise ArgumentError(f"a clip has at least 1 frame, got {count}")


def _check_num_frames(num_frames: int) -> None:
    if num_frames < 1:
        raise ArgumentError(f"cannot sample from a video of {num_frames} frames")


def _check_rate(stride: int, fps: float | None) -> None:
    if stride < 1:
        raise ArgumentError(f"stride must be at least 1, got {stride}")
    if fps is not None and (fps <= 0 or stride != 1):
        raise ArgumentError(f"give a stride or a positive fps, got stride={stride}, fps={fps}")
