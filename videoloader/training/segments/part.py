"""`Part`: one segment, as worker processes get it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FrameRangeError
from videoloader.indexing.index import VideoIndex
from videoloader.sampling.times import ranges_between
from videoloader.training.segments.rows import Unit


class Part(NamedTuple):
    """A part of a video.

    Attributes:
        row: of the table of segments.
        video: row of the video in its data set index, or its number in a list.
        begin, end: in the unit; infinite where it begins or ends with the video.
        unit: see `Segments`.
    """

    row: int
    video: int
    begin: float
    end: float
    unit: Unit

    def frames(self, index: VideoIndex) -> tuple[int, int]:
        """First frame and end (exclusive).

        Raises:
            FrameRangeError: the video has become shorter.
        """
        limits = np.array([self.begin]), np.array([self.end])
        (start,), (stop,) = frame_ranges(*limits, index, unit=self.unit)
        if start >= stop:
            raise FrameRangeError(
                f"{index.name}: has no frame of the segment from {self.begin:g} to {self.end:g} "
                f"({self.unit})"
            )
        return int(start), int(stop)


def frame_ranges(
    begins: NDArray[np.float64], ends: NDArray[np.float64], index: VideoIndex, *, unit: Unit
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First frame and end (exclusive) of parts of one video; the same for parts without a frame."""
    if unit == "frames":
        firsts, stops = (each.clip(0, index.num_frames) for each in (begins, ends))
        return firsts.astype(np.int64), stops.astype(np.int64)
    low, high = index.boundaries[0], index.boundaries[-1] + 1
    if unit == "seconds":  # from the first frame
        begins, ends = begins + low, ends + low
    return ranges_between(begins.clip(low, high), ends.clip(low, high), index, name=index.name)
