"""The maximum clip length of a sampler for each video, and samplers with a given clip length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.sampling.batches.video_sizes import VideoSizes
from videoloader.sampling.clips import RandomClip, UniformClip
from videoloader.sampling.sampler import ClipSampler
from videoloader.sampling.times import NANOSECOND


def frames_offered(sampler: ClipSampler, videos: VideoSizes) -> NDArray[np.int64]:
    """The maximum frames of a clip of each video that does not extend past its end.

    At a target rate, this is the number of times on a grid that begins with the first frame; 0 if
    the rate of a video is unknown. `count` of the sampler is ignored.

    >>> sizes = VideoSizes(*(np.full(1, value) for value in (90, 160, 50, 25.0)))
    >>> frames_offered(RandomClip(16, fps=8), sizes), frames_offered(RandomClip(16, 4), sizes)
    (array([16]), array([13]))
    """
    sampler = check_length_varies(sampler)
    lengths = videos.num_frames
    if isinstance(sampler, UniformClip):
        return lengths
    if sampler.fps is None:
        return (lengths - 1) // sampler.stride + 1
    known = videos.fps > 0
    fps = np.where(known, videos.fps, 1.0)
    if sampler.timing == "times":
        fitting = (lengths / fps - NANOSECOND) * sampler.fps
    else:  # frame floor(i * fps / rate + 0.5) is inside the video
        fitting = (lengths - 0.5) * (sampler.fps / fps)
    return np.where(known, np.maximum(np.ceil(fitting), 0), 0).astype(np.int64)


def with_count(sampler: ClipSampler, count: int) -> ClipSampler:
    """The same sampler for clips of `count` frames."""
    return replace(check_length_varies(sampler), count=count)


def check_length_varies(sampler: ClipSampler) -> RandomClip | UniformClip:
    """Return the sampler if its clips can have any number of frames.

    Raises:
        ArgumentError: they cannot.
    """
    is_uniform = isinstance(sampler, UniformClip) and sampler.count is not None
    if isinstance(sampler, RandomClip) or is_uniform:
        return sampler  # type: ignore[return-value]
    raise ArgumentError(
        "buckets and packs take clips of several lengths: RandomClip(count, ...) or "
        f"UniformClip(count); got {sampler!r}"
    )
