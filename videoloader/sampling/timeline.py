"""`Timeline`: presentation times of the frames of a video, for samplers that use times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.errors import ArgumentError
from videoloader.sampling.times import NANOSECOND, nearest_frames


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Start of each frame, end of the last, and average duration, in seconds.

    Times that differ by less than a nanosecond count as equal.
    """

    begins: NDArray[np.float64]
    end: float
    period: float

    @classmethod
    def of(cls, num_frames: int, fps: float | None, boundaries: ArrayLike | None) -> Timeline:
        """The times of `num_frames` frames.

        Args:
            num_frames: at least 1.
            fps: average frame rate; assumed to be constant without `boundaries`.
            boundaries: start of each frame, ascending, and end of the last; if all are equal,
                `fps` is used instead.
        """
        given = None if boundaries is None else np.asarray(boundaries, dtype=np.float64)
        if given is not None and given.shape != (num_frames + 1,):
            raise ArgumentError(
                f"boundaries of {num_frames} frames are {num_frames + 1} times, got {given.shape}"
            )
        if given is None or given[-1] <= given[0]:
            if fps is None or not fps > 0:
                raise ArgumentError("a sampler with fps= needs the times of the frames or the rate")
            given = np.arange(num_frames + 1) / fps
        begins, end = given[:-1], float(given[-1])
        period = 1 / fps if fps else (end - float(begins[0])) / num_frames
        # A last frame of unknown duration gets the average duration.
        return cls(begins, end if end > begins[-1] else end + period, period)

    @property
    def begin(self) -> float:
        """Start of the first frame."""
        return float(self.begins[0])

    def time(self, frame: int) -> float:
        """Start of a frame (at least 0); past the end, frames have average duration."""
        if frame < len(self.begins):
            return float(self.begins[frame])
        return self.end + (frame - len(self.begins)) * self.period

    def frames(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Number of the nearest frame to each time; times must not be before the first frame.

        Past the end of the video, frames are counted as if they continued with average duration.
        """
        after = (times - self.end + NANOSECOND) / self.period
        beyond = len(self.begins) + np.floor(after + 0.5).astype(np.int64)
        return np.where(after >= 0, beyond, nearest_frames(times, self.begins))

    def num_starts(self, span: float) -> int:
        """Number of frames, from the first on, at which a clip of so many seconds fits."""
        return int(np.searchsorted(self.begins, self.end - span - NANOSECOND))

    def start(self, span: float, low: float, high: float, rng: np.random.Generator | None) -> float:
        """Start time of a clip at a frame, chosen so that all its times are in a range.

        Args:
            span: seconds from the first to the last time of the clip.
            low: first time of the range; the clip starts there if it fits nowhere.
            high: end of the range, exclusive.
            rng: random generator; without one, the start is the middle one in time.
        """
        first, last = np.searchsorted(self.begins, [low - NANOSECOND, high - span - NANOSECOND])
        starts = self.begins[first:last]
        if not len(starts):
            return low
        if rng is not None:
            return float(starts[rng.integers(len(starts))])
        middle = (starts[0] + starts[-1]) / 2 + NANOSECOND
        return float(starts[np.searchsorted(starts, middle, side="right") - 1])
