"""How many samples an epoch has of each video: `clips_per_video`, `weights`, `balanced`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.indexing.dataset.joining import by_text, find_rows
from videoloader.machinery.system.checks import whole_number
from videoloader.sampling import ClipSampler, DenseClips, EpochSamples, EvenClips
from videoloader.sampling.arrays import real_numbers
from videoloader.sampling.orders.sample_order import check_together
from videoloader.sampling.several_clips import count_clips, count_clips_by_length
from videoloader.training.labels.label_values import VideoLabels
from videoloader.training.sources import SampleVideos, rows_given

_log = logging.getLogger(__name__)

Weights: TypeAlias = "Sequence[float] | NDArray[Any] | Mapping[str, float] | Callable[[str], float]"
"""How often videos are drawn: a number for each video or row; or by key, a mapping or function."""

ClipsPerVideo: TypeAlias = 'int | Literal["all"]'
"""Samples that an epoch has of each video; `all` for every clip of a sampler of several."""


def find_weights(weights: Weights, found: SampleVideos) -> NDArray[np.float64]:
    """The weight of each video.

    Raises:
        ArgumentError: not every video has one.
        ArgumentTypeError: keys are no text, or weights no numbers.
    """
    import pyarrow as pa

    if callable(weights):
        keys = found.keys()
        return real_numbers("weights", [weights(key) for key in keys])
    if isinstance(weights, Mapping):
        weights, paths = by_text(weights, "weights"), found.paths()
        names = pa.array([*weights], pa.string())
        places = find_rows(pa.array(paths, pa.string()), names, "path")
        if (places < 0).any():
            raise ArgumentError(f"no weight for {paths[int(np.argmin(places))]!r}")
        return real_numbers("weights", [*weights.values()])[places]
    shares = real_numbers("weights", weights)
    rows = rows_given("weights", len(shares), found)
    return shares if rows is None else shares[rows]


def check_clips(clips_per_video: ClipsPerVideo, sampler: ClipSampler) -> int:
    """Check `clips_per_video`, and return it as an integer.

    Raises:
        ArgumentError: it is below 1, or the sampler takes every clip at once.
    """
    if clips_per_video == "all":
        raise ArgumentError('clips_per_video="all" is for Loader; here it is a number')
    clips_per_video = whole_number("clips_per_video", clips_per_video, least=1)
    if clips_per_video > 1 and isinstance(sampler, DenseClips):
        raise ArgumentError(
            "DenseClips takes every clip of a video; for clips_per_video give a sampler that "
            "draws, such as RandomClip"
        )
    return clips_per_video


def find_samples(
    videos: SampleVideos,
    sampler: ClipSampler,
    clips_per_video: ClipsPerVideo,
    weights: NDArray[np.float64] | None,
    labels: VideoLabels | None,
    *,
    balanced: bool,
    together: bool | int = False,
) -> EpochSamples:
    """How many samples an epoch has of each video.

    Args:
        videos: of the data set.
        sampler: takes the clips.
        clips_per_video: samples of each video.
        weights: of each video.
        labels: of each video, if there are any.
        balanced: draw videos of every label as often.
        together: samples of a video that come in one batch.

    Raises:
        ArgumentError: there are weights and labels to balance by, or no labels; or see
            `check_clips` and `check_together`.
    """
    if clips_per_video != "all":
        check_clips(clips_per_video, sampler)
    group = check_together(together, clips_per_video)
    if weights is not None and balanced:
        raise ArgumentError("give weights or balanced, not both")
    if clips_per_video == "all":
        if weights is not None or balanced:
            raise ArgumentError(
                'clips_per_video="all" takes each clip once; leave out weights and balanced'
            )
        return EpochSamples(group=group, counts=_count_all(sampler, videos))
    if weights is not None:
        return EpochSamples(clips_per_video, weights, group=group)
    if not balanced:
        return EpochSamples(clips_per_video, group=group)
    if labels is None:
        raise ArgumentError("balanced needs labels")
    return EpochSamples(clips_per_video, labels=labels.to_balance(), group=group)


def _count_all(sampler: ClipSampler, videos: SampleVideos) -> NDArray[np.int64]:
    if isinstance(sampler, EvenClips):
        return np.full(len(videos), sampler.clips, dtype=np.int64)
    if not isinstance(sampler, DenseClips):
        raise ArgumentError(
            'clips_per_video="all" takes a sampler of several clips, DenseClips or EvenClips; '
            f"got {sampler!r}"
        )
    if not videos.is_indexed:
        raise ArgumentError(
            "all clips of DenseClips are counted by a data set index; make one with "
            'index_dataset(videos, "set.parquet") and give that'
        )
    if sampler.fps is None:
        counts = count_clips_by_length(sampler, videos.numbers(["num_frames"])["num_frames"])
    else:
        counts = np.array([_count(sampler, videos, number) for number in range(len(videos))])
    if not counts.any():
        raise ArgumentError(f"none of the {len(videos)} videos is long enough for {sampler}")
    if short := np.count_nonzero(counts == 0):
        text = (
            "%d of %d videos are too short for a clip of %r, and left out; partial=True takes them"
        )
        _log.warning(text, short, len(videos), sampler)
    return counts


def _count(sampler: DenseClips, videos: SampleVideos, number: int) -> int:
    """The clips of one video of a data set index."""
    index = videos.index(number)
    assert index is not None
    start, stop = videos.scope(number, index)
    return count_clips(sampler, index, start=start, stop=stop)
