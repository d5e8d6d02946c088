"""How many clips a sampler takes of a video, one of them alone, and the usual shape of a sample."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from videoloader.sampling.clips import DenseClips, EvenClips, count_even
from videoloader.sampling.sampler import ClipSampler, SampledVideo, sample_frames

_LONG, _USUAL_FPS = 300, 30.0  # a video that is long enough


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


def usual_length(sampler: ClipSampler) -> int:
    """Frames of a sample whose video is long enough."""
    return math.prod(usual_shape(sampler))


def usual_shape(sampler: ClipSampler) -> tuple[int, ...]:
    """Shape of the frame numbers of a sample of several clips; for `DenseClips` of one clip."""
    count = getattr(sampler, "count", None)
    if isinstance(sampler, EvenClips):
        return sampler.clips, sampler.count
    if isinstance(count, int):
        return (1, count) if isinstance(sampler, DenseClips) else (count,)
    frames = sampler.frames(_LONG, fps=_USUAL_FPS, rng=np.random.default_rng(0))
    return np.asarray(frames).shape
