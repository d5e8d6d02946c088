"""Stream metadata under torchcodec's names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from videoloader.indexing.index import VideoIndex
from videoloader.indexing.libav import StreamHeader


class Described:
    """Base of dataclasses that torchcodec prints with one field a line."""

    def __repr__(self) -> str:
        lines = [self._line(field.name) for field in fields(self)]  # type: ignore[arg-type]
        return "\n  ".join([f"{type(self).__name__}:", *lines]) + "\n"

    def _line(self, name: str) -> str:
        value = getattr(self, name)
        return f"data (shape): {value.shape}" if name == "data" else f"{name}: {value}"


@dataclass(repr=False)
class StreamMetadata(Described):
    """A stream, as the header of its container describes it.

    Attributes:
        duration_seconds_from_header: of the stream, or else of the container.
        begin_stream_seconds_from_header: time of its first frame.
        bit_rate: bits a second; 0 if unknown.
        codec: FFmpeg's name.
        stream_index: number of the stream in the container.
        media_type: `video`, `audio`, or FFmpeg's name of another kind.
    """

    duration_seconds_from_header: float | None
    begin_stream_seconds_from_header: float | None
    bit_rate: float | None
    codec: str | None
    stream_index: int
    media_type: str

    def _line(self, name: str) -> str:
        """Whole seconds and rates are printed without a fraction."""
        value = getattr(self, name)
        is_whole = isinstance(value, float) and value.is_integer() and name != "rotation"
        return f"{name}: {int(value) if is_whole else value}"


@dataclass(repr=False)
class VideoStreamHeaderMetadata(StreamMetadata):
    """A video stream, as the header of its container describes it.

    Attributes:
        width: of the frames after rotation, before transforms.
        height: likewise.
        num_frames_from_header: None if unknown.
        average_fps_from_header: FFmpeg's guess at the rate of the stream.
        pixel_aspect_ratio: width to height of a pixel; 0 if unknown.
        rotation: applied rotation in degrees counter-clockwise; None for none.
        color_primaries: FFmpeg's name, None if untagged, like the next two.
        color_space: the matrix from Y'CbCr to RGB.
        color_transfer_characteristic: the transfer function.
        pixel_format: FFmpeg's name.
    """

    width: int | None
    height: int | None
    num_frames_from_header: int | None
    average_fps_from_header: float | None
    pixel_aspect_ratio: Fraction | None
    rotation: float | None
    color_primaries: str | None
    color_space: str | None
    color_transfer_characteristic: str | None
    pixel_format: str | None


def fields_of_index(index: VideoIndex) -> dict[str, Any]:
    """The fields of `VideoStreamHeaderMetadata` that an index knows."""
    size = (index.width, index.height)
    width, height = size[::-1] if index.orientation.transpose else size
    return {
        "codec": index.codec,
        "stream_index": index.stream,
        "media_type": "video",
        "width": width,
        "height": height,
        "rotation": float(index.rotation) if index.rotation else None,
        "color_primaries": index.color.primaries,
        "color_space": index.color.matrix,
        "color_transfer_characteristic": index.color.transfer,
        "pixel_format": index.pixel_format,
    }


@dataclass(repr=False)
class VideoStreamMetadata(VideoStreamHeaderMetadata):
    """A video stream, as its header and the index describe it.

    Attributes:
        begin_stream_seconds_from_content: time of the first frame; None with
            `seek_mode="approximate"`, as the next two.
        end_stream_seconds_from_content: end of the last frame.
        num_frames_from_content: frames in the index.
        duration_seconds: from the first frame to the end of the last.
        begin_stream_seconds: time of the first frame.
        end_stream_seconds: end of the last frame.
        num_frames: frames in the index.
        average_fps: frames a second over the whole stream.
    """

    begin_stream_seconds_from_content: float | None
    end_stream_seconds_from_content: float | None
    num_frames_from_content: int | None
    duration_seconds: float | None
    begin_stream_seconds: float | None
    end_stream_seconds: float | None
    num_frames: int | None
    average_fps: float | None

    @classmethod
    def of_index(
        cls, known: dict[str, Any], read_header: Callable[[], StreamHeader]
    ) -> VideoStreamMetadata:
        """Metadata whose header fields are read on the first access to one of them.

        FFmpeg takes many times longer to read a header than this library to make an index.

        Args:
            known: the other fields.
            read_header: returns the header.
        """
        made = cls.__new__(cls)
        made.__dict__.update(known, _read_header=read_header)
        return made

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_HEADER or "_read_header" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        header = self.__dict__.pop("_read_header")()
        for field, part in _OF_HEADER.items():
            self.__dict__.setdefault(field, getattr(header, part))
        return self.__dict__[name]


_OF_HEADER = {
    "duration_seconds_from_header": "duration",
    "begin_stream_seconds_from_header": "begin",
    "bit_rate": "bit_rate",
    "num_frames_from_header": "num_frames",
    "average_fps_from_header": "frame_rate",
    "pixel_aspect_ratio": "pixel_aspect_ratio",
}
"""Fields of `VideoStreamMetadata` that are read lazily, and their names in `StreamHeader`."""


@dataclass(repr=False)
class AudioStreamHeaderMetadata(StreamMetadata):
    """An audio stream, as the header of its container describes it.

    Attributes:
        sample_rate: samples a second.
        num_channels: of each.
        sample_format: FFmpeg's name.
    """

    sample_rate: int | None
    num_channels: int | None
    sample_format: str | None


@dataclass(repr=False)
class AudioStreamMetadata(AudioStreamHeaderMetadata):
    """An audio stream.

    Attributes:
        duration_seconds: of the stream.
        begin_stream_seconds: time of the first sample.
    """

    duration_seconds: float | None
    begin_stream_seconds: float | None
