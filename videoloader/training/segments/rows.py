"""The rows of a table of segments: the name of the video of each, its start and its end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.indexing.dataset.tables import as_table, check_columns, read_table
from videoloader.training.segments.times import as_frames, as_seconds

if TYPE_CHECKING:
    import pyarrow as pa

Unit: TypeAlias = Literal["seconds", "frames"]

_NAMES = {
    "video": ("video", "path", "file", "filename", "video_path", "video_id", "youtube_id"),
    "start": ("start", "time_start", "start_time", "start_seconds"),
    "end": ("end", "time_end", "end_time", "end_seconds"),
}
"""Names by which columns are found."""

_OF_FRAMES = {"start": ("start", "start_frame"), "end": ("end", "stop", "end_frame")}


class SegmentRows(NamedTuple):
    """The rows of a table of segments.

    Attributes:
        table: all of its columns.
        name: of the table, for messages.
        videos: name of the video of each row, text; null where there is none.
        begins, ends: seconds or frames; infinite where there is no value.
    """

    table: pa.Table
    name: str
    videos: pa.Array
    begins: NDArray[np.float64]
    ends: NDArray[np.float64]


def read_rows(
    table: Any, *, video: str | None, start: str | None, end: str | None, unit: Unit
) -> SegmentRows:
    """The rows of a table that a user gave; see `Segments`.

    Raises:
        ArgumentError: there are no rows, or no such columns; or a start or end is no time.
    """
    read, name, columns = _read(table, (video, start, end), unit)
    begins = _limits(read, columns[1], unit, name, missing=-np.inf)
    ends = _limits(read, columns[2], unit, name, missing=np.inf)
    return SegmentRows(read, name, _texts(read[columns[0]], columns[0], name), begins, ends)


def _read(
    table: Any, given: Sequence[str | None], unit: Unit
) -> tuple[pa.Table, str, tuple[str, str, str]]:
    """The table, its name, and its columns of videos, starts and ends."""
    read, name = as_table(table)
    if not len(read):
        raise ArgumentError(f"{name}: has no rows")
    video, start, end = (
        _column(read.column_names, what, column, unit, name)
        for what, column in zip(_NAMES, given, strict=True)
    )
    if isinstance(table, str | os.PathLike) and not _is_text(read[video]):
        read = read_table(table, key=video)  # ids may be digits that begin with 0
    return read, name, (video, start, end)


def _column(known: Sequence[str], what: str, given: str | None, unit: Unit, name: str) -> str:
    """The column that was given, or the only one that has a usual name."""
    if given is not None:
        check_columns(known, [given], name)
        return given
    usual = _OF_FRAMES.get(what, _NAMES[what]) if unit == "frames" else _NAMES[what]
    found = [column for column in known if column.lower() in usual]
    if len(found) != 1:
        problem = f"{' and '.join(found)} may be" if found else "no column is called like"
        raise ArgumentError(
            f"{name}: {problem} the one of {what}s; give {what}= as one of the columns "
            f"{', '.join(known)}"
        )
    return found[0]


def _limits(
    table: pa.Table, column: str, unit: Unit, name: str, *, missing: float
) -> NDArray[np.float64]:
    """The starts or ends of segments, in seconds or frames; `missing` where there is no value."""
    read = as_seconds if unit == "seconds" else as_frames
    found = read(table[column], f"{name}: column {column!r}")
    return np.where(np.isnan(found), missing, found)


def _is_text(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _texts(column: pa.ChunkedArray, called: str, name: str) -> pa.Array:
    import pyarrow as pa

    try:
        texts: Any = column.cast(pa.large_string()).combine_chunks()
    except pa.ArrowException as error:
        raise ArgumentError(f"{name}: column {called!r} has no names of videos ({error})") from None
    return texts
