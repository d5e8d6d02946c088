"""How drop-ins open a video: with the colours of the libraries that they stand for."""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Iterable
from fractions import Fraction
from types import ModuleType
from typing import Any

from videoloader.decoding.output import Matrix
from videoloader.indexing.index import VideoIndex
from videoloader.sources.items import Item
from videoloader.sources.source import Source, VideoSource
from videoloader.video import Video

__all__ = ["MATRIX", "ClosedWhenCollected", "first_module", "frame_rate", "open_video"]

MATRIX: Matrix = "swscale"  # what PyAV, decord, torchcodec and OpenCV convert with
_LARGEST_DENOMINATOR = 100_000  # 1001 is the usual one


def open_video(source: VideoSource | Source | Item, **options: Any) -> Video:
    """A `Video` with swscale's colours; `options` are its keywords.

    Pictures are upright: the rotation that a container asks for is applied.
    """
    return Video(source, **{"matrix": MATRIX, **options})


class ClosedWhenCollected:
    """Closes a video when the last object that holds this is collected.

    For readers that nobody closes in the library they stand for.
    """

    def __init__(self, video: Video) -> None:
        weakref.finalize(self, video.close).atexit = False


def frame_rate(index: VideoIndex) -> float:
    """Frames a second as the container states, else on average, as FFmpeg's `avg_frame_rate`.

    Without the rounding of the duration: 30 and not 29.999999999.
    """
    if index.stated_rate is not None:
        return float(index.stated_rate)
    return float(Fraction(index.average_fps).limit_denominator(_LARGEST_DENOMINATOR))


def first_module(names: Iterable[str], hint: str) -> ModuleType:
    """The first of some modules that can be imported.

    Raises:
        ImportError: none can; `hint` says what to install.
    """
    wanted = tuple(names)
    for name in wanted:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            package = name.partition(".")[0]
            if error.name is None or error.name.partition(".")[0] != package:
                raise  # the package is there, and lacks something of its own
    raise ModuleNotFoundError(f"{' or '.join(wanted)} is not installed; {hint}")
