"""`Segments`: parts of videos as samples, from a table of videos, starts and ends."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.decoding.limits import worker_limit
from videoloader.decoding.opening.indexer import Indexer
from videoloader.errors import ArgumentError, FrameRangeError, VideoError
from videoloader.indexing.dataset import DatasetIndex, Item, Videos
from videoloader.indexing.dataset.joining import as_table, check_columns, read_table, rows_once
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.runtime.threads import in_threads
from videoloader.machinery.system.address import absolute, shown
from videoloader.machinery.system.checks import one_of
from videoloader.machinery.system.faults import blamed_on
from videoloader.sampling.times import ranges_between
from videoloader.training.segment_times import as_frames, as_seconds
from videoloader.training.sources import (
    ClipSources,
    IndexedVideos,
    ListedVideos,
    SampleVideos,
    find_sources,
)

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)

Unit = Literal["seconds", "frames"]

_NAMES = {
    "video": ("video", "path", "file", "filename", "video_path", "video_id", "youtube_id"),
    "start": ("start", "time_start", "start_time", "start_seconds"),
    "end": ("end", "time_end", "end_time", "end_seconds"),
}
"""Names by which columns are found."""

_OF_FRAMES = {"start": ("start", "start_frame"), "end": ("end", "stop", "end_frame")}
_AT_ONCE, _OPEN_AT_ONCE = 1 << 10, 16  # videos that are handed to threads together, and opened
_UNREADABLE = "of a video that cannot be read"
_ROUNDED = 1e-6  # seconds by which a table may be wrong without a word


class Segments:
    """Parts of videos. Each part is a sample of `Loader` and `ClipDataset`.

    A sampler takes its clips of a segment as if there was nothing else: frames before and behind it
    are never shown, and `pad_mode` says what is seen and heard there. `frame_numbers`, `times` and
    `mask` are those of the whole video. `sample` of a batch is the row of the table. `labels=` and
    `columns=` take columns of the table by name, and those of the data set index that it lacks.

    All rows are checked at once. With a data set index no video is opened for it, else the tables
    of each video that is named are read, which takes about a millisecond a file. Threads and
    processes may share segments.

    Args:
        table: path of a CSV, JSON, JSON lines or Parquet file (by its ending), or a table of Arrow,
            pandas or Polars, or a dictionary of columns.
        index: data set index, or some of its videos, or its path, that has the videos of the table.
        root: folder or URL where they are, in place of `index`. By default the table has paths.
        video: name of the column that says which video, by an end of its path that is that of no
            other one: a path, a name of a file, or one without its ending, such as an id. By
            default the column of a usual name, such as `path`, `file`, `video_id`, `youtube_id`, or
            else `key`, which tables of our own jobs have.
        start: name of the column of starts, by default `start`, `time_start` or the like: seconds,
            as `times` of a batch has them, or text such as `1:02:03.5`; or with `unit="frames"`
            frame numbers. Without a value the segment begins with the video.
        end: of that of ends, which are exclusive. Without a value, or behind the end of its video,
            a segment ends with the video.
        unit: of starts and ends, `seconds` or `frames`. The frame on screen at the start is the
            first; the last one begins before the end.
        on_missing: what becomes of segments of videos that are not there or not readable, that are
            empty or reversed, or outside their video: `raise` an error that counts them, or `skip`
            them and log that; see `skipped`.

    Attributes:
        table: all rows and columns that were given.
        skipped: rows that were left out, and why: an Arrow table of `row` and `reason`.

    Raises:
        ArgumentError: there are no such columns, or none that can be found by its name; a start or
            end is no time; a name stands for two videos; or segments are missing, or all of them.
        ArgumentTypeError: the table is none.
        SourceError: there is no such file or folder.
        FormatError: the file is no table.

    >>> import videoloader as vl
    >>> table = {"video": ["0", "3"], "start": [0.5, 1], "end": [1.5, 3], "label": ["a", "b"]}
    >>> segments = Segments(table, root="videos/")
    >>> clips = vl.UniformClip(3)
    >>> with vl.Loader(segments, clips, batch_size=2, labels="label", workers=0) as loader:
    ...     batch = next(iter(loader))
    >>> batch["frame_numbers"].tolist(), batch["labels"].tolist()
    ([[15, 30, 44], [30, 60, 89]], [0, 1])
    """

    def __init__(
        self,
        table: Any,
        index: str | os.PathLike[str] | DatasetIndex | Videos | None = None,
        *,
        root: str | os.PathLike[str] | None = None,
        video: str | None = None,
        start: str | None = None,
        end: str | None = None,
        unit: Unit = "seconds",
        on_missing: Literal["raise", "skip"] = "raise",
    ) -> None:
        one_of("unit", unit, ("seconds", "frames"))
        one_of("on_missing", on_missing, ("raise", "skip"))
        if index is not None and root is not None:
            raise ArgumentError("give index or root to Segments, not both")
        self.table, self.table_name, columns = _read(table, (video, start, end), unit)
        begins = _limits(self.table, columns[1], unit, self.table_name, missing=-np.inf)
        ends = _limits(self.table, columns[2], unit, self.table_name, missing=np.inf)
        names = _texts(self.table[columns[0]], columns[0], self.table_name)
        named = names.dictionary_encode()
        found, places = _find(named.dictionary, index, root, self.table_name)
        codes = named.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        places = np.append(places, -1)[codes]
        spans = _spans_of(found, places)
        problems = _problems(places, begins, ends, spans, unit)
        self._rows = np.flatnonzero(~np.logical_or.reduce([*problems.values()]))
        cause = f", such as {next(iter(spans.errors.values()))}" if spans.errors else ""
        self.skipped = _told(problems, names, (begins, ends), self.table_name, on_missing, cause)
        self._unit: Unit = unit
        self._begins, self._ends = begins[self._rows], ends[self._rows]
        self._videos: ListedVideos | IndexedVideos = found.take(places[self._rows])
        last = (spans.counts if unit == "frames" else spans.ends)[places[self._rows]]
        is_cut = np.isfinite(self._ends) & (self._ends > last + _ROUNDED)
        if count := np.count_nonzero(is_cut):
            text = "%s: %d of %d segments end behind their video, and are cut there"
            _log.warning(text, self.table_name, count, len(self))

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        skipped = f", {len(self.skipped)} skipped" if len(self.skipped) else ""
        return f"<Segments of {self.table_name}: {len(self)}{skipped}>"

    def take(self, numbers: NDArray[np.int64]) -> Segments:
        """Some of the segments, by their numbers; they keep their rows."""
        taken = copy(self)
        taken._videos = self._videos.take(numbers)
        taken._rows = self._rows[numbers]
        taken._begins, taken._ends = self._begins[numbers], self._ends[numbers]
        return taken

    def row(self, number: int) -> int:
        """The row of a segment in the table."""
        return int(self._rows[number])

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows of all segments."""
        return self._rows

    @property
    def num_rows(self) -> int:
        """Rows of the table."""
        return len(self.table)

    def keys(self) -> list[str]:
        """Key of the video of each segment."""
        return self._videos.keys()

    def paths(self) -> list[str]:
        """Whole path of the video of each segment."""
        return self._videos.paths()

    def item(self, number: int) -> Item:
        """Where the video of a segment is."""
        return self._videos.item(number)

    def index(self, number: int) -> VideoIndex | None:
        """The index of the video of a segment, if there is a data set index."""
        return self._videos.index(number)

    def scope(self, number: int, index: VideoIndex) -> tuple[int, int]:
        """First frame and end (exclusive) of a segment.

        Raises:
            FrameRangeError: the video has become shorter.
        """
        firsts, stops = self._ranges(np.array([number]), index)
        if firsts[0] >= stops[0]:
            raise FrameRangeError(
                f"{index.name}: has no frame of the segment from {self._begins[number]:g} to "
                f"{self._ends[number]:g} {self._unit} (row {self.row(number)} of "
                f"{self.table_name})"
            )
        return int(firsts[0]), int(stops[0])

    def holds(self, number: int, frames: set[int]) -> bool:
        """Whether a segment has one of some frames of its video; True where that is unknown."""
        index = self.index(number)
        if index is None:
            return self._unit == "seconds" or any(
                self._begins[number] <= frame < self._ends[number] for frame in frames
            )
        start, stop = self.scope(number, index)
        return any(start <= frame < stop for frame in frames)

    @property
    def is_indexed(self) -> bool:
        """Whether the videos are those of a data set index."""
        return self._videos.is_indexed

    def numbers(self, names: list[str]) -> dict[str, NDArray[Any]]:
        """Columns of numbers of the data set index; `num_frames` are those of the segments."""
        found = self._videos.numbers(names)
        return found | {"num_frames": self._num_frames()} if "num_frames" in names else found

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of the table, and of those of the data set index."""
        return [*dict.fromkeys([*self.table.column_names, *self._videos.column_names])]

    def column(self, name: str) -> tuple[pa.ChunkedArray, NDArray[np.int64]]:
        """One of them, and the row of each segment in it."""
        if name in self.table.column_names:
            return self.table[name], self._rows
        return self._videos.column(name)

    def _ranges(
        self, numbers: NDArray[np.int64], index: VideoIndex
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First frame and end (exclusive) of segments of one video."""
        begins, ends = self._begins[numbers], self._ends[numbers]
        if self._unit == "frames":
            firsts, stops = (each.clip(0, index.num_frames) for each in (begins, ends))
            return firsts.astype(np.int64), stops.astype(np.int64)
        low, high = index.boundaries[0], index.boundaries[-1] + 1
        times = begins.clip(low, high), ends.clip(low, high)
        return ranges_between(*times, index, name=index.name)

    def _num_frames(self) -> NDArray[np.int64]:
        """Frames of each segment; of those in seconds by the indexes of their videos."""
        if self._unit == "frames":
            counts = self._videos.numbers(["num_frames"])["num_frames"]
            lengths: NDArray[np.float64] = np.minimum(self._ends, counts) - self._begins.clip(0)
            return lengths.astype(np.int64)
        found = np.zeros(len(self), dtype=np.int64)
        for numbers in _by_video(self._videos.rows):
            index = self.index(int(numbers[0]))
            assert index is not None
            firsts, stops = self._ranges(numbers, index)
            found[numbers] = stops - firsts
        return found


def sample_videos(
    dataset: ClipSources | Segments, indexes: Mapping[str, VideoIndex]
) -> SampleVideos:
    """The videos that a user names, see `find_sources`, or segments of videos.

    Raises:
        ArgumentError: there are indexes for segments, which have them; or see `find_sources`.
    """
    if not isinstance(dataset, Segments):
        return find_sources(dataset, indexes)
    if indexes:
        raise ArgumentError("indexes are for listed videos; give Segments a data set index")
    return dataset


class _Spans(NamedTuple):
    """When videos begin and end in seconds, their frames, and why some cannot be read, by place."""

    begins: NDArray[np.float64]
    ends: NDArray[np.float64]
    counts: NDArray[np.int64]
    errors: dict[int, VideoError]


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
    if what == "video" and not found:
        found = [column for column in known if column == "key"]  # of a data set index
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


def _find(
    names: pa.Array,
    index: str | os.PathLike[str] | DatasetIndex | Videos | None,
    root: str | os.PathLike[str] | None,
    name: str,
) -> tuple[ListedVideos | IndexedVideos, NDArray[np.int64]]:
    """The videos among which those of some names are, and the number of each; -1 for none."""
    import pyarrow as pa

    given = root if index is None else index
    if given is None:
        items = [Item(absolute(path)) for path in names.to_pylist()]
        return ListedVideos(items, {}), np.arange(len(items))
    found = find_sources(given, {})
    paths = pa.array(found.paths(), pa.large_string())
    places = np.full(len(names), -1)
    left = np.arange(len(names))
    while len(left):  # again for names of videos that have a longer one as well
        rows = rows_once(paths, names.take(pa.array(left)), "path", name)
        numbers = np.flatnonzero(rows >= 0)
        if not len(numbers):
            break
        places[left[rows[numbers]]] = numbers
        left = np.flatnonzero(places < 0)
    return found, places


def _spans_of(found: ListedVideos | IndexedVideos, places: NDArray[np.int64]) -> _Spans:
    """When videos begin and end; those of a list at some places are opened for it."""
    if isinstance(found, IndexedVideos):
        known = found.numbers(["start", "duration", "num_frames"])
        begins, seconds, counts = known.values()
        return _Spans(begins, begins + seconds, counts.astype(np.int64), {})
    spans = _Spans(np.zeros(len(found)), np.zeros(len(found)), np.zeros(len(found), np.int64), {})
    with closing(Indexer(memory_limit=worker_limit("auto"))) as indexer:

        def look(place: int) -> None:
            item = found.item(place)
            try:
                with blamed_on(item.name), item.open() as source:
                    index = indexer.index(source, item)
            except VideoError as error:
                spans.errors[place] = error
                return
            spans.counts[place] = index.num_frames
            spans.begins[place], spans.ends[place] = index.boundaries[[0, -1]]

        named = np.unique(places[places >= 0])
        for first in range(0, len(named), _AT_ONCE):
            in_threads(look, named[first : first + _AT_ONCE].tolist(), _OPEN_AT_ONCE)
    return spans


def _problems(
    places: NDArray[np.int64],
    begins: NDArray[np.float64],
    ends: NDArray[np.float64],
    spans: _Spans,
    unit: Unit,
) -> dict[str, NDArray[np.bool_]]:
    """What is wrong with segments, each under its first problem: a mask for each kind."""
    is_there = places >= 0
    is_bad = np.zeros(len(spans.counts) + 1, dtype=np.bool_)
    is_bad[[*spans.errors]] = True
    if unit == "frames":
        lows = np.zeros(len(spans.counts))
        is_behind = begins >= np.append(spans.counts, 0)[places]
    else:
        lows, highs = spans.begins, spans.ends
        # A last frame of unknown duration is on screen at its own time.
        is_still = np.append(highs == lows, [False])[places]
        last = np.append(highs, 0)[places]
        is_behind = (begins > last) | ((begins == last) & ~is_still)
    is_before = np.isfinite(ends) & (ends <= np.append(lows, 0)[places])
    is_empty = np.append(spans.counts == 0, [False])[places]
    found = {
        "of a video that is not there": ~is_there,
        _UNREADABLE: is_there & is_bad[places],
        "empty or reversed": ~(begins < ends),
        "outside its video": is_there & (is_behind | is_before | is_empty),
    }
    seen = np.zeros(len(places), dtype=np.bool_)
    for kind, mask in found.items():
        found[kind] = mask & ~seen
        seen |= mask
    return found


def _told(
    problems: dict[str, NDArray[np.bool_]],
    names: pa.Array,
    limits: tuple[NDArray[np.float64], NDArray[np.float64]],
    name: str,
    on_missing: str,
    cause: str,
) -> pa.Table:
    """The rows with problems, and which; an error or a line in the log says how many.

    `cause` is why a video could not be read.

    Raises:
        ArgumentError: there are some and `on_missing` is `raise`, or no segment is left.
    """
    import pyarrow as pa

    kinds = [kind for kind, mask in problems.items() if mask.any()]
    rows = [np.flatnonzero(problems[kind]) for kind in kinds]
    reasons = [kind for kind, those in zip(kinds, rows, strict=True) for _ in range(len(those))]
    bad = np.concatenate([np.zeros(0, np.int64), *rows])
    left_out = pa.table({"row": bad, "reason": pa.array(reasons, pa.string())}).sort_by("row")
    if not kinds:
        return left_out
    texts = []
    for kind, those in zip(kinds, rows, strict=True):
        row = int(those[0])
        begin, end = (f"{each[row]:g}" for each in limits)
        called = shown(str(names[row].as_py()))
        why = cause if kind == _UNREADABLE else ""
        texts.append(f"{len(those)} {kind} (first row {row}: {called!r}, {begin} to {end}{why})")
    text = f"{name}: {len(bad)} of {len(names)} segments have no frames: {'; '.join(texts)}"
    if on_missing == "raise":
        raise ArgumentError(f'{text}; on_missing="skip" leaves them out')
    if len(bad) == len(names):
        raise ArgumentError(f"{text}; none is left")
    _log.warning("%s; left out, see Segments.skipped", text)
    return left_out


def _by_video(rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """The numbers of the segments of each video, given the row of the video of each segment."""
    order = np.argsort(rows, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(rows[order])) + 1)
