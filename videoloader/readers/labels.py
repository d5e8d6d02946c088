"""The label of each video: from a list, by its key, from a column of a table, or by a function."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from videoloader.errors import ArgumentError, FormatError, SourceError
from videoloader.sources.address import shown

__all__ = ["LabelColumn", "Labels", "labels_of_keys", "longest_end", "numbered"]


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """A column of a CSV or Parquet file that has the labels of videos.

    A video is found by its key: the longest end of it, cut at slashes, that the table has. So a
    table may hold whole paths, paths relative to some folder, or names of files.

    Args:
        path: of the table; one that ends in `.parquet` is Parquet, anything else is CSV with a line
            of column names.
        label: name of the column of labels: integers, or texts, which are classes: they are
            numbered in alphabetical order.
        key: name of the column that says which video it is.
    """

    path: str | os.PathLike[str]
    label: str = "label"
    key: str = "path"

    def labels(self, keys: Sequence[str]) -> tuple[list[int], list[str]]:
        """The labels of videos, and the names of the classes, if labels are texts.

        Raises:
            SourceError: there is no such file.
            FormatError: it is no such table.
            ArgumentError: a video has no label, or several; or it has no such column.
        """
        values = self._read()
        if all(isinstance(value, int) for value in values.values()):
            return [int(values[name]) for name in self._names(keys, values)], []
        return numbered([str(values[name]) for name in self._names(keys, values)])

    def _read(self) -> dict[str, Any]:
        """Label by key."""
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet as pq

        path = Path(self.path)
        name = shown(str(path))
        try:
            if path.suffix.lower() == ".parquet":
                table = pq.read_table(path)
            else:
                table = pa.csv.read_csv(path)
        except OSError as error:
            raise SourceError(f"{name}: cannot be read ({error.strerror or error})") from error
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

    def _names(self, keys: Sequence[str], values: Mapping[str, Any]) -> list[str]:
        """What the table calls each video."""
        names = [longest_end(key, values) for key in keys]
        missing = [key for key, name in zip(keys, names, strict=True) if name is None]
        if missing:
            raise _unlabelled(missing, keys, f" in {shown(str(self.path))}")
        found = [name for name in names if name is not None]
        meant: dict[str, str] = {}
        for key, name in zip(keys, found, strict=True):
            other = meant.setdefault(name, key)
            if other != key:
                raise ArgumentError(
                    f"{shown(str(self.path))}: {name!r} stands for {shown(other)} and "
                    f"{shown(key)}; write more of their paths"
                )
        return found


Labels: TypeAlias = Sequence[int] | Mapping[str, int] | LabelColumn | Callable[[str], int]
"""One integer a video, or by its key: a mapping, a column of a table, or a function."""


def labels_of_keys(
    labels: Mapping[str, int] | LabelColumn | Callable[[str], int], keys: Sequence[str]
) -> tuple[list[int], list[str]]:
    """The label of each video by its key, and the names of classes, if there are names.

    Raises:
        ArgumentError: not every video has a label.
    """
    if isinstance(labels, LabelColumn):
        return labels.labels(keys)
    if isinstance(labels, Mapping):
        missing = [key for key in keys if key not in labels]
        if missing:
            raise _unlabelled(missing, keys)
        return [int(labels[key]) for key in keys], []
    found = [labels(key) for key in keys]
    for key, label in zip(keys, found, strict=True):
        if not hasattr(label, "__index__"):
            raise ArgumentError(f"labels gave {label!r} for {shown(key)}; a label is an integer")
    return [int(label) for label in found], []


def numbered(names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Numbers for names of classes, in alphabetical order, and the classes."""
    classes = sorted(set(names))
    number = {name: label for label, name in enumerate(classes)}
    return [number[name] for name in names], classes


def longest_end(key: str, known: Mapping[str, Any]) -> str | None:
    """The longest end of a path, cut at slashes, that is known."""
    while key not in known:
        _, slash, key = key.partition("/")
        if not slash:
            return None
    return key


def _unlabelled(missing: Sequence[str], keys: Sequence[str], where: str = "") -> ArgumentError:
    first = shown(missing[0])
    return ArgumentError(
        f"{len(missing)} of {len(keys)} videos have no label{where}, the first is {first}"
    )
