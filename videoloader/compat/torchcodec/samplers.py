"""torchcodec.samplers: clips at regular and random positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.compat.torchcodec.arguments import as_integer, as_seconds
from videoloader.compat.torchcodec.frames import FrameBatch
from videoloader.compat.torchcodec.video_decoder import VideoDecoder
from videoloader.errors import ArgumentError

__all__ = [
    "clips_at_random_indices",
    "clips_at_random_timestamps",
    "clips_at_regular_indices",
    "clips_at_regular_timestamps",
]

Policy: TypeAlias = Literal["repeat_last", "wrap", "error"]
Points: TypeAlias = NDArray[Any]


def clips_at_random_indices(
    decoder: VideoDecoder,
    *,
    num_clips: int = 1,
    num_frames_per_clip: int = 1,
    num_indices_between_frames: int = 1,
    sampling_range_start: int = 0,
    sampling_range_end: int | None = None,
    policy: Policy = "repeat_last",
) -> FrameBatch:
    """Clips that begin at random frames, the same as torchcodec's for a seed of torch.

    Args:
        decoder: of the video.
        num_clips: number of clips.
        num_frames_per_clip: frames of a clip.
        num_indices_between_frames: step between frames of a clip.
        sampling_range_start: first possible start of a clip; negative counts from the end.
        sampling_range_end: end of the possible starts, exclusive; negative counts from the end.
            By default no clip reaches beyond the video.
        policy: for frames beyond the video: `repeat_last` repeats the last frame of the clip,
            `wrap` continues with its first, `error` raises.

    Returns:
        Frames of (clips, frames of a clip).

    Raises:
        ValueError: the arguments contradict each other or the video.
    """
    num_clips = _count(num_clips, "num_clips")
    steps = np.arange(_count(num_frames_per_clip, "num_frames_per_clip"))
    steps *= _count(num_indices_between_frames, "num_indices_between_frames")
    start, end = _index_range(decoder, steps, sampling_range_start, sampling_range_end, policy)
    starts = torch.randint(low=start, high=end, size=(num_clips,))
    return _by_index(decoder, starts.numpy(), steps, policy)


def clips_at_regular_indices(
    decoder: VideoDecoder,
    *,
    num_clips: int = 1,
    num_frames_per_clip: int = 1,
    num_indices_between_frames: int = 1,
    sampling_range_start: int = 0,
    sampling_range_end: int | None = None,
    policy: Policy = "repeat_last",
) -> FrameBatch:
    """Clips that begin at evenly spaced frames; see `clips_at_random_indices`.

    Several begin at the same frame if there are fewer frames than clips.
    """
    num_clips = _count(num_clips, "num_clips")
    steps = np.arange(_count(num_frames_per_clip, "num_frames_per_clip"))
    steps *= _count(num_indices_between_frames, "num_indices_between_frames")
    start, end = _index_range(decoder, steps, sampling_range_start, sampling_range_end, policy)
    starts = torch.linspace(start, end - 1, steps=num_clips, dtype=torch.int)
    return _by_index(decoder, starts.numpy(), steps, policy)


def clips_at_random_timestamps(
    decoder: VideoDecoder,
    *,
    num_clips: int = 1,
    num_frames_per_clip: int = 1,
    seconds_between_frames: float | None = None,
    sampling_range_start: float | None = None,
    sampling_range_end: float | None = None,
    policy: Policy = "repeat_last",
) -> FrameBatch:
    """Clips that begin at random times, the same as torchcodec's for a seed of torch.

    Args:
        decoder: of the video.
        num_clips: number of clips.
        num_frames_per_clip: frames of a clip.
        seconds_between_frames: time step between frames of a clip; the average duration of a
            frame by default.
        sampling_range_start: first possible start; that of the video by default.
        sampling_range_end: end of the possible starts, exclusive. By default no clip reaches
            beyond the video.
        policy: see `clips_at_random_indices`.

    Returns:
        Frames of (clips, frames of a clip).

    Raises:
        ValueError: the arguments contradict each other or the video.
    """
    num_clips = _count(num_clips, "num_clips")
    count = _count(num_frames_per_clip, "num_frames_per_clip")
    between = _seconds_between(decoder, seconds_between_frames, policy)
    steps = np.arange(count) * between
    start, end = _time_range(decoder, steps, sampling_range_start, sampling_range_end)
    starts = torch.rand(num_clips, dtype=torch.float64) * (end - start) + start
    return _by_time(decoder, starts.numpy(), steps, policy)


def clips_at_regular_timestamps(
    decoder: VideoDecoder,
    *,
    seconds_between_clip_starts: float,
    num_frames_per_clip: int = 1,
    seconds_between_frames: float | None = None,
    sampling_range_start: float | None = None,
    sampling_range_end: float | None = None,
    policy: Policy = "repeat_last",
) -> FrameBatch:
    """Clips that begin every `seconds_between_clip_starts`; see `clips_at_random_timestamps`."""
    step = as_seconds(seconds_between_clip_starts, "seconds_between_clip_starts")
    if step <= 0:
        raise ArgumentError(
            f"seconds_between_clip_starts ({seconds_between_clip_starts}) must be > 0"
        )
    count = _count(num_frames_per_clip, "num_frames_per_clip")
    between = _seconds_between(decoder, seconds_between_frames, policy)
    steps = np.arange(count) * between
    start, end = _time_range(decoder, steps, sampling_range_start, sampling_range_end)
    starts = torch.arange(start, end, step, dtype=torch.float64)
    starts = starts[starts < end]  # arange may round to the end
    return _by_time(decoder, starts.numpy(), steps, policy)


def _index_range(
    decoder: VideoDecoder, steps: Points, start: int, end: int | None, policy: str
) -> tuple[int, int]:
    """First and end of the frames that a clip may begin at, checked."""
    _check(decoder, policy)
    length = len(decoder)
    start = start + length if start < 0 else start
    if start >= length:
        raise ArgumentError(
            f"sampling_range_start ({start}) must be smaller than the number of frames ({length})."
        )
    if end is None:
        end = max(length - int(steps[-1]), 1)
        if start >= end:
            raise ArgumentError(
                f"We determined that sampling_range_end should be {end}, but it is smaller than or "
                f"equal to sampling_range_start ({start})."
            )
        return start, end
    end = min(end + length if end < 0 else end, length)
    if start >= end:
        raise ArgumentError(
            f"sampling_range_start ({start}) must be smaller than sampling_range_end ({end})."
        )
    return start, end


def _seconds_between(decoder: VideoDecoder, given: float | None, policy: str) -> float:
    """Seconds between the frames of a clip."""
    _check(decoder, policy)
    rate = decoder.metadata.average_fps
    if rate is None:
        raise ArgumentError(
            "Could not infer average fps from video metadata. Try an index-based sampler."
        )
    if given is None:
        return 1 / rate
    if as_seconds(given, "seconds_between_frames") <= 0:
        raise ArgumentError(f"seconds_between_frames ({given}) must be > 0")
    return float(given)


def _time_range(
    decoder: VideoDecoder, steps: Points, start: float | None, end: float | None
) -> tuple[float, float]:
    """First and end of the times that a clip may begin at, checked."""
    metadata = decoder.metadata
    first, last = metadata.begin_stream_seconds, metadata.end_stream_seconds
    if first is None or last is None:
        raise ArgumentError(
            "Could not infer stream end and start from video metadata. Try an index-based sampler."
        )
    if start is None:
        start = first
    elif start < first:
        raise ArgumentError(f"sampling_range_start ({start}) must be at least {first}")
    elif start >= last:
        raise ArgumentError(f"sampling_range_start ({start}) must be smaller than {last}")
    if end is None:
        end = last - float(steps[-1])
    elif end <= first:
        raise ArgumentError(f"sampling_range_end ({end}) must be at least {first}")
    if start >= end:
        raise ArgumentError(
            f"sampling_range_start ({start}) must be smaller than sampling_range_end ({end})"
        )
    return start, min(end, last)


def _by_index(decoder: VideoDecoder, starts: Points, steps: Points, policy: Policy) -> FrameBatch:
    points = starts[:, None].astype(np.int64) + steps
    return _clips(decoder.get_frames_at, points, len(decoder), policy)


def _by_time(decoder: VideoDecoder, starts: Points, steps: Points, policy: Policy) -> FrameBatch:
    points = starts[:, None] + steps
    end = decoder.metadata.end_stream_seconds
    assert end is not None, "checked with the range"
    return _clips(decoder.get_frames_played_at, points, end, policy)


def _clips(
    get: Callable[[Sequence[Any]], FrameBatch], points: Points, end: float, policy: Policy
) -> FrameBatch:
    """Frames (clips, frames), replaced by the policy from `end` on."""
    inside = (points < end).sum(axis=1, keepdims=True)
    column = np.arange(points.shape[1])
    if policy == "error" and (inside <= column).any():
        raise ArgumentError(
            "policy is 'error', and a clip has a frame that is beyond the number of frames in the "
            "video; leave sampling_range_end out, or choose another policy"
        )
    column = np.minimum(column, inside - 1) if policy == "repeat_last" else column % inside
    chosen = np.take_along_axis(points, np.broadcast_to(column, points.shape), axis=1)
    frames = get(chosen.reshape(-1))  # type: ignore[arg-type]
    shape = points.shape
    return FrameBatch(
        frames.data.view(*shape, *frames.data.shape[1:]),
        frames.pts_seconds.view(shape),
        frames.duration_seconds.view(shape),
    )


def _check(decoder: VideoDecoder, policy: str) -> None:
    if len(decoder) < 1:
        raise ArgumentError(f"Decoder must have at least one frame, found {len(decoder)} frames.")
    if policy not in ("repeat_last", "wrap", "error"):
        raise ArgumentError(
            f"Invalid policy ({policy}). Supported values are repeat_last, wrap, error."
        )


def _count(given: Any, name: str) -> int:
    """An integer of at least 1."""
    count = as_integer(given, name)
    if count <= 0:
        raise ArgumentError(f"{name} ({count}) must be strictly positive, must be > 0")
    return count
