"""`torchvision.io.write_video`, which torchvision 0.26 removed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.errors import ArgumentError

_LARGEST_DENOMINATOR = 1001  # of a frame rate; 30000/1001 is one


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
