"""The videos or segments that a job is about, and their states."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from videoloader.errors import ArgumentError
from videoloader.indexing.dataset import DatasetIndex, Item, Videos, open_dataset
from videoloader.indexing.dataset.rows import state_of
from videoloader.indexing.dataset.video_job import states_of
from videoloader.machinery.system.address import is_url
from videoloader.sampling import ClipSampler
from videoloader.sources.source import Fingerprint
from videoloader.training.segments.segments import Segments
from videoloader.training.sources import ClipSources, IndexedVideos, ListedVideos, find_sources

_AS_FILES = "transcode(segments, folder) writes each as a file, then give the folder"


def videos_of(source: ClipSources) -> Videos | list[Item]:
    """The videos of a job, in order; those of a whole data set index include its failures.

    Raises:
        ArgumentError: they are segments.
    """
    if isinstance(source, Segments):
        raise ArgumentError(f"this is a job over whole videos, not Segments; {_AS_FILES}")
    if isinstance(source, str | os.PathLike) and os.fspath(source).endswith(".parquet"):
        source = open_dataset(source)
    if isinstance(source, DatasetIndex):
        return Videos(source, np.arange(len(source)))
    if isinstance(source, Videos):
        return source
    found = find_sources(source, {})
    return found.videos if isinstance(found, IndexedVideos) else found.items


def find_samples(
    source: ClipSources | Segments, clips: ClipSampler | None
) -> tuple[IndexedVideos | ListedVideos | Segments, IndexedVideos | ListedVideos]:
    """What the function is called for, and the video of each."""
    if isinstance(source, Segments):
        if clips is None:
            raise ArgumentError(
                "map_clips over Segments needs clips=, a sampler of the clips of each; for "
                f"functions of videos, such as score_video, {_AS_FILES}"
            )
        return source, source.videos
    found = videos_of(source)
    videos = IndexedVideos(found) if isinstance(found, Videos) else ListedVideos(found, {})
    return videos, videos


def states_by_number(videos: IndexedVideos | ListedVideos) -> Callable[[int], Fingerprint | None]:
    """The state of each video, by number, as it was indexed or as it is now; None if unknown."""
    if isinstance(videos, IndexedVideos):
        of_row = states_of(videos.videos.dataset)
        return lambda number: of_row(videos.row(number))

    def state(number: int) -> Fingerprint | None:
        item = videos.item(number)
        return None if is_url(item.path) and item.listed is None else state_of(item)

    return state
