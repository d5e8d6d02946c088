"""The way from operators to video files: two functions, which tests replace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.clip import ClipBatch
from videoloader.decoding.opening.indexer import Indexer
from videoloader.decoding.opening.videos import open_any, source_name
from videoloader.errors import NoGpuError
from videoloader.sampling import FILLED, frames_at_times
from videoloader.sampling.timeline import Timeline
from videoloader.sources.faults import blamed_on
from videoloader.sources.items import Item

__all__ = [
    "ClipDecoder",
    "Index",
    "check_gpu",
    "clip_decoder",
    "frames_at_seconds",
    "index_video",
    "seconds",
    "span",
]


class Index(Protocol):
    """What operators need to know of a video; `VideoIndex` is one."""

    @property
    def name(self) -> str:
        """Name of the file, for messages."""

    @property
    def num_frames(self) -> int:
        """Number of frames."""

    @property
    def width(self) -> int:
        """Coded width, before rotation."""

    @property
    def height(self) -> int:
        """Coded height, before rotation."""

    @property
    def orientation(self) -> Any:
        """The turn for display, an `Orientation`."""

    @property
    def keyframes(self) -> NDArray[np.int64]:
        """Frame numbers of random-access points, ascending."""

    @property
    def pts(self) -> NDArray[np.int64]:
        """Presentation time of every frame, in ticks."""

    @property
    def time_base(self) -> Fraction:
        """Seconds in a tick."""

    @property
    def average_fps(self) -> float | Fraction:
        """Frames in a second."""

    @property
    def boundaries(self) -> NDArray[np.float64]:
        """When each frame begins, in seconds, and when the last one ends."""

    @property
    def order_in_time(self) -> NDArray[np.int64] | None:
        """Frames by presentation time, where damaged timestamps do not ascend."""


class ClipDecoder(Protocol):
    """What decodes the clips of a batch; `BatchDecoder` is one."""

    @property
    def open(self) -> Callable[..., AbstractContextManager[list[Any]]]:
        """Opens videos, see `BatchDecoder.open`."""

    @property
    def run(self) -> Callable[..., ClipBatch]:
        """Decodes clips of them, see `BatchDecoder.run`."""

    def engines(self) -> dict[str, int]:
        """What decodes now."""


def index_video(video: Item | bytes, indexer: Indexer) -> Index:
    """The index of a video, made in a worker process where FFmpeg has to look at it."""
    with blamed_on(source_name(video)), open_any(video) as source:
        index: Index = indexer.index(source, video if isinstance(video, Item) else None)
        return index


def clip_decoder(device: str, workers: int | None = None, **limits: Any) -> ClipDecoder:
    """The decoder of this process for a torch device.

    Args:
        device: where frames are given.
        workers: most processes that decode on the CPU.
        limits: of each of them: `time_limit` and `memory_limit` of `BatchDecoder`.
    """
    from videoloader.decoding.batch import shared_decoder

    return shared_decoder(device, workers, **limits)


def seconds(index: Index, frames: NDArray[np.int64]) -> NDArray[np.float64]:
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
    index: Index, times: Sequence[float], pad_mode: str, name: str
) -> NDArray[np.int64]:
    """The frame shown at each time since the first of the video; see `frames_at_times`."""
    base = index.time_base
    first = int(index.pts[0]) * base.numerator / base.denominator if len(index.pts) else 0.0
    clock = _FromFirstFrame(index.order_in_time, base, index.boundaries - first)
    return frames_at_times(times, clock, pad_mode=pad_mode, name=name)


def span(index: Index, frames: NDArray[np.int64]) -> tuple[float, float]:
    """When the earliest of some frames begins and the latest ends, on the clock of the file.

    Filled frames do not count; without any other it is empty. A last frame of unknown duration is
    on screen as long as an average one.
    """
    shown = frames[frames != FILLED]
    if not len(shown):
        return 0.0, 0.0
    line = Timeline.of(index.num_frames, float(index.average_fps) or None, index.boundaries)
    times = np.sort(index.pts)
    first, last = np.searchsorted(times, [index.pts[shown].min(), index.pts[shown].max()])
    after = int(np.searchsorted(times, times[last], side="right"))
    return line.time(int(first)), line.time(after)


def check_gpu(what: str) -> None:
    """`NoGpuError` unless torch has a GPU."""
    if not torch.cuda.is_available():
        raise NoGpuError(
            f'{what} needs a GPU, and torch finds none on this machine; use device="cpu"'
        )
