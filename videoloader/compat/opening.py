"""Opens videos and sound with the colours and stream choice of the replaced libraries."""

from __future__ import annotations

import importlib
import math
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from videoloader.audio import Audio
from videoloader.decoding.options import Layout, Matrix
from videoloader.errors import VideoError
from videoloader.indexing.containers.registry import container_of
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.libav import StreamHeader, read_stream_header
from videoloader.machinery.system.checks import one_of
from videoloader.sources.demuxer import open_container
from videoloader.sources.items import Item
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source, VideoSource
from videoloader.video import Video

if TYPE_CHECKING:
    import torch
    from av.container import InputContainer

MATRIX: Matrix = "swscale"  # what PyAV, decord, torchcodec and OpenCV convert with
_LARGEST_DENOMINATOR = 100_000  # 1001 is the usual one
_headers: weakref.WeakKeyDictionary[Video, StreamHeader] = weakref.WeakKeyDictionary()


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


def frame_rate(video: Video) -> float:
    """Frames a second as FFmpeg states them, see `stated_rate`, else the average of the index."""
    if (rate := stated_rate(video)) is not None:
        return rate
    return float(Fraction(video.index.average_fps).limit_denominator(_LARGEST_DENOMINATOR))


def stated_rate(video: Video) -> float | None:
    """Frames a second by FFmpeg's `avg_frame_rate`, which PyAV, decord and OpenCV give.

    Of evenly spaced frames it follows from the index, else it is read with the container's header.
    """
    index = video.index
    if index.stated_rate is not None:
        return float(index.stated_rate)
    if (spacing := _spacing(index)) is not None:
        return float(1 / spacing)
    with suppress(VideoError):
        return header_of(video).average_rate
    return None


def header_of(video: Video) -> StreamHeader:
    """Properties that FFmpeg reads from the header of the container; read once.

    Raises:
        VideoError: FFmpeg does not open the file.
    """
    if (header := _headers.get(video)) is None:
        header = _headers[video] = read_stream_header(video.source, video.index.stream)
    return header


def _spacing(index: VideoIndex) -> Fraction | None:
    """Seconds from each frame to the next, if all are equal and shown; FFmpeg guesses raw ones."""
    durations = index.packets["duration"]
    is_raw = container_of(index.container).times == "none"
    if is_raw or not 1 < len(durations) == len(index):
        return None
    ticks = int(durations[0])
    is_even = (durations == ticks).all() and (np.diff(index.pts) == ticks).all()
    return ticks * index.time_base if is_even and ticks > 0 else None


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
