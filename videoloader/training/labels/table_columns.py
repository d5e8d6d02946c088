"""Columns of samples: from a data set index, a table, or files next to clips."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.opening.videos import is_remote
from videoloader.errors import ArgumentError, ArgumentTypeError, VideoError
from videoloader.indexing.dataset.joining import On, rows_once
from videoloader.indexing.dataset.tables import read_table
from videoloader.machinery.runtime.threads import in_threads
from videoloader.machinery.system.address import shown
from videoloader.machinery.system.faults import blamed_on
from videoloader.training.labels.files_beside import read_beside
from videoloader.training.sources import SampleVideos

if TYPE_CHECKING:
    import pyarrow as pa

_TAKEN = frozenset(
    "cu_seqlens error frame_mask frame_numbers frames labels mask max_seqlen patches positions "  # noqa: SIM905
    "sample sample_ids shapes times token_times".split()
)  # other names in batches
_READ_AT_ONCE = 16  # files beside clips behind URLs


@dataclass(frozen=True, slots=True)
class TableColumns:
    r"""Columns of a Parquet or CSV file, one row a video, that go along with samples.

    A video is found by its path, as for `LabelColumn`. Of a data set index, `Videos.join` does the
    same for tables in memory, and lets videos without a row be left out.

    Args:
        path: of the file.
        columns: their names.
        key: name of the column that says which video it is.
        on: what of a video is searched there, as for `LabelColumn`.

    >>> from pathlib import Path
    >>> import videoloader as vl
    >>> _ = Path("captions.csv").write_text("path,caption\n0,a\n1,b\n2,c\n3,d\n")
    >>> captions = TableColumns("captions.csv", ["caption"])
    >>> with vl.Loader("videos/", vl.UniformClip(2), batch_size=4, columns=captions) as loader:
    ...     next(iter(loader))["caption"]
    ['a', 'b', 'c', 'd']
    """

    path: str | os.PathLike[str]
    columns: Sequence[str] = ("caption",)
    key: str = "path"
    on: On = "path"

    def read(self, videos: SampleVideos) -> dict[str, _Column]:
        """The columns for some videos.

        Raises:
            SourceError: there is no such file.
            FormatError: it is no table.
            ArgumentError: it lacks a column or the row of a video, or has several for one.
        """
        import pyarrow as pa

        name = shown(os.fspath(self.path))
        table = read_table(self.path, [self.key, *self.columns], key=self.key)
        rows = _join(videos, table[self.key].cast(pa.string()), self.on, name)
        return {column: _column(table[column], rows) for column in self.columns}


Columns: TypeAlias = "Sequence[str | TableColumns] | TableColumns"
"""Names of columns of the data set index, endings of files beside clips, or tables."""


class _Column(Protocol):
    """A column: values by number of the video."""

    def at(self, videos: Sequence[int]) -> Any:
        """A tensor of numbers, or a list."""


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """Numbers of all videos."""

    values: NDArray[Any]

    def at(self, videos: Sequence[int]) -> torch.Tensor:
        return torch.from_numpy(self.values[list(videos)])


@dataclass(frozen=True, slots=True, eq=False)
class _Objects:
    """Values of a table, and the row of each video."""

    values: pa.ChunkedArray
    rows: NDArray[np.int64]

    def at(self, videos: Sequence[int]) -> list[Any]:
        return [self.values[int(self.rows[video])].as_py() for video in videos]


class SampleColumns:
    """The columns that were asked for, by number of the video.

    Args:
        videos: of the data set.
        columns: names of columns of the data set index; endings, such as `.txt`, of files beside
            the clips; tables.

    Raises:
        ArgumentError: there is no such column, or a name stands for two.
        ArgumentTypeError: something else is given.
    """

    def __init__(self, videos: SampleVideos, columns: Columns) -> None:
        given = [columns] if isinstance(columns, TableColumns | str) else list(columns)
        _check_names(given)
        self._videos = videos
        self._endings = [str(each) for each in given if _is_ending(each)]
        self._columns: dict[str, _Column] = {}
        names = [each for each in given if isinstance(each, str) and not _is_ending(each)]
        if names:
            self._columns |= self._of_index(names)
        for table in given:
            if isinstance(table, TableColumns):
                self._columns |= table.read(videos)

    def beside(self, videos: Sequence[int]) -> list[dict[str, Any] | VideoError]:
        """The content of the files beside some videos, by ending; the error where reading fails."""
        if not self._endings:
            return [{}] * len(videos)
        is_far = len(videos) > 1 and is_remote(self._videos.item(videos[0]))
        return in_threads(self._read, videos, _READ_AT_ONCE if is_far else 1)

    def values(
        self, videos: Sequence[int], beside: Sequence[dict[str, Any] | VideoError]
    ) -> dict[str, Any]:
        """All columns of some videos: tensors of numbers, or lists.

        Args:
            videos: their numbers.
            beside: what the files beside them hold; None stands for that of an error.
        """
        found = {name: column.at(videos) for name, column in self._columns.items()}
        held = [{} if isinstance(each, VideoError) else each for each in beside]
        return found | {name: [each.get(name) for each in held] for name in self._endings}

    def _read(self, video: int) -> dict[str, Any] | VideoError:
        before = self._videos.item(video - 1) if video else None
        item = self._videos.item(video)
        try:
            with blamed_on(item.name):
                return read_beside(item, self._endings, before)
        except VideoError as error:
            return error

    def _of_index(self, names: Sequence[str]) -> dict[str, _Column]:
        known = self._videos.column_names
        if not known:
            raise ArgumentError(
                f"columns {', '.join(names)}: these videos are listed and have no table; give a "
                "data set index, a TableColumns, or the ending of a file beside them (.txt)"
            )
        for name in names:
            if name not in known:
                raise ArgumentError(
                    f"{self._videos.table_name}: has no column {name!r}; it has "
                    f"{', '.join(known)}; columns of another Parquet file are given as "
                    "TableColumns, files beside the clips by their ending (.txt)"
                )
        return {name: _column(*self._videos.column(name)) for name in names}


def _check_names(columns: Sequence[str | TableColumns]) -> None:
    names: list[str] = []
    for column in columns:
        if not isinstance(column, str | TableColumns):
            raise ArgumentTypeError(
                f"columns are names, endings of files, or a TableColumns; got {column!r:.80}"
            )
        names += list(column.columns) if isinstance(column, TableColumns) else [column]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise ArgumentError(f"column {name!r} is asked for twice")
        if name in _TAKEN:
            raise ArgumentError(f"column {name!r} is something else in a batch; rename it")


def _is_ending(column: object) -> bool:
    return isinstance(column, str) and column.startswith(".")


def _column(values: pa.ChunkedArray, rows: NDArray[np.int64]) -> _Column:
    """A column in the order of `rows`; numbers are taken out of the table."""
    import pyarrow as pa

    kind = values.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if is_number and values.is_valid().to_numpy()[rows].all():  # failures have no numbers
        return _Numbers(values.fill_null(pa.scalar(0).cast(kind)).to_numpy()[rows])
    return _Objects(values, rows)


def _join(videos: SampleVideos, known: pa.ChunkedArray, on: On, name: str) -> NDArray[np.int64]:
    """The row of each video."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.count_distinct(known, mode="all").as_py() < len(known):
        counts = known.value_counts()
        twice = next(each["values"].as_py() for each in counts if each["counts"].as_py() > 1)
        raise ArgumentError(f"{name}: has several rows for {twice!r}")
    paths = videos.paths()
    found = rows_once(pa.array(paths, pa.string()), known.combine_chunks(), on, name)
    absent = np.flatnonzero(found < 0)
    if len(absent):
        raise ArgumentError(
            f"{name}: {len(absent)} of {len(paths)} videos have no row; the first is "
            f"{shown(paths[absent[0]])}"
        )
    return found
