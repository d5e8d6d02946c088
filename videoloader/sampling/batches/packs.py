"""`Packing`: packs clips of different lengths and sizes into sequences of limited length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.machinery.system.checks import whole_number
from videoloader.machinery.system.spelling import suggests_names
from videoloader.sampling.batches.batch_plan import (
    BatchList,
    BatchPlan,
    OnUnfit,
    Shape,
    check_unfit,
    counted,
)
from videoloader.sampling.batches.buckets import as_shape
from videoloader.sampling.batches.video_sizes import VideoSizes, check_length_varies, frames_offered
from videoloader.sampling.orders.sample_order import ONCE, EpochSamples
from videoloader.sampling.sampler import ClipSampler

_WINDOWS = 256  # windows that are packed at once


@suggests_names
@dataclass(frozen=True, slots=True)
class Packing:
    """Packs of clips of several lengths and sizes: a batch is one sequence of tokens.

    Each video keeps its size and aspect ratio, cropped at the edges to whole patches (by less than
    one patch). A clip has as many frames as its video allows, at most `count` of the clip sampler
    and at most a full pack, rounded down to whole patches: `RandomClip(64, fps=8)` takes up to 8
    seconds.

    The samples of an epoch are permuted, and each `window` of them is packed by first-fit
    decreasing: longest clips first, each into the first pack with enough room. The packs are then
    permuted, too. A pack has at most `max_tokens` tokens, and no clip is split.

    Args:
        max_tokens: maximum tokens of a pack.
        patchify: (frames, rows, columns) of a token. Batches then hold `patches`, see `patchify`.
        patch: likewise, but batches hold the clips as a list, for models that patchify themselves.
        max_pixels: maximum pixels of a picture; larger ones are resized, keeping the aspect ratio.
        pad: pad `patches`, and other values that are per token, to `max_tokens`.
        window: samples that are packed together; larger windows fill packs better and cost more.
        on_unfit: videos that are smaller or shorter than a patch, or whose single patch of frames
            exceeds `max_tokens`, are an `error`, or `skip` omits them, and `BatchPlan.unfit` has
            their numbers.

    >>> from videoloader.sampling import RandomClip
    >>> sizes = VideoSizes(*np.array([[64, 32], [64, 96], [40, 8]]), np.array([30.0, 30.0]))
    >>> plan = Packing(max_tokens=400, patchify=(2, 16, 16)).plan(sizes, RandomClip(16))
    >>> plan.shape(0), plan.shape(1), plan.tokens
    ((16, 64, 64), (8, 32, 96), array([128,  48]))
    """

    max_tokens: int
    patchify: Shape | None = None
    patch: Shape | None = None
    max_pixels: int | None = None
    pad: bool = False
    window: int = 1024
    on_unfit: OnUnfit = "error"

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_pixels", "window"):
            if (value := getattr(self, name)) is not None:
                whole_number(name, value, least=1)
        if (self.patch is None) == (self.patchify is None):
            raise ArgumentError("give either patchify or patch to Packing")
        if self.pad and self.patchify is None:
            raise ArgumentError("pad fills up patches; give patchify, not patch")
        for name in ("patch", "patchify"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_shape(name, getattr(self, name)))

    @property
    def unit(self) -> Shape:
        """(frames, rows, columns) of a token."""
        unit = self.patch if self.patchify is None else self.patchify
        assert unit is not None
        return unit

    def clip_shapes(self, videos: VideoSizes, sampler: ClipSampler) -> NDArray[np.int32]:
        """(frames, height, width) of the clip of each video in whole patches, (N, 3).

        Zeros if a video is smaller than a patch, or one patch of its frames exceeds a pack.
        """
        shapes = np.empty((len(videos), 3), dtype=np.int32)
        for part, some in videos.parts():
            shapes[part] = self._clip_shapes(some, sampler)
        return shapes

    def _clip_shapes(self, videos: VideoSizes, sampler: ClipSampler) -> NDArray[np.int32]:
        count = check_length_varies(sampler).count
        assert count is not None
        frames = np.minimum(frames_offered(sampler, videos), count)
        shapes = np.stack([frames, *self._sides(videos)], axis=1).astype(np.int64) // self.unit
        tokens = np.maximum(shapes[:, 1] * shapes[:, 2], 1)
        shapes[:, 0] = np.minimum(shapes[:, 0], self.max_tokens // tokens)
        shapes *= self.unit
        shapes[(shapes == 0).any(axis=1)] = 0
        return shapes.astype(np.int32)

    def _sides(self, videos: VideoSizes) -> list[NDArray[Any]]:
        """Heights and widths of videos, made smaller where they have more than `max_pixels`."""
        sides: list[NDArray[Any]] = [videos.heights, videos.widths]
        if self.max_pixels is None:
            return sides
        area = np.maximum(videos.heights.astype(np.float64) * videos.widths, 1)
        scale = np.minimum(np.sqrt(self.max_pixels / area), 1)
        return [np.floor(side * scale + 1e-6) for side in sides]  # 91 * (64 / 91) is 64

    def _explain(self, videos: VideoSizes, *, sampler: ClipSampler) -> str:
        """Why some videos are in no pack."""
        frames, rows, columns = self.unit
        offered = np.minimum(
            frames_offered(sampler, videos), check_length_varies(sampler).count or 0
        )
        heights, widths = self._sides(videos)
        return counted(
            (
                offered < frames,
                f"with too few frames ({sampler!r} takes {offered.min()}, a patch has {frames})",
            ),
            (
                (heights < rows) | (widths < columns),
                f"with pictures smaller than a patch of {rows}x{columns}",
            ),
            (np.ones(len(videos), dtype=bool), f"with more than {self.max_tokens} tokens"),
        )

    def plan(
        self,
        videos: VideoSizes,
        sampler: ClipSampler,
        *,
        seed: int = 0,
        shuffle: bool = True,
        samples: EpochSamples = ONCE,
    ) -> BatchPlan:
        """The packs of all epochs; for the arguments see `Buckets.plan`.

        Raises:
            ArgumentError: some videos are unfit, with `on_unfit="error"`, or all are.
        """
        shapes = self.clip_shapes(videos, sampler)
        tokens = np.ones(len(videos), dtype=np.int64)
        for axis, unit in enumerate(self.unit):
            tokens *= shapes[:, axis] // unit
        fits = tokens > 0
        check_unfit(
            np.flatnonzero(~fits),
            videos,
            self.on_unfit,
            partial(self._explain, sampler=sampler),
            of="Packing",
        )
        most = int(tokens.max()) * samples.group
        if samples.group > 1 and most > self.max_tokens:
            raise ArgumentError(
                f"together={samples.group} clips of a video have {most} tokens, more than "
                f"max_tokens={self.max_tokens}"
            )
        order = samples.order(fits, seed, shuffle=shuffle)

        cut = partial(self._cut, tokens=tokens, group=samples.group)
        return BatchPlan(shapes, tokens, self.max_tokens, repr(self), order, cut)

    def _cut(self, numbers: NDArray[Any], *, tokens: NDArray[np.int64], group: int) -> BatchList:
        """Pack groups of samples, each of one video, in their order."""
        numbers = numbers.reshape(-1, group)
        sizes = tokens[numbers[:, 0] % len(tokens)] * group
        packs = pack_first_fit(sizes, self.max_tokens, max(self.window // group, 1))
        places = np.argsort(packs, kind="stable")
        ends = group * np.append(np.flatnonzero(np.diff(packs[places])) + 1, len(places))
        return BatchList(numbers[places].reshape(-1), np.append(0, ends[:-1]), ends)


def pack_first_fit(
    sizes: NDArray[np.int64], capacity: int, window: int = 1024
) -> NDArray[np.int64]:
    """First-fit decreasing within windows: the pack of each item.

    The items of each `window`, largest first (equal ones in order), go into the first pack of
    their window with enough room. Many windows are packed at once, item by item.

    Args:
        sizes: of the items, 1 to `capacity`.
        capacity: of a pack.
        window: items that are packed together.

    Returns:
        Number of the pack of each item; packs of a later window have larger numbers, and some
        numbers are unused.

    >>> pack_first_fit(np.array([2, 5, 3, 4]), capacity=7)
    array([0, 0, 1, 1])
    """
    packs = np.empty(len(sizes), dtype=np.int64)
    stretch = window * _WINDOWS
    for begin in range(0, len(sizes), stretch):
        part = sizes[begin : begin + stretch]
        windows = -(-len(part) // window)
        table = np.zeros((windows, window), dtype=np.int64)
        table.reshape(-1)[: len(part)] = part
        numbers = _pack_rows(table, capacity)
        numbers += (begin // window + np.arange(windows)[:, None]) * window
        packs[begin : begin + stretch] = numbers.reshape(-1)[: len(part)]
    return packs


def _pack_rows(sizes: NDArray[np.int64], capacity: int) -> NDArray[np.int64]:
    """The pack of each item of each row, numbered within the row; size 0 marks padding."""
    rows = np.arange(len(sizes))
    order = np.argsort(-sizes, axis=1, kind="stable")
    room = np.full(sizes.shape, capacity, dtype=np.int64)
    packs = np.zeros_like(sizes)
    used = 1  # maximum over rows of packs in use, plus an empty one
    for items in order.T:
        size = sizes[rows, items]
        if not size.any():
            break
        chosen = (room[:, :used] >= size[:, None]).argmax(axis=1)
        room[rows, chosen] -= size
        packs[rows, items] = chosen
        used = min(max(used, int(chosen.max()) + 2), sizes.shape[1])
    return packs
