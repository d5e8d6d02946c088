"""`Buckets`: clips of a few shapes, each batch of one shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.machinery.system.checks import one_of, real_number, whole_number
from videoloader.machinery.system.spelling import suggests_names
from videoloader.sampling.batches.batch_plan import (
    BatchList,
    BatchPlan,
    OnUnfit,
    Shape,
    check_unfit,
    counted,
)
from videoloader.sampling.batches.video_sizes import VideoSizes, frames_offered
from videoloader.sampling.orders.batch_order import Remainder
from videoloader.sampling.orders.sample_order import ONCE, EpochSamples
from videoloader.sampling.sampler import ClipSampler

RATIOS = (9 / 21, 9 / 16, 2 / 3, 3 / 4, 1.0, 4 / 3, 3 / 2, 16 / 9, 21 / 9)
"""Width divided by height, from tall to wide."""

_CHUNK = 1 << 14  # sizes of videos that are compared with all buckets at once


def aspect_buckets(
    pixels: int,
    *,
    frames: int | Sequence[int] = 1,
    multiple_of: int = 16,
    ratios: Sequence[float] = RATIOS,
) -> list[Shape]:
    """Shapes of about the same number of pixels, for several aspect ratios.

    Args:
        pixels: maximum pixels of a picture; 256 * 256 gives pictures of that area.
        frames: frames of a clip; several numbers combine each shape with each of them.
        multiple_of: both sides are multiples of it.
        ratios: width divided by height. For each, the size with the nearest ratio is chosen;
            duplicates are removed.

    Returns:
        (frames, height, width) of each bucket, height * width <= pixels.

    >>> aspect_buckets(256 * 256, frames=16, ratios=(9 / 16, 1, 16 / 9))
    [(16, 336, 192), (16, 256, 256), (16, 192, 336)]
    """
    counts = [frames] if isinstance(frames, int | np.integer) else list(frames)
    for name, value in [("pixels", pixels), ("multiple_of", multiple_of)]:
        whole_number(name, value, least=1)
    sizes = dict.fromkeys(_nearest_size(pixels, multiple_of, ratio) for ratio in ratios)
    return [(int(count), *size) for count, size in product(counts, sizes)]


def _nearest_size(pixels: int, step: int, ratio: float) -> tuple[int, int]:
    """The (height, width) nearest to a ratio, in multiples of `step`."""
    real_number("an aspect ratio", ratio, above=0)
    height = math.sqrt(pixels / ratio) / step
    rows, columns = (math.floor(side + 1e-9) for side in (height, height * ratio))
    found = [
        (h * step, w * step)
        for h, w in product((rows, rows + 1), (columns, columns + 1))
        if h and w and h * w * step * step <= pixels
    ]
    if not found:
        raise ArgumentError(
            f"no size of at most {pixels} pixels has sides that are multiples of {step} and a "
            f"ratio near {ratio:.3g}; allow more pixels"
        )
    return min(found, key=lambda size: (abs(math.log(size[1] / size[0] / ratio)), -size[0]))


@suggests_names
@dataclass(frozen=True, slots=True)
class Buckets:
    """Assigns each video to a bucket; each batch has clips of one bucket, so of one shape.

    A video fits a bucket if it has enough frames for the clip length and its pictures are at least
    as large. It is resized to cover the bucket and then cropped on two sides. Among the buckets
    whose kept share of the picture area is within `tolerance` of the best, the one with the most
    pixels is chosen.

    The samples of an epoch are permuted and divided among their buckets, each bucket is split into
    batches, and the batches are permuted. Without shuffling, batches are in the order of their
    first samples.

    Args:
        shapes: (frames, height, width) of each bucket, see `aspect_buckets`.
        batch_size: clips of a batch in every bucket; or use one of the next two.
        max_tokens: maximum tokens of a batch. A bucket has as many clips per batch as fit.
        max_pixels: maximum pixels of all frames of a batch.
        patch: (frames, rows, columns) of a token; all shapes are multiples of it.
        upscale: also allow buckets with larger pictures than the video.
        max_crop: maximum share of the picture area that may be cropped, 0 to 1.
        tolerance: of the kept share of the picture area, see above.
        on_unfit: videos that fit no bucket are an `error`, or `skip` omits them, and
            `BatchPlan.unfit` has their numbers.
        remainder: if the last batch of a bucket is not full, `keep` it smaller, `drop` it, or
            `repeat` the first samples that the bucket has in the epoch.

    >>> Buckets(aspect_buckets(256 * 256, frames=(1, 16)), max_tokens=32768, patch=(1, 16, 16))
    ... # doctest: +ELLIPSIS
    Buckets(shapes=((1, 384, 160), ...
    """

    shapes: Sequence[Shape]
    batch_size: int | None = None
    max_tokens: int | None = None
    max_pixels: int | None = None
    patch: Shape = (1, 1, 1)
    upscale: bool = False
    max_crop: float = 1.0
    tolerance: float = 0.1
    on_unfit: OnUnfit = "error"
    remainder: Remainder = "keep"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shapes", tuple(as_shape("shapes", each) for each in self.shapes))
        object.__setattr__(self, "patch", as_shape("patch", self.patch))
        if not self.shapes or len(set(self.shapes)) < len(self.shapes):
            raise ArgumentError(f"shapes are one or more buckets, each once; got {self.shapes}")
        limits = (self.batch_size, self.max_tokens, self.max_pixels)
        if sum(limit is not None for limit in limits) != 1:
            raise ArgumentError("give one of batch_size, max_tokens and max_pixels to Buckets")
        for name in ("batch_size", "max_tokens", "max_pixels"):
            if (value := getattr(self, name)) is not None:
                whole_number(name, value, least=1)
        one_of("remainder", self.remainder, get_args(Remainder))
        for name in ("max_crop", "tolerance"):
            real_number(name, getattr(self, name), most=1)
        for shape, tokens in zip(self.shapes, self.tokens.tolist(), strict=True):
            if any(side % unit for side, unit in zip(shape, self.patch, strict=True)):
                raise ArgumentError(f"bucket {shape} is no multiple of patch={self.patch}")
            if self.limit is not None and tokens > self.limit:
                raise ArgumentError(
                    f"one clip of bucket {shape} has {tokens} tokens, more than {self.limit}"
                )

    @property
    def limit(self) -> int | None:
        """Maximum tokens of a batch; with `max_pixels`, a token is a pixel."""
        return self.max_pixels if self.max_tokens is None else self.max_tokens

    @property
    def tokens(self) -> NDArray[np.int64]:
        """Tokens, or pixels, of a clip of each bucket."""
        patch = self.patch if self.max_pixels is None else (1, 1, 1)
        tokens: NDArray[np.int64] = (np.array(self.shapes) // patch).prod(axis=1, dtype=np.int64)
        return tokens

    @property
    def batch_sizes(self) -> NDArray[np.int64]:
        """Clips of a full batch of each bucket."""
        if self.limit is None:
            return np.full(len(self.shapes), self.batch_size, dtype=np.int64)
        return self.limit // self.tokens

    def assign(self, videos: VideoSizes, sampler: ClipSampler) -> NDArray[np.int16]:
        """The bucket of each video, -1 for none, shape (N,).

        Args:
            videos: sizes of the videos.
            sampler: chooses the clips; its `count` is replaced by that of the bucket.
        """
        found = np.empty(len(videos), dtype=np.int16)
        for part, some in videos.parts():
            found[part] = self._assign(some, sampler)
        return found

    def _assign(self, videos: VideoSizes, sampler: ClipSampler) -> NDArray[np.int16]:
        lengths = np.unique([frames for frames, _, _ in self.shapes])
        level = np.searchsorted(lengths, frames_offered(sampler, videos), side="right")
        # Many videos have the same size and length: compute each combination once.
        key = (videos.heights.astype(np.int64) << 40) | (videos.widths.astype(np.int64) << 16)
        _, first, inverse = np.unique(key | level, return_index=True, return_inverse=True)
        heights, widths, frames = videos.heights[first], videos.widths[first], level[first]
        frames = np.append(0, lengths)[frames]
        found = np.empty(len(first), dtype=np.int16)
        for begin in range(0, len(first), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            found[part] = self._choose(heights[part], widths[part], frames[part])
        return found[inverse]

    def _explain(self, videos: VideoSizes, *, sampler: ClipSampler) -> str:
        """Why some videos are in no bucket."""
        offered, least = frames_offered(sampler, videos), min(shape[0] for shape in self.shapes)
        return counted(
            (
                offered < least,
                f"with too few frames ({sampler!r} finds {offered.min()}, a bucket has {least} at "
                "least)",
            ),
            (np.ones(len(videos), dtype=bool), "whose pictures fill none of the buckets"),
        )

    def _choose(
        self, heights: NDArray[np.int32], widths: NDArray[np.int32], frames: NDArray[np.int64]
    ) -> NDArray[np.intp]:
        """The bucket for each (height, width, number of frames); -1 for none."""
        shapes = np.array(self.shapes, dtype=np.int64)
        tall, wide, long = (each[:, None] for each in (heights, widths, frames))
        fits = (long >= shapes[:, 0]) & (np.minimum(tall, wide) > 0)
        if not self.upscale:
            fits &= (tall >= shapes[:, 1]) & (wide >= shapes[:, 2])
        aspect = np.divide(wide, np.maximum(tall, 1)) * (shapes[:, 1] / shapes[:, 2])
        kept = np.minimum(aspect, np.divide(1, aspect, where=aspect > 0, out=aspect.copy()))
        kept = np.where(fits & (kept >= 1 - self.max_crop), kept, -1.0)
        best = kept.max(axis=1, keepdims=True)
        is_near = (kept >= best - self.tolerance) & (kept >= 0)
        # Lexicographic score: pixels (an integer), then the kept share (at most 1).
        score = np.where(is_near, shapes.prod(axis=1) + kept / 2, -1.0)
        return np.where(best[:, 0] < 0, -1, score.argmax(axis=1))

    def plan(
        self,
        videos: VideoSizes,
        sampler: ClipSampler,
        *,
        seed: int = 0,
        shuffle: bool = True,
        samples: EpochSamples = ONCE,
    ) -> BatchPlan:
        """The batches of all epochs.

        Args:
            videos: sizes of the videos.
            sampler: chooses the clips.
            seed: of the order.
            shuffle: permute samples and batches, differently in each epoch.
            samples: number of samples of each video in an epoch; drawn ones are always permuted.

        Raises:
            ArgumentError: no video fits a bucket, or some do not and `on_unfit` is `error`.
        """
        buckets = self.assign(videos, sampler)
        check_unfit(
            np.flatnonzero(buckets < 0),
            videos,
            self.on_unfit,
            partial(self._explain, sampler=sampler),
            of="Buckets",
        )
        if (least := int(self.batch_sizes.min())) < samples.group:
            raise ArgumentError(
                f"a batch of one of the buckets holds {least} clips, fewer than "
                f"together={samples.group}"
            )
        order = samples.order(buckets >= 0, seed, shuffle=shuffle)
        shapes = np.array([*self.shapes, (0, 0, 0)], dtype=np.int32)[buckets]

        tokens = np.append(self.tokens, 0)[buckets]
        cut = partial(
            self._cut, buckets=buckets, together=samples.group, in_order=not order.shuffle
        )
        return BatchPlan(shapes, tokens, self.limit, repr(self), order, cut)

    def _cut(
        self, numbers: NDArray[Any], *, buckets: NDArray[np.int16], together: int, in_order: bool
    ) -> BatchList:
        """Split ordered samples into batches, bucket by bucket or in the order of first samples.

        Each batch has whole groups of neighbours, which are of one video.
        """
        own = buckets[numbers % len(buckets)]
        grouped = numbers[np.argsort(own, kind="stable")]  # of int16: a radix sort
        counts = np.bincount(own, minlength=len(self.shapes))
        sizes = self.batch_sizes // together * together
        samples, begins, ends = [], [], []
        done = 0
        for size, group in zip(
            sizes.tolist(), np.split(grouped, np.cumsum(counts)[:-1]), strict=True
        ):
            rest = len(group) % size
            if rest and self.remainder == "drop":
                group = group[: len(group) - rest]
            elif rest and self.remainder == "repeat":
                group = np.append(group, np.resize(group, size - rest))
            first = np.arange(0, len(group), size)
            samples.append(group)
            begins.append(done + first)
            ends.append(done + np.minimum(first + size, len(group)))
            done += len(group)
        batches = BatchList(*(np.concatenate(each) for each in (samples, begins, ends)))
        if not in_order:
            return batches
        by_first = np.argsort(batches.samples[batches.begins], kind="stable")
        return BatchList(batches.samples, batches.begins[by_first], batches.ends[by_first])


def as_shape(name: str, given: Sequence[int]) -> Shape:
    """Check (frames, height, width): three integers of at least 1.

    Raises:
        ArgumentError: `given` is not such a tuple.
    """
    sides = tuple(given) if isinstance(given, Sequence | np.ndarray) else ()
    if len(sides) != 3 or not all(isinstance(n, int | np.integer) and n > 0 for n in sides):
        raise ArgumentError(f"{name}: (frames, height, width) in whole numbers, got {given!r}")
    return int(sides[0]), int(sides[1]), int(sides[2])
