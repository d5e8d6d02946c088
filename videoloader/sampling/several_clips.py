"""Samplers of several clips of a video: how many it has, and one of them without the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videoloader.sampling.clips import (
    ClipSampler,
    DenseClips,
    EvenClips,
    SampledVideo,
    count_even,
    sample_frames,
)

__all__ = ["clip_at", "count_clips", "count_clips_by_length"]


def count_clips(
    sampler: ClipSampler, video: SampledVideo, *, start: int = 0, stop: int | None = None
) -> int:
    """Clips that a sampler takes of a video, or of a range of it.

    Args:
        sampler: any; all but `DenseClips` and `EvenClips` take one.
        video: its index.
        start: first frame of the range.
        stop: end of the range, exclusive; the end of the video by default.
    """
    if not isinstance(sampler, DenseClips | EvenClips):
        return 1
    return len(sample_frames(sampler, video, start=start, stop=stop))


def count_clips_by_length(sampler: DenseClips, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Clips of videos of so many frames each; of samplers without a target rate.

    >>> count_clips_by_length(DenseClips(4), np.array([3, 4, 9]))
    array([0, 1, 2])
    """
    found: NDArray[np.int64] = count_even(lengths, *_even(sampler), partial=sampler.partial)
    return found


def clip_at(
    sampler: DenseClips | EvenClips,
    video: SampledVideo,
    place: int,
    *,
    start: int = 0,
    stop: int | None = None,
) -> NDArray[np.int64] | None:
    """Frame numbers of one clip of a video, or of a range of it; None if there are not so many.

    Args:
        sampler: of several clips.
        video: its index.
        place: of the clip, counted from 0.
        start: first frame of the range.
        stop: end of the range, exclusive; the end of the video by default.
    """
    stop = video.num_frames if stop is None else stop
    if isinstance(sampler, EvenClips) or sampler.fps is not None:
        clips = sample_frames(sampler, video, start=start, stop=stop)
        return clips[place] if place < len(clips) else None
    # Clips that start in even steps: make only this one.
    span, step = _even(sampler)
    if place >= count_even(np.int64(stop - start), span, step, partial=sampler.partial):
        return None
    return start + place * step + sampler.stride * np.arange(sampler.count, dtype=np.int64)


def _even(sampler: DenseClips) -> tuple[int, int]:
    """Frames from the first to the last of a clip, and from one start to the next."""
    span = (sampler.count - 1) * sampler.stride + 1
    return span, sampler.step or span
