"""Many clips of many videos as the fewest runs: what several clips want is decoded once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.indexing.index import VideoIndex
from videoloader.sampling import FILLED, Run, plan_runs

__all__ = ["ClipFrames", "MergedRun", "Want", "merge_runs"]

Want: TypeAlias = tuple[int, int, int]
"""A place to fill: a frame number, the number of a clip, and the position in it."""


class ClipFrames(Protocol):
    """The frames of one clip."""

    video: Hashable
    """Tells videos apart: clips with the same one are decoded together."""
    index: VideoIndex
    frames: NDArray[np.int64]
    """Numbers inside the video, or `FILLED`."""


@dataclass(frozen=True, slots=True, eq=False)
class MergedRun:
    """A run of one video, and the places that want its frames, by frame.

    `clip` is one of the clips of that video.
    """

    clip: int
    run: Run
    wants: list[Want]


def merge_runs(clips: Mapping[int, ClipFrames]) -> list[MergedRun]:
    """Plan the decoding of clips, given by number, each distinct frame of each video once."""
    together: dict[Hashable, list[int]] = {}
    for number, clip in clips.items():
        together.setdefault(clip.video, []).append(number)
    return [run for numbers in together.values() for run in _runs(clips, numbers)]


def _runs(clips: Mapping[int, ClipFrames], numbers: list[int]) -> Iterator[MergedRun]:
    """The runs of one video."""
    places: dict[int, list[Want]] = {}
    for number in numbers:
        for position, frame in enumerate(clips[number].frames.tolist()):
            if frame != FILLED:
                places.setdefault(frame, []).append((frame, number, position))
    for run in plan_runs(clips[numbers[0]].index, np.array(sorted(places), np.int64)):
        frames = sorted(run.frames.tolist())
        yield MergedRun(numbers[0], run, [want for frame in frames for want in places[frame]])
