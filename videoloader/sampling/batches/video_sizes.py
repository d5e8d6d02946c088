"""`VideoSizes`: sizes, lengths and rates of the videos of a data set, and which clips fit them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.sampling.clips import RandomClip, UniformClip
from videoloader.sampling.sampler import ClipSampler
from videoloader.sampling.times import NANOSECOND

_PART = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class VideoSizes:
    """Size, length and rate of each of N videos: columns of a data set index.

    Attributes:
        heights: rows of pixels as displayed, rotation applied, (N,).
        widths: columns of pixels, (N,).
        num_frames: of each video, (N,).
        fps: average frames a second, 0 if unknown, (N,).

    >>> sizes = VideoSizes(*np.array([[480, 720], [640, 1280], [90, 300]]), np.array([30.0, 25.0]))
    >>> len(sizes), sizes.describe(1)
    (2, '720x1280 (height x width), 300 frames, 25 fps')
    """

    heights: NDArray[np.int32]
    widths: NDArray[np.int32]
    num_frames: NDArray[np.int64]
    fps: NDArray[np.float64]

    def __post_init__(self) -> None:
        shapes = {each.shape for each in (self.heights, self.widths, self.num_frames, self.fps)}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise ArgumentError(f"sizes of videos are four arrays of one length, got {shapes}")

    def __len__(self) -> int:
        return len(self.num_frames)

    def parts(self) -> Iterator[tuple[slice, VideoSizes]]:
        """Slices of the videos, so that arithmetic on millions takes little memory."""
        for begin in range(0, len(self), _PART):
            part = slice(begin, begin + _PART)
            sides = self.heights[part], self.widths[part]
            yield part, VideoSizes(*sides, self.num_frames[part], self.fps[part])

    def take(self, numbers: NDArray[np.int64]) -> VideoSizes:
        """The sizes of some videos."""
        sides = self.heights[numbers], self.widths[numbers]
        return VideoSizes(*sides, self.num_frames[numbers], self.fps[numbers])

    def describe(self, video: int) -> str:
        """Size and length of a video, for messages."""
        return (
            f"{self.heights[video]}x{self.widths[video]} (height x width), "
            f"{self.num_frames[video]} frames, {self.fps[video]:.4g} fps"
        )


def frames_offered(sampler: ClipSampler, videos: VideoSizes) -> NDArray[np.int64]:
    """The maximum frames of a clip of each video that does not extend past its end.

    At a target rate, this is the number of times on a grid that begins with the first frame; 0 if
    the rate of a video is unknown. `count` of the sampler is ignored.

    >>> sizes = VideoSizes(*(np.full(1, value) for value in (90, 160, 50, 25.0)))
    >>> frames_offered(RandomClip(16, fps=8), sizes), frames_offered(RandomClip(16, 4), sizes)
    (array([16]), array([13]))
    """
    sampler = check_length_varies(sampler)
    lengths = videos.num_frames
    if isinstance(sampler, UniformClip):
        return lengths
    if sampler.fps is None:
        return (lengths - 1) // sampler.stride + 1
    known = videos.fps > 0
    fps = np.where(known, videos.fps, 1.0)
    if sampler.timing == "times":
        fitting = (lengths / fps - NANOSECOND) * sampler.fps
    else:  # frame floor(i * fps / rate + 0.5) is inside the video
        fitting = (lengths - 0.5) * (sampler.fps / fps)
    return np.where(known, np.maximum(np.ceil(fitting), 0), 0).astype(np.int64)


def with_count(sampler: ClipSampler, count: int) -> ClipSampler:
    """The same sampler for clips of `count` frames."""
    return replace(check_length_varies(sampler), count=count)


def check_length_varies(sampler: ClipSampler) -> RandomClip | UniformClip:
    """Return the sampler if its clips can have any number of frames.

    Raises:
        ArgumentError: they cannot.
    """
    is_uniform = isinstance(sampler, UniformClip) and sampler.count is not None
    if isinstance(sampler, RandomClip) or is_uniform:
        return sampler  # type: ignore[return-value]
    raise ArgumentError(
        "buckets and packs take clips of several lengths: RandomClip(count, ...) or "
        f"UniformClip(count); got {sampler!r}"
    )
