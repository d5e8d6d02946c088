"""A plugin for `imageio.v3`: `iio.imread("clip.mp4", plugin="videoloader")`.

from videoloader.compat import imageio
imageio.register()
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from videoloader.compat.imageio_frames import (
    Filter,
    FilterGraph,
    Filters,
    Form,
    FormatOSError,
    as_array,
    form_of,
)
from videoloader.compat.opening import open_first_video
from videoloader.decoding.pictures.color import tag
from videoloader.decoding.pyav import reformat
from videoloader.errors import ArgumentError, FrameRangeError, VideoError
from videoloader.indexing.libav import open_stream
from videoloader.indexing.packets import Orientation

if TYPE_CHECKING:
    from av import VideoFrame

__all__ = ["NAME", "VideoPlugin", "register"]

NAME = "videoloader"
_BYTE = 8  # bits
_PACKED = {"rgb24": slice(None), "bgr24": slice(None, None, -1)}  # order of the channels


def register(name: str = NAME) -> None:
    """Register the plugin with ImageIO.

    Args:
        name: what `plugin=` takes then; `pyav` replaces ImageIO's own plugin, so that code that
            names it, or names none, reads with this one.

    Raises:
        ImportError: ImageIO is not installed.
    """
    plugins: Any = importlib.import_module("imageio.config.plugins")
    plugins.known_plugins[name] = plugins.PluginConfig(
        name=name, class_name=VideoPlugin.__name__, module_name=__name__
    )


class VideoPlugin:
    """Reads the frames of one video for ImageIO; made by `imageio.v3`.

    Opened for writing, it is ImageIO's own plugin `pyav`, with all that it takes.

    Args:
        request: of ImageIO.
        device: where frames are decoded.
        **options: of ImageIO's plugin, for writing.

    Raises:
        InitializationError: of ImageIO; not a video.
    """

    def __new__(cls, request: Any, **options: Any) -> Any:
        """A reader, or ImageIO's writer."""
        core: Any = importlib.import_module("imageio.core.request")
        if request.mode.io_mode == core.IOMode.read:
            return super().__new__(cls)
        options.pop("device", None)
        return importlib.import_module("imageio.plugins.pyav").PyAVPlugin(request, **options)

    def __init__(self, request: Any, *, device: str = "cpu") -> None:
        self.request = request
        source = request.raw_uri
        if not isinstance(source, str | bytes | io.IOBase):  # a resource type of ImageIO
            source = request.get_file()
        try:
            self._video = open_first_video(source, device=device)
        except VideoError as error:
            core: Any = importlib.import_module("imageio.core.request")
            raise core.InitializationError(str(error)) from error

    def read(
        self,
        *,
        index: int | EllipsisType = ...,
        format: str | None = "rgb24",
        filter_sequence: Sequence[Filter] | None = None,
        filter_graph: FilterGraph | None = None,
        constant_framerate: bool | None = None,
        thread_count: int = 0,
        thread_type: str | None = None,
    ) -> NDArray[Any]:
        """A frame by number, or all frames along a new first axis.

        Args:
            index: number; a negative one counts from the end, `...` takes all.
            format: FFmpeg's name of a pixel format: (H, W, C) of packed ones such as `rgb24`,
                (C, H, W) of planar ones such as `yuv444p`, (H, W) of one channel; None for the
                format of the video.
            filter_sequence: filters of FFmpeg as (name, arguments), one after another.
            filter_graph: filters by name and the edges between them, as ImageIO has them.
            constant_framerate: without effect; numbers are exact.
            thread_count: without effect.
            thread_type: without effect.

        Raises:
            IndexError: there is no such frame.
            OSError: channels of the format differ in size.
            VideoError: a frame does not decode.
        """
        filters = Filters(filter_sequence or (), filter_graph)
        order = None if filters else self._order(format)
        if order is not None:
            frames = self._video.get_frames().frames if index is ... else self._video[index]
            return np.ascontiguousarray(frames.cpu().numpy()[..., order])
        numbers = range(len(self._video)) if index is ... else [self._number(index)]
        found = [*self._arrays(numbers, format, filters)]
        if not found and filters:
            which = "" if index is ... else f" {index} alone, of those that need several"
            raise ArgumentError(f"{self._video.name}: the filters give no frame{which}")
        if index is not ...:
            return found[0]
        form = self._form(format)
        return np.stack(found) if found else np.empty((0, *form.shape), form.dtype)

    def iter(
        self,
        *,
        format: str | None = "rgb24",
        filter_sequence: Sequence[Filter] | None = None,
        filter_graph: FilterGraph | None = None,
        thread_count: int = 0,
        thread_type: str | None = None,
    ) -> Iterator[NDArray[Any]]:
        """All frames, decoded as they are consumed; arguments as for `read`."""
        filters = Filters(filter_sequence or (), filter_graph)
        order = None if filters else self._order(format)
        if order is None:
            yield from self._arrays(range(len(self._video)), format, filters)
            return
        for frame in self._video:
            yield np.ascontiguousarray(frame.cpu().numpy()[..., order])

    def properties(self, index: int | EllipsisType = ..., *, format: str | None = "rgb24") -> Any:
        """ImageIO's `ImageProperties` of the array from `read`; nothing is decoded.

        Raises:
            OSError: channels of the format differ in size.
        """
        form = self._form(format)
        make = importlib.import_module("imageio.core.v3_plugin_api").ImageProperties
        if index is ...:
            count = len(self._video)
            return make((count, *form.shape), form.dtype, n_images=count, is_batch=True)
        return make(form.shape, form.dtype, is_batch=False)

    def metadata(
        self,
        index: int | EllipsisType = ...,
        exclude_applied: bool = True,
        constant_framerate: bool | None = None,
    ) -> dict[str, Any]:
        """Metadata of the container and the video, or of a frame, under ImageIO's names.

        Args:
            index: of the frame; `...` for the video, which needs no decoding.
            exclude_applied: without effect.
            constant_framerate: without effect; numbers are exact.

        Raises:
            IndexError: there is no such frame.
        """
        known = self._video.index
        if index is not ...:
            from av.video.frame import PictureType

            number = self._number(index)
            ((_, surface),) = self._video.decode([number])
            frame: Any = surface.frame
            return {
                "key_frame": bool(frame.key_frame),
                "time": float(known.seconds(np.array([number]))[0]),
                "interlaced_frame": bool(frame.interlaced_frame),
                "frame_type": PictureType(frame.pict_type).name,
                **{item.type.name: bytes(item) for item in frame.side_data},
            }
        found: dict[str, Any] = {
            "video_format": known.pixel_format,
            "codec": known.codec,
            "n_frames": len(known),
            "size": self._video.size[::-1],
            "rotate": known.rotation,
        }
        with suppress(VideoError), open_stream(self._video.source, known.stream) as (file, stream):
            rate, duration = stream.guessed_rate, stream.duration
            found |= {
                "codec": stream.codec.name,
                "long_codec": stream.codec.long_name,
                "profile": stream.profile,
                "fps": float(rate) if rate else known.average_fps,
            }
            if duration is not None and stream.time_base is not None:
                found["duration"] = float(duration * stream.time_base)
            found |= {**file.metadata, **stream.metadata}
        return {"fps": known.average_fps, "duration": known.duration} | found

    def close(self) -> None:
        """Close the file and the decoder."""
        self._video.close()
        self.request.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _number(self, index: int) -> int:
        """The number of a frame; a negative one counts from the end."""
        count = len(self._video)
        if not -count <= index < count:
            raise FrameRangeError(
                f"{self._video.name}: frame {index} requested, the video has {count} frames"
            )
        return index % count

    def _order(self, format: str | None) -> slice | None:
        """The order of the channels in `Video`'s frames; None for formats that it does not give."""
        is_exact = format == "rgb24" or self._video.index.bit_depth == _BYTE
        return _PACKED.get(format or "") if is_exact else None

    def _form(self, format: str | None) -> Form:
        """The arrays that a pixel format gives, before filters."""
        name = format or self._video.index.pixel_format
        if name is None:
            raise FormatOSError(f"{self._video.name}: the pixel format is known after decoding")
        return form_of(name, self._video.size)

    def _arrays(
        self, numbers: Sequence[int], format: str | None, filters: Filters
    ) -> Iterator[NDArray[Any]]:
        """Frames in a pixel format, upright, after filters."""
        from av.video.reformatter import VideoReformatter

        if format is not None:
            self._form(format)
        turn, reformatter = self._video.index.orientation, VideoReformatter()
        if filters:
            filters, turn = filters.upright(turn), Orientation()
        for frame in filters.frames(self._frames(numbers)):
            shown = frame if format is None else reformat(reformatter, frame, format=format)
            form = form_of(shown.format.name, (shown.height, shown.width))
            array = as_array(shown, form)
            across, down = (2, 1) if form.is_planar else (1, 0)
            if turn.transpose:
                array = array.swapaxes(across, down)
            flips = [axis for axis, flip in ((across, turn.flip_x), (down, turn.flip_y)) if flip]
            yield np.ascontiguousarray(np.flip(array, tuple(flips)))

    def _frames(self, numbers: Sequence[int]) -> Iterator[VideoFrame]:
        """Decoded frames with the times and the colours of the stream."""
        index = self._video.index
        for number, surface in self._video.decode(numbers):
            frame = surface.frame
            tag(frame, index.color)
            frame.pts, frame.time_base = int(index.pts[number]), index.time_base
            with suppress(AttributeError):  # PyAV 15 has none
                frame.duration = int(index.packets["duration"][index.frame_packets[number]])
            yield frame
