"""A plugin for `imageio.v3`: `iio.imread("clip.mp4", plugin="videoloader")`.

from videoloader.compat import imageio
imageio.register()
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from types import EllipsisType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from videoloader.compat.opening import frame_rate, open_first_video
from videoloader.errors import UnsupportedError, VideoError

__all__ = ["NAME", "VideoPlugin", "register"]

NAME = "videoloader"


def register() -> None:
    """Add the plugin to those of ImageIO, under the name `videoloader`.

    Raises:
        ImportError: ImageIO is not installed.
    """
    plugins: Any = importlib.import_module("imageio.config.plugins")
    plugins.known_plugins[NAME] = plugins.PluginConfig(
        name=NAME, class_name=VideoPlugin.__name__, module_name=__name__
    )


class VideoPlugin:
    """Reads the frames of one video for ImageIO; made by `imageio.v3`.

    Args:
        request: of ImageIO, to read.
        device: where frames are decoded.

    Raises:
        InitializationError: of ImageIO; not a video, or opened for writing.
    """

    def __init__(self, request: Any, *, device: str = "cpu") -> None:
        core: Any = importlib.import_module("imageio.core.request")
        self.request = request
        if request.mode.io_mode != core.IOMode.read:
            raise core.InitializationError("videoloader reads videos and writes none")
        source = request.raw_uri
        if not isinstance(source, str | bytes | io.IOBase):  # a resource type of ImageIO
            source = request.get_file()
        try:
            self._video = open_first_video(source, device=device)
        except VideoError as error:
            raise core.InitializationError(str(error)) from error

    def read(
        self,
        *,
        index: int | EllipsisType = ...,
        format: str = "rgb24",
        thread_count: int = 0,
        thread_type: str | None = None,
    ) -> NDArray[np.uint8]:
        """A frame (H, W, 3) by number, or all frames (F, H, W, 3).

        Args:
            index: number; a negative one counts from the end, `...` takes all.
            format: `rgb24` or `bgr24`.
            thread_count: without effect.
            thread_type: without effect.

        Raises:
            IndexError: there is no such frame.
            VideoError: a frame does not decode.
        """
        order = _order(format)
        frames = self._video.get_frames().frames if index is ... else self._video[index]
        return np.ascontiguousarray(frames.cpu().numpy()[..., order])

    def iter(
        self,
        *,
        format: str = "rgb24",
        thread_count: int = 0,
        thread_type: str | None = None,
    ) -> Iterator[NDArray[np.uint8]]:
        """All frames, decoded as they are consumed; arguments as for `read`."""
        order = _order(format)
        for frame in self._video:
            yield np.ascontiguousarray(frame.cpu().numpy()[..., order])

    def write(self, *_: Any, **__: Any) -> None:
        """Not supported: raises `UnsupportedError`."""
        raise UnsupportedError("videoloader writes no videos; use another plugin of ImageIO")

    def properties(
        self,
        index: int | EllipsisType = ...,
        *,
        format: str = "rgb24",
    ) -> Any:
        """ImageIO's `ImageProperties` of what `read` gives; nothing is decoded."""
        _order(format)
        count = len(self._video)
        shape = (*self._video.size, 3)
        make = importlib.import_module("imageio.core.v3_plugin_api").ImageProperties
        if index is ...:
            return make((count, *shape), np.dtype(np.uint8), n_images=count, is_batch=True)
        return make(shape, np.dtype(np.uint8), is_batch=False)

    def metadata(
        self,
        index: int | EllipsisType = ...,
        exclude_applied: bool = True,
    ) -> dict[str, Any]:
        """Metadata of the video, or of a frame: `time` in seconds and `key_frame`.

        Raises:
            IndexError: there is no such frame.
        """
        known = self._video.index
        if index is not ...:
            number = range(len(known))[index]
            return {
                "time": float(known.seconds(np.array([number]))[0]),
                "key_frame": bool(np.isin(number, known.keyframes)),
            }
        return {
            "video_format": known.pixel_format,
            "codec": known.codec,
            "fps": frame_rate(self._video),
            "duration": known.duration,
            "n_frames": len(known),
            "size": self._video.size[::-1],
            "rotate": known.rotation,
        }

    def close(self) -> None:
        """Close the file and the decoder."""
        self._video.close()
        self.request.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _order(pixel_format: str) -> slice:
    """The order of the channels of a pixel format."""
    if pixel_format not in ("rgb24", "bgr24"):
        raise UnsupportedError(f"format is rgb24 or bgr24, got {pixel_format!r}")
    return slice(None, None, -1 if pixel_format == "bgr24" else 1)
