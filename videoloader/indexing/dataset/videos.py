"""`DatasetIndex`: the videos of a data set; `Videos`: some of them, with joined columns."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.indexing.dataset.dividing import (
    first_by_hash,
    parts_by_hash,
    runs_by_size,
    text_hashes,
)
from videoloader.indexing.dataset.filtering import Limits, as_condition, matching_rows
from videoloader.indexing.dataset.joining import (
    OF_PLACES,
    ROW,
    On,
    check_new_columns,
    one_row_a_key,
    rows_or_reported,
    texts_by,
)
from videoloader.indexing.dataset.part import stored_splits, write_part
from videoloader.indexing.dataset.reader import Sign, StoredRows
from videoloader.indexing.dataset.sql import query_rows
from videoloader.indexing.dataset.tables import as_table, check_columns
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.callers import warn_user
from videoloader.machinery.system.checks import one_of, real_number, whole_number
from videoloader.sources.items import Item
from videoloader.sources.source import Check, Source

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc

By: TypeAlias = "str | Callable[[str], Any]"

_ROUNDING = 1e-9  # by which a fraction of the videos, such as 0.1 of 30, may exceed what is meant
_SPLIT, _SAMPLE = 0, 1 << 32  # uses of hashes; further splits of parts count from _SPLIT
_ERRORS = ("error", "error_kind")  # columns of tables that jobs write


class Videos:
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
        """These videos themselves."""
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
        """Some columns of the data set or joined ones, with the rows of the data set.

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
        video = whole_number("video", video, least=None)
        if not -len(self) <= video < len(self):
            raise IndexError(
                f"video {video} of {len(self)}; the data set has {len(self.dataset)} rows, of "
                f"which {len(self.dataset.failed)} are failures"
            )
        video %= len(self)
        if self._rows is not None:
            return int(self._rows[video])
        return video + int(np.searchsorted(self.dataset.videos_before, video, side="right"))

    @property
    def num_frames(self) -> NDArray[np.int64]:
        """Frames of each video, read from the file without its indexes."""
        lengths: NDArray[np.int64] = self.dataset.numbers(["num_frames"])["num_frames"]
        return lengths[self.rows]

    def __len__(self) -> int:
        if self._rows is not None:
            return len(self._rows)
        return max(len(self.dataset) - len(self.dataset.failed), 0)

    @overload
    def __getitem__(self, video: int) -> VideoIndex: ...
    @overload
    def __getitem__(self, video: str) -> pa.ChunkedArray: ...
    def __getitem__(self, video: int | str) -> VideoIndex | pa.ChunkedArray:
        """The index of a video; or by the name of a column its values, one a video.

        Raises:
            ArgumentError: there is no such column.
            IndexError: there is no such video.
        """
        if isinstance(video, str):
            return self.select([video])[video]
        return self.dataset[self.row(video)]

    def __iter__(self) -> Iterator[VideoIndex]:
        return (self[video] for video in range(len(self)))

    def item(self, video: int) -> Item:
        """Location of a video."""
        return self.dataset.item(self.row(video))

    def source(self, video: int) -> Source:
        """The bytes of a video."""
        return self.dataset.source(self.row(video))

    def filter(
        self: Videos | DatasetIndex,
        condition: pc.Expression | None = None,
        /,
        **limits: Unpack[Limits],
    ) -> Videos:
        """The videos that meet a condition, in the same order.

        Only the columns that the condition names are read from the Parquet file; no video is
        opened and no index is read. A missing value (null) meets no condition.

        Args:
            condition: any expression of `pyarrow.compute` over the columns of `DatasetIndex.table`,
                and over joined ones.
            **limits: further conditions: `min_` and `max_` of `frames`, `keyframes`,
                `duration` (seconds), `fps`, `width`, `height`, `pixels` and `aspect` (width /
                height), both limits included and sizes as displayed; `codecs`, `containers` and
                `pixel_formats`, a name or several: FFmpeg's, such as `hevc` and `matroska`.

        Raises:
            ArgumentError: there is no such limit, codec or container, or the condition does not
                apply to the columns.
        """
        wanted, videos = as_condition(condition, limits), self.videos
        if wanted is None:
            return videos
        table = None if videos._joined is None else videos.columns()
        return videos._met(matching_rows(videos.dataset.path, wanted, table))

    def query(self: Videos | DatasetIndex, where: str, *, time_limit: float = 60.0) -> Videos:
        """The videos that meet a condition in SQL, in the same order; on DuckDB (extra `query`).

        Args:
            where: what stands behind WHERE, over the columns of `DatasetIndex.table`, joined ones
                and `row`: `"codec = 'av1' and height >= 720"`. It reads no files, and no table but
                `videos`. A missing value (null) meets no condition unless it is asked for with
                `is null`. It may come from anybody: a worker process evaluates it.
            time_limit: seconds that it may take.

        Raises:
            ArgumentError: it is no condition in DuckDB's SQL, does not apply to the columns, or
                takes too much time or memory.
            UnsupportedError: DuckDB is not installed.
        """
        videos = self.videos
        return videos._met(query_rows(videos, where, time_limit=time_limit))

    def select(self: Videos | DatasetIndex, columns: str | Sequence[str] | None = None) -> pa.Table:
        """Columns of the videos, one row a video in their order; all but the indexes by default.

        Unlike `DatasetIndex.columns` it has no rows of failures.

        Raises:
            ArgumentError: there is no such column.
        """
        import pyarrow as pa

        videos = self.videos
        wanted = None if columns is None else _as_names(columns)
        return videos.columns(wanted).take(pa.array(videos.rows))

    def sample(self: Videos | DatasetIndex, count: float, *, seed: int = 0) -> Videos:
        """So many of the videos, chosen at random.

        The choice depends on the seed and the keys alone. A larger sample has all videos of a
        smaller one, and videos that are added replace few.

        Args:
            count: of videos; or a fraction of them as a `float`, rounded up: 1.0 are all.
            seed: another one chooses independently.

        Raises:
            ArgumentError: there are fewer videos, or the number is negative.
        """
        videos = self.videos
        if isinstance(count, float):
            fraction = real_number("the size of a sample, if it is a fraction,", count, most=1)
            count = math.ceil(fraction * len(videos) - _ROUNDING)
        count = whole_number("the size of a sample", count, most=len(videos))
        hashes = text_hashes(videos._texts("key"), seed, _SAMPLE)
        return videos._take(first_by_hash(hashes, count))

    def split(
        self: Videos | DatasetIndex, *fractions: float, by: By = "key", seed: int = 0
    ) -> tuple[Videos, ...]:
        """Divide the videos at random, such as `train, val = index.split(0.9)`.

        A hash of the key decides, so a video stays in its part when others are added or removed,
        and parts have about, not exactly, the fractions; of few groups one may be empty, which is
        a warning. Parts may be split again with the same seed.

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
        if len(videos) and not all(map(len, parts)):
            empty = [str(number) for number, part in enumerate(parts) if not len(part)]
            warn_user(
                f"split: part {' and '.join(empty)} of {len(parts)} (from 0) is empty; by= gives "
                f"{len(texts.unique())} groups of {len(videos)} videos, and each is in one part",
                UserWarning,
            )
        return tuple(videos._take(part, splits + 1) for part in parts)

    def partitions(self: Videos | DatasetIndex, count: int) -> list[Videos]:
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
        whole_number("the number of partitions", count, least=1)
        sizes = videos.dataset.numbers(["size"])["size"][videos.rows]
        return [videos._take(run) for run in runs_by_size(sizes, count)]

    def join(
        self: Videos | DatasetIndex,
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
            columns: to take from the table; by default all but `key`, and but `row`, `key`, `path`
                and `member` where the data set has the same values, and `error` and `error_kind`,
                which in tables of other jobs say why these failed.
            missing: what becomes of videos without a row: `raise` an error, `drop` them and log how
                many, or keep them with `null` and log that.

        Raises:
            ArgumentError: videos have no row; one row is of several videos; rows of one key have
                different values; the table lacks a column; or it has a column of the data set with
                other values.
            ArgumentTypeError: the table is none.
            SourceError: there is no such file.
            FormatError: the file is no table.
        """
        one_of("missing", missing, ("raise", "drop", "null"))
        if key is None:
            if callable(on):
                raise ArgumentError("join with a function as on= needs key=, a column of the table")
            key = on
        given, name = as_table(table, key=key)
        wanted = [each for each in given.column_names if each != key]
        if columns is not None:
            wanted = list(dict.fromkeys(_as_names(columns)))
        check_columns(given.column_names, [key, *wanted], name, key=key)
        return self.videos._with_columns(
            given.select([key, *wanted]), on, missing, name, repeats=columns is None
        )

    def write(self: Videos | DatasetIndex, out: str | os.PathLike[str]) -> DatasetIndex:
        """Write the videos to a data set index of their own, with joined columns, and open it.

        Video n of it is video n of these, so a `Loader` with the same seed draws the same clips.

        Raises:
            ArgumentError: it is the file that the videos are in.
            SourceError: it cannot be written.
        """
        videos = self.videos
        dataset = videos.dataset
        write_part(dataset, videos.rows, out, joined=videos._joined, splits=videos._num_splits)
        return dataset.opened(out)

    def without_sign(self) -> Videos:
        """The same videos of `DatasetIndex.without_sign`."""
        return Videos(
            self.dataset.without_sign(), self._rows, joined=self._joined, splits=self._splits
        )

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

    def __add__(self: Videos | DatasetIndex, other: object) -> NoReturn:
        raise ArgumentTypeError(
            "data set indexes are files; merge_datasets([a.path, b.path], out) of "
            "videoloader.indexing.dataset makes one of several, and videos.write(out) one of some"
        )

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

    def _with_columns(
        self, table: pa.Table, on: On, missing: str, name: str, *, repeats: bool
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
        # Errors of another job stay in its table: those of the data set are of indexing.
        columns = [each for each in columns if each not in again or each not in _ERRORS]
        repeated = table.select([each for each in again if each not in _ERRORS])
        repeated = repeated.take(pa.array(rows[rows >= 0]))
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


class DatasetIndex(StoredRows):
    """The rows of a data set index: videos, and files that could not be indexed.

    `dataset[i]` is the index of row i of the file, or raises the error that is recorded there.
    `dataset.videos` leaves those rows out.

    Opening takes milliseconds for any number of videos, reading one index tens of microseconds.
    It pickles as its path; workers open the file themselves and share the page cache. Threads may
    share it, but `close` does not wait for their reads.

    Attributes:
        path: of the Parquet file.
        root: folder or URL that its paths are relative to, None if they are absolute.
        check: how files are compared with their indexes, see `open_dataset`.

    >>> dataset = open_dataset("set.parquet")
    >>> len(dataset), dataset[0].num_frames, len(dataset.filter(min_frames=91))
    (4, 90, 0)
    >>> dataset["codec"].to_pylist(), len(dataset.sample(0.5))
    (['h264', 'h264', 'h264', 'h264'], 2)
    """

    @property
    def videos(self) -> Videos:
        """The rows that are videos, without the failures."""
        return Videos(self)

    # The same methods, of all videos; `self.videos` are these.
    filter, query, select = Videos.filter, Videos.query, Videos.select
    sample, split, partitions = Videos.sample, Videos.split, Videos.partitions
    join, write, __add__ = Videos.join, Videos.write, Videos.__add__


def open_dataset(
    path: str | os.PathLike[str],
    *,
    root: str | os.PathLike[str] | None = None,
    check: Check = "size",
    sign: Sign | None = None,
) -> DatasetIndex:
    """Open a data set index, which `index_dataset` wrote.

    The first opening of a new file creates a cache: next to it, or in the user's cache folder
    (`XDG_CACHE_HOME`) if that is not writable, or else in memory. If several processes do so at
    once, one of the equal caches remains.

    Args:
        path: of the Parquet file.
        root: folder or URL where the videos are now, if they were indexed with a root or as one
            folder. By default the root when they were indexed; if it contained the Parquet file,
            it is found from where that file is now. No path of the index leads out of it; links
            in the folder are followed.
        check: what is compared when a video is opened. `size`: size and etag, and the first bytes
            if the modification time differs, as for a copy. `mtime`: size, etag and modification
            time. `none`: nothing.
        sign: called with the URL of a video, or of its archive, before it is opened; returns the
            URL to fetch, such as a newly signed one, which is not stored. To pickle the data set,
            it must pickle too.

    Raises:
        SourceError: there is no such file.
        FormatError: it is not a data set index.
        ArgumentError: `root` is given, but the paths are absolute.

    >>> with open_dataset("set.parquet") as dataset:
    ...     print(dataset.keys[:2], len(dataset.errors))
    ['jump/0.mp4', 'jump/1.mp4'] 0
    """
    return DatasetIndex(path, root=root, check=check, sign=sign)


def _as_names(columns: str | Sequence[str]) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)
