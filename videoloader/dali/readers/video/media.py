"""Indexes and decoders for the operators that read videos, and times of their frames.

Tests replace `index_video` and `clip_decoder`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.opening.indexer import Indexer
from videoloader.decoding.opening.videos import open_any, source_name
from videoloader.errors import NoGpuError
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.faults import blamed_on
from videoloader.sampling import FILLED, frames_at_times
from videoloader.sources.items import Item

if TYPE_CHECKING:
    from videoloader.decoding.batch_decoder import BatchDecoder


def index_video(video: Item | bytes, indexer: Indexer) -> VideoIndex:
    """The index of a video, made in a worker process where FFmpeg has to look at it."""
    with blamed_on(source_name(video)), open_any(video) as source:
        return indexer.index(source, video if isinstance(video, Item) else None)


def clip_decoder(device: str, workers: int | None = None, **limits: Any) -> BatchDecoder:
    """The decoder of this process for a torch device.

    Args:
        device: where frames are given.
        workers: most processes that decode on the CPU.
        limits: of each of them: `time_limit` and `memory_limit` of `BatchDecoder`.
    """
    from videoloader.decoding.batch_decoder import shared_decoder

    return shared_decoder(device, workers, **limits)


def seconds(index: VideoIndex, frames: NDArray[np.int64]) -> NDArray[np.float64]:
    """Time of each frame since the first of the video, in seconds; -1 for a filled frame."""
    if len(index.pts) == 0:
        return np.full(frames.shape, -1.0)
    ticks = index.pts[frames] - index.pts[0]
    base = index.time_base
    times = ticks * base.numerator / base.denominator
    return np.where(frames == FILLED, -1.0, times)


@dataclass(frozen=True, slots=True)
class _FromFirstFrame:
    """The times of a video, counted from its first frame."""

    order_in_time: NDArray[np.int64] | None
    time_base: Fraction
    boundaries: NDArray[np.float64]


def frames_at_seconds(
    index: VideoIndex, times: Sequence[float], pad_mode: str, name: str
) -> NDArray[np.int64]:
    """The frame shown at each time since the first of the video; see `frames_at_times`."""
    base = index.time_base
    first = int(index.pts[0]) * base.numerator / base.denominator if len(index.pts) else 0.0
    clock = _FromFirstFrame(index.order_in_time, base, index.boundaries - first)
    return frames_at_times(times, clock, pad_mode=pad_mode, name=name)


def check_gpu(what: str, instead: str = 'use device="cpu"') -> None:
    """`NoGpuError` unless torch has a GPU."""
    if not torch.cuda.is_available():
        raise NoGpuError(f"{what} needs a GPU, and torch finds none on this machine; {instead}")
