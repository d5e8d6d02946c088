"""`cv2.VideoCapture` of video files.

from videoloader.compat import opencv
opencv.install()  # cv2.VideoCapture of a file decodes with this library; cameras are OpenCV's
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.compat.fourcc import codec_fourcc, pixel_fourcc
from videoloader.compat.opening import (
    ClosedWhenCollected,
    frame_rate,
    header_of,
    open_first_video,
    stated_rate,
)
from videoloader.compat.single_frames import FramesAhead, PictureTypes
from videoloader.decoding.options import ElementType
from videoloader.errors import (
    ArgumentError,
    ArgumentTypeError,
    FrameRangeError,
    UnsupportedError,
    VideoError,
)
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.workers.processors import usable_processors
from videoloader.video import Video

__all__ = ["VideoCapture", "install"]

_TheirCapture = cv2.VideoCapture
_UNKNOWN = -1.0  # what `get` gives for properties that a capture lacks
_EXTRADATA = 1  # the flag of `retrieve` for the codec's parameters
_MOST_THREADS = 16  # of OpenCV by itself
_RAW = -1.0  # the format of packets that are not decoded
_NUMBER = re.compile(r"%\d*d")  # of an image, in the pattern of a path
_UNREAD = ord("?")  # type of the picture before the first one
# Parameters of `open` that change nothing here.
_ACCEPTED = (
    *("HW_ACCELERATION", "HW_DEVICE", "HW_ACCELERATION_USE_OPENCL"),
    *("OPEN_TIMEOUT_MSEC", "READ_TIMEOUT_MSEC"),
)


class VideoCapture:
    """The frames of a video in order, as OpenCV gives them: (H, W, 3) uint8, BGR.

    A camera number gives OpenCV's own capture, and so do numbered images (`frame_%03d.png`, or
    `CAP_IMAGES`), and `CAP_PROP_FORMAT` -1 among the parameters, for packets that are not decoded.
    Not thread-safe.

    Args:
        filename: path, URL, bytes or open binary file.
        apiPreference: without effect, except `CAP_IMAGES`.
        params: pairs of a property and its value: `CAP_PROP_N_THREADS`, `CAP_PROP_CONVERT_RGB`;
            those of acceleration and time limits have no effect, others open nothing.
        index: number of a camera.
        source: same as `filename`.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A capture, or OpenCV's of a camera, of images or of packets."""
        first = args[0] if args else kwargs.get("index", kwargs.get("filename"))
        backend = kwargs.get("apiPreference", args[1] if len(args) > 1 else cv2.CAP_ANY)
        params = kwargs.get("params", args[2] if len(args) > 2 else ())
        are_images = backend == cv2.CAP_IMAGES or _are_numbered(first)
        is_raw = _pairs(params).get(cv2.CAP_PROP_FORMAT) == _RAW
        if isinstance(first, Integral) or are_images or is_raw:
            return _TheirCapture(*args, **kwargs)
        return super().__new__(cls)

    def __init__(
        self,
        filename: Any = None,
        apiPreference: int = cv2.CAP_ANY,
        params: Sequence[int] = (),
        *,
        source: Any = None,
    ) -> None:
        self._video: Video | None = None
        self._raises = False
        self._upright = True
        if filename is not None or source is not None:
            self.open(filename, apiPreference, params, source=source)

    def open(
        self,
        filename: Any = None,
        apiPreference: int = cv2.CAP_ANY,
        params: Sequence[int] = (),
        *,
        source: Any = None,
    ) -> bool:
        """Open another file; True if it is a video.

        Raises:
            cv2.error, VideoError: it is not a video, after `setExceptionMode(True)`; what is given
                is of another type.
        """
        _check_type("apiPreference", apiPreference, Integral)
        self.release()
        self._converts = True
        try:
            options = _options(params)
            given = filename if source is None else source
            self._show(given, int(options.get(cv2.CAP_PROP_N_THREADS, 0)))
            if not options.get(cv2.CAP_PROP_CONVERT_RGB, True):
                self._leave_unconverted()
        except ArgumentTypeError as error:
            raise _as_theirs(error) from error
        except VideoError as error:
            self.release()
            return self._failed(error)
        return True

    def _show(self, given: Any, threads: int) -> None:
        """Open a video and go to its beginning."""
        video = open_first_video(given, rotate=self._upright, threads=threads or None)
        self._video, self._given, self._threads = video, given, threads
        self._number = 0  # of the next frame
        self._grabbed = False  # whether the frame before it is the one that `retrieve` gives
        self._closing = ClosedWhenCollected(video)
        self._ahead = FramesAhead(len(video))
        self._types = PictureTypes(video)

    def isOpened(self) -> bool:
        """Whether there is a video."""
        return self._video is not None

    def release(self) -> None:
        """Close the file and the decoder."""
        if self._video is not None:
            self._video.close()
        self._video = None

    def grab(self) -> bool:
        """Move to the next frame, which `retrieve` decodes; False after the last one.

        Raises:
            cv2.error, VideoError: it was the last one, after `setExceptionMode(True)`.
        """
        video = self._video
        self._grabbed = video is not None and self._number < len(video)
        if video is None or not self._grabbed:
            name = "no video is open" if video is None else f"{video.name}: no more frames"
            return self._failed(FrameRangeError(name))
        self._number += 1
        return True

    def retrieve(
        self, image: NDArray[Any] | None = None, flag: int = 0
    ) -> tuple[bool, NDArray[Any] | None]:
        """The frame that was grabbed last.

        Args:
            image: output memory, used if its shape fits.
            flag: 1 gives the codec's parameters as bytes (1, n); others have no effect.

        Raises:
            VideoError: the frame does not decode; OpenCV gives False, or another frame.
            cv2.error, VideoError: none was grabbed, after `setExceptionMode(True)`; an argument is
                of another type.
        """
        _check_type("image", image, np.ndarray | None)
        _check_type("flag", flag, Integral)
        video = self._video
        if video is None or not self._grabbed:
            return self._failed(FrameRangeError("no frame was grabbed")), None
        if flag == _EXTRADATA:
            parameters = video.index.extradata[0][1] if video.index.extradata else b""
            return True, np.frombuffer(parameters, np.uint8)[None].copy()
        pixels: NDArray[Any] = self._ahead.frame(self._number - 1, self._decode).numpy()
        if self._converts:
            pixels = cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR)
        if image is None or image.shape != pixels.shape or image.dtype != pixels.dtype:
            return True, np.ascontiguousarray(pixels)
        image[...] = pixels
        return True, image

    def read(self, image: NDArray[Any] | None = None) -> tuple[bool, NDArray[Any] | None]:
        """The next frame: `grab` and `retrieve`; (False, None) after the last one."""
        return self.retrieve(image) if self.grab() else (False, None)

    def get(self, propId: int) -> float:
        """A property by `cv2.CAP_PROP_...`; -1 for unknown ones.

        `POS_MSEC` is the time of the frame that was read last, relative to the first frame, and 0
        behind the last one. `POS_AVI_RATIO` is the share of the frames that are read. `FRAME_TYPE`
        decodes a GOP once more.

        Raises:
            TypeError, VideoError: it is no whole number.
        """
        _check_type("propId", propId, Integral)
        known = _PROPERTIES.get(propId)
        return _UNKNOWN if known is None or self._video is None else float(known(self))

    def set(self, propId: int, value: float) -> bool:
        """Seek to a frame by number, time or share of the video, or switch a conversion on or off.

        Seeks are exact. A time is rounded to a number by the frame rate, as OpenCV does. Returns
        False for other properties.

        Raises:
            cv2.error, VideoError: it is another property, or there is no video, after
                `setExceptionMode(True)`.
            TypeError, VideoError: an argument is no number.
        """
        _check_type("propId", propId, Integral)
        _check_type("value", value, Real)
        video = self._video
        if video is None:
            return self._failed(FrameRangeError("no video is open"))
        if propId == cv2.CAP_PROP_ORIENTATION_AUTO:
            self._upright = bool(value)
            kept = self._number, self._grabbed
            self.release()
            self._show(self._given, self._threads)
            self._number, self._grabbed = kept
            return True
        if propId == cv2.CAP_PROP_CONVERT_RGB:
            self._converts, self._ahead = True, FramesAhead(len(video))
            try:
                if not value:
                    self._leave_unconverted()
            except UnsupportedError as error:
                return self._failed(error)
            return True
        if propId == cv2.CAP_PROP_POS_FRAMES:
            place = float(value)
        elif propId == cv2.CAP_PROP_POS_MSEC:
            place = value / 1000 * _rate(self) + 0.5
        elif propId == cv2.CAP_PROP_POS_AVI_RATIO:
            place = value * len(video)
        else:
            return self._failed(ArgumentError(f"{video.name}: property {propId} is not set"))
        self._number = 0 if math.isnan(place) else int(min(max(place, 0), len(video)))
        self._grabbed = self._number > 0
        return True

    def getBackendName(self) -> str:
        """`FFMPEG`, which decodes the frames."""
        return "FFMPEG"

    def setExceptionMode(self, enable: bool) -> None:
        """Choose whether `open`, `grab` and `read` raise errors or return False."""
        self._raises = bool(enable)

    def getExceptionMode(self) -> bool:
        """Whether `open`, `grab` and `read` raise errors."""
        return self._raises

    def __repr__(self) -> str:
        return f"VideoCapture({self._video!r})"

    def _leave_unconverted(self) -> None:
        """Give first planes from now on.

        Raises:
            UnsupportedError: OpenCV gives no whole samples of such formats.
        """
        video = self._opened()
        if video.index.pixel_format not in _UNCONVERTED:
            raise UnsupportedError(
                f"{video.name}: CAP_PROP_CONVERT_RGB 0 gives the first plane of "
                f"{', '.join(_UNCONVERTED)}, not of {video.index.pixel_format}"
            )
        self._converts = False

    def _opened(self) -> Video:
        assert self._video is not None
        return self._video

    def _failed(self, error: VideoError) -> bool:
        if self._raises:
            raise _as_theirs(error) from error
        return False

    def _decode(self, numbers: Sequence[int]) -> torch.Tensor:
        """Frames in RGB, or their first plane."""
        video = self._opened()
        if self._converts:
            return video.get_frames(numbers).frames
        dtype: ElementType = "uint16" if video.index.pixel_format == "gray16le" else "uint8"
        plane = video.get_frames(numbers, output="yuv", dtype=dtype).planes[0]
        return _turned(plane, video.index) if self._upright else plane


def install() -> None:
    """Make `cv2.VideoCapture` this one, in this process, from now on."""
    cv2.VideoCapture = VideoCapture  # type: ignore[assignment, misc]


_UNCONVERTED = (  # formats whose first plane OpenCV gives whole
    *("gray", "gray16le", "yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p"),
    *("yuv410p", "yuv411p", "yuv440p"),
)


def _are_numbered(source: Any) -> bool:
    """Whether a path is a pattern of numbered files, and not the name of one."""
    return (
        isinstance(source, str)
        and _NUMBER.search(source) is not None
        and "://" not in source
        and not os.path.exists(source)
    )


def _pairs(params: Sequence[int]) -> dict[int, float]:
    return dict(zip(params[::2], params[1::2], strict=False))


def _options(params: Sequence[int]) -> dict[int, Any]:
    """The parameters of `open`.

    Raises:
        ArgumentError: one is unknown; OpenCV opens nothing then.
    """
    found = _pairs(params)
    known = {cv2.CAP_PROP_N_THREADS, cv2.CAP_PROP_CONVERT_RGB}
    known |= {getattr(cv2, f"CAP_PROP_{name}") for name in _ACCEPTED}
    if len(params) % 2 or not known.issuperset(found):
        raise ArgumentError(
            "params are pairs of CAP_PROP_N_THREADS, CAP_PROP_CONVERT_RGB, "
            f"{', '.join(f'CAP_PROP_{name}' for name in _ACCEPTED)} and a value, got {params!r:.80}"
        )
    return found


def _turned(planes: torch.Tensor, index: VideoIndex) -> torch.Tensor:
    """Planes (F, rows, columns) as they are displayed."""
    turn = index.orientation
    planes = planes.transpose(1, 2) if turn.transpose else planes
    return planes.flip([axis for axis, flips in ((1, turn.flip_y), (2, turn.flip_x)) if flips])


def _check_type(name: str, value: Any, kind: Any) -> None:
    """Raise an error that is a `TypeError` and a `cv2.error`, which OpenCV raises in turns."""
    if not isinstance(value, kind):
        raise _as_theirs(ArgumentTypeError(f"{name} is of another type, got {value!r:.80}"))


def _as_theirs(error: VideoError) -> VideoError:
    """An error of this library that is also a `cv2.error`."""
    kind: type[VideoError] = type("CaptureError", (type(error), cv2.error), {})
    return kind(str(error))


def _rate(capture: VideoCapture) -> float:
    """Frames a second; FFmpeg's base rate where it states none."""
    video = capture._opened()
    if (rate := stated_rate(video)) is not None:
        return rate
    return header_of(video).frame_rate or frame_rate(video)


def _milliseconds(capture: VideoCapture) -> float:
    if not capture._grabbed:
        return 0.0
    begins = capture._opened().index.boundaries[:-1]
    return float(begins[capture._number - 1] - begins[0]) * 1000


def _ticks(capture: VideoCapture) -> float:
    """Time of the frame that was read last, in frames of the stated rate."""
    if not capture._number:
        return 0.0
    seconds = float(capture._opened().index.boundaries[capture._number - 1])
    return math.floor(seconds * _rate(capture) + 0.5)


def _fourcc(capture: VideoCapture) -> int:
    index = capture._opened().index
    return codec_fourcc(index.codec, index.codec_tag)


def _picture_type(capture: VideoCapture) -> int:
    """The letter of the picture that was read last."""
    if not capture._grabbed:
        return _UNREAD
    return ord(capture._types.of(capture._number - 1))


def _threads(capture: VideoCapture) -> int:
    return capture._threads or min(usable_processors(), _MOST_THREADS)


_Property = Callable[[VideoCapture], float]
_BY_NAME: dict[str, _Property] = {
    "POS_MSEC": _milliseconds,
    "POS_FRAMES": lambda capture: capture._number,
    "POS_AVI_RATIO": lambda capture: capture._number / max(len(capture._opened()), 1),
    "FRAME_WIDTH": lambda capture: capture._opened().size[1],
    "FRAME_HEIGHT": lambda capture: capture._opened().size[0],
    "FPS": _rate,
    "FOURCC": _fourcc,
    "FRAME_COUNT": lambda capture: len(capture._opened()),
    "FRAME_TYPE": _picture_type,
    "FORMAT": lambda capture: cv2.CV_8UC3 if capture._converts else cv2.CV_8UC1,
    "CONVERT_RGB": lambda capture: capture._converts,
    "BACKEND": lambda _: cv2.CAP_FFMPEG,
    "BITRATE": lambda capture: header_of(capture._opened()).container_bit_rate // 1000,
    "CODEC_PIXEL_FORMAT": lambda capture: (
        pixel_fourcc(capture._opened().index.pixel_format or "") or _UNKNOWN
    ),
    "CODEC_EXTRADATA_INDEX": lambda _: _EXTRADATA,
    "SAR_NUM": lambda capture: header_of(capture._opened()).shown_aspect_ratio.numerator,
    "SAR_DEN": lambda capture: header_of(capture._opened()).shown_aspect_ratio.denominator,
    "PTS": _ticks,
    "N_THREADS": _threads,
    "HW_ACCELERATION": lambda _: 0,
    "HW_ACCELERATION_USE_OPENCL": lambda _: 0,
    "ORIENTATION_META": lambda capture: -capture._opened().index.rotation % 360,
    "ORIENTATION_AUTO": lambda capture: capture._upright,
}
_PROPERTIES: dict[int, _Property] = {
    getattr(cv2, f"CAP_PROP_{name}"): known
    for name, known in _BY_NAME.items()
    if hasattr(cv2, f"CAP_PROP_{name}")  # older versions have fewer
}
