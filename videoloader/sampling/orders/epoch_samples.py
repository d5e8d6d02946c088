"""The samples of an epoch: number of samples of each video, and their order.

Sample n is a clip of video n modulo the number of videos; larger numbers are further clips.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.sampling.orders.permutation import Permutation
from videoloader.sampling.orders.weighted import DRAWING, WeightedDraws, balanced_weights

__all__ = ["ONCE", "EpochSamples", "SampleOrder"]

_CHUNK = 1 << 17  # positions of an order that are computed at once
_INT32 = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True, eq=False)
class EpochSamples:
    """Number of samples of each video in an epoch.

    Args:
        clips_per_video: clips of each video; with `weights` or `labels`, the average.
        weights: relative frequency of each video.
        labels: draw every label equally often; not together with `weights`.
    """

    clips_per_video: int = 1
    weights: NDArray[np.float64] | None = None
    labels: NDArray[np.int64] | None = None

    def draws(self, fits: NDArray[np.bool_]) -> WeightedDraws | None:
        """The weighted draws of an epoch; None if all videos have equally many samples.

        Args:
            fits: mask of the videos that may be drawn.

        Raises:
            ArgumentError: no video can be drawn.
        """
        size = int(np.count_nonzero(fits)) * self.clips_per_video
        if self.weights is not None:
            return WeightedDraws.of(np.where(fits, self.weights, 0), size=size)
        if self.labels is not None:
            weights = balanced_weights(self.labels, counts=fits.astype(np.int64))
            return WeightedDraws.of(weights, size=size)
        return None

    def order(self, fits: NDArray[np.bool_], seed: int, *, shuffle: bool) -> SampleOrder:
        """The order of the samples of the videos in `fits`; drawn ones are always shuffled."""
        draws = self.draws(fits)
        videos = np.flatnonzero(fits)
        return SampleOrder(
            videos, len(fits), self.clips_per_video, draws, seed, shuffle or draws is not None
        )


ONCE = EpochSamples()
"""One sample of each video."""


@dataclass(frozen=True, slots=True, eq=False)
class SampleOrder:
    """The samples of an epoch in order, which depends only on seed and epoch.

    Attributes:
        videos: numbers of the videos that have samples, ascending.
        num_videos: number of videos in the data set.
        clips_per_video: clips of each video.
        draws: weighted draws; None if each sample comes once.
        seed: of the permutations and draws.
        shuffle: permute the samples, differently in each epoch.
    """

    videos: NDArray[np.int64]
    num_videos: int
    clips_per_video: int = 1
    draws: WeightedDraws | None = None
    seed: int = 0
    shuffle: bool = True

    def __len__(self) -> int:
        """Samples in an epoch."""
        return len(self.videos) * self.clips_per_video

    @property
    def digest(self) -> int:
        """A hash of the parameters, to detect that an order differs."""
        text = f"{self.clips_per_video} {self.shuffle}".encode()
        return zlib.crc32(text, 0 if self.draws is None else self.draws.digest)

    def numbers(self, epoch: int) -> NDArray[np.int32] | NDArray[np.int64]:
        """All samples of an epoch in order; int32 if they fit, else int64."""
        is_small = self.draws is None and self.num_videos * self.clips_per_video <= _INT32
        result: NDArray[Any] = np.empty(len(self), dtype=np.int32 if is_small else np.int64)
        for first in range(0, len(self), _CHUNK):
            places = np.arange(first, min(first + _CHUNK, len(self)))
            result[first : first + _CHUNK] = self._at(places, epoch)
        return result

    def _at(self, places: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        if self.shuffle:
            places = Permutation(len(self), self.seed, epoch=epoch)[places]
        if self.draws is not None:
            return self.draws.numbers(places, seed=self.seed, stage=DRAWING, epoch=epoch)
        rounds, places = np.divmod(places, len(self.videos))
        numbers: NDArray[np.int64] = self.videos[places] + rounds * self.num_videos
        return numbers
