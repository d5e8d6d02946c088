"""`VideoSizes`: sizes, lengths and rates of the videos of a data set, for batch plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError

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
