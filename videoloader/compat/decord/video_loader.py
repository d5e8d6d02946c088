"""decord's `VideoLoader`: batches of frames of many videos, each from one video."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from videoloader.compat.decord.base import DECORDError, RefusedError, as_integer
from videoloader.compat.decord.bridge import Frames, bridge_out
from videoloader.compat.decord.ndarray import DECORDContext, as_context
from videoloader.compat.decord.video_reader import VideoReader
from videoloader.errors import ArgumentError

__all__ = ["VideoLoader"]

_OPEN = 32  # videos kept open
_SHUFFLES = (0, 1, 2, 3)
_AFTER = 2  # frames that decord never reads after the last batch of a video


class _ShuffleError(DECORDError, ArgumentError):
    """An unknown shuffle mode."""


class VideoLoader:
    """Batches of many videos: (frames, indices).

    Frames are uint8 (B, H, W, 3), indices int64 (B, 2): number of the video and of the frame.
    As in decord, at least two frames of a video follow its last batch, so the number of batches is
    the same.

    Args:
        uris: paths of the videos.
        ctx: `cpu(0)` or `gpu(n)`, or several, assigned to the videos in turn.
        shape: (B, H, W, 3) of a batch; with H or W of 0 or less, those of the video.
        interval: frames skipped between those of a batch.
        skip: frames skipped between batches.
        shuffle: 0: in order; 1: videos at random, the batches of each in order; 2: all batches at
            random; 3: videos in order, the batches of each at random.
        prefetch: without effect.
        seed: of the shuffling; drawn by numpy if None.
    """

    def __init__(
        self,
        uris: Sequence[str],
        ctx: DECORDContext | Sequence[DECORDContext],
        shape: Sequence[int],
        interval: int,
        skip: int,
        shuffle: int,
        prefetch: int = 0,
        seed: int | None = None,
    ) -> None:
        contexts = [ctx] if isinstance(ctx, DECORDContext) else list(ctx)
        if not isinstance(uris, list | tuple) or not uris or not contexts:
            raise RefusedError("uris is a list of at least one path, and ctx a context or several")
        if not isinstance(shape, list | tuple) or len(shape) != 4 or shape[0] < 1:
            raise RefusedError(f"shape is (batch, height, width, 3), got {shape!r}")
        interval, skip = as_integer(interval, "interval"), as_integer(skip, "skip")
        if min(interval, skip) < 0:
            raise ArgumentError(f"interval and skip are at least 0, got {interval} and {skip}")
        if shuffle not in _SHUFFLES:
            raise _ShuffleError(f"shuffle is one of {_SHUFFLES}, got {shuffle}")
        self._uris = [str(uri) for uri in uris]
        self._contexts = [as_context(each) for each in contexts]
        self._size = as_integer(shape[1], "height"), as_integer(shape[2], "width")
        self._shuffle = shuffle
        self._random = np.random.default_rng(seed)
        self._readers: dict[int, VideoReader] = {}
        within = np.arange(as_integer(shape[0], "batch")) * (interval + 1)
        span = int(within[-1]) + 1
        self._batches: list[list[tuple[int, Any]]] = []
        for number in range(len(self._uris)):
            starts = range(0, len(self._reader(number)) - span - _AFTER + 1, span + skip)
            self._batches.append([(number, start + within) for start in starts])
        self.reset()

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self._order)

    def reset(self) -> None:
        """Begin the next epoch with a new shuffle."""
        videos = [list(batches) for batches in self._batches]
        if self._shuffle == 1:
            videos = [videos[place] for place in self._random.permutation(len(videos))]
        if self._shuffle == 3:
            videos = [self._permuted(batches) for batches in videos]
        order = [batch for batches in videos for batch in batches]
        self._order = self._permuted(order) if self._shuffle == 2 else order
        self._next = 0

    def __iter__(self) -> VideoLoader:
        return self

    def __next__(self) -> tuple[Frames, Frames]:
        if self._next >= len(self._order):
            raise StopIteration
        number, frames = self._order[self._next]
        self._next += 1
        batch = self._reader(number)._frames(frames)
        places = np.stack([np.full(len(frames), number), frames], axis=-1)
        return bridge_out(batch), bridge_out(torch.from_numpy(places))

    next = __next__

    def _permuted(self, batches: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
        return [batches[place] for place in self._random.permutation(len(batches))]

    def _reader(self, number: int) -> VideoReader:
        reader = self._readers.pop(number, None)
        if reader is None:
            while len(self._readers) >= _OPEN:
                del self._readers[next(iter(self._readers))]
            height, width = self._size
            context = self._contexts[number % len(self._contexts)]
            reader = VideoReader(self._uris[number], context, width, height)
        self._readers[number] = reader  # the least recently used one is closed first
        return reader
