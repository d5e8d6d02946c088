"""The videos that samples are of, listed or of a data set index; their labels and weights."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.clip_samples.label_values import VideoLabels, as_classes, as_labels
from videoloader.clip_samples.labels import (
    LabelColumn,
    Labels,
    labels_of_paths,
)
from videoloader.decoding.opening.index_cache import KeptIndexes
from videoloader.errors import ArgumentError, SourceError
from videoloader.indexing.containers.registry import VIDEO_SUFFIXES
from videoloader.indexing.dataset import DatasetIndex, Item, Videos, find_items, open_dataset
from videoloader.indexing.dataset.joining import find_rows
from videoloader.indexing.index import VideoIndex
from videoloader.sampling import ClipSampler, DenseClips, EpochSamples, EvenClips
from videoloader.sampling.orders.sample_order import check_together
from videoloader.sampling.several_clips import count_clips, count_clips_by_length
from videoloader.sources.address import absolute, is_url, local_path, shown

__all__ = [
    "ClipSources",
    "ClipsPerVideo",
    "IndexedVideos",
    "ListedVideos",
    "Weights",
    "check_clips",
    "filtered",
    "find_labels",
    "find_samples",
    "find_sources",
    "find_weights",
]

_READY_BYTES = 1 << 24  # of packet tables that each process keeps

Place: TypeAlias = "str | os.PathLike[str] | Item"
ClipSources: TypeAlias = "Place | Sequence[Place] | DatasetIndex | Videos"
"""Folders, globs, text lists, archives, files, URLs, items; a data set index or its path."""


Weights: TypeAlias = "Sequence[float] | NDArray[Any] | Mapping[str, float] | Callable[[str], float]"
"""How often videos are drawn: a number for each video or row; or by key, a mapping or function."""

ClipsPerVideo: TypeAlias = 'int | Literal["all"]'
"""Samples that an epoch has of each video; `all` for every clip of a sampler of several."""


class ListedVideos:
    """Videos by name; their indexes are made where they are needed, or were made beforehand."""

    def __init__(
        self,
        items: list[Item],
        indexes: Mapping[str, VideoIndex],
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        self.items = items
        self._rows = rows
        self._given = {Item(absolute(path)).path: index for path, index in indexes.items()}

    def __len__(self) -> int:
        return len(self.items)

    def row(self, number: int) -> int:
        """The number of a video among all that were listed."""
        return number if self._rows is None else int(self._rows[number])

    def take(self, numbers: NDArray[np.int64]) -> ListedVideos:
        """Some of the videos, which keep their rows."""
        rows = np.array([self.row(number) for number in numbers.tolist()], dtype=np.int64)
        taken = ListedVideos([self.items[number] for number in numbers.tolist()], {}, rows)
        taken._given = self._given
        return taken

    def keys(self) -> list[str]:
        """Key of each video: its path, and its name in an archive."""
        return [item.key for item in self.items]

    def paths(self) -> list[str]:
        """Whole path of each video, by which tables are searched: its key."""
        return self.keys()

    def item(self, number: int) -> Item:
        """Where a video is."""
        return self.items[number]

    def index(self, number: int) -> VideoIndex | None:
        """The index of a video, if it was made beforehand."""
        item = self.items[number]
        return None if item.member else self._given.get(item.path)


class IndexedVideos:
    """The videos of a data set index, which each worker opens for itself; its memory is shared.

    Args:
        videos: of the index.
        numbers: of those that are taken; all by default.
    """

    def __init__(self, videos: Videos, numbers: NDArray[np.int64] | None = None) -> None:
        self.videos = videos
        self._numbers = numbers
        self._kept = KeptIndexes(_READY_BYTES)

    def __len__(self) -> int:
        return len(self.videos) if self._numbers is None else len(self._numbers)

    def take(self, numbers: NDArray[np.int64]) -> IndexedVideos:
        """Some of the videos, which keep their rows."""
        own = numbers if self._numbers is None else self._numbers[numbers]
        return IndexedVideos(self.videos, own)

    def row(self, number: int) -> int:
        """The row of a video in the data set index."""
        return self.videos.row(self._number(number))

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows of all videos."""
        rows = self.videos.rows
        return rows if self._numbers is None else rows[self._numbers]

    @property
    def num_frames(self) -> NDArray[np.int64]:
        """Frames of each video."""
        lengths = self.videos.num_frames
        return lengths if self._numbers is None else lengths[self._numbers]

    def keys(self) -> list[str]:
        """Key of each video; where the table has none, the one that follows from its place."""
        dataset = self.videos.dataset
        keys: list[str | None] = [*dataset.keys]
        rows = self.rows.tolist()
        return [dataset.key(row) if (key := keys[row]) is None else key for row in rows]

    def path(self, key: str) -> str:
        """The whole path of the video of a key, by which tables are searched."""
        root = self.videos.dataset.root
        if root is None or is_url(key) or os.path.isabs(key):
            return key
        return f"{root.rstrip('/')}/{key}"

    def paths(self) -> list[str]:
        """Whole path of each video."""
        return [self.path(key) for key in self.keys()]

    def item(self, number: int) -> Item:
        """Where a video is."""
        return self.videos.item(self._number(number))

    def index(self, number: int) -> VideoIndex:
        """The index of a video; those used last stay in memory, with what was learned of them."""
        number = self._number(number)
        if (index := self._kept.get(number)) is None:
            index = self.videos[number]
            self._kept.add(number, index)
        return index

    def __reduce__(self) -> tuple[Any, ...]:
        return IndexedVideos, (self.videos, self._numbers)

    def _number(self, number: int) -> int:
        return number if self._numbers is None else int(self._numbers[number])


def find_sources(
    videos: ClipSources, indexes: Mapping[str, VideoIndex]
) -> ListedVideos | IndexedVideos:
    """The videos behind what a user names, in order; a list keeps its repetitions.

    Raises:
        ArgumentError: there are none.
        SourceError: a folder, glob or URL has no video, or there is no such thing.
    """
    if isinstance(videos, str | os.PathLike) and os.fspath(videos).endswith(".parquet"):
        videos = open_dataset(videos)
    if isinstance(videos, DatasetIndex):
        videos = videos.videos
    if isinstance(videos, Videos):
        if not len(videos):
            name = shown(str(videos.dataset.path))
            failed, rows = len(videos.dataset.failed), len(videos.dataset)
            raise ArgumentError(
                f"{name}: no videos; all {rows} rows are failures"
                if failed == rows
                else f"{name}: no videos; the filter leaves none of {rows - failed}"
            )
        return IndexedVideos(videos)
    items = list(_items([videos] if isinstance(videos, str | os.PathLike | Item) else videos))
    if not items:
        raise ArgumentError("no videos; the list of them is empty")
    if isinstance(videos, str | os.PathLike) and len(items) == 1:
        _check_there(items[0])
    return ListedVideos(items, indexes)


def filtered(videos: ClipSources, wanted: Any) -> Videos:
    """The videos of a data set index that meet a condition.

    Args:
        videos: a data set index, or its path.
        wanted: limits by name, or an expression; see `Videos.filter`.

    Raises:
        ArgumentError: the videos are listed, so nothing is known of them.
    """
    if isinstance(videos, str | os.PathLike) and os.fspath(videos).endswith(".parquet"):
        videos = open_dataset(videos)
    if not isinstance(videos, DatasetIndex | Videos):
        raise ArgumentError(
            "a filter needs a data set index (index_dataset), which knows the sizes"
        )
    return videos.filter(**wanted) if isinstance(wanted, Mapping) else videos.filter(wanted)


def find_weights(weights: Weights, found: ListedVideos | IndexedVideos) -> NDArray[np.float64]:
    """The weight of each video.

    Raises:
        ArgumentError: not every video has one.
    """
    import pyarrow as pa

    if callable(weights):
        return np.array([float(weights(key)) for key in found.keys()])  # noqa: SIM118  (a method)
    if isinstance(weights, Mapping):
        names, paths = [*weights], found.paths()
        places = find_rows(pa.array(paths, pa.string()), pa.array(names, pa.string()), "path")
        if (places < 0).any():
            raise ArgumentError(f"no weight for {paths[int(np.argmin(places))]!r}")
        return np.array([float(weights[name]) for name in names])[places]
    shares = np.asarray(weights, dtype=np.float64).reshape(-1)
    rows = _rows_given("weights", len(shares), found)
    return shares if rows is None else shares[rows]


def find_labels(
    videos: ClipSources,
    found: ListedVideos | IndexedVideos,
    labels: Labels | None,
    classes: Sequence[str] | None = None,
) -> VideoLabels | None:
    """The label of each video, if there are labels.

    Args:
        videos: as a user named them.
        found: these videos, see `find_sources`.
        labels: one a video or a row, or by key, see `Labels`; None for those of folders, if there
            are.
        classes: names of the classes in the order of their numbers, see `as_labels`.

    Raises:
        ArgumentError: not every video has a label, or one that is not among the classes.
    """
    names = as_classes(classes)
    values: Sequence[Any] | NDArray[Any] | None
    if labels is not None:
        values = _given_labels(labels, found)
    elif isinstance(found, ListedVideos):
        values = _classes(videos, found.items)
    else:
        values = None
    if values is not None:
        return as_labels(values, lambda number: found.item(number).name, names)
    if names:
        raise ArgumentError(
            "classes are given, but nothing says of which class a video is; pass labels=, or a "
            "folder that has a folder for each class"
        )
    return None


def check_clips(clips_per_video: ClipsPerVideo, sampler: ClipSampler) -> int:
    """Samples of each video, if such a number makes sense.

    Raises:
        ArgumentError: it is below 1, or the sampler takes every clip at once.
    """
    if clips_per_video == "all":
        raise ArgumentError('clips_per_video="all" is for Loader; here it is a number')
    if not isinstance(clips_per_video, int | np.integer) or clips_per_video < 1:
        raise ArgumentError(f"clips_per_video must be at least 1, got {clips_per_video!r}")
    if clips_per_video > 1 and isinstance(sampler, DenseClips):
        raise ArgumentError(
            "DenseClips takes every clip of a video; for clips_per_video give a sampler that "
            "draws, such as RandomClip"
        )
    return clips_per_video


def find_samples(
    videos: ListedVideos | IndexedVideos,
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


def _count_all(sampler: ClipSampler, videos: ListedVideos | IndexedVideos) -> NDArray[np.int64]:
    """Clips of each video."""
    if isinstance(sampler, EvenClips):
        return np.full(len(videos), sampler.clips, dtype=np.int64)
    if not isinstance(sampler, DenseClips):
        raise ArgumentError(
            'clips_per_video="all" takes a sampler of several clips, DenseClips or EvenClips; '
            f"got {sampler!r}"
        )
    if not isinstance(videos, IndexedVideos):
        raise ArgumentError(
            "all clips of DenseClips are counted by a data set index; make one with "
            'index_dataset(videos, "set.parquet") and give that'
        )
    if sampler.fps is None:
        counts = count_clips_by_length(sampler, videos.num_frames)
    else:
        numbers = range(len(videos))
        counts = np.array([count_clips(sampler, videos.index(number)) for number in numbers])
    if not counts.any():
        raise ArgumentError(f"none of the {len(videos)} videos is long enough for {sampler}")
    return counts


def _given_labels(
    labels: Labels, found: ListedVideos | IndexedVideos
) -> Sequence[Any] | NDArray[Any]:
    """The label of each video, as it was given."""
    if isinstance(labels, Mapping | LabelColumn):
        return labels_of_paths(labels, found.paths())
    if callable(labels):
        return [labels(key) for key in found.keys()]  # noqa: SIM118  (a method)
    if isinstance(labels, str | bytes | os.PathLike):
        return _column_of_labels(labels, found)
    values: Sequence[Any] | NDArray[Any] = labels
    if not isinstance(labels, np.ndarray):
        # Tensors, series and columns have their elements as Python's.
        values = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    rows = _rows_given("labels", len(values), found)
    if rows is None:
        return values
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]


def _column_of_labels(
    name: str | bytes | os.PathLike[str], found: ListedVideos | IndexedVideos
) -> list[Any]:
    """The labels in a column of a data set index."""
    columns = found.videos.column_names if isinstance(found, IndexedVideos) else []
    if not isinstance(found, IndexedVideos) or name not in columns:
        known = f"; the data set has the columns {', '.join(columns)}" if columns else ""
        raise ArgumentError(
            f"labels={name!r:.80} is the name of no column of a data set index; a column of a file "
            f"is given as LabelColumn(file, label=column){known}"
        )
    values = found.videos.columns([str(name)]).column(0).to_pylist()
    return [values[row] for row in found.rows.tolist()]


def _classes(videos: ClipSources, items: list[Item]) -> list[str] | None:
    """Name of the class of each video, where one folder has a folder for each class."""
    if not isinstance(videos, str | os.PathLike) or is_url(local_path(os.fspath(videos))):
        return None
    folder = Path(absolute(videos))
    if not os.path.isdir(folder):
        return None
    parts = [Path(local_path(item.path)).relative_to(folder).parts for item in items]
    return [part[0] for part in parts] if all(len(part) > 1 for part in parts) else None


def _items(places: Iterable[Place]) -> Iterable[Item]:
    for place in places:
        if isinstance(place, Item):
            yield place.absolute()
        elif Path(place).suffix.lower() in VIDEO_SUFFIXES and not _is_pattern(os.fspath(place)):
            yield Item(absolute(place))  # without a look at it: there may be millions
        else:
            yield from find_items(place)


def _is_pattern(place: str) -> bool:
    return any(character in place for character in "*?[") or is_url(place)


def _check_there(item: Item) -> None:
    path = local_path(item.path)
    if not is_url(path) and not os.path.exists(path):
        raise SourceError(f"{shown(path)}: no such folder or file")


def _rows_given(
    what: str, count: int, videos: ListedVideos | IndexedVideos
) -> NDArray[np.int64] | None:
    """Which of the values that were given the videos have, where there is one for each row."""
    if count == len(videos):
        return None
    rows = ""
    if isinstance(videos, IndexedVideos):
        dataset = videos.videos.dataset
        if count == len(dataset):
            return videos.rows
        rows = f" in {len(dataset)} rows"
    raise ArgumentError(f"{len(videos)} videos{rows}, but {count} {what}")
