"""The parts of a sample: the request for its clip, and its random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.framing import Framing
from videoloader.decoding.request import Blank, ClipRequest
from videoloader.errors import ArgumentError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.checks import whole_number
from videoloader.sampling import (
    ClipSampler,
    Draw,
    PadMode,
    Snap,
    check_pad_mode,
    check_snap,
    generator,
    sample_frames,
)
from videoloader.sampling.batches.batch_plan import Shape
from videoloader.sampling.batches.video_sizes import with_count
from videoloader.sampling.clips import DenseClips, EvenClips
from videoloader.sampling.sampler import check_sampler
from videoloader.sampling.several_clips import clip_at, usual_shape
from videoloader.training.sources import SampleVideos

_SAMPLING, _TRANSFORM, _FRAMING = 0, 1, 2  # stages of randomness


@dataclass(frozen=True, slots=True, eq=False)
class SampleRequests:
    """Requests for samples, which depend on `seed`, number, epoch and draw alone.

    Sample n is of video n modulo the number of videos, so numbers past the videos are further clips
    of them.

    Attributes:
        videos: of the data set, or parts of them.
        sampler: which frames of a video make up its clip.
        framing: how pictures are cropped, resized and mirrored.
        seed: of all randomness.
        pad_mode: what stands for frames past the end of a video.
        fill_value: of filled frames.
        shape: gives frames, height and width of the clips of a video; by default `sampler` and
            `framing` alone say what they are.
        snap: `keyframe` for the keyframes at or before the frames of the sampler.
        counts: clips of each video, of a sampler of several, if each is a sample of its own; by
            default all of a video are one sample.
    """

    videos: SampleVideos
    sampler: ClipSampler
    framing: Framing
    seed: int = 0
    pad_mode: PadMode | str = "edge"
    fill_value: int | Sequence[int] = 0
    shape: Callable[[int], Shape] | None = None
    snap: Snap = "none"
    counts: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        check_sampler("the sampler", self.sampler)
        whole_number("seed", self.seed, least=None)
        check_pad_mode(self.pad_mode)
        check_snap(self.snap)

    def request(self, key: Draw, index: VideoIndex) -> tuple[ClipRequest, tuple[int, ...]]:
        """The request for a sample, and the shape of the frame numbers that the sampler gives."""
        shape = None if self.shape is None else self.shape(self.video(key.sample))
        sampler = self.sampler if shape is None else with_count(self.sampler, shape[0])
        start, stop = self.videos.scope(self.video(key.sample), index)
        if self.counts is None:
            rng = self._rng(_SAMPLING, *key)
            frames = sample_frames(sampler, index, start=start, stop=stop, rng=rng)
        else:
            frames = self._one_clip(key.sample, index, start, stop)
        displayed = self.framing.displayed(index)
        rng = self._rng(_FRAMING, *key)
        if shape is None:
            view = self.framing.view(displayed, rng, name=index.name)
        else:
            view = self.framing.filling(shape[1:], displayed, rng)
        clip = ClipRequest(
            self.videos.item(self.video(key.sample)),
            frames.reshape(-1),
            pad_mode=self.pad_mode,
            fill_value=self.fill_value,
            size=view.size if self.framing.resizes or shape is not None else None,
            crop=view.crop,
            flip=view.flip,
            window=view.window,
            snap=self.snap,
            clips=math.prod(frames.shape[:-1]),
            start=start,
            stop=stop if stop < index.num_frames else None,
        )
        return clip, frames.shape

    def _one_clip(self, sample: int, index: VideoIndex, start: int, stop: int) -> NDArray[np.int64]:
        """Frame numbers of one of the clips of a video, or of a range of it.

        A sample that takes the place of one of another video may have a larger number.
        """
        sampler, place = self.sampler, sample // len(self.videos)
        assert isinstance(sampler, DenseClips | EvenClips)
        assert self.counts is not None
        count = int(self.counts[self.video(sample)])
        frames = clip_at(sampler, index, place % count, start=start, stop=stop) if count else None
        if frames is None:
            raise ArgumentError(f"{index.name}: too short for a clip of {sampler}")
        return frames

    def blank(self, sample: int) -> Blank:
        """How long a masked clip is that fails, and how large if that is known."""
        if self.shape is None:
            shape = usual_shape(self.sampler)
            count = math.prod(shape if self.counts is None else shape[-1:])
            return Blank(count, self.framing.slot, self.fill_value)
        count, *size = self.shape(self.video(sample))
        return Blank(count, (size[0], size[1]), self.fill_value)

    def shape_of(self, size: int, noted: tuple[int, ...] | None) -> tuple[int, ...]:
        """The shape of so many frame numbers of a sample.

        Args:
            size: how many there are.
            noted: the shape that the sampler gave, if the video opened.
        """
        if noted is not None and math.prod(noted) == size:
            return noted
        usual = usual_shape(self.sampler)
        if self.counts is not None or len(usual) == 1 or size % usual[-1]:
            return (size,)
        return size // usual[-1], usual[-1]

    def video(self, sample: int) -> int:
        """The number of the video that a sample is of."""
        return sample % len(self.videos)

    def transform_rng(self, sample: int, epoch: int, draw: int = 0) -> np.random.Generator:
        """The random numbers of a sample's transform."""
        return self._rng(_TRANSFORM, sample, epoch, draw)

    def _rng(self, stage: int, sample: int, epoch: int, draw: int) -> np.random.Generator:
        return generator(self.seed, stage=stage, sample=sample, epoch=epoch, draw=draw)
