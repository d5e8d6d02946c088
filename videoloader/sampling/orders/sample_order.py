"""The samples of an epoch: how many each video has, and their order.

Sample n is a clip of video n modulo the number of videos; larger numbers are further clips.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.sampling.orders.permutation import GroupPermutation, Permutation
from videoloader.sampling.orders.weighted import DRAWING, WeightedDraws, balanced_weights

__all__ = ["ONCE", "EpochSamples", "SampleOrder"]

_CHUNK = 1 << 17  # places of an order that are computed at once
_INT32 = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True, eq=False)
class SampleOrder:
    """The samples of an epoch by place, the same for all who share a data set.

    Every place is computed independently, from seed, stage and epoch.

    Attributes:
        num_videos: videos, or samples, in the data set.
        seed: of the permutations and draws.
        shuffle: permute the samples, differently in each epoch.
        draws: weighted draws; None if each sample comes once.
        videos: numbers of the videos that have samples, ascending; None if all have.
        clips_per_video: clips of each video.
        stage: random stream of the permutations; the number of a reader in its pipeline.
        draw_stage: random stream of the weighted draws.
        files: end of each file among the samples; if given, whole files are permuted.
        group: neighbours that stay together when samples are permuted, see `GroupPermutation`.
        num_samples: samples in an epoch.
    """

    num_videos: int
    seed: int = 0
    shuffle: bool = True
    draws: WeightedDraws | None = None
    videos: NDArray[np.int64] | None = None
    clips_per_video: int = 1
    stage: int = 0
    draw_stage: int = DRAWING
    files: NDArray[np.int64] | None = None
    group: int = 1
    num_samples: int = field(init=False)

    def __post_init__(self) -> None:
        videos = self.num_videos if self.videos is None else len(self.videos)
        object.__setattr__(self, "num_samples", videos * self.clips_per_video)

    @property
    def digest(self) -> int:
        """A hash of the parameters, to detect that an order differs."""
        text = f"{self.clips_per_video} {self.shuffle}".encode()
        return zlib.crc32(text, 0 if self.draws is None else self.draws.digest)

    @property
    def state(self) -> dict[str, int]:
        """Values that must be equal when a run is resumed, see `BatchOrder.state`."""
        return {}

    @property
    def unfit(self) -> NDArray[np.int64]:
        """Numbers of the videos that are in no batch: none."""
        return np.empty(0, dtype=np.int64)

    def end(self, epoch: int) -> int:  # noqa: ARG002  (all are alike)
        """Places of an epoch."""
        return self.num_samples

    def at(self, places: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        """Numbers of the samples at some places of an epoch."""
        if self.shuffle:
            places = self._permuted(places, epoch)
        if self.draws is not None:
            return self.draws.numbers(places, seed=self.seed, stage=self.draw_stage, epoch=epoch)
        if self.videos is None:
            return places
        rounds, places = np.divmod(places, len(self.videos))
        numbers: NDArray[np.int64] = self.videos[places] + rounds * self.num_videos
        return numbers

    def groups_at(self, places: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        """The number of the group at each place."""
        if not self.shuffle:
            return places // self.group
        return self._groups(epoch).groups(places)

    def _groups(self, epoch: int) -> GroupPermutation:
        return GroupPermutation(self.num_samples, self.group, self.seed, self.stage, epoch)

    def _permuted(self, places: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        if self.group > 1:
            return self._groups(epoch)[places]
        if self.files is None:
            return Permutation(self.num_samples, self.seed, self.stage, epoch)[places]
        count = len(self.files)
        files = Permutation(count, self.seed, self.stage, epoch)[np.arange(count)]
        ends = np.cumsum(np.diff(self.files, prepend=0)[files])
        moves = self.files[files] - ends
        permuted: NDArray[np.int64] = places + moves[np.searchsorted(ends, places, "right")]
        return permuted

    def numbers(self, epoch: int) -> NDArray[np.int32] | NDArray[np.int64]:
        """All samples of an epoch in order; int32 if they fit, else int64."""
        is_small = self.draws is None and self.num_videos * self.clips_per_video <= _INT32
        size = self.num_samples
        result: NDArray[Any] = np.empty(size, dtype=np.int32 if is_small else np.int64)
        for first in range(0, size, _CHUNK):
            places = np.arange(first, min(first + _CHUNK, size))
            result[first : first + _CHUNK] = self.at(places, epoch)
        return result


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

    def order(self, fits: NDArray[np.bool_], seed: int, *, shuffle: bool) -> SampleOrder:
        """The order of the samples of the videos in `fits`; drawn ones are always shuffled.

        Raises:
            ArgumentError: no video can be drawn.
        """
        videos = None if fits.all() else np.flatnonzero(fits)
        draws = self._draws(fits)
        is_shuffled = shuffle or draws is not None
        return SampleOrder(len(fits), seed, is_shuffled, draws, videos, self.clips_per_video)

    def _draws(self, fits: NDArray[np.bool_]) -> WeightedDraws | None:
        if self.weights is not None:
            weights = np.where(fits, self.weights, 0)
        elif self.labels is not None:
            weights = balanced_weights(self.labels, counts=fits.astype(np.int64))
        else:
            return None
        return WeightedDraws.of(weights, size=int(fits.sum()) * self.clips_per_video)


ONCE = EpochSamples()
"""One sample of each video."""
