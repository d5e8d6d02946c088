"""`cv2.VideoCapture` of video files.

from videoloader.compat import opencv
opencv.install()  # cv2.VideoCapture of a file decodes with this library; cameras are OpenCV's
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.compat.opening import ClosedWhenCollected, frame_rate, open_first_video
from videoloader.compat.single_frames import FramesAhead
from videoloader.errors import VideoError
from videoloader.sampling.times import NANOSECOND
from videoloader.video import Video

__all__ = ["VideoCapture", "install"]

_TheirCapture = cv2.VideoCapture
_UNKNOWN = -1.0  # what `get` gives for properties that a capture lacks


class VideoCapture:
    """The frames of a video in order, as OpenCV gives them: (H, W, 3) uint8, BGR.

    A camera number gives OpenCV's own capture. Not thread-safe.

    Args:
        filename: path, URL, bytes or open binary file.
        apiPreference: without effect.
        params: without effect.
    """

    def __new__(cls, filename: Any = None, *args: Any) -> Any:
        """A capture, or OpenCV's of a camera."""
        if isinstance(filename, int):
            return _TheirCapture(filename, *args)
        return super().__new__(cls)

    def __init__(
        self,
        filename: Any = None,
        apiPreference: int = cv2.CAP_ANY,
        params: Sequence[int] = (),
    ) -> None:
        self._video: Video | None = None
        self._raises = False
        self._number = 0  # of the next frame
        self._upright = True
        if filename is not None:
            self.open(filename, apiPreference, params)

    def open(
        self,
        filename: Any,
        apiPreference: int = cv2.CAP_ANY,
        params: Sequence[int] = (),
    ) -> bool:
        """Open another file; True if it is a video.

        Raises:
            cv2.error, VideoError: it is not a video, after `setExceptionMode(True)`.
        """
        self.release()
        self._given = filename
        try:
            video = open_first_video(filename, rotate=self._upright)
        except VideoError as error:
            if self._raises:
                raise _as_theirs(error) from error
            return False
        self._video, self._number = video, 0
        self._closing = ClosedWhenCollected(video)
        self._ahead = FramesAhead(len(video))
        return True

    def isOpened(self) -> bool:
        """Whether there is a video."""
        return self._video is not None

    def release(self) -> None:
        """Close the file and the decoder."""
        if self._video is not None:
            self._video.close()
        self._video = None

    def grab(self) -> bool:
        """Move to the next frame, which `retrieve` decodes; False after the last one."""
        if self._video is None or self._number >= len(self._video):
            return False
        self._number += 1
        return True

    def retrieve(
        self,
        image: NDArray[np.uint8] | None = None,
        flag: int = 0,
    ) -> tuple[bool, NDArray[np.uint8] | None]:
        """The frame that was grabbed last.

        Args:
            image: output memory, used if its shape fits.
            flag: without effect.

        Raises:
            VideoError: the frame does not decode; OpenCV gives False, or another frame.
        """
        if self._video is None or self._number == 0:
            return False, None
        video = self._video
        decode = partial(_decode, video)
        pixels = self._ahead.frame(self._number - 1, decode).numpy()[..., ::-1]
        if image is None or image.shape != pixels.shape:
            return True, np.ascontiguousarray(pixels)
        image[...] = pixels
        return True, image

    def read(self, image: NDArray[np.uint8] | None = None) -> tuple[bool, NDArray[np.uint8] | None]:
        """The next frame: `grab` and `retrieve`; (False, None) after the last one."""
        return self.retrieve(image) if self.grab() else (False, None)

    def get(self, propId: int) -> float:
        """A property by `cv2.CAP_PROP_...`; -1 for unknown ones.

        `POS_MSEC` is the time of the frame that was read last, relative to the first frame.
        """
        known = _PROPERTIES.get(propId)
        return _UNKNOWN if known is None or self._video is None else float(known(self))

    def set(self, propId: int, value: float) -> bool:
        """Seek to a frame by number, time or share of the video, or switch rotation on or off.

        Seeks are exact. Returns False for other properties.
        """
        video = self._video
        if video is None:
            return False
        if propId == cv2.CAP_PROP_ORIENTATION_AUTO:
            self._upright = bool(value)
            number = self._number
            self.open(self._given)
            self._number = number
            return True
        if propId == cv2.CAP_PROP_POS_FRAMES:
            number = int(value)
        elif propId == cv2.CAP_PROP_POS_MSEC:
            begins = video.index.boundaries[:-1]
            seconds = begins[:1] + value / 1000 + NANOSECOND
            number = int(np.searchsorted(begins, seconds, side="right")[0]) - 1
        elif propId == cv2.CAP_PROP_POS_AVI_RATIO:
            number = math.floor(value * len(video))
        else:
            return False
        self._number = min(max(number, 0), len(video))
        return True

    def getBackendName(self) -> str:
        """`FFMPEG`, which decodes the frames."""
        return "FFMPEG"

    def setExceptionMode(self, enable: bool) -> None:
        """Choose whether `open` raises errors or returns False."""
        self._raises = bool(enable)

    def getExceptionMode(self) -> bool:
        """Whether `open` raises errors."""
        return self._raises

    def __repr__(self) -> str:
        return f"VideoCapture({self._video!r})"

    def _opened(self) -> Video:
        assert self._video is not None
        return self._video


def install() -> None:
    """Make `cv2.VideoCapture` this one, in this process, from now on."""
    cv2.VideoCapture = VideoCapture  # type: ignore[assignment, misc]


def _decode(video: Video, numbers: Sequence[int]) -> torch.Tensor:
    return video.get_frames(numbers).frames


def _as_theirs(error: VideoError) -> VideoError:
    """An error of this library that is also a `cv2.error`."""
    kind: type[VideoError] = type("CaptureError", (type(error), cv2.error), {})
    return kind(str(error))


def _milliseconds(capture: VideoCapture) -> float:
    begins = capture._opened().index.boundaries[:-1]
    shown = max(capture._number - 1, 0)
    return float(begins[shown] - begins[0]) * 1000 if len(begins) else 0.0


def _fourcc(capture: VideoCapture) -> int:
    """FFmpeg's codec name if it has four letters, else the container's codec tag."""
    index = capture._opened().index
    name = index.codec if len(index.codec) == 4 else index.codec_tag
    return int.from_bytes(name.encode("latin-1", "replace")[:4].ljust(4, b"\0"), "little")


_PROPERTIES: dict[int, Callable[[VideoCapture], float]] = {
    cv2.CAP_PROP_POS_MSEC: _milliseconds,
    cv2.CAP_PROP_POS_FRAMES: lambda capture: capture._number,
    cv2.CAP_PROP_POS_AVI_RATIO: lambda capture: capture._number / max(len(capture._opened()), 1),
    cv2.CAP_PROP_FRAME_WIDTH: lambda capture: capture._opened().size[1],
    cv2.CAP_PROP_FRAME_HEIGHT: lambda capture: capture._opened().size[0],
    cv2.CAP_PROP_FPS: lambda capture: frame_rate(capture._opened().index),
    cv2.CAP_PROP_FOURCC: _fourcc,
    cv2.CAP_PROP_FRAME_COUNT: lambda capture: len(capture._opened()),
    cv2.CAP_PROP_CONVERT_RGB: lambda _: 1,
    cv2.CAP_PROP_BACKEND: lambda _: cv2.CAP_FFMPEG,
    cv2.CAP_PROP_ORIENTATION_META: lambda capture: -capture._opened().index.rotation % 360,
    cv2.CAP_PROP_ORIENTATION_AUTO: lambda capture: capture._upright,
}
