"""The samples of an epoch: how many each video has, and their order.

Sample n is a clip of video n modulo the number of videos; larger numbers are further clips.

Samples come round by round: a clip of each video, then the second of each. Where some of a video
are to meet in one batch, they come video by video instead, and groups of neighbours are permuted.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.machinery.system.checks import whole_number
from videoloader.sampling.orders.permutation import GROUPS, GroupPermutation, Permutation
from videoloader.sampling.orders.weighted import DRAWING, WeightedDraws, balanced_weights
from videoloader.sampling.random import generator

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
        group: neighbours that stay together when samples are permuted, see `GroupPermutation`. With
            `clips_per_video` of which it is a part, or `counts`, samples are neighbours video by
            video. `draws` are then groups.
        counts: clips of each video where they differ; 0 if a video has none.
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
    counts: NDArray[np.int64] | None = None
    num_samples: int = field(init=False)
    _ends: NDArray[np.int64] = field(init=False)  # of the clips of each video, if they differ

    def __post_init__(self) -> None:
        videos = self.num_videos if self.videos is None else len(self.videos)
        ends = np.cumsum(
            self.counts if self.counts is not None else [videos * self.clips_per_video]
        )
        object.__setattr__(self, "_ends", ends)
        object.__setattr__(self, "num_samples", int(ends[-1]))

    @property
    def digest(self) -> int:
        """A hash of the parameters, to detect that an order differs."""
        text = f"{self.clips_per_video} {self.shuffle}" + f" {self.group}" * (self.group > 1)
        return zlib.crc32(text.encode(), 0 if self.draws is None else self.draws.digest)

    @property
    def state(self) -> dict[str, int]:
        """Values that must be equal when a run is resumed, see `BatchOrder.state`."""
        return {} if self.group == 1 else {"together": self.group}

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
            return self._drawn(places, epoch)
        if self.counts is not None:
            videos = np.searchsorted(self._ends, places, side="right")
            rounds = places - self._ends[videos] + self.counts[videos]
        elif self._is_by_video:
            videos, rounds = np.divmod(places, self.clips_per_video)
            videos = videos if self.videos is None else self.videos[videos]
        elif self.videos is None:
            return places
        else:
            rounds, places = np.divmod(places, len(self.videos))
            videos = self.videos[places]
        numbers: NDArray[np.int64] = videos + rounds * self.num_videos
        return numbers

    @property
    def _is_by_video(self) -> bool:
        return self.group > 1 and self.clips_per_video > 1

    def _drawn(self, places: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        assert self.draws is not None
        group = self.group if self._is_by_video else 1
        draws, members = np.divmod(places, group)
        numbers = self.draws.numbers(draws, seed=self.seed, stage=self.draw_stage, epoch=epoch)
        rounds, videos = np.divmod(numbers, self.draws.num_items)
        drawn: NDArray[np.int64] = videos + (rounds * group + members) * self.draws.num_items
        return drawn

    def groups_at(self, places: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        """The number of the group at each place."""
        if not self.shuffle:
            return places // self.group
        return self._groups(epoch).groups(places)

    def _groups(self, epoch: int) -> GroupPermutation:
        return GroupPermutation(self.num_samples, self.group, self.seed, self.stage, epoch)

    def _permuted(self, places: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        if self.group > 1 and self.counts is not None:
            return self._permuted_line(places, epoch)
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

    def _permuted_line(self, places: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        """Permute groups that begin anywhere: the smaller one, of the rest, is always the last.

        The line of all clips is a circle, on which groups begin elsewhere in each epoch. So other
        clips are the rest, and other neighbours a group.
        """
        rng = generator(self.seed, stage=self.stage, epoch=epoch, draw=GROUPS)
        first, whole = rng.integers(self.num_samples), self.num_samples // self.group * self.group
        found = places.copy()
        if (inside := places < whole).any():
            groups = GroupPermutation(whole, self.group, self.seed, self.stage, epoch)
            found[inside] = groups[places[inside]]
        permuted: NDArray[np.int64] = (found + first) % self.num_samples
        return permuted

    def numbers(self, epoch: int) -> NDArray[np.int32] | NDArray[np.int64]:
        """All samples of an epoch in order; int32 if they fit, else int64."""
        most = self.clips_per_video if self.counts is None else int(self.counts.max())
        is_small = self.draws is None and self.num_videos * most <= _INT32
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
        group: clips of a video that come in one batch; a part of `clips_per_video`.
        counts: clips of each video, instead of `clips_per_video`, without weights and labels.

    >>> twice = EpochSamples(clips_per_video=2)
    >>> twice.order(np.array([True, True, False]), seed=0, shuffle=False).num_samples
    4
    """

    clips_per_video: int = 1
    weights: NDArray[np.float64] | None = None
    labels: NDArray[np.int64] | None = None
    group: int = 1
    counts: NDArray[np.int64] | None = None

    def order(self, fits: NDArray[np.bool_], seed: int, *, shuffle: bool) -> SampleOrder:
        """The order of the samples of the videos in `fits`; drawn ones are always shuffled.

        Raises:
            ArgumentError: no video can be drawn.
        """
        videos = None if fits.all() else np.flatnonzero(fits)
        draws = self._draws(fits)
        is_shuffled = shuffle or draws is not None
        return SampleOrder(
            len(fits),
            seed,
            is_shuffled,
            draws,
            videos,
            self.clips_per_video,
            group=self.group,
            counts=self.counts,
        )

    def _draws(self, fits: NDArray[np.bool_]) -> WeightedDraws | None:
        if self.weights is not None:
            weights = np.where(fits, self.weights, 0)
        elif self.labels is not None:
            weights = balanced_weights(self.labels, counts=fits.astype(np.int64))
        else:
            return None
        return WeightedDraws.of(weights, size=int(fits.sum()) * self.clips_per_video // self.group)


ONCE = EpochSamples()
"""One sample of each video."""


def check_together(together: bool | int, clips_per_video: int | Literal["all"]) -> int:
    """Samples of a video that come in one batch, see `OrderOptions`.

    Raises:
        ArgumentError: there is no such number, or it does not divide the samples of a video.
    """
    if together is True and clips_per_video == "all":
        raise ArgumentError(
            'with clips_per_video="all" say how many neighbouring clips come in one batch, such as '
            "together=4"
        )
    group = (clips_per_video if together else 1) if isinstance(together, bool) else together
    group = whole_number("together, unless True or False,", group, least=1)
    if clips_per_video != "all" and clips_per_video % group:
        raise ArgumentError(
            f"clips_per_video={clips_per_video} is no multiple of together={together}"
        )
    return group
