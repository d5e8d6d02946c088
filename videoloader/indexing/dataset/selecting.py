"""`Selecting`: the ways to choose, divide and join videos of a data set."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

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
    texts_by,
)
from videoloader.indexing.dataset.part import write_part
from videoloader.indexing.dataset.sql import query_rows
from videoloader.machinery.system.callers import warn_user
from videoloader.machinery.system.checks import one_of, whole_number

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc

    from videoloader.indexing.dataset.reader import DatasetIndex
    from videoloader.indexing.dataset.videos import Videos

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

    def query(self, where: str, *, time_limit: float = 60.0) -> Videos:
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
        whole_number("the number of partitions", count, least=1)
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
            columns: to take from the table; by default all but `key`, and but `row`, `key`, `path`,
                `member`, `error` and `error_kind` where the data set has the same values.
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
        return self.videos._joined_with(
            given.select([key, *wanted]),
            on=on,
            missing=missing,
            name=name,
            repeats=columns is None,
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


def _as_names(columns: str | Sequence[str]) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)
