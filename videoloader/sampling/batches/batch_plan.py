"""Batches of clips of several shapes: the list for an epoch, which ranks divide (`BatchOrder`).

The list is made before decoding, from the sizes of the videos. It depends on the data set, the
seed and the epoch, not on ranks. So the state of a run is the epoch and the number of batches of
the list that all ranks have done, and a different number of ranks can resume from it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.machinery.system.checks import one_of
from videoloader.sampling.batches.video_sizes import VideoSizes
from videoloader.sampling.orders.permutation import Permutation
from videoloader.sampling.orders.sample_order import SampleOrder

OnUnfit = Literal["error", "skip"]
Shape = tuple[int, int, int]
"""Frames, height and width of a clip."""

_CHUNK = 1 << 17  # batches or samples that are computed at once
_BATCH_STAGE = 1  # random stage of the order of batches; the order of samples has stage 0


@dataclass(frozen=True, slots=True, eq=False)
class BatchList:
    """The batches of an epoch: batch i is `samples[begins[i] : ends[i]]`.

    Attributes:
        samples: sample numbers, see `EpochSamples`; int32 if they fit, else int64.
        begins: start of each batch in `samples`, int64.
        ends: end of each batch in `samples`, int64.

    >>> batches = BatchList(np.array([4, 2, 7]), begins=np.array([0, 2]), ends=np.array([2, 3]))
    >>> len(batches), batches[0], batches[1]
    (2, array([4, 2]), array([7]))
    """

    samples: NDArray[np.int32] | NDArray[np.int64]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.begins)

    def __getitem__(self, batch: int) -> NDArray[np.int64]:
        """Numbers of the samples of a batch."""
        return self.samples[self.begins[batch] : self.ends[batch]].astype(np.int64)

    def permuted(self, seed: int, epoch: int) -> BatchList:
        """The same batches in a random order."""
        order = np.empty(len(self), dtype=np.int32)
        for first in range(0, len(self), _CHUNK):
            places = np.arange(first, min(first + _CHUNK, len(self)))
            permutation = Permutation(len(self), seed, _BATCH_STAGE, epoch)
            order[first : first + _CHUNK] = permutation[places]
        return BatchList(self.samples, self.begins[order], self.ends[order])


@dataclass(slots=True, eq=False)
class BatchPlan:
    """The shape of the clip of each video, and the batches of any epoch.

    Attributes:
        shapes: (frames, height, width) of the clip of each video, int32 (N, 3); zeros if the
            video is in no batch. Sample n is a clip of video n modulo N.
        tokens: tokens in the clip of each video, int64 (N,); a token may be a pixel.
        limit: maximum tokens of a batch, None if batches are limited in samples.
        description: of the sampler that made the plan.
        order: of the samples of an epoch; batches are permuted if samples are.
        cut: divides samples in that order into batches.

    >>> from videoloader.sampling import Buckets, RandomClip
    >>> sizes = VideoSizes(*np.array([[480, 720, 720], [640, 1280, 1280], [90] * 3]), np.ones(3))
    >>> plan = Buckets([(16, 192, 256), (16, 192, 336)], batch_size=2).plan(sizes, RandomClip(16))
    >>> plan.shape(0), plan.shape(1), plan.end(epoch=0)
    ((16, 192, 256), (16, 192, 336), 2)
    """

    shapes: NDArray[np.int32]
    tokens: NDArray[np.int64]
    limit: int | None
    description: str
    order: SampleOrder
    cut: Callable[[NDArray[Any]], BatchList]
    _last: tuple[int, BatchList] | None = field(default=None, init=False)

    @property
    def num_samples(self) -> int:
        """Samples in an epoch, before batches are filled up or dropped."""
        return self.order.num_samples

    @property
    def group(self) -> int:
        """Batches that stay together: each is by itself."""
        return 1

    @property
    def unfit(self) -> NDArray[np.int64]:
        """Numbers of the videos that are in no batch."""
        return np.flatnonzero(self.shapes[:, 0] == 0)

    @property
    def digest(self) -> int:
        """A hash of shapes, limits and samples, to detect that a plan differs."""
        text = f"{self.description} {self.order.digest}".encode()
        return zlib.crc32(np.ascontiguousarray(self.shapes).data, zlib.crc32(text))

    @property
    def state(self) -> dict[str, int]:
        """Values that must be equal when a run is resumed, see `BatchOrder.state`."""
        return {"batches": self.digest}

    def shape(self, video: int) -> Shape:
        """Frames, height and width of the clips of a video."""
        frames, height, width = self.shapes[video].tolist()
        return frames, height, width

    def alike(self, video: int) -> NDArray[np.int64]:
        """All videos whose clips have the same shape as this one's, itself included, ascending."""
        return np.flatnonzero((self.shapes == self.shapes[video]).all(axis=1))

    def batches(self, epoch: int) -> BatchList:
        """The batches of an epoch; caches the last result."""
        last = self._last
        if last is None or last[0] != epoch:
            batches = self.cut(self.order.numbers(epoch))
            if self.order.shuffle:
                batches = batches.permuted(self.order.seed, epoch)
            last = self._last = (epoch, batches)
        return last[1]

    def end(self, epoch: int) -> int:
        """Number of batches of an epoch."""
        return len(self.batches(epoch))

    def at(self, places: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        """Numbers of the samples of some batches of an epoch."""
        batches = self.batches(epoch)
        return np.concatenate([batches[place] for place in places.tolist()])

    def fill_rate(self, epoch: int = 0) -> float:
        """Mean share of `limit` that the batches of an epoch use, 0 to 1; 1.0 without a limit."""
        batches = self.batches(epoch)
        if self.limit is None or not len(batches):
            return 1.0
        samples = batches.samples
        used = sum(
            int(self.tokens[samples[first : first + _CHUNK] % len(self.tokens)].sum())
            for first in range(0, len(samples), _CHUNK)
        )
        return used / (self.limit * len(batches))

    def summary(self, epoch: int = 0) -> str:
        """A readable summary of an epoch: numbers of videos, clips, batches and tokens."""
        batches = self.batches(epoch)
        videos, clips = len(self.shapes), len(batches.samples)
        text = (
            f"{clips} clips of {videos - len(self.unfit)} of {videos} videos in {len(batches)} "
            f"batches of {clips / max(len(batches), 1):.1f}"
        )
        if self.limit is not None:
            text += f", {100 * self.fill_rate(epoch):.1f} % of {self.limit} tokens used"
        return text


def check_unfit(
    unfit: NDArray[np.int64],
    videos: VideoSizes,
    on_unfit: OnUnfit,
    explain: Callable[[VideoSizes], str],
    *,
    of: str,
) -> None:
    """Raise if videos are in no batch and `on_unfit` is `error`, or if no video is left.

    Args:
        unfit: their numbers.
        videos: all of them.
        on_unfit: whether they may be left out.
        explain: says why some videos are in no batch.
        of: the class that `on_unfit` is an argument of.
    """
    one_of("on_unfit", on_unfit, get_args(OnUnfit))
    if not len(unfit) or (on_unfit == "skip" and len(unfit) < len(videos)):
        return
    first = int(unfit[0])
    advice = "" if on_unfit == "skip" else f'; {of}(..., on_unfit="skip") leaves them out'
    raise ArgumentError(
        f"{len(unfit)} of {len(videos)} videos are in no batch: {explain(videos.take(unfit))}; the "
        f"first is number {first}: {videos.describe(first)}{advice}"
    )


def counted(*reasons: tuple[NDArray[np.bool_], str]) -> str:
    """The number of items for each reason; an item counts for its first reason that holds."""
    texts, rest = [], np.ones(len(reasons[0][0]), dtype=bool)
    for holds, text in reasons:
        if (rest & holds).any():
            texts.append(f"{np.count_nonzero(rest & holds)} {text}")
        rest &= ~holds
    return ", ".join(texts)
