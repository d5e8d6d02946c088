"""Where the label of each video comes from: a list, its key, a column of a table, or a function."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from numpy.typing import NDArray

from videoloader.errors import ArgumentError, FormatError
from videoloader.sources.address import shown
from videoloader.sources.faults import unreadable

__all__ = ["LabelColumn", "LabelOptions", "Labels", "labels_of_paths", "longest_end"]


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """A column of a CSV or Parquet file that has the labels of videos.

    A video is found by its path: the longest end of it, cut at slashes, that the table has, with
    the ending of the file or without. So a table may hold whole paths, paths relative to some
    folder, names of files, or ids such as `dQw4w9WgXcQ` for `train/dQw4w9WgXcQ.mp4`.

    Args:
        path: of the table; one that ends in `.parquet` is Parquet, anything else is CSV with a line
            of column names.
        label: name of the column of labels: integers; floats; lists of numbers (Parquet), all of
            one length; or texts, which are classes: they are numbered in alphabetical order.
        key: name of the column that says which video it is.
    """

    path: str | os.PathLike[str]
    label: str = "label"
    key: str = "path"

    def labels(self, paths: Sequence[str]) -> list[Any]:
        """The labels of videos by their whole paths, as the table has them.

        Raises:
            SourceError: there is no such file.
            FormatError: it is no such table.
            ArgumentError: a video has no label, or several; or it has no such column.
        """
        values = self._read()
        return [values[name] for name in _names(paths, values, shown(os.fspath(self.path)))]

    def _read(self) -> dict[str, Any]:
        """Label by key."""
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet as pq

        path = Path(self.path)
        name = shown(os.fspath(self.path))
        try:
            if path.suffix.lower() == ".parquet":
                table = pq.read_table(path)
            else:
                keys_as_text = pa.csv.ConvertOptions(column_types={self.key: pa.string()})
                table = pa.csv.read_csv(path, convert_options=keys_as_text)
        except OSError as error:
            raise unreadable(os.fspath(self.path), error) from None
        except pa.ArrowException as error:
            raise FormatError(f"{name}: no table ({error})") from error
        for column in (self.key, self.label):
            if column not in table.column_names:
                raise ArgumentError(
                    f"{name}: has no column {column!r}; it has {', '.join(table.column_names)}"
                )
        keys = [str(key) for key in table[self.key].to_pylist()]
        values: dict[str, Any] = {}
        for key, value in zip(keys, table[self.label].to_pylist(), strict=True):
            if value is None:
                raise ArgumentError(f"{name}: {key!r} has no value in column {self.label!r}")
            if values.setdefault(key, value) != value:
                raise ArgumentError(f"{name}: {key!r} has two labels, {values[key]} and {value}")
        return values


Labels: TypeAlias = (
    Sequence[Any] | NDArray[Any] | Mapping[str, Any] | LabelColumn | Callable[[str], Any]
)


class LabelOptions(TypedDict, total=False):
    """The labels of videos.

    Attributes:
        labels: one a video, or one a row of the data set index, failures included; or a mapping
            from keys (`DatasetIndex.keys`; else paths), a function of keys, or a `LabelColumn` of a
            table. All are integers; floats, or floats and integers, which become float32; vectors
            of numbers of one shape; or texts, which are classes. By default, if the videos of one
            folder are all in folders in it, these are the classes.
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
    """
    if isinstance(labels, LabelColumn):
        return labels.labels(paths)
    return [labels[name] for name in _names(paths, labels, "labels")]


def longest_end(key: str, known: Mapping[str, Any]) -> str | None:
    """The longest end of a path, cut at slashes, that is known: with the ending or without.

    >>> longest_end("/data/run/a.mp4", {"a.mp4": 1, "run/a": 2})
    'run/a'
    """
    while True:
        for name in (key, os.path.splitext(key)[0]):
            if name in known:
                return name
        _, slash, key = key.partition("/")
        if not slash:
            return None


def _names(paths: Sequence[str], known: Mapping[str, Any], where: str) -> list[str]:
    """What a table or mapping calls each video."""
    names = [longest_end(path, known) for path in paths]
    missing = [path for path, name in zip(paths, names, strict=True) if name is None]
    if missing:
        raise ArgumentError(
            f"{where}: {len(missing)} of {len(paths)} videos have no label, the first is "
            f"{shown(missing[0])}"
        )
    found = [name for name in names if name is not None]
    meant: dict[str, str] = {}
    for path, name in zip(paths, found, strict=True):
        other = meant.setdefault(name, path)
        if other != path:
            raise ArgumentError(
                f"{where}: {name!r} stands for {shown(other)} and {shown(path)}; write more of "
                "their paths"
            )
    return found
