"""Videos that are given with their labels: pairs of both, or a mapping."""

from __future__ import annotations

import os
from collections.abc import ItemsView, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from videoloader.errors import ArgumentError
from videoloader.indexing.containers.registry import VIDEO_SUFFIXES
from videoloader.indexing.dataset import Item
from videoloader.indexing.dataset.listing import is_table
from videoloader.training.sources import LabelledSources, SampleVideos, each_item


def paired(videos: LabelledSources | SampleVideos, labels: Any) -> tuple[Any, Any]:
    """Videos and their labels, where pairs or a mapping of both were given.

    The label of a folder, glob, list or archive is that of each video in it.

    Args:
        videos: as a user named them.
        labels: that were given otherwise; None if none were.

    Returns:
        The videos, and one label for each, or `labels`.

    Raises:
        ArgumentError: labels are given twice.
    """
    given: Any = videos
    if isinstance(videos, Mapping) and not is_table(videos):
        given = [*videos.items()]
    elif isinstance(videos, Iterator | ItemsView):
        given = [*videos]
    if not isinstance(given, Sequence) or not given or not all(map(_is_pair, given)):
        return given, labels
    if labels is not None:
        raise ArgumentError("labels go with the videos, and labels= gives some too; give them once")
    pairs = [(item, label) for place, label in given for item in each_item([place])]
    return [item for item, _ in pairs], [label for _, label in pairs]


def _is_pair(value: Any) -> bool:
    """Whether a value is a video and its label, which is no other video."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        return False
    place, label = value
    is_video = isinstance(label, str | os.PathLike) and Path(label).suffix.lower() in VIDEO_SUFFIXES
    return isinstance(place, str | os.PathLike | Item) and not is_video
