"""`decode_video_frames` of LeRobot: frames of robot episodes by time, of several cameras at once.

    from videoloader.compat.lerobot import decode_video_frames

Videos stay open between calls, with their indexes and decoders.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.compat.runtime_errors import as_runtime_errors
from videoloader.compat.video_cache import VideoCache
from videoloader.errors import DecodeError, VideoError
from videoloader.machinery.runtime.threads import in_threads
from videoloader.machinery.workers.processors import usable_processors
from videoloader.sampling import frames_at_times
from videoloader.sampling.arrays import real_numbers
from videoloader.sampling.times import NANOSECOND
from videoloader.video import Video

__all__ = [
    "NAME",
    "FrameTimestampError",
    "decode_camera_frames",
    "decode_video_frames",
    "default_cache",
    "install",
]

NAME = "videoloader"
_SIZE_VARIABLE = "LEROBOT_VIDEO_DECODER_CACHE_SIZE"
_MODULE = "lerobot.datasets.video_utils"
_Camera = TypeVar("_Camera", bound=Hashable)
_cache: VideoCache | None = None


class FrameTimestampError(VideoError, ValueError):
    """No frame is within the tolerance of a requested time."""


def _caught_there() -> type[FrameTimestampError]:
    """`FrameTimestampError`; also a subclass of LeRobot's if LeRobot is imported."""
    theirs = getattr(sys.modules.get(_MODULE), "FrameTimestampError", None)
    if theirs is None:
        return FrameTimestampError
    return type("FrameTimestampError", (FrameTimestampError, theirs), {})


def decode_video_frames(
    video_path: str | os.PathLike[str],
    timestamps: Sequence[float],
    tolerance_s: float,
    backend: str | None = None,
    return_uint8: bool = False,
    is_depth: bool = False,
    *,
    cache: VideoCache | None = None,
) -> torch.Tensor:
    """The frames whose presentation times are nearest to some times.

    Args:
        video_path: path or URL.
        timestamps: in seconds, in any order, repeated or not.
        tolerance_s: largest distance in seconds between a time and its frame.
        backend: without effect.
        return_uint8: give uint8 from 0 to 255.
        is_depth: give the coded luma, for depth and grey video.
        cache: where videos are kept open; `default_cache()` by default.

    Returns:
        (T, 3, H, W) float32 from 0 to 1, or uint8. Of depth (T, 1, H, W) uint16: 0 to 255 of 8
        bits, 0 to 1023 of 10, 0 to 4095 of 12, 0 to 65535 of 16.

    Raises:
        FrameTimestampError: a frame is further away than the tolerance; lists the requested times
            and those of the frames.
        FileNotFoundError: there is no such file.
        RuntimeError: not a video, or it does not decode. All are also `VideoError`.
    """
    opened = default_cache() if cache is None else cache
    with as_runtime_errors, opened.lend(video_path) as video:
        numbers = _nearest(video, timestamps, tolerance_s)
        if is_depth:
            return video.get_frames(numbers, layout="FCHW", output="gray", dtype="uint16").frames
        frames = video.get_frames(numbers, layout="FCHW").frames
    return frames if return_uint8 else _unit_range(frames)


def decode_camera_frames(
    video_paths: Mapping[_Camera, str | os.PathLike[str]],
    timestamps: Mapping[_Camera, Sequence[float]] | Sequence[float],
    tolerance_s: float,
    backend: str | None = None,
    return_uint8: bool = False,
    depth: Iterable[_Camera] = (),
    *,
    cache: VideoCache | None = None,
) -> dict[_Camera, torch.Tensor]:
    """`decode_video_frames` for several cameras at once, each in a thread.

    Args:
        video_paths: path or URL of each camera's video.
        timestamps: of each camera, or the same for all, in seconds.
        tolerance_s: as for `decode_video_frames`.
        backend: as for `decode_video_frames`.
        return_uint8: as for `decode_video_frames`.
        depth: cameras of depth or grey video.
        cache: as for `decode_video_frames`.

    Returns:
        The frames of each camera.

    Raises:
        FrameTimestampError, VideoError: as `decode_video_frames`, of the first camera that fails.
    """
    times = (
        timestamps if isinstance(timestamps, Mapping) else dict.fromkeys(video_paths, timestamps)
    )
    of_depth = set(depth)

    def decode(camera: _Camera) -> torch.Tensor:
        return decode_video_frames(
            video_paths[camera],
            times[camera],
            tolerance_s,
            backend,
            return_uint8,
            camera in of_depth,
            cache=cache,
        )

    decoded = in_threads(decode, video_paths, usable_processors())
    return dict(zip(video_paths, decoded, strict=True))


def default_cache() -> VideoCache:
    """The cache of calls without one: 100 videos, or `LEROBOT_VIDEO_DECODER_CACHE_SIZE`."""
    global _cache
    if _cache is None:
        given = os.environ.get(_SIZE_VARIABLE, "100").strip().lower()
        _cache = VideoCache(None if given in ("", "none", "unbounded", "-1") else int(given))
    return _cache


def install() -> None:
    """Replace LeRobot's `decode_video_frames`, wherever LeRobot has imported it.

    Raises:
        ImportError: LeRobot is not installed.
    """
    original = importlib.import_module(_MODULE).decode_video_frames
    for name, module in [*sys.modules.items()]:
        is_theirs = name.partition(".")[0] == "lerobot" and isinstance(module, ModuleType)
        if is_theirs and getattr(module, "decode_video_frames", None) is original:
            module.decode_video_frames = decode_video_frames  # type: ignore[attr-defined]


def _unit_range(levels: torch.Tensor) -> torch.Tensor:
    """Levels from 0 to 255 as float32 from 0 to 1."""
    if levels.is_cuda:
        return levels / 255
    # numpy uses one thread; torch's threads wait for each other on a busy machine.
    return torch.from_numpy(np.divide(levels.numpy(), np.float32(255), dtype=np.float32))


def _nearest(video: Video, timestamps: Sequence[float], tolerance: float) -> NDArray[np.int64]:
    """The nearest frames; times outside the video give the first or the last one."""
    index = video.index
    if not len(index):
        raise DecodeError(f"{video.name}: the video has no frames")
    times = real_numbers("timestamps", timestamps)
    numbers = frames_at_times(times, index, nearest=True, pad_mode="edge", name=video.name)
    numbers = np.minimum(np.maximum(numbers, 0), len(index) - 1)
    loaded = index.seconds(numbers)
    far = np.abs(loaded - times) > tolerance + NANOSECOND
    if far.any():
        raise _caught_there()(
            f"{video.name}: the nearest frames are further than the tolerance of {tolerance:g} s "
            f"from {int(far.sum())} of {len(times)} times; see that the timestamps belong to this "
            f"video, or leave the sample out\nqueried timestamps: {_listed(times[far])}\n"
            f"loaded timestamps: {_listed(loaded[far])}\nvideo: {video.name}"
        )
    return numbers


def _listed(times: NDArray[np.float64]) -> str:
    return f"[{', '.join(f'{time:.6f}' for time in times[:20])}{', ...' * (len(times) > 20)}]"
