"""How often the videos of a data set are drawn in an epoch, as its users say it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.sampling import ClipSampler, DenseClips
from videoloader.sampling.weighted import WeightedDraws, balanced_weights

__all__ = ["DRAWING", "check_clips", "find_draws"]

DRAWING = 3
"""Stage of the randomness of draws; those of samples come before, see `SampleRequests`."""


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


def find_draws(
    weights: NDArray[np.float64] | None,
    labels: Sequence[int] | None,
    size: int,
    *,
    balanced: bool,
) -> WeightedDraws | None:
    """The draws of an epoch; None for every sample once.

    Args:
        weights: of each video.
        labels: of each video, if there are any.
        size: draws in an epoch.
        balanced: draw videos of every label as often.

    Raises:
        ArgumentError: there are weights and labels to balance by, or no labels.
    """
    if weights is not None:
        if balanced:
            raise ArgumentError("give weights or balanced, not both")
        return WeightedDraws.of(weights, size=size)
    if not balanced:
        return None
    if labels is None:
        raise ArgumentError("balanced needs labels")
    return WeightedDraws.of(balanced_weights(labels), size=size)
