"""Joins videos with the rows of a table: finds the row of each video."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.machinery.system.address import shown

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)

Value = TypeVar("Value")

On: TypeAlias = "Literal['path', 'stem'] | Callable[[str], Any]"
"""The part of a video's name that is searched in the column of keys of a table.

`path`: the longest end of its path, cut at slashes, that the table has, with the ending of the file
or without. `stem`: the name of the file without folder and ending. A function: what it returns for
the path, as text.
"""

LIKE_ON = "such as on=lambda path: Path(path).stem[:11]"
"""Example of `On` in messages."""

ROW = "row"
"""Name in queries of the number of each row."""

OF_PLACES = (ROW, "key", "path", "member", "error", "error_kind")
"""Columns that `map_clips` writes to every table: the video of a row, and its error."""

_FILE_NAME, _ENDING = r"(?s)^.*/", r"([^./][^/]*)\.[^./]*$"
_MOST_REPEATS = 1000  # in an expression of RE2


def check_new_columns(known: Sequence[str], added: Sequence[str], name: str) -> None:
    """Check that columns to add have names of their own, also in SQL, which ignores their case.

    Raises:
        ArgumentError: one has not.
    """
    known_names = {column.lower(): column for column in (*known, ROW)}
    for column in added:
        if column.lower() in known_names:
            other = known_names[column.lower()]
            twice = f"a column {other!r} already"
            raise ArgumentError(
                f"{name}: column {column!r} cannot be added, there is {twice}; rename it in the "
                "table, or say which columns= are wanted"
            )
        known_names[column.lower()] = column


def _names_of(paths: pa.Array, on: On) -> pa.Array:
    """The text by which each video is searched; with `path` its whole path.

    Raises:
        ArgumentError: `on` is none of these, or a function gave None.
    """
    import pyarrow.compute as pc

    if callable(on):
        return texts_by(on, paths, "on")
    if on == "path":
        return paths
    if on != "stem":
        raise ArgumentError(f"on must be 'path', 'stem' or a function of the path, got {on!r}")
    return _without_ending(pc.replace_substring_regex(paths, _FILE_NAME, ""))


def texts_by(function: Callable[[str], Any], names: pa.Array, argument: str) -> pa.Array:
    """The results of a user's function for each name, as text.

    Args:
        function: to call.
        names: texts.
        argument: that the function was given as, for the message.

    Raises:
        ArgumentError: it gave None.
    """
    import pyarrow as pa

    values = [function(name) for name in names.to_pylist()]
    for name, value in zip(names, values, strict=True):
        if value is None:
            raise ArgumentError(f"{argument}= gave None for {shown(name.as_py())}")
    return pa.array([str(value) for value in values], pa.large_string())


def by_text(known: Mapping[Any, Value], what: str) -> dict[str, Value]:
    """A mapping from keys or paths of videos, as a user gave it, with `Path`s as text.

    Raises:
        ArgumentTypeError: a key is no text in UTF-8; names `what`.
    """
    found = {}
    for key, value in known.items():
        name = os.fspath(key) if isinstance(key, os.PathLike) else key
        try:
            name.encode()
        except (AttributeError, UnicodeEncodeError):
            text = f"{what} have keys or paths of videos as keys, which are text, got {key!r:.80}"
            raise ArgumentTypeError(text) from None
        found[name] = value
    return found


def find_rows(paths: pa.Array, known: pa.Array, on: On) -> NDArray[np.int64]:
    """The row of each video in a column of keys, -1 where there is none; see `On`.

    Args:
        paths: of the videos, text.
        known: the keys, text, each once.
        on: what of a video is searched.
    """
    import pyarrow.compute as pc

    names = _names_of(paths, on)
    found = _row_of(names, known)
    if on != "path" or not len(known):
        return found
    # No end with more slashes than any key can be one of the keys.
    depth = pc.max(pc.count_substring(known, "/")).as_py() or 0
    left = np.flatnonzero(found < 0)
    names = names.take(left)
    if depth <= _MOST_REPEATS:
        pattern = rf"(?s)^.*/((?:[^/]*/){{{depth}}}[^/]*)$"
        names = pc.replace_substring_regex(names, pattern, r"\1")
    while len(left):
        rows = _row_of(names, known)
        shorter = np.flatnonzero(rows < 0)
        rows[shorter] = _row_of(_without_ending(names.take(shorter)), known)
        found[left] = rows
        rest = np.flatnonzero(
            (rows < 0) & pc.match_substring(names, "/").to_numpy(zero_copy_only=False)
        )
        left, names = left[rest], pc.replace_substring_regex(names.take(rest), r"^[^/]*/", "")
    return found


def rows_once(
    paths: pa.Array, known: pa.Array, on: On, where: str, *, argument: str = "on"
) -> NDArray[np.int64]:
    """`find_rows`, where no row may stand for two videos by path or stem.

    Args:
        paths: of the videos, text.
        known: the keys, text, each once.
        on: what of a video is searched.
        where: the keys are, for the message.
        argument: that may be a function instead, for the message.

    Raises:
        ArgumentError: one does.
    """
    found = find_rows(paths, known, on)
    if callable(on):
        return found
    counts = np.bincount(found[found >= 0], minlength=len(known))
    if (counts > 1).any():
        other, later = np.flatnonzero(found == np.argmax(counts > 1))[:2]
        raise ArgumentError(
            f"{where}: {known[int(found[later])].as_py()!r} stands for "
            f"{shown(paths[int(other)].as_py())} and {shown(paths[int(later)].as_py())}; write "
            f"more of their paths, or give a function as {argument}="
        )
    return found


def rows_or_reported(
    paths: pa.Array, keys: pa.ChunkedArray, on: On, name: str, *, missing: str
) -> NDArray[np.int64]:
    """`rows_once`, where videos without a row are an error or logged.

    Args:
        paths: of the videos.
        keys: of the table, each once.
        on: what of a video is searched.
        name: of the table.
        missing: `raise`, or what becomes of these videos.

    Raises:
        ArgumentError: there are such videos and `missing` is `raise`; or see `rows_once`.
    """
    known = keys.combine_chunks()
    rows = rows_once(paths, known, on, name)
    absent = np.flatnonzero(rows < 0)
    if len(absent):
        example = f", such as {known[0].as_py()!r}" if len(known) else ""
        text = (
            f"{name}: {len(absent)} of {len(paths)} videos have no row, the first is "
            f"{shown(paths[int(absent[0])].as_py())}; the table has {len(known)} keys{example}"
        )
        if missing == "raise":
            raise ArgumentError(
                f"{text}; on= says what of a video is searched there, {LIKE_ON}, and "
                "missing='drop' leaves these videos out"
            )
        _log.warning("%s; %s", text, "left out" if missing == "drop" else "their values are null")
    unused = len(known) - np.count_nonzero(np.bincount(rows[rows >= 0], minlength=1))
    if unused:
        _log.info("%s: %d of %d rows are of no video here", name, unused, len(known))
    return rows


def one_row_a_key(table: pa.Table, name: str) -> pa.Table:
    """A table with its first column as text, each key once; rows without a key are left out.

    Raises:
        ArgumentError: rows of one key differ.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    key = table.column_names[0]
    try:
        keys = pa.chunked_array([table[key].cast(pa.large_string()).combine_chunks()])
    except pa.ArrowException as error:
        raise ArgumentError(f"{name}: the keys in column {key!r} are no text ({error})") from error
    table = table.set_column(0, key, keys).filter(pc.is_valid(keys))
    if pc.count_distinct(table[key]).as_py() == len(table):
        return table
    with suppress(pa.ArrowException):  # of lists, which cannot be compared: no key twice then
        table = table.group_by(table.column_names, use_threads=False).aggregate([])
    counts = table[key].value_counts()
    repeated = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        raise ArgumentError(
            f"{name}: has several rows for {repeated[0]['values'].as_py()!r}, and "
            f"{len(repeated) - 1} other keys; make one row of each, or take fewer columns="
        )
    return table


def _row_of(names: pa.Array, known: pa.Array) -> NDArray[np.int64]:
    import pyarrow.compute as pc

    rows = pc.index_in(names, value_set=known).fill_null(-1)
    found: NDArray[np.int64] = rows.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _without_ending(names: pa.Array) -> pa.Array:
    """Names of files without their last ending, as `os.path.splitext` cuts it."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(names, _ENDING, r"\1")
