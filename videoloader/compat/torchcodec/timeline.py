"""When the frames of a video are shown, in torchcodec's arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.indexing.index import VideoIndex

__all__ = ["Timeline"]


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The times of all frames in seconds.

    Attributes:
        begins: when each frame is first shown.
        durations: for how long; up to the next frame where the container does not say.
        begin: when the first frame is first shown.
        end: when the last one ends.
    """

    begins: NDArray[np.float64]
    durations: NDArray[np.float64]
    begin: float
    end: float

    @classmethod
    def of(cls, index: VideoIndex) -> Timeline:
        """The times that an index has."""
        begins = index.boundaries[:-1]
        base = index.time_base
        ticks = _durations(index)
        last = int((np.sort(index.pts) + ticks).max(initial=0))
        end = last * base.numerator / base.denominator
        durations = ticks * float(base.numerator) / base.denominator
        return cls(begins, durations, float(begins.min(initial=end)), end)

    def at(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Frames on screen at times inside the video: the last that begins at or before each."""
        return np.searchsorted(self.begins[1:], times, side="right").astype(np.int64)

    def between(self, start: float, stop: float) -> NDArray[np.int64]:
        """Frames on screen at some time from `start` to before `stop`."""
        if start == stop:
            return np.empty(0, np.int64)
        first = int(self.at(np.array([start]))[0])
        return np.arange(first, int(np.searchsorted(self.begins, stop, side="left")))


def _durations(index: VideoIndex) -> NDArray[np.int64]:
    told = index.packets["duration"][index.frame_packets].astype(np.int64)
    gaps = np.diff(index.pts)
    if (told > 0).all() or not len(gaps):
        return told.clip(0)
    return np.where(told > 0, told, np.append(gaps, gaps[-1])).clip(0)
