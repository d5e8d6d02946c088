"""What a sample of a data set is made of: the request for its clip, and its random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from videoloader.decoding.framing import Framing
from videoloader.decoding.request import ClipRequest
from videoloader.indexing.index import VideoIndex
from videoloader.readers.clip_sources import IndexedVideos, ListedVideos
from videoloader.readers.clips import usual_length
from videoloader.readers.media import displayed_size
from videoloader.sampling import ClipSampler, PadMode, check_pad_mode, generator, sample_frames

__all__ = ["SampleRequests"]

_SAMPLING, _TRANSFORM, _FRAMING = 0, 1, 2  # stages of randomness


@dataclass(frozen=True, slots=True, eq=False)
class SampleRequests:
    """Requests for samples, which depend on `seed`, number, epoch and draw alone.

    Sample n is of video n modulo the number of videos, so numbers past the videos are further clips
    of them.

    Attributes:
        videos: of the data set.
        sampler: which frames of a video make up its clip.
        framing: how pictures are cropped, resized and mirrored.
        seed: of all randomness.
        pad_mode: what stands for frames past the end of a video.
        fill_value: of filled frames.
    """

    videos: ListedVideos | IndexedVideos
    sampler: ClipSampler
    framing: Framing
    seed: int = 0
    pad_mode: PadMode | str = "edge"
    fill_value: int | Sequence[int] = 0

    def __post_init__(self) -> None:
        check_pad_mode(self.pad_mode)

    def request(
        self,
        sample: int,
        epoch: int,
        draw: int = 0,
        *,
        note_shape: Callable[[tuple[int, ...]], object],
        may_be_blank: bool = False,
    ) -> ClipRequest:
        """The request for a sample, whose frames are chosen once the index of its video is known.

        Args:
            sample: its number.
            epoch: pass over the data set.
            draw: how many times it was drawn before in that pass.
            note_shape: is told the shape of the frame numbers that the sampler gives.
            may_be_blank: say how long the clip is, and how large if that is known, should its video
                not open.
        """
        resolve = partial(self._resolve, (sample, epoch, draw), note_shape)
        video = self.video(sample)
        item, index = self.videos.item(video), self.videos.index(video)
        if not may_be_blank:
            return ClipRequest(item, (), index, resolve=resolve)
        return ClipRequest(
            item,
            np.zeros(usual_length(self.sampler), dtype=np.int64),
            index,
            fill_value=self.fill_value,
            size=self.framing.slot,
            resolve=resolve,
        )

    def video(self, sample: int) -> int:
        """The number of the video that a sample is of."""
        return sample % len(self.videos)

    def transform_rng(self, sample: int, epoch: int, draw: int = 0) -> np.random.Generator:
        """The random numbers of a sample's transform."""
        return self._rng(_TRANSFORM, sample, epoch, draw)

    def _resolve(
        self,
        key: tuple[int, int, int],
        note_shape: Callable[[tuple[int, ...]], object],
        index: VideoIndex,
    ) -> ClipRequest:
        frames = sample_frames(self.sampler, index, rng=self._rng(_SAMPLING, *key))
        note_shape(frames.shape)
        view = self.framing.view(displayed_size(index), self._rng(_FRAMING, *key))
        return ClipRequest(
            "",
            frames.reshape(-1),
            pad_mode=self.pad_mode,
            fill_value=self.fill_value,
            size=view.size if self.framing.resizes else None,
            crop=view.crop,
            flip=view.flip,
            window=view.window,
        )

    def _rng(self, stage: int, sample: int, epoch: int, draw: int) -> np.random.Generator:
        return generator(self.seed, stage=stage, sample=sample, epoch=epoch, draw=draw)
