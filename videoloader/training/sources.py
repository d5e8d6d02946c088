"""The videos that samples are of, listed or of a data set index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.opening.index_cache import KeptIndexes
from videoloader.errors import ArgumentError, SourceError
from videoloader.indexing.containers.registry import VIDEO_SUFFIXES
from videoloader.indexing.dataset import DatasetIndex, Item, Videos, find_items, open_dataset
from videoloader.indexing.dataset.listing import Place, each_place
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.address import absolute, is_url, local_path, shown

if TYPE_CHECKING:
    import pyarrow as pa

_READY_BYTES = 1 << 24  # of packet tables that each process keeps

ClipSources: TypeAlias = "Place | Iterable[Place] | DatasetIndex | Videos"
"""Folders, globs, text lists, archives, files, URLs, items; a data set index or its path."""
LabelledSources: TypeAlias = "ClipSources | Iterable[tuple[Place, Any]] | Mapping[Place, Any]"
"""The same, or videos and their labels: (video, label) each, or labels by video."""


class SampleVideos(Protocol):
    """Videos or parts of videos that samples are taken from, by number."""

    def __len__(self) -> int: ...

    def row(self, number: int) -> int:
        """The row that a sample has in a batch as `sample`."""

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows of all."""

    @property
    def num_rows(self) -> int:
        """Number of rows, including rows that are no sample."""

    def take(self, numbers: NDArray[np.int64]) -> Self:
        """Some of them, which keep their rows."""

    def keys(self) -> list[str]:
        """Key of each video."""

    def paths(self) -> list[str]:
        """Whole path of each video, by which tables are searched."""

    def item(self, number: int) -> Item:
        """Where a video is."""

    def index(self, number: int) -> VideoIndex | None:
        """The index of a video, if it is known."""

    def scope(self, number: int, index: VideoIndex) -> tuple[int, int]:
        """First frame and end (exclusive) of the part that clips are taken from."""

    def holds(self, number: int, frames: set[int]) -> bool:
        """Whether a sample may show one of some frames of its video."""

    @property
    def is_indexed(self) -> bool:
        """Whether the videos come from a data set index, so that `numbers` are known."""

    def numbers(self, names: list[str]) -> dict[str, NDArray[Any]]:
        """Columns of numbers of a data set index; `num_frames` counts frames of the parts."""

    @property
    def table_name(self) -> str:
        """Name of the table with the columns, for messages."""

    @property
    def column_names(self) -> list[str]:
        """Names of the columns that there are."""

    def column(self, name: str) -> tuple[pa.ChunkedArray, NDArray[np.int64]]:
        """One of them, and the row of each sample in it."""


class ListedVideos:
    """Videos by name; their indexes are made where they are needed, or were made beforehand.

    Args:
        items: where they are.
        indexes: made beforehand, by path.
        rows: of the items, if they are some of a longer list.
        scopes: gives `scope` of a row; by default that is all of a video.
    """

    def __init__(
        self,
        items: list[Item],
        indexes: Mapping[str, VideoIndex],
        rows: NDArray[np.int64] | None = None,
        scopes: Callable[[int, VideoIndex], tuple[int, int]] | None = None,
    ) -> None:
        self.items = items
        self._rows = rows
        self._scopes = scopes
        self._given = {Item(absolute(path)).path: index for path, index in indexes.items()}

    def __len__(self) -> int:
        return len(self.items)

    def row(self, number: int) -> int:
        """The number of a video among all that were listed."""
        return number if self._rows is None else int(self._rows[number])

    @property
    def rows(self) -> NDArray[np.int64]:
        """The numbers of all."""
        return np.arange(len(self)) if self._rows is None else self._rows

    @property
    def num_rows(self) -> int:
        """How many there are."""
        return len(self)

    def take(self, numbers: NDArray[np.int64]) -> ListedVideos:
        """Some of the videos, which keep their rows."""
        rows = self.rows[numbers]
        items = [self.items[number] for number in numbers.tolist()]
        taken = ListedVideos(items, {}, rows, self._scopes)
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

    def scope(self, number: int, index: VideoIndex) -> tuple[int, int]:
        """First frame and end (exclusive) of the part that clips are taken from."""
        if self._scopes is None:
            return 0, index.num_frames
        return self._scopes(self.row(number), index)

    def holds(self, number: int, frames: set[int]) -> bool:  # noqa: ARG002
        """Whether it may show one of these frames: it may."""
        return True

    is_indexed = False

    def numbers(self, names: list[str]) -> dict[str, NDArray[Any]]:
        """Nothing is known of the videos.

        Raises:
            ArgumentError: always.
        """
        raise ArgumentError(f"{', '.join(names)} are columns of a data set index (index_dataset)")

    table_name = "the list"

    @property
    def column_names(self) -> list[str]:
        """Names of the columns; there are none."""
        return []

    def column(self, name: str) -> tuple[pa.ChunkedArray, NDArray[np.int64]]:
        """A column; there are none.

        Raises:
            ArgumentError: always.
        """
        raise ArgumentError(f"listed videos have no column {name!r}")


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
    def num_rows(self) -> int:
        """Rows of the data set index."""
        return len(self.videos.dataset)

    @property
    def num_frames(self) -> NDArray[np.int64]:
        """Frames of each video."""
        lengths = self.videos.num_frames
        return lengths if self._numbers is None else lengths[self._numbers]

    is_indexed = True

    def numbers(self, names: list[str]) -> dict[str, NDArray[Any]]:
        """Columns of numbers, by video; 0 for missing values."""
        rows = self.rows
        found = self.videos.dataset.numbers(names)
        return {name: values[rows] for name, values in found.items()}

    @property
    def table_name(self) -> str:
        """The data set index, for messages."""
        return shown(str(self.videos.dataset.path))

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of the data set index, and of joined ones."""
        return self.videos.column_names

    def column(self, name: str) -> tuple[pa.ChunkedArray, NDArray[np.int64]]:
        """One of them, and the row of each video in it."""
        return self.videos.columns([name])[name], self.rows

    def keys(self) -> list[str]:
        """Key of each video; where the table has none, the one that follows from its place."""
        dataset = self.videos.dataset
        keys: list[str | None] = [*dataset.keys]
        rows = self.rows.tolist()
        return [dataset.key(row) if (key := keys[row]) is None else key for row in rows]

    def path(self, key: str) -> str:
        """The whole path of the video of a key, by which tables are searched."""
        root = self.videos.dataset.root
        if root is None or key.startswith("/") or is_url(key):
            return key
        return f"{root.rstrip('/')}/{key}"

    def paths(self) -> list[str]:
        """Whole path of each video."""
        return [*map(self.path, self.keys())]

    def item(self, number: int) -> Item:
        """Where a video is."""
        return self.videos.item(self._number(number))

    def index(self, number: int) -> VideoIndex:
        """The index of a video; the last used ones stay in memory, with facts learned of them."""
        number = self._number(number)
        if (index := self._kept.get(number)) is None:
            index = self.videos[number]
            self._kept.add(number, index)
        return index

    def scope(self, number: int, index: VideoIndex) -> tuple[int, int]:  # noqa: ARG002
        """All of a video."""
        return 0, index.num_frames

    def holds(self, number: int, frames: set[int]) -> bool:  # noqa: ARG002
        """Whether it may show one of these frames: it may."""
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return IndexedVideos, (self.videos, self._numbers)

    def _number(self, number: int) -> int:
        return number if self._numbers is None else int(self._numbers[number])


def find_sources(
    videos: ClipSources, indexes: Mapping[str, VideoIndex]
) -> ListedVideos | IndexedVideos:
    """The videos that a user's value names, in order; a list keeps its repetitions.

    Raises:
        ArgumentError: there are none, or one is no path, URL or item.
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
                else f"{name}: no videos; filter, split or sample left none of {rows - failed}"
            )
        return IndexedVideos(videos)
    items = list(each_item(each_place(videos)))
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


def each_item(places: Iterable[Place]) -> Iterable[Item]:
    """The videos at some places, in order; paths of videos are not looked at."""
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


def rows_given(what: str, count: int, videos: SampleVideos) -> NDArray[np.int64] | None:
    """The rows of videos, for values that are given by row; None where each video has one.

    Args:
        what: the values, for messages.
        count: of them.
        videos: that they are for.

    Raises:
        ArgumentError: there are neither as many as videos nor as many as rows.
    """
    if count == len(videos):
        return None
    if count == videos.num_rows:
        return videos.rows
    rows = "" if videos.num_rows == len(videos) else f" in {videos.num_rows} rows"
    raise ArgumentError(f"{len(videos)} videos{rows}, but {count} {what}")
