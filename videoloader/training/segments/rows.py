"""The rows of a table of segments: the name of the video of each, its start and its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.indexing.dataset.tables import as_table, check_columns, is_csv, read_table
from videoloader.training.segments.times import as_frames, as_seconds
from videoloader.training.segments.values import NameFormat, RowFunction, of_rows

if TYPE_CHECKING:
    import pyarrow as pa

Unit: TypeAlias = Literal["seconds", "times", "frames"]

_NAMES = {
    "video": (
        *("video", "path", "key", "file", "filename", "video_path"),
        *("video_id", "videoid", "youtube_id"),
    ),
    "start": ("start", "time_start", "start_time", "start_seconds", "start_timestamp"),
    "end": (
        *("end", "time_end", "end_time", "end_seconds", "end_timestamp"),
        *("stop", "stop_time", "stop_seconds", "stop_timestamp"),
    ),
}
"""Names by which columns are found."""

_OF_FRAMES = {"start": ("start", "start_frame"), "end": ("end", "stop", "end_frame", "stop_frame")}
_ADVICE = {
    "video": "a format such as '{youtube_id}.mp4', or a function of a row",
    "start": "a function of a row; whole_videos=True takes all of each video",
    "end": "a function of a row; whole_videos=True takes all of each video",
}


class SegmentRows(NamedTuple):
    """The rows of a table of segments.

    Attributes:
        table: all of its columns.
        name: of the table, for messages.
        videos: name of the video of each row, text; null where there is none.
        begins, ends: in their unit; infinite where there is no value.
    """

    table: pa.Table
    name: str
    videos: pa.Array
    begins: NDArray[np.float64]
    ends: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RowOptions:
    """How the rows of a table are read; see `Segments`.

    Raises:
        ArgumentError: whole videos have starts or ends.
    """

    video: str | RowFunction | None
    start: str | RowFunction | None
    end: str | RowFunction | None
    unit: Unit
    whole_videos: bool
    column_names: Sequence[str] | None

    def __post_init__(self) -> None:
        if self.whole_videos and not (self.start is None and self.end is None):
            raise ArgumentError("whole_videos=True takes no start= and end=")


def read_rows(given: Any, options: RowOptions) -> SegmentRows:
    """The rows of a table that a user gave; see `Segments`.

    Raises:
        ArgumentError: there are no rows, or no such columns; or a start or end is no time.
    """
    table, name = as_table(given, column_names=options.column_names)
    if not len(table):
        raise ArgumentError(f"{name}: has no rows")
    hint = ""
    if is_csv(given) and options.column_names is None:
        hint = "; column_names= is for a file without a header"

    def find(what: str, value: str | RowFunction | None) -> str | RowFunction:
        if value is not None:
            return value
        return _usual(table.column_names, what, options.unit, name, hint)

    video: Any = find("video", options.video)
    if isinstance(video, str) and "{" in video and video not in table.column_names:
        video = NameFormat.of(video, table.column_names, name)
    if is_csv(given):
        table = _as_written(table, given, video, options.column_names, name)
    videos = _videos(table, video, name)
    if options.whole_videos:
        everything = np.full(len(table), np.inf)
        return SegmentRows(table, name, videos, -everything, everything)
    start, end = find("start", options.start), find("end", options.end)
    begins = _limits(table, start, "start", options.unit, name, missing=-np.inf)
    ends = _limits(table, end, "end", options.unit, name, missing=np.inf)
    return SegmentRows(table, name, videos, begins, ends)


def _as_written(
    table: pa.Table,
    path: Any,
    video: str | NameFormat | RowFunction,
    column_names: Sequence[str] | None,
    name: str,
) -> pa.Table:
    """A CSV table with the names of videos and the times as text.

    Ids may be digits that begin with 0, and Arrow takes 01:30 for hours and minutes.
    """
    import pyarrow as pa

    texts: list[str] = []
    if not callable(video):
        texts = video.texts if isinstance(video, NameFormat) else [video]
    check_columns(table.column_names, texts, name)
    is_done = all(_is_text(table[column]) for column in texts)
    times = [field.name for field in table.schema if pa.types.is_time(field.type)]
    if is_done and not times:
        return table
    return read_table(path, texts=[*texts, *times], column_names=column_names)


def _usual(known: Sequence[str], what: str, unit: Unit, name: str, hint: str) -> str:
    """The only column that has a usual name."""
    usual = _OF_FRAMES.get(what, _NAMES[what]) if unit == "frames" else _NAMES[what]
    found = [column for column in known if column.lower() in usual]
    if what == "video" and not found:
        found = [column for column in known if column == "key"]  # of a data set index
    if len(found) != 1:
        problem = f"{' and '.join(found)} may be" if found else "no column is called like"
        raise ArgumentError(
            f"{name}: {problem} the one of {what}s; give {what}= as one of the columns "
            f"{', '.join(known)}, {_ADVICE[what]}{hint}"
        )
    return found[0]


def _limits(
    table: pa.Table,
    given: str | RowFunction,
    argument: str,
    unit: Unit,
    name: str,
    *,
    missing: float,
) -> NDArray[np.float64]:
    """The starts or ends of segments, in their unit; `missing` where there is no value."""
    import pyarrow as pa

    read = as_frames if unit == "frames" else as_seconds
    if isinstance(given, str):
        check_columns(table.column_names, [given], name)
        column, what = table[given], f"{name}: column {given!r}"
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            raise ArgumentError(
                f"{what} has lists, it must have numbers; give a function, such as {argument}="
                f"lambda row: row[{given!r}][0]; unnest makes one row for each element of lists"
            )
    else:
        what = f"{name}: {argument}="
        try:
            column = pa.chunked_array([of_rows(given, table, what)])
        except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
            raise ArgumentError(f"{what} gave values that are no times ({error})") from None
    found = read(column, what)
    return np.where(np.isnan(found), missing, found)


def _is_text(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _videos(table: pa.Table, video: str | NameFormat | RowFunction, name: str) -> pa.Array:
    """The name of the video of each row."""
    import pyarrow as pa

    if isinstance(video, NameFormat):
        return pa.array(video.fill(table, name), pa.large_string())
    if not isinstance(video, str):
        values = of_rows(video, table, f"{name}: video=")
        names = [None if value is None else str(value) for value in values]
        try:
            return pa.array(names, pa.large_string())
        except UnicodeEncodeError as error:
            raise ArgumentError(f"{name}: video= gave names that are no text ({error})") from None
    check_columns(table.column_names, [video], name)
    try:
        texts: Any = table[video].cast(pa.large_string()).combine_chunks()
    except pa.ArrowException as error:
        raise ArgumentError(f"{name}: column {video!r} has no names of videos ({error})") from None
    return texts
