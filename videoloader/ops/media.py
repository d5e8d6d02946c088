"""The way from operators to video files: two functions, which tests replace."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.errors import UnsupportedError
from videoloader.sampling import FILLED

__all__ = ["Index", "OpenVideo", "check_gpu", "index_video", "open_video", "seconds"]


class Index(Protocol):
    """What operators need to know of a video; `VideoIndex` is one."""

    @property
    def name(self) -> str:
        """Name of the file, for messages."""

    @property
    def num_frames(self) -> int:
        """Number of frames."""

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


class Frames(Protocol):
    """What decoding gives; `videoloader.Clip` is one."""

    @property
    def frames(self) -> torch.Tensor:
        """The pictures, uint8 (F, H, W, C)."""


class OpenVideo(Protocol):
    """What operators do with a video; `videoloader.Video` is one."""

    @property
    def name(self) -> str:
        """File name, for messages."""

    @property
    def index(self) -> Any:
        """Its `Index`."""

    @property
    def get_frames(self) -> Callable[..., Frames]:
        """Decodes frames."""

    def close(self) -> None:
        """Let go of the file."""


def index_video(source: Any) -> Index:
    """Read the tables of a video: a path, URL or bytes."""
    import videoloader.indexing as indexing

    index: Index = indexing.index_video(source)
    return index


def open_video(source: Any, device: str, index: Any = None, **options: Any) -> OpenVideo:
    """Open a video for decoding on a device; with an index nothing is read to do so.

    `options` are those of `videoloader.Video`.
    """
    from videoloader.video import Video

    video: OpenVideo = Video(source, device=device, index=index, **options)
    return video


def seconds(index: Index, frames: NDArray[np.int64]) -> NDArray[np.float64]:
    """Time of each frame since the first of the video, in seconds; -1 for a filled frame."""
    if len(index.pts) == 0:
        return np.full(frames.shape, -1.0)
    ticks = (index.pts - index.pts[0])[frames]
    base = index.time_base
    times = ticks * base.numerator / base.denominator
    return np.where(frames == FILLED, -1.0, times)


def check_gpu(what: str) -> None:
    """`UnsupportedError` unless torch has a GPU."""
    if not torch.cuda.is_available():
        raise UnsupportedError(
            f'{what} needs a GPU, and torch finds none on this machine; use device="cpu"'
        )
