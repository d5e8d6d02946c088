"""`Videos`: some of the videos of a data set, with their rows and joined columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.indexing.dataset.joining import (
    OF_PLACES,
    ROW,
    On,
    check_columns,
    check_new_columns,
    one_row_a_key,
    rows_or_reported,
)
from videoloader.indexing.dataset.part import stored_splits
from videoloader.indexing.dataset.selecting import Selecting
from videoloader.indexing.index import VideoIndex
from videoloader.sources.items import Item
from videoloader.sources.source import Source

if TYPE_CHECKING:
    import pyarrow as pa

    from videoloader.indexing.dataset.reader import DatasetIndex


class Videos(Selecting):
    """The videos of a data set without its failures, numbered from 0; `rows` has their rows.

    >>> videos = open_dataset("set.parquet").videos  # doctest: +SKIP
    >>> captions = table["caption"].take(videos.rows)  # doctest: +SKIP
    >>> long = videos.filter(min_frames=64, max_aspect=2)  # doctest: +SKIP
    """

    def __init__(
        self,
        dataset: DatasetIndex,
        rows: NDArray[np.int64] | None = None,
        *,
        joined: pa.Table | None = None,
        splits: int | None = None,
    ) -> None:
        self.dataset = dataset
        self._rows = rows  # None: all except failures
        self._joined = joined  # one row for each row of the data set
        self._splits = splits  # how often a `split` chose them; None: as the file says

    @property
    def videos(self) -> Videos:
        """These."""
        return self

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row of each video in the data set, ascending."""
        if self._rows is not None:
            return self._rows.copy()
        return np.delete(np.arange(len(self.dataset)), self.dataset.failed)

    @property
    def column_names(self) -> list[str]:
        """Names of all columns but the indexes: of the data set, and joined ones."""
        joined = [] if self._joined is None else self._joined.column_names
        return [*self.dataset.column_names, *joined]

    def columns(self, wanted: list[str] | None = None) -> pa.Table:
        """Some columns of the data set or joined ones; row i is that of the data set.

        Raises:
            ArgumentError: there is no such column.
        """
        if self._joined is None:
            return self.dataset.columns(wanted)
        names, joined = self.column_names if wanted is None else wanted, self._joined.column_names
        check_columns([*self.column_names, "index"], names, str(self.dataset.path))
        # The key has a value in each row, so that the table has rows where all columns are joined.
        table = self.dataset.columns(["key", *(name for name in names if name not in joined)])
        for name in joined:
            table = table.append_column(name, self._joined[name])
        places = [table.column_names.index(name) for name in names]
        return table.select(places)

    def row(self, video: int) -> int:
        """The row of one video.

        Raises:
            IndexError: there is no such video.
        """
        if not -len(self) <= video < len(self):
            raise IndexError(
                f"video {video} of {len(self)}; the data set has {len(self.dataset)} rows, of "
                f"which {len(self.dataset.failed)} are failures"
            )
        video = int(video) % len(self)
        if self._rows is not None:
            return int(self._rows[video])
        return video + int(np.searchsorted(self.dataset._before, video, side="right"))

    @property
    def num_frames(self) -> NDArray[np.int64]:
        """Frames of each video, read from the file without its indexes."""
        lengths: NDArray[np.int64] = self.dataset.numbers(["num_frames"])["num_frames"]
        return lengths[self.rows]

    def __len__(self) -> int:
        if self._rows is not None:
            return len(self._rows)
        return max(len(self.dataset) - len(self.dataset.failed), 0)

    def __getitem__(self, video: int) -> VideoIndex:
        """The index of a video."""
        return self.dataset[self.row(video)]

    def __iter__(self) -> Iterator[VideoIndex]:
        return (self[video] for video in range(len(self)))

    def item(self, video: int) -> Item:
        """Location of a video."""
        return self.dataset.item(self.row(video))

    def source(self, video: int) -> Source:
        """The bytes of a video."""
        return self.dataset.source(self.row(video))

    def __getstate__(self) -> dict[str, Any]:
        import pyarrow as pa

        if self._joined is None:
            return self.__dict__
        return self.__dict__ | {"_joined": self._joined.take(pa.array(self.rows))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        import pyarrow as pa

        self.__dict__.update(state)
        if self._joined is not None:
            place = np.full(len(self.dataset), -1)
            place[self.rows] = np.arange(len(self))
            self._joined = self._joined.take(pa.array(place, mask=place < 0))

    def __repr__(self) -> str:
        return f"<Videos of {self.dataset.path.name}: {len(self)}>"

    @property
    def _num_splits(self) -> int:
        """How often a split chose them; parts of one seed are independent of the splits before."""
        return stored_splits(self.dataset.path) if self._splits is None else self._splits

    def _take(self, videos: NDArray[np.int64], splits: int | None = None) -> Videos:
        """Some of the videos, by their numbers."""
        rows = self.rows[videos]
        splits = self._splits if splits is None else splits
        return Videos(self.dataset, rows, joined=self._joined, splits=splits)

    def _met(self, rows: NDArray[np.int64]) -> Videos:
        """The videos whose rows are among these."""
        kept = np.zeros(len(self.dataset), dtype=bool)
        kept[rows[rows < len(self.dataset)]] = True
        return self._take(np.flatnonzero(kept[self.rows]))

    def _texts(self, column: str) -> pa.Array:
        """A column as text.

        Raises:
            ArgumentError: a video has no value in it.
        """
        import pyarrow as pa

        values = self.select([column])[column].combine_chunks()
        if values.null_count:
            empty = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
            raise ArgumentError(
                f"{self.item(empty).name}: has no value in column {column!r}, and "
                f"{values.null_count - 1} other videos neither"
            )
        return values.cast(pa.large_string())

    def _has(self, table: pa.Table, column: str, among: NDArray[np.bool_]) -> bool:
        """Whether a table of some of the videos repeats a column of the data set."""
        import pyarrow as pa

        if column not in table.column_names:
            return False
        own = pa.array(self.rows) if column == ROW else self.select([column])[column]
        values = own.filter(pa.array(among)).to_pylist()
        return bool(table[column].to_pylist() == values)

    def _paths(self) -> pa.Array:
        """Whole path of each video: its key, under the root if there is one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        keys = self._texts("key")
        if self.dataset.root is None:
            return keys
        texts = self.dataset.root.rstrip("/"), "/"
        root, slash = (pa.scalar(text, pa.large_string()) for text in texts)
        whole = pc.binary_join_element_wise(root, keys, slash)
        is_whole = pc.match_substring_regex(keys, r"^(/|[A-Za-z][A-Za-z0-9+.-]*://)")
        return pc.if_else(is_whole, keys, whole)

    def _joined_with(
        self, table: pa.Table, *, on: On, missing: str, name: str, repeats: bool
    ) -> Videos:
        """The videos with the columns of a table behind its first one, which has the keys.

        With `repeats` it may repeat columns that name videos, which are left out if they are equal.
        """
        import pyarrow as pa

        key, *columns = table.column_names
        known = [*self.column_names, "index"]
        again = [column for column in columns if repeats and column in OF_PLACES]
        again = [column for column in again if column in (*known, ROW)]
        check_new_columns(known, [column for column in columns if column not in again], name)
        table = one_row_a_key(table, name)
        rows = rows_or_reported(self._paths(), table[key], on, name, missing=missing)
        repeated = table.select(again).take(pa.array(rows[rows >= 0]))
        columns = [column for column in columns if not self._has(repeated, column, rows >= 0)]
        check_new_columns(known, columns, name)
        place = np.full(len(self.dataset), -1)
        place[self.rows] = rows
        # Nulls of the places give null values.
        joined = table.select(columns).take(pa.array(place, mask=place < 0))
        if self._joined is not None:
            for column in self._joined.column_names:
                joined = joined.append_column(column, self._joined[column])
        found = Videos(self.dataset, self._rows, joined=joined, splits=self._splits)
        return found._take(np.flatnonzero(rows >= 0)) if missing == "drop" else found
