"""`Timeline`: when the frames of a video are shown, for samplers that go by time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.errors import ArgumentError
from videoloader.sampling.times import NANOSECOND, nearest_frames

__all__ = ["Timeline"]


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """When each frame begins, when the last one ends, and how long one lasts on average.

    In seconds. Times that differ by less than a nanosecond count as equal.
    """

    begins: NDArray[np.float64]
    end: float
    period: float

    @classmethod
    def of(cls, num_frames: int, fps: float | None, boundaries: ArrayLike | None) -> Timeline:
        """The times of `num_frames` frames.

        Args:
            num_frames: at least 1.
            fps: average frame rate; taken for a constant one without `boundaries`.
            boundaries: when each frame begins, ascending, and when the last one ends; where they
                say nothing because all are equal, `fps` is used.
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
        # A last frame of unknown duration is on screen as long as an average one.
        return cls(begins, end if end > begins[-1] else end + period, period)

    @property
    def begin(self) -> float:
        """When the first frame begins."""
        return float(self.begins[0])

    def time(self, frame: int) -> float:
        """When a frame from the first on begins; behind the end frames have average duration."""
        if frame < len(self.begins):
            return float(self.begins[frame])
        return self.end + (frame - len(self.begins)) * self.period

    def frames(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Number of the nearest frame to each time from the first frame on.

        From the end of the video on, frames are counted as if more of average duration came.
        """
        after = (times - self.end + NANOSECOND) / self.period
        beyond = len(self.begins) + np.floor(after + 0.5).astype(np.int64)
        return np.where(after >= 0, beyond, nearest_frames(times, self.begins))

    def num_starts(self, span: float) -> int:
        """Frames from the first on that a clip of so many seconds fits from."""
        return int(np.searchsorted(self.begins, self.end - span - NANOSECOND))

    def start(self, span: float, low: float, high: float, rng: np.random.Generator | None) -> float:
        """When a clip begins: with a frame, so that its first and last time are within a range.

        Args:
            span: seconds from the first to the last time of the clip.
            low: first time of the range, where the clip begins if it fits nowhere.
            high: end of the range, exclusive.
            rng: what the frame is drawn with; without one it is the one in the middle of the time.
        """
        first, last = np.searchsorted(self.begins, [low - NANOSECOND, high - span - NANOSECOND])
        starts = self.begins[first:last]
        if not len(starts):
            return low
        if rng is not None:
            return float(starts[rng.integers(len(starts))])
        middle = (starts[0] + starts[-1]) / 2 + NANOSECOND
        return float(starts[np.searchsorted(starts, middle, side="right") - 1])
