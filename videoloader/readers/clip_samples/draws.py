"""How often the videos of a data set are drawn in an epoch, as its users say it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.readers.clip_samples.label_values import VideoLabels
from videoloader.sampling import ClipSampler, DenseClips, EpochSamples

__all__ = ["check_clips", "find_samples"]


def check_clips(clips_per_video: int, sampler: ClipSampler) -> int:
    """Samples of each video, if such a number makes sense.

    Raises:
        ArgumentError: it is below 1, or the sampler takes every clip at once.
    """
    if clips_per_video < 1:
        raise ArgumentError(f"clips_per_video must be at least 1, got {clips_per_video}")
    if clips_per_video > 1 and isinstance(sampler, DenseClips):
        raise ArgumentError(
            "DenseClips takes every clip of a video; for clips_per_video give a sampler that "
            "draws, such as RandomClip"
        )
    return clips_per_video


def find_samples(
    sampler: ClipSampler,
    clips_per_video: int,
    weights: NDArray[np.float64] | None,
    labels: VideoLabels | None,
    *,
    balanced: bool,
) -> EpochSamples:
    """How many samples an epoch has of each video.

    Args:
        sampler: takes the clips.
        clips_per_video: samples of each video.
        weights: of each video.
        labels: of each video, if there are any.
        balanced: draw videos of every label as often.

    Raises:
        ArgumentError: there are weights and labels to balance by, or no labels; or see
            `check_clips`.
    """
    check_clips(clips_per_video, sampler)
    if weights is not None:
        if balanced:
            raise ArgumentError("give weights or balanced, not both")
        return EpochSamples(clips_per_video, weights)
    if not balanced:
        return EpochSamples(clips_per_video)
    if labels is None:
        raise ArgumentError("balanced needs labels")
    return EpochSamples(clips_per_video, labels=labels.to_balance())
