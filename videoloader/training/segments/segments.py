"""`Segments`: parts of videos as samples, from a table of videos, starts and ends."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, FrameRangeError
from videoloader.indexing.dataset import DatasetIndex, Item, Videos
from videoloader.indexing.index import VideoIndex
from videoloader.machinery.system.checks import one_of
from videoloader.training.segments.part import Part, frame_ranges
from videoloader.training.segments.rows import RowOptions, Unit, read_rows
from videoloader.training.segments.usable import find_usable
from videoloader.training.segments.values import RowFunction
from videoloader.training.sources import ClipSources, SampleVideos, find_sources

if TYPE_CHECKING:
    import pyarrow as pa


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
        table: path of a CSV, TSV, JSON, JSON lines or Parquet file (by its ending), or a table of
            Arrow, pandas or Polars, or a dictionary of columns. `unnest` makes one where rows have
            lists, as in nested JSON.
        index: data set index, or some of its videos, or its path, that has the videos of the table.
        root: folder or URL where they are, in place of `index`. By default the table has paths.
        video: name of the column that says which video, by an end of its path that is that of no
            other one: a path, a name of a file, or one without its ending, such as an id. By
            default the column of a usual name, such as `path`, `file`, `video_id`, `youtube_id`, or
            else `key`, which tables of our own jobs have.
            Or a format of columns, such as `"{youtube_id}_{time_start:06d}.mp4"`; or a function
            that is called with each row, a dictionary, and returns the name.
        start: name of the column of starts, by default `start`, `time_start` or the like: numbers,
            or text such as `1:02:03.5`. Without a value the segment begins with the video. Or a
            function of a row, such as `lambda row: row["segment"][0]`.
        end: of that of ends, which are exclusive; likewise. Without a value, or behind the end of
            its video, a segment ends with the video.
        unit: of starts and ends: `seconds` from the first frame of the video, as players show
            them; `times`, the seconds of the file's own clock, as `times` of a batch, which differ
            where the first frame is not at 0; or `frames`. The frame on screen at the start is the
            first; the last one begins before the end.
        whole_videos: each row is all of its video, also if there are columns of starts and ends,
            which files that are trimmed already have. Videos are not opened for it.
        column_names: names of the columns of a CSV file whose first line has none.
        on_missing: what becomes of segments of videos that are not there or not readable, that are
            empty or reversed, or outside their video: `raise` an error that counts them, or `skip`
            them and log that; see `skipped`.

    Attributes:
        table: all rows and columns that were given.
        skipped: rows that were left out, and why: an Arrow table of `row` and `reason`.
        videos: the video of each segment.

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
        video: str | RowFunction | None = None,
        start: str | RowFunction | None = None,
        end: str | RowFunction | None = None,
        unit: Unit = "seconds",
        whole_videos: bool = False,
        column_names: Sequence[str] | None = None,
        on_missing: Literal["raise", "skip"] = "raise",
    ) -> None:
        one_of("unit", unit, get_args(Unit))
        one_of("on_missing", on_missing, ("raise", "skip"))
        if index is not None and root is not None:
            raise ArgumentError("give index or root to Segments, not both")
        options = RowOptions(video, start, end, unit, whole_videos, column_names)
        rows = read_rows(table, options)
        self.table, self.table_name = rows.table, rows.name
        usable = find_usable(
            rows,
            index,
            root=root,
            unit=unit,
            whole_videos=whole_videos,
            on_missing=on_missing,
        )
        self._rows, self.videos, self.skipped = usable
        # The lengths of whole videos are a column of the data set index.
        self._unit: Unit = "frames" if whole_videos else unit
        self._begins, self._ends = rows.begins[self._rows], rows.ends[self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        skipped = f", {len(self.skipped)} skipped" if len(self.skipped) else ""
        return f"<Segments of {self.table_name}: {len(self)}{skipped}>"

    def take(self, numbers: NDArray[np.int64]) -> Segments:
        """Some of the segments, by their numbers; they keep their rows."""
        taken = copy(self)
        taken.videos = self.videos.take(numbers)
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
        return self.videos.keys()

    def paths(self) -> list[str]:
        """Whole path of the video of each segment."""
        return self.videos.paths()

    def item(self, number: int) -> Item:
        """Where the video of a segment is."""
        return self.videos.item(number)

    def index(self, number: int) -> VideoIndex | None:
        """The index of the video of a segment, if there is a data set index."""
        return self.videos.index(number)

    def scope(self, number: int, index: VideoIndex) -> tuple[int, int]:
        """First frame and end (exclusive) of a segment.

        Raises:
            FrameRangeError: the video has become shorter.
        """
        try:
            return self.part(number).frames(index)
        except FrameRangeError as error:
            text = f"{error} (row {self.row(number)} of {self.table_name})"
            raise FrameRangeError(text) from None

    def part(self, number: int) -> Part:
        """A segment for worker processes, without the table."""
        begin, end = float(self._begins[number]), float(self._ends[number])
        return Part(self.row(number), self.videos.row(number), begin, end, self._unit)

    def holds(self, number: int, frames: set[int]) -> bool:
        """Whether a segment has one of some frames of its video; True where that is unknown."""
        index = self.index(number)
        if index is None:
            return self._unit != "frames" or any(
                self._begins[number] <= frame < self._ends[number] for frame in frames
            )
        start, stop = self.scope(number, index)
        return any(start <= frame < stop for frame in frames)

    @property
    def is_indexed(self) -> bool:
        """Whether the videos are those of a data set index."""
        return self.videos.is_indexed

    def numbers(self, names: list[str]) -> dict[str, NDArray[Any]]:
        """Columns of numbers of the data set index; `num_frames` are those of the segments."""
        found = self.videos.numbers(names)
        return found | {"num_frames": self._num_frames()} if "num_frames" in names else found

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of the table, and of those of the data set index."""
        return [*dict.fromkeys([*self.table.column_names, *self.videos.column_names])]

    def column(self, name: str) -> tuple[pa.ChunkedArray, NDArray[np.int64]]:
        """One of them, and the row of each segment in it."""
        if name in self.table.column_names:
            return self.table[name], self._rows
        return self.videos.column(name)

    def _num_frames(self) -> NDArray[np.int64]:
        """Frames of each segment; of those in seconds by the indexes of their videos."""
        if self._unit == "frames":
            counts = self.videos.numbers(["num_frames"])["num_frames"]
            lengths: NDArray[np.float64] = np.minimum(self._ends, counts) - self._begins.clip(0)
            return lengths.astype(np.int64)
        found = np.zeros(len(self), dtype=np.int64)
        for numbers in _by_video(self.videos.rows):
            index = self.index(int(numbers[0]))
            assert index is not None
            begins, ends = self._begins[numbers], self._ends[numbers]
            firsts, stops = frame_ranges(begins, ends, index, unit=self._unit)
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


def _by_video(rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """The numbers of the segments of each video, given the row of the video of each segment."""
    order = np.argsort(rows, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(rows[order])) + 1)
