"""Opens videos and sound with the colours and stream choice of the replaced libraries."""

from __future__ import annotations

import importlib
import math
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Any

from videoloader.audio import Audio
from videoloader.decoding.options import Layout, Matrix
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.checks import one_of
from videoloader.sources.demuxer import open_container
from videoloader.sources.items import Item
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source, VideoSource
from videoloader.video import Video

if TYPE_CHECKING:
    import torch
    from av.container import InputContainer

__all__ = [
    "MATRIX",
    "ClosedWhenCollected",
    "first_module",
    "frame_rate",
    "index_first_video",
    "layout_of",
    "nearest_samples",
    "open_first_video",
    "open_sound",
    "open_video",
    "read_sound",
    "stream_numbers",
]

MATRIX: Matrix = "swscale"  # what PyAV, decord, torchcodec and OpenCV convert with
_LARGEST_DENOMINATOR = 100_000  # 1001 is the usual one


def open_video(source: VideoSource | Source | Item, **options: Any) -> Video:
    """A `Video` with swscale's colours; `options` are its keywords.

    Pictures are upright: the rotation that a container asks for is applied.
    """
    return Video(source, **{"matrix": MATRIX, **options})


def open_first_video(source: VideoSource | Source, **options: Any) -> Video:
    """`open_video` of the first video stream instead of FFmpeg's best one.

    PyAV and OpenCV read this stream by default.
    """
    video = open_video(source, **options)
    if video.index.stream == 0:
        return video
    first = stream_numbers(source, "video")[:1]
    if first in ([], [video.index.stream]):
        return video
    video.close()
    return open_video(source, stream=first[0], **options)


def index_first_video(source: VideoSource) -> VideoIndex:
    """The index of the stream that `open_first_video` opens."""
    with open_first_video(source) as video:
        return video.index


def open_sound(source: VideoSource | Source, **options: Any) -> Audio | None:
    """The first audio stream of a file; None if there is none, or it has no packets.

    `options` are those of `Audio`.
    """
    with _container(source) as container:
        first = next((stream for stream in container.streams if stream.type == "audio"), None)
        if first is None or not any(packet.size for packet in container.demux(first)):
            return None
        number = first.index  # read before the container is closed
    return Audio(source, stream=number, **options)


def read_sound(
    source: VideoSource, info: dict[str, Any], start: float | None = None, stop: float = math.inf
) -> torch.Tensor:
    """The samples between two times in seconds, in the stored type; (1, 0) without sound.

    Puts the sample rate into `info` as `audio_fps`.
    """
    sound = open_sound(source, dtype="stored")
    if sound is None:
        import torch

        return torch.empty((1, 0))
    with sound:
        info["audio_fps"] = sound.sample_rate
        return sound.get_samples(start, None if stop == math.inf else stop)


def nearest_samples(audio: Audio, start: float, stop: float | None) -> torch.Tensor:
    """The samples from the one nearest to `start` to before the one nearest to `stop`."""
    half = 0.5 / audio.sample_rate  # `get_samples` begins at the first sample at or after a time
    return audio.get_samples(start - half, None if stop is None else stop - half)


def layout_of(output_format: str) -> Layout:
    """The layout that torchvision calls `THWC` or `TCHW`."""
    chosen = one_of("output_format", output_format.upper(), ("THWC", "TCHW"))
    return "FHWC" if chosen == "THWC" else "FCHW"


def stream_numbers(source: VideoSource | Source, kind: str) -> list[int]:
    """The numbers of the streams of kind `video` or `audio` in the header of a file."""
    with _container(source) as container:
        return [stream.index for stream in container.streams if stream.type == kind]


@contextmanager
def _container(source: VideoSource | Source) -> Iterator[InputContainer]:
    """The file as FFmpeg's demuxer opens it."""
    opened = open_source(source)
    try:
        with open_container(opened, "media file") as container:
            yield container
    finally:
        if opened is not source:
            opened.close()


class ClosedWhenCollected:
    """Closes a video or sound when the last object that holds this is collected.

    For readers without `close`. Copies of a reader share it; a pickled reader gets a new one.
    """

    def __init__(self, opened: Video | Audio) -> None:
        self._opened = opened
        weakref.finalize(self, opened.close).atexit = False

    def __reduce__(self) -> tuple[Any, ...]:
        return ClosedWhenCollected, (self._opened,)


def frame_rate(index: VideoIndex) -> float:
    """Frames a second as the container states, else on average, as FFmpeg's `avg_frame_rate`.

    Without the rounding of the duration: 30 and not 29.999999999.
    """
    if index.stated_rate is not None:
        return float(index.stated_rate)
    return float(Fraction(index.average_fps).limit_denominator(_LARGEST_DENOMINATOR))


def first_module(names: Iterable[str], hint: str) -> ModuleType:
    """Import the first module of several that is installed.

    Raises:
        ImportError: none is; `hint` says what to install.
    """
    wanted = tuple(names)
    for name in wanted:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            package = name.partition(".")[0]
            if error.name is None or error.name.partition(".")[0] != package:
                raise  # the package is installed, one of its dependencies is not
    raise ModuleNotFoundError(f"{' or '.join(wanted)} is not installed; {hint}")
