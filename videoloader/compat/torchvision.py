"""`torchvision.io.read_video` and related functions, which torchvision 0.26 removed.

from videoloader.compat import torchvision
torchvision.install()
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.compat.opening import frame_rate, layout_of, open_first_video, read_sound
from videoloader.compat.runtime_errors import as_runtime_errors
from videoloader.compat.torchvision_clips import VideoClips
from videoloader.compat.torchvision_reader import VideoReader
from videoloader.errors import ArgumentError
from videoloader.machinery.system.checks import one_of
from videoloader.sources.source import VideoSource

__all__ = [
    "VideoClips",
    "VideoReader",
    "install",
    "read_video",
    "read_video_timestamps",
    "write_video",
]

Unit = Literal["pts", "sec"]
_DATASETS = ("video_utils", "kinetics", "ucf101", "hmdb51", "samplers.clip_sampler")
_LARGEST_DENOMINATOR = 1001  # of a frame rate; 30000/1001 is one


def read_video(
    filename: VideoSource,
    start_pts: float | Fraction = 0,
    end_pts: float | Fraction | None = None,
    pts_unit: Unit = "pts",
    output_format: str = "THWC",
) -> tuple[torch.Tensor, torch.Tensor, dict[str, float]]:
    """The frames of a video from one time to another, both included.

    If none begins at `start_pts`, the frame on screen at that time is the first. Times are those of
    the container, as `read_video_timestamps` gives them.

    Args:
        filename: path, URL or bytes.
        start_pts: the first time.
        end_pts: the last time, the end by default.
        pts_unit: `sec`, or `pts` for ticks of the container.
        output_format: `THWC` or `TCHW`.

    Returns:
        uint8 frames; the sound of that time (channels, samples) in the type that it is stored in,
        (1, 0) without sound; `video_fps` and, with sound, `audio_fps`.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeError: not a video, or it does not decode. All are also `VideoError`.
        ValueError: the end is before the start, or an argument is invalid.
    """
    layout = layout_of(output_format)
    end = math.inf if end_pts is None else end_pts
    if end < start_pts:
        raise ArgumentError(
            f"end_pts is not before start_pts, got start_pts={start_pts} and end_pts={end_pts}"
        )
    with as_runtime_errors, open_first_video(filename) as video:
        pts, tick = video.index.pts, video.index.time_base
        first_tick, last_tick = _ticks(start_pts, end, tick, pts_unit)
        first = int(np.searchsorted(pts, first_tick))
        if first > 0 and first_tick > 0 and (first == len(pts) or pts[first] != first_tick):
            first -= 1
        stop = int(np.searchsorted(pts, last_tick, side="right"))
        frames = video.get_frames(range(first, max(stop, first)), layout=layout).frames
        info: dict[str, float] = {"video_fps": frame_rate(video)}
    unit = 1 if pts_unit == "sec" else float(tick)
    sound = read_sound(filename, info, float(start_pts * unit), float(end * unit))
    return frames, sound, info


def read_video_timestamps(
    filename: VideoSource, pts_unit: Unit = "pts"
) -> tuple[list[int] | list[Fraction], float | None]:
    """The begin of each frame, in ticks of the container or fractions of seconds; the frame rate.

    Nothing is decoded.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeError: the file is not a video.
    """
    _check_unit(pts_unit)
    with as_runtime_errors, open_first_video(filename) as video:
        index, rate = video.index, frame_rate(video) or None
    ticks: list[int] = index.pts.tolist()
    if pts_unit == "pts":
        return ticks, rate
    return [tick * index.time_base for tick in ticks], rate


def install() -> None:
    """Put these functions and classes into `torchvision.io` and `torchvision.datasets`.

    `Kinetics`, `UCF101` and `HMDB51` then decode with this library.

    Raises:
        ImportError: torchvision is not installed.
    """
    io: Any = importlib.import_module("torchvision.io")
    for name in ("VideoReader", "read_video", "read_video_timestamps", "write_video"):
        setattr(io, name, globals()[name])
    for name in _DATASETS:
        module: Any = importlib.import_module(f"torchvision.datasets.{name}")
        module.VideoClips = VideoClips


def _ticks(start: Any, end: Any, tick: Fraction, unit: str) -> tuple[int, float]:
    """The limits in ticks; the start is rounded down, the end up."""
    _check_unit(unit)
    if unit == "pts":
        return math.floor(start), end
    # Rounding of a float is far below a tick: 1 / 3 means the tick at a third of a second.
    first, last = (_in_ticks(limit, tick) for limit in (start, end))
    return math.floor(first), last if last == math.inf else math.ceil(last)


def _in_ticks(seconds: Any, tick: Fraction) -> Any:
    if seconds == math.inf:
        return seconds
    exact = Fraction(seconds) / tick
    nearest = round(exact)
    return nearest if abs(exact - nearest) < Fraction(1, 1000) else exact


def _check_unit(unit: str) -> None:
    one_of("pts_unit", unit, ("pts", "sec"))


def write_video(
    filename: str | os.PathLike[str],
    video_array: torch.Tensor | NDArray[np.uint8],
    fps: float | Fraction,
    video_codec: str = "libx264",
    options: Mapping[str, Any] | None = None,
    audio_array: torch.Tensor | NDArray[Any] | None = None,
    audio_fps: float | None = None,
    audio_codec: str | None = None,
    audio_options: Mapping[str, Any] | None = None,
) -> None:
    """Encode frames and, optionally, sound with FFmpeg.

    Args:
        filename: path; its suffix names the container.
        video_array: uint8 frames (T, H, W, 3).
        fps: frames a second; not rounded to a whole number, as torchvision does.
        video_codec: FFmpeg's name of an encoder; `libx264rgb` keeps RGB, others take yuv420p.
        options: of that encoder.
        audio_array: samples (channels, n): floats from -1 to 1, or int16.
        audio_fps: samples a second; needed with `audio_array`.
        audio_codec: FFmpeg's name of an encoder; needed with `audio_array`.
        audio_options: of that encoder.

    Raises:
        ArgumentError: an array has the wrong shape or type, or FFmpeg cannot encode it.
    """
    import av

    frames = _as_array(video_array, "video_array", 4)
    if frames.dtype != np.uint8:
        frames = frames.astype(np.uint8)  # as torchvision does
    rate = Fraction(fps).limit_denominator(_LARGEST_DENOMINATOR)
    sound = None if audio_array is None else _as_array(audio_array, "audio_array", 2)
    if sound is not None and (audio_fps is None or audio_codec is None):
        raise ArgumentError("audio_array needs audio_fps and audio_codec")
    try:
        with av.open(os.fspath(filename), "w") as container:
            video: Any = container.add_stream(video_codec, rate=rate, options=_texts(options))
            video.height, video.width = frames.shape[1:3]
            video.pix_fmt = "rgb24" if video_codec == "libx264rgb" else "yuv420p"
            audio: Any = None
            if sound is not None:
                audio = container.add_stream(
                    audio_codec or "",
                    rate=round(audio_fps or 0),
                    layout=f"{len(sound)}c",  # FFmpeg's name of the default layout
                    options=_texts(audio_options),
                )
            if sound is not None:
                container.mux(audio.encode(_sound_frame(sound, audio.rate)))
                container.mux(audio.encode(None))
            for pixels in frames:
                container.mux(video.encode(av.VideoFrame.from_ndarray(pixels, "rgb24")))
            container.mux(video.encode(None))
    except (av.error.FFmpegError, ValueError) as error:
        raise ArgumentError(f"{filename}: FFmpeg does not write this: {error}") from error


def _sound_frame(samples: NDArray[Any], rate: int) -> Any:
    """All samples as one frame of FFmpeg, float32 or int16."""
    import av

    form = "fltp" if samples.dtype.kind == "f" else "s16p"
    samples = np.ascontiguousarray(samples, np.float32 if form == "fltp" else np.int16)
    frame = av.AudioFrame.from_ndarray(samples, form, f"{len(samples)}c")
    frame.sample_rate, frame.pts, frame.time_base = rate, 0, Fraction(1, rate)
    return frame


def _as_array(given: Any, name: str, dimensions: int) -> NDArray[Any]:
    array = np.asarray(given.detach().cpu() if isinstance(given, torch.Tensor) else given)
    if array.ndim != dimensions or array.dtype.kind not in "fiu" or not array.size:
        raise ArgumentError(
            f"{name} has {dimensions} dimensions and numbers, got {array.dtype} {array.shape}"
        )
    return array


def _texts(options: Mapping[str, Any] | None) -> dict[str, str]:
    return {name: str(value) for name, value in (options or {}).items()}
