"""Where the label of each video comes from: a list, its key, a column of a table, or a function."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.indexing.dataset.joining import LIKE_ON, On, by_text, rows_once
from videoloader.indexing.dataset.tables import read_table
from videoloader.machinery.system.address import absolute, is_url, local_path, shown
from videoloader.machinery.system.callers import warn_user
from videoloader.sources.items import unquoted
from videoloader.training.labels.label_values import VideoLabels, as_classes, as_labels
from videoloader.training.sources import IndexedVideos, ListedVideos, SampleVideos, rows_given

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class LabelColumn:
    r"""A column of a CSV or Parquet file that has the labels of videos.

    A video is found by its path: the longest end of it, cut at slashes, that the table has, with
    the ending of the file or without. So a table may hold whole paths, paths relative to some
    folder, names of files, or ids such as `dQw4w9WgXcQ` for `train/dQw4w9WgXcQ.mp4`. Where names of
    files have more than the id, such as `dQw4w9WgXcQ_000012_000022.mp4`, `on` is a function:
    `lambda path: Path(path).stem[:11]`.

    Args:
        path: of the table; one that ends in `.parquet` is Parquet, anything else is CSV with a line
            of column names.
        label: name of the column of labels: integers; floats; lists of numbers (Parquet), all of
            one length; or texts, which are classes: they are numbered in alphabetical order.
        key: name of the column that says which video it is.
        on: what of a video is searched in that column: its `path` as above, its `stem` (the name of
            the file without folder and ending), or what a function gives for the path; only with a
            function may one row be of several videos.

    >>> from pathlib import Path
    >>> _ = Path("labels.csv").write_text("path,label\n0,jump\n1,jump\n2,run\n3,run\n")
    >>> LabelColumn("labels.csv").labels(["videos/jump/0.mp4", "videos/run/3.mp4"])
    ['jump', 'run']
    """

    path: str | os.PathLike[str]
    label: str = "label"
    key: str = "path"
    on: On = "path"

    def labels(self, paths: Sequence[str]) -> list[Any]:
        """The labels of videos by their whole paths, as the table has them.

        Raises:
            SourceError: there is no such file.
            FormatError: it is no such table.
            ArgumentError: a video has no label, or several; or it has no such column.
        """
        values = self._read()
        where = shown(os.fspath(self.path))
        advice = f"say by on= what of a video is searched in column {self.key!r}, {LIKE_ON}"
        return [values[name] for name in _names(paths, values, where, advice, self.on)]

    def _read(self) -> dict[str, Any]:
        """Label by key."""
        name = shown(os.fspath(self.path))
        table = read_table(self.path, [self.key, self.label], key=self.key)
        keys = [str(key) for key in table[self.key].to_pylist()]
        values: dict[str, Any] = {}
        for key, value in zip(keys, table[self.label].to_pylist(), strict=True):
            if value is None:
                raise ArgumentError(f"{name}: {key!r} has no value in column {self.label!r}")
            if values.setdefault(key, value) != value:
                raise ArgumentError(f"{name}: {key!r} has two labels, {values[key]} and {value}")
        return values


Labels: TypeAlias = (
    Sequence[Any] | NDArray[Any] | Mapping[str, Any] | LabelColumn | Callable[[str], Any] | str
)


class LabelOptions(TypedDict, total=False):
    """The labels of videos.

    Attributes:
        labels: one a video, or one a row of the data set index, failures included; or a mapping
            from keys (`DatasetIndex.keys`; else paths), a function of keys, a `LabelColumn` of a
            table, or the name of a column of the data set index, joined or its own; or `folder`:
            the classes are the folders in the folder that was given or indexed. All are
            integers; floats, or floats and integers, which become float32; vectors of numbers of
            one shape; or texts, which are classes. By default, if the videos of one folder are all
            in folders in it, these are the classes; a data set index has no labels by default.
        classes: names of the classes in the order of their numbers, such as the `classes` of
            another loader or data set; by default those that there are, in alphabetical order. A
            video of another class is an error.
    """

    labels: Labels | None
    classes: Sequence[str] | None


def labels_of_paths(labels: Mapping[str, Any] | LabelColumn, paths: Sequence[str]) -> list[Any]:
    """The label of each video by its whole path, as it was given.

    Raises:
        ArgumentError: not every video has a label.
        ArgumentTypeError: a key is no text.
    """
    if isinstance(labels, LabelColumn):
        return labels.labels(paths)
    known = by_text(labels, "labels")
    return [known[name] for name in _names(paths, known, "labels")]


def _names(
    paths: Sequence[str], known: Mapping[str, Any], where: str, advice: str = "", on: On = "path"
) -> list[str]:
    """The label of each video in a table or mapping; errors for missing ones end in `advice`."""
    import pyarrow as pa

    keys = [*known]
    places = pa.array(paths, pa.string())
    argument = "on" if advice else "labels"
    rows = rows_once(places, pa.array(keys, pa.string()), on, where, argument=argument)
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        example = f", such as {keys[0]!r}" if keys else ""
        raise ArgumentError(
            f"{where}: {len(missing)} of {len(paths)} videos have no label, the first is "
            f"{shown(paths[missing[0]])}; labels are known of {len(keys)} keys{example}; "
            f"add the missing ones, {advice}{', ' * bool(advice)}or leave those videos out: "
            'DatasetIndex.join(..., missing="drop")'
        )
    return [keys[row] for row in rows.tolist()]


def find_labels(
    videos: object,
    found: SampleVideos,
    labels: Labels | None,
    classes: Sequence[str] | None = None,
) -> VideoLabels | None:
    """The label of each video, if there are labels.

    Args:
        videos: as a user named them.
        found: these videos, see `find_sources`.
        labels: one a video or a row, or by key, see `Labels`; None for those of folders, if there
            are.
        classes: names of the classes in the order of their numbers, see `as_labels`.

    Raises:
        ArgumentError: not every video has a label, or one that is not among the classes.
    """
    names = as_classes(classes)
    values: Sequence[Any] | NDArray[Any] | None
    if isinstance(labels, str) and labels in found.column_names:
        return _labels_of_column(*found.column(labels), found, names)
    if labels is not None:
        values = _given_labels(labels, videos, found)
    elif isinstance(found, ListedVideos):
        values, loose = _folders(videos, found)
        if loose:
            values = None
        if 0 < 2 * len(loose) < len(found):  # else folders are hardly meant as classes
            warn_user(f"{_told(loose, found)}, so folders are no classes", UserWarning)
    else:
        values = None
    if values is not None:
        return as_labels(values, lambda number: found.item(number).name, names)
    if names:
        raise ArgumentError(
            "classes are given, but nothing says of which class a video is; pass labels=, or a "
            "folder that has a folder for each class"
        )
    return None


def _given_labels(
    labels: Labels, videos: object, found: SampleVideos
) -> Sequence[Any] | NDArray[Any]:
    if isinstance(labels, Mapping | LabelColumn):
        return labels_of_paths(labels, found.paths())
    if callable(labels):
        return [labels(key) for key in found.keys()]  # noqa: SIM118  (a method)
    if isinstance(labels, str | bytes | os.PathLike):
        return _named_folders(labels, videos, found)
    values: Sequence[Any] | NDArray[Any] = labels
    if not isinstance(labels, np.ndarray):
        # Tensors, series and columns have their elements as Python's.
        values = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    rows = rows_given("labels", len(values), found)
    if rows is None:
        return values
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]


def _labels_of_column(
    column: pa.ChunkedArray,
    rows: NDArray[np.int64],
    found: SampleVideos,
    classes: Sequence[str] | None,
) -> VideoLabels:
    """The labels in a column, given the row of each video; each text or integer is checked once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, types = column.type, pa.types
    if not any(test(kind) for test in (types.is_string, types.is_large_string, types.is_integer)):
        values = column.to_pylist()
        each = [values[row] for row in rows.tolist()]
        return as_labels(each, lambda number: found.item(number).name, classes)
    distinct = column.unique()
    codes = pc.index_in(column, value_set=distinct).to_numpy()[rows]
    used, first, places = np.unique(codes, return_index=True, return_inverse=True)
    values = distinct.take(pa.array(used)).to_pylist()
    labels = as_labels(values, lambda number: found.item(int(first[number])).name, classes)
    return labels.take(places)


def _named_folders(
    name: str | bytes | os.PathLike[str], videos: object, found: SampleVideos
) -> list[str]:
    """The folders of videos, for labels that are no column."""
    if name != "folder":
        columns = found.column_names
        known = f"; the data set has the columns {', '.join(columns)}" if columns else ""
        raise ArgumentError(
            f"labels={name!r:.80} is the name of no column of a data set index; a column of a file "
            f"is given as LabelColumn(file, label=column){known}"
        )
    folders, loose = _folders(videos, found)
    if folders is None:
        raise ArgumentError(
            'labels="folder" takes one folder, or a data set index of one; for others pass '
            "labels=, a function of the key"
        )
    if loose:
        raise ArgumentError(f'labels="folder": {_told(loose, found)}')
    return folders


def _folders(videos: object, found: SampleVideos) -> tuple[list[str] | None, list[str]]:
    """For each video the first folder below the one that was given or indexed, and its path there.

    The path of a member of an archive is that of the archive.

    Returns:
        The folders, "" for videos that are in none; None if they are not of one folder. And the
        paths of the videos in none.
    """
    if isinstance(found, IndexedVideos):
        if found.videos.dataset.root is None:
            return None, []
        stored = found.videos.columns(["path"]).column(0).to_pylist()  # archives as a whole
        paths = [unquoted(stored[row]) for row in found.rows.tolist()]
    else:
        if not (isinstance(videos, str | os.PathLike) and isinstance(found, ListedVideos)):
            return None, []
        if is_url(local_path(os.fspath(videos))):
            return None, []
        folder = absolute(videos)
        if not os.path.isdir(folder):
            return None, []
        paths = [Path(local_path(item.path)).relative_to(folder).as_posix() for item in found.items]
    return [path.rpartition("/")[0].partition("/")[0] for path in paths], [
        path for path in paths if "/" not in path
    ]


def _told(loose: list[str], found: SampleVideos) -> str:
    """The videos that are in no folder, for messages."""
    verb = "is" if len(loose) == 1 else "are"
    return f"{len(loose)} of {len(found)} videos {verb} in no subfolder ({shown(loose[0])})"
