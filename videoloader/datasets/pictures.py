"""Small pictures of videos, decoded on the library's own path: thumbnails and gray pictures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.errors import FormatError
from videoloader.indexing.index import VideoIndex
from videoloader.sources.items import Item
from videoloader.sources.source import Source, VideoSource
from videoloader.video import Video

AnyVideo: TypeAlias = "Video | VideoSource | Source | Item"

_THUMBNAIL = (27, 48)
"""Rows and columns of a thumbnail, as shot boundary models such as TransNet take them."""


class Thumbnails(NamedTuple):
    """Small RGB pictures of frames.

    Attributes:
        frames: int64 (n,), frame numbers.
        pixels: uint8 (n, 27, 48, 3).

    >>> thumbnails = read_thumbnails("clip.mp4", "keyframes")
    >>> thumbnails.frames[:3], thumbnails.pixels.dtype
    (array([ 0, 12, 24]), dtype('uint8'))
    """

    frames: NDArray[np.int64]
    pixels: NDArray[np.uint8]


@contextmanager
def opened(source: AnyVideo) -> Iterator[Video]:
    """A video to read from: the one that is given, which stays open, or one of a source.

    Raises:
        FormatError: it has no frame.
    """
    if not isinstance(source, Video):
        with Video(source, threads=1) as video, opened(video):
            yield video
        return
    if not len(source):
        raise FormatError(f"{source.name}: there is no frame in it")
    yield source


def read_thumbnails(
    source: AnyVideo, frames: ArrayLike | Literal["all", "keyframes"] = "keyframes"
) -> Thumbnails:
    """Thumbnails of 27 x 48 pixels, whatever the aspect ratio.

    Args:
        source: a video.
        frames: frame numbers, or `all`, or `keyframes`, which costs a small part of the time.

    >>> read_thumbnails("clip.mp4", [0, 30, 60]).pixels.shape
    (3, 27, 48, 3)
    """
    with opened(source) as video:
        if isinstance(frames, str):
            numbers = np.arange(len(video)) if frames == "all" else keyframes_of(video.index)
        else:
            numbers = np.asarray(frames, dtype=np.int64)
        return Thumbnails(numbers, _read(video, numbers, size=_THUMBNAIL))


def thumbnail_row(
    video: AnyVideo, frames: Literal["all", "keyframes"] = "keyframes"
) -> dict[str, Any]:
    """`read_thumbnails` as a row for `map_clips`.

    `thumbnails` are bytes: `np.frombuffer(row, np.uint8).reshape(-1, 27, 48, 3)`.
    """
    numbers, pixels = read_thumbnails(video, frames)
    return {"thumbnail_frames": numbers, "thumbnails": pixels.tobytes()}


def read_gray(video: Video, frames: ArrayLike, *, size: tuple[int, int] | int) -> NDArray[np.uint8]:
    """The luma of frames in full range, uint8 (F, H, W).

    Args:
        video: to read from.
        frames: frame numbers.
        size: (height, width), or the length of the shorter side.
    """
    form: dict[str, Any] = {"resize_shorter" if isinstance(size, int) else "size": size}
    return _read(video, np.asarray(frames, dtype=np.int64), output="gray", **form)[..., 0]


def keyframes_of(index: VideoIndex) -> NDArray[np.int64]:
    """The keyframes of a video; its first frame where no packet is marked as one."""
    return index.keyframes if len(index.keyframes) else np.zeros(min(len(index), 1), np.int64)


def spread(numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """At most `count` of some numbers, evenly spread, the first one always.

    >>> spread(np.arange(10), 4)
    array([0, 2, 5, 7])
    """
    if len(numbers) <= count:
        return numbers
    return numbers[np.arange(count) * len(numbers) // count]


def _read(video: Video, frames: NDArray[np.int64], **form: Any) -> NDArray[np.uint8]:
    """Frames averaged down to their size, so that grain and moiré do not count."""
    clip = video.get_frames(frames, interpolation="triangular", **form)
    pixels: NDArray[np.uint8] = clip.frames.cpu().numpy()
    return pixels
