"""`Videos`: some of the videos of a data set, and the ways to choose and describe them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.indexing.dataset.dividing import (
    first_by_hash,
    parts_by_hash,
    runs_by_size,
    text_hashes,
)
from videoloader.indexing.dataset.filtering import Limits, as_condition, matching_rows
from videoloader.indexing.dataset.joining import (
    On,
    as_table,
    check_columns,
    check_new_columns,
    one_row_a_key,
    rows_or_reported,
    texts_by,
)
from videoloader.indexing.dataset.part import stored_splits, write_part
from videoloader.indexing.dataset.sql import query_rows
from videoloader.indexing.index import VideoIndex
from videoloader.sampling.orders.batch_order import whole_number
from videoloader.sources.items import Item
from videoloader.sources.source import Source

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc

    from videoloader.indexing.dataset.reader import DatasetIndex

__all__ = ["Selecting", "Videos"]

By: TypeAlias = "str | Callable[[str], Any]"

_SPLIT, _SAMPLE = 0, 1 << 32  # uses of hashes; further splits of parts count from _SPLIT


class Selecting:
    """Ways to choose among videos, which `DatasetIndex` and `Videos` share.

    All keep the order of the data set, the row of each video, and joined columns. No video is
    opened, and no index is read.
    """

    @property
    def videos(self) -> Videos:
        """The videos, without failures."""
        raise NotImplementedError

    def filter(self, condition: pc.Expression | None = None, /, **limits: Unpack[Limits]) -> Videos:
        """The videos that meet a condition, in the same order.

        Only the columns that the condition names are read from the Parquet file; no video is
        opened and no index is read. A missing value (null) meets no condition.

        Args:
            condition: any expression of `pyarrow.compute` over the columns of `DatasetIndex.table`,
                and over joined ones.
            **limits: further conditions: `min_` and `max_` of `frames`, `keyframes`,
                `duration` (seconds), `fps`, `width`, `height`, `pixels` and `aspect` (width /
                height), both limits included and sizes as displayed; `codecs`, `containers` and
                `pixel_formats`, a name or several.

        Raises:
            ArgumentError: there is no such limit, or the condition does not apply to the columns.
        """
        wanted, videos = as_condition(condition, limits), self.videos
        if wanted is None:
            return videos
        table = None if videos._joined is None else videos.columns()
        return videos._met(matching_rows(videos.dataset.path, wanted, table))

    def query(self, where: str) -> Videos:
        """The videos that meet a condition in SQL, in the same order; on DuckDB (extra `query`).

        Args:
            where: what stands behind WHERE, over the columns of `DatasetIndex.table`, joined ones
                and `row`: `"codec = 'av1' and height >= 720"`. It reads no files. A missing value
                (null) meets no condition unless it is asked for with `is null`.

        Raises:
            ArgumentError: it is no condition in DuckDB's SQL, or does not apply to the columns.
            UnsupportedError: DuckDB is not installed.
        """
        videos = self.videos
        return videos._met(query_rows(videos, where))

    def select(self, columns: str | Sequence[str] | None = None) -> pa.Table:
        """Columns of the videos, one row a video in their order; all but the indexes by default.

        Unlike `DatasetIndex.columns` it has no rows of failures.

        Raises:
            ArgumentError: there is no such column.
        """
        import pyarrow as pa

        videos = self.videos
        wanted = None if columns is None else _as_names(columns)
        return videos.columns(wanted).take(pa.array(videos.rows))

    def sample(self, count: int, *, seed: int = 0) -> Videos:
        """So many of the videos, chosen at random.

        The choice depends on the seed and the keys alone. A larger sample has all videos of a
        smaller one, and videos that are added replace few.

        Raises:
            ArgumentError: there are fewer videos, or the number is negative.
        """
        videos = self.videos
        count = whole_number("the size of a sample", count, most=len(videos))
        hashes = text_hashes(videos._texts("key"), seed, _SAMPLE)
        return videos._take(first_by_hash(hashes, count))

    def split(self, *fractions: float, by: By = "key", seed: int = 0) -> tuple[Videos, ...]:
        """Divide the videos at random, such as `train, val = index.split(0.9)`.

        A hash of the key decides, so a video stays in its part when others are added or removed,
        and parts have about, not exactly, the fractions. Parts may be split again with the same
        seed.

        Args:
            *fractions: of the parts, above 0; if they sum to less than 1, a further part has the
                rest.
            by: a column, or a function of the key: videos for which it is the same stay together.
                `path` keeps the members of an archive together.
            seed: another one divides independently.

        Raises:
            ArgumentError: the fractions sum to more than 1, or a video has no value to divide by.
        """
        videos = self.videos
        texts = videos._texts("key" if callable(by) else by)
        if callable(by):
            texts = texts_by(by, texts, "by")
        splits = videos._num_splits
        parts = parts_by_hash(text_hashes(texts, seed, _SPLIT + splits), fractions)
        return tuple(videos._take(part, splits + 1) for part in parts)

    def partitions(self, count: int) -> list[Videos]:
        """Divide the videos into runs of about as many bytes, for tasks of Dask, Spark and others.

        Together they are the videos, in their order. A partition pickles as the path of the data
        set index, its rows and its part of joined columns. What `map_clips` draws depends on rows
        of the data set index: the results of partitions, one after the other, are those of all.

        Args:
            count: of partitions; fewer come where there are fewer videos, or one of them has more
                bytes than a partition. No partition is empty.

        Raises:
            ArgumentError: the number is below 1.
        """
        videos = self.videos
        if whole_number("the number of partitions", count) < 1:
            raise ArgumentError(f"the number of partitions must be at least 1, got {count}")
        sizes = videos.dataset.numbers(["size"])["size"][videos.rows]
        return [videos._take(run) for run in runs_by_size(sizes, count)]

    def join(
        self,
        table: Any,
        *,
        on: On = "path",
        key: str | None = None,
        columns: str | Sequence[str] | None = None,
        missing: Literal["raise", "drop", "null"] = "raise",
    ) -> Videos:
        """The videos with columns of a table, such as captions, for `select` and `Loader`.

        `Loader(videos.join("captions.csv"), clips, columns=["caption"], labels="label")`.

        Args:
            table: path of a CSV or Parquet file; a table of Arrow, pandas or Polars; a dictionary
                of columns. It may have rows of other videos.
            on: what of a video is searched in the column `key`. `path`: the longest end of its path
                that the table has, cut at slashes, with the ending of the file or without. `stem`:
                the name of the file without folder and ending. Or a function of the whole path,
                such as `lambda path: Path(path).stem[:11]`; only then may a row be of several
                videos.
            key: column of the table; by default the one called `path` or `stem`, as `on` is.
            columns: to take from the table; by default all but `key`.
            missing: what becomes of videos without a row: `raise` an error, `drop` them and log how
                many, or keep them with `null` and log that.

        Raises:
            ArgumentError: videos have no row, a row stands for several, several rows with different
                values have one key, or the table lacks a column or has one that the data set has.
            ArgumentTypeError: the table is none.
            SourceError: there is no such file.
            FormatError: the file is no table.
        """
        if missing not in ("raise", "drop", "null"):
            raise ArgumentError(f"missing must be 'raise', 'drop' or 'null', got {missing!r}")
        if key is None:
            if callable(on):
                raise ArgumentError("join with a function as on= needs key=, a column of the table")
            key = on
        given, name = as_table(table, key=key)
        wanted = [each for each in given.column_names if each != key]
        if columns is not None:
            wanted = list(dict.fromkeys(_as_names(columns)))
        check_columns(given.column_names, [key, *wanted], name)
        return self.videos._joined_with(
            given.select([key, *wanted]),
            on=on,
            missing=missing,
            name=name,
        )

    def write(self, out: str | os.PathLike[str]) -> DatasetIndex:
        """Write the videos to a data set index of their own, with joined columns, and open it.

        Video n of it is video n of these, so a `Loader` with the same seed draws the same clips.

        Raises:
            ArgumentError: it is the file that the videos are in.
            SourceError: it cannot be written.
        """
        videos = self.videos
        dataset = videos.dataset
        write_part(dataset, videos.rows, out, joined=videos._joined, splits=videos._num_splits)
        return type(dataset)(out, root=dataset._given, check=dataset.check, sign=dataset._sign)


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

    def _joined_with(self, table: pa.Table, *, on: On, missing: str, name: str) -> Videos:
        """The videos with the columns of a table behind its first one, which has the keys."""
        import pyarrow as pa

        key, *columns = table.column_names
        check_new_columns([*self.column_names, "index"], columns, name)
        table = one_row_a_key(table, name)
        rows = rows_or_reported(self._paths(), table[key], on, name, missing=missing)
        place = np.full(len(self.dataset), -1)
        place[self.rows] = rows
        # Nulls of the places give null values.
        joined = table.select(columns).take(pa.array(place, mask=place < 0))
        if self._joined is not None:
            for column in self._joined.column_names:
                joined = joined.append_column(column, self._joined[column])
        found = Videos(self.dataset, self._rows, joined=joined, splits=self._splits)
        return found._take(np.flatnonzero(rows >= 0)) if missing == "drop" else found


def _as_names(columns: str | Sequence[str]) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)
