"""`get_container_metadata`: the streams of a file, from its header."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from videoloader.compat.runtime_errors import as_runtime_errors
from videoloader.compat.torchcodec.metadata import (
    AudioStreamHeaderMetadata,
    Described,
    StreamMetadata,
    VideoStreamHeaderMetadata,
    fields_of_index,
)
from videoloader.compat.torchcodec.opening import as_source
from videoloader.errors import VideoError
from videoloader.indexing.libav import read_stream_header
from videoloader.indexing.video import index_video
from videoloader.sources.demuxer import open_container
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source

if TYPE_CHECKING:
    from av.stream import Stream

_MICROSECOND = Fraction(1, 1_000_000)


@dataclass(repr=False)
class ContainerMetadata(Described):
    """A file and its streams.

    Attributes:
        duration_seconds_from_header: None if unknown.
        bit_rate_from_header: bits a second; 0 if unknown.
        best_video_stream_index: FFmpeg's choice, None without video.
        best_audio_stream_index: FFmpeg's choice, None without sound.
        streams: all of them, by number: a `VideoStreamHeaderMetadata`, an
            `AudioStreamHeaderMetadata`, or a `StreamMetadata` for other kinds.
    """

    duration_seconds_from_header: float | None
    bit_rate_from_header: float | None
    best_video_stream_index: int | None
    best_audio_stream_index: int | None
    streams: list[StreamMetadata]


def get_container_metadata(source: Any) -> ContainerMetadata:
    """The metadata of a file and its streams from its header; decodes nothing.

    Args:
        source: path, URL, bytes, uint8 tensor, or file with `read` and `seek`.

    Raises:
        VideoError, RuntimeError: FFmpeg cannot open the file.
    """
    with as_runtime_errors, open_source(as_source(source)) as opened:
        with open_container(opened, "media file") as container:
            duration = container.duration
            video, audio = (container.streams.best(kind) for kind in ("video", "audio"))
            made = ContainerMetadata(
                None if duration is None else float(duration * _MICROSECOND),
                container.bit_rate,
                None if video is None else video.index,
                None if audio is None else audio.index,
                [_describe(stream) for stream in container.streams],
            )
        for number, stream in enumerate(made.streams):
            if stream.media_type == "video":
                made.streams[number] = _with_video(stream, opened)
        return made


def _describe(stream: Stream) -> StreamMetadata:
    """A stream of an open container."""
    base = stream.time_base
    tick = Fraction(base.numerator, base.denominator) if base else Fraction(0)
    context: Any = stream.codec_context
    common = (
        float(stream.duration * tick) if stream.duration else None,
        None if stream.start_time is None else float(stream.start_time * tick),
        getattr(context, "bit_rate", None) or 0,
        None if context is None else context.codec.canonical_name,
        stream.index,
        stream.type,
    )
    if stream.type == "audio" and context is not None:
        form = None if context.format is None else context.format.name
        return AudioStreamHeaderMetadata(*common, context.sample_rate, context.channels, form)
    return StreamMetadata(*common)


def _with_video(stream: StreamMetadata, source: Source) -> StreamMetadata:
    """The metadata of a video stream, from the index and the header."""
    known: dict[str, Any] = dict.fromkeys(field.name for field in fields(VideoStreamHeaderMetadata))
    number = stream.stream_index
    try:
        index, header = index_video(source, stream=number), read_stream_header(source, number)
    except VideoError:  # a stream that lists no frames, or is damaged, is still a stream
        return VideoStreamHeaderMetadata(**{**known, **vars(stream)})
    known |= fields_of_index(index)
    known["num_frames_from_header"] = header.num_frames
    known["average_fps_from_header"] = header.frame_rate
    known["pixel_aspect_ratio"] = header.pixel_aspect_ratio
    return VideoStreamHeaderMetadata(**{**known, **vars(stream)})
