"""The clips of a set of videos: how many there are, and which frames each one is made of.

A sampler of one clip a video, or of as many of each, needs nothing of the videos beforehand. For
`DenseClips` the number of clips of each is worked out once, and of all that was read only that
number is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, StaleIndexError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.forking import cached_property
from videoloader.sampling import (
    ClipSampler,
    DenseClips,
    EvenClips,
    RandomClip,
    UniformClip,
    sample_frames,
)
from videoloader.sampling.sampler import check_sampler
from videoloader.sampling.several_clips import clip_at


@dataclass(frozen=True)
class Clips:
    """Every clip of some videos, numbered video by video.

    Numbers from their count on are further draws of the same clips.

    Args:
        sampler: what takes them.
        counts: clips of each video.
        backwards: play them backwards.
        left_out: numbers of clips that are not taken, ascending; the others are renumbered.
    """

    sampler: ClipSampler
    counts: NDArray[np.int64]
    backwards: bool = False
    left_out: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.counts)

    def __len__(self) -> int:
        return (int(self._ends[-1]) if len(self._ends) else 0) - len(self.left_out)

    def video(self, number: int) -> int:
        """The video that a clip is taken from."""
        return int(np.searchsorted(self._ends, self._among_all(number), side="right"))

    def first(self, video: int) -> int:
        """The number, among all clips, of the first of a video."""
        return int(self._ends[video] - self.counts[video])

    @property
    def taken(self) -> NDArray[np.int64]:
        """Number of clips taken of each video."""
        videos = np.searchsorted(self._ends, self.left_out, side="right")
        return self.counts - np.bincount(videos, minlength=len(self.counts))

    def _among_all(self, number: int) -> int:
        """The number of a clip among all clips, including clips that are left out."""
        number %= len(self)
        if not len(self.left_out):
            return number
        before = self.left_out - np.arange(len(self.left_out))
        return number + int(np.searchsorted(before, number, side="right"))

    def frames(
        self, number: int, index: VideoIndex, scope: tuple[int, int], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Frame numbers of a clip; some may lie outside its scope.

        Args:
            number: of the clip.
            index: of its video.
            scope: first frame and end (exclusive) of the range that the clips are taken from.
            rng: what a random sampler draws from.

        Raises:
            StaleIndexError: the video has fewer clips than it had when they were counted.
        """
        if not isinstance(self.sampler, DenseClips | EvenClips):
            frames = sample_frames(self.sampler, index, start=scope[0], stop=scope[1], rng=rng)
        else:
            video = self.video(number)
            count = int(self.counts[video])
            place, (start, stop) = self._among_all(number) - self.first(video), scope
            found = clip_at(self.sampler, index, place, start=start, stop=stop)
            if found is None:
                raise StaleIndexError(
                    f"{index.name}: has fewer than the {count} clips that it had when they were "
                    "counted; build the pipeline again"
                )
            frames = found
        return frames[::-1] if self.backwards else frames


def clip_rule(
    *,
    sequence_length: int | None,
    stride: int,
    step: int,
    uniform_sample: bool,
    sampler: ClipSampler | None,
    pad_mode: str,
    fps: float | None,
    clips_per_video: int | None,
) -> ClipSampler:
    """The sampler that the arguments of a reader describe."""
    if sampler is not None:
        if sequence_length is not None or (stride, step, fps) != (1, -1, None) or uniform_sample:
            raise ArgumentError(
                "fn.readers.video: sampler excludes sequence_length, stride, step, fps, "
                "uniform_sample"
            )
        check_sampler("fn.readers.video: sampler", sampler)
        if clips_per_video is not None and isinstance(sampler, DenseClips | EvenClips):
            raise ArgumentError(
                f"fn.readers.video: each clip that {type(sampler).__name__} takes of a video is a "
                "sample; for clips_per_video give a sampler that draws, such as RandomClip"
            )
        return sampler
    if sequence_length is None:
        raise ArgumentError("fn.readers.video needs sequence_length (or a sampler)")
    if fps is not None and stride != 1:
        raise ArgumentError("fn.readers.video: give stride or fps, not both")
    if uniform_sample:
        if (stride, step, fps, clips_per_video) != (1, -1, None, None):
            raise ArgumentError(
                "fn.readers.video: uniform_sample excludes stride, step, fps and clips_per_video"
            )
        return UniformClip(sequence_length)
    if step == 0 or step < -1:
        raise ArgumentError(f"fn.readers.video: step must be at least 1, or -1, got {step}")
    if clips_per_video is not None:
        if step != -1:
            raise ArgumentError("fn.readers.video: clips_per_video excludes step")
        return RandomClip(sequence_length, abs(stride), fps)
    partial = pad_mode != "none"
    if fps is not None:
        return DenseClips(sequence_length, 1, None if step == -1 else step, fps, partial)
    step = sequence_length * abs(stride) if step == -1 else step
    return DenseClips(sequence_length, abs(stride), step, partial=partial)
