"""Many clips of many videos as the fewest runs: what several clips want is decoded once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.indexing.index import VideoIndex
from videoloader.sampling import Run, plan_decode

__all__ = ["ClipFrames", "MergedRun", "Wants", "merge_runs"]


@dataclass(frozen=True, slots=True, eq=False)
class ClipFrames:
    """The frames of one clip.

    `video` tells videos apart: clips with the same one are decoded together. `frames` are numbers
    inside the video, or `FILLED`.
    """

    video: Hashable
    index: VideoIndex
    frames: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Wants:
    """Who wants the frames of a run, sorted by frame; three arrays of one length.

    `frames` are frame numbers, `clips` and `positions` say which clips want them, and where.
    """

    frames: NDArray[np.int64]
    clips: NDArray[np.int64]
    positions: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class MergedRun:
    """A run of one video and who wants its frames. `clip` is one of the clips of that video."""

    clip: int
    run: Run
    wants: Wants


def merge_runs(clips: Mapping[int, ClipFrames]) -> list[MergedRun]:
    """Plan the decoding of clips, given by number, each distinct frame of each video once."""
    together: dict[Hashable, list[int]] = {}
    for number, clip in clips.items():
        together.setdefault(clip.video, []).append(number)
    return [run for numbers in together.values() for run in _runs(clips, numbers)]


def _runs(clips: Mapping[int, ClipFrames], numbers: list[int]) -> Iterator[MergedRun]:
    """The runs of one video."""
    frames = np.concatenate([clips[number].frames for number in numbers])
    if len(frames) == 1:
        (owner,) = (number for number in numbers if len(clips[number].frames))
        for run in plan_decode(clips[owner].index, frames):
            yield MergedRun(owner, run, Wants(frames, np.array([owner]), np.zeros(1, np.int64)))
        return
    lengths = [len(clips[number].frames) for number in numbers]
    owners = np.repeat(numbers, lengths)
    positions = np.concatenate([np.arange(length) for length in lengths])
    order = np.argsort(frames, kind="stable")  # FILLED comes first, and no run has it
    frames, owners, positions = frames[order], owners[order], positions[order]
    for run in plan_decode(clips[numbers[0]].index, frames):
        wanted = np.sort(run.frames)
        first = np.searchsorted(frames, wanted, side="left")
        counts = np.searchsorted(frames, wanted, side="right") - first
        mine = np.arange(counts.sum()) + np.repeat(first - counts.cumsum() + counts, counts)
        yield MergedRun(numbers[0], run, Wants(frames[mine], owners[mine], positions[mine]))
