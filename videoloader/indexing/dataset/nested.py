"""`unnest`: one row for each element of lists in the rows of a table, or in objects of JSON."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.indexing.dataset.tables import (
    as_table,
    check_columns,
    load_json,
    read_whole,
    table_of_json,
)
from videoloader.machinery.system.address import shown

if TYPE_CHECKING:
    import pyarrow as pa

_NO_LITERAL = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


def unnest(
    table: Any, lists: str | Sequence[str], *, at: str | None = None, key: str = "video_id"
) -> pa.Table:
    """Make one row for each element of lists in the rows of a table.

    Published annotations often have one row or object for each video, and in it lists of what is
    seen when. The result has a row for each of these, for `Segments`. All other columns are
    repeated; if elements are objects, their fields are columns. Where a list is empty or missing,
    there is no row.

    Args:
        table: path of a JSON file that has an object for each video, in an object by the name of
            the video or in a list, or the same in memory; or a table as for `Segments`.
        lists: column or columns of lists, which in each row are of one length. Text such as
            `[[0, 1.5], [2, 3]]` is read as a list.
        at: field of the JSON file that has the videos, such as `database`.
        key: name of the new column of the names of videos.

    Returns:
        An Arrow table.

    Raises:
        ArgumentError: there is no such column or field, a column has no lists, or lists of a row
            differ in length.
        ArgumentTypeError: the table is none.
        SourceError: there is no such file.
        FormatError: the file is no table.

    >>> captions = {"v_1": {"duration": 9.5, "times": [[0, 2], [3, 5]], "texts": ["a", "b"]}}
    >>> unnest(captions, ["times", "texts"]).to_pylist()[1]
    {'video_id': 'v_1', 'duration': 9.5, 'times': [3, 5], 'texts': 'b'}
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(lists, Iterable):
        raise ArgumentTypeError(f"lists= is the name of a column, or several, got {lists!r:.80}")
    lists = [lists] if isinstance(lists, str) else list(dict.fromkeys(lists))
    if not lists:
        raise ArgumentError("lists= names no column")
    found, name = _rows(table, at, key)
    try:
        check_columns(found.column_names, lists, name)
    except ArgumentError as error:
        if at is not None:
            raise
        text = f"{error}; at= names the field of a JSON file that has the videos"
        raise ArgumentError(text) from None
    values = [_lists(found[column], column, name) for column in lists]
    lengths = [pc.fill_null(pc.list_value_length(each), 0).to_numpy() for each in values]
    for column, length in zip(lists, lengths, strict=True):
        if (is_other := length != lengths[0]).any():
            row = int(np.argmax(is_other))
            raise ArgumentError(
                f"{name}: row {row} has {lengths[0][row]} in {lists[0]!r} and {length[row]} in "
                f"{column!r}; unnest lists of different lengths one after another"
            )
    rows = np.repeat(np.arange(len(found)), lengths[0])
    columns = dict(zip(found.column_names, found.take(pa.array(rows)).columns, strict=True))
    for column in lists:
        del columns[column]
    for column, each in zip(lists, values, strict=True):
        flat = pc.list_flatten(each)
        if not pa.types.is_struct(flat.type):
            columns[column] = flat
            continue
        for field, part in zip(flat.type, flat.flatten(), strict=True):
            columns[f"{column}.{field.name}" if field.name in columns else field.name] = part
    return pa.table(columns)


def _rows(table: Any, at: str | None, key: str) -> tuple[pa.Table, str]:
    """A row for each video, and the name of the table."""
    value, name = table, "the table"
    if isinstance(table, str | os.PathLike):
        name = shown(os.fspath(table))
        if Path(table).suffix.lower() == ".json":
            with read_whole(table):
                value = load_json(Path(table)) or table  # JSON lines are a table
    if at is not None:
        fields = value if isinstance(value, Mapping) else {}
        if at not in fields:
            raise ArgumentError(f"{name}: has no {at!r}; it has {', '.join(fields) or 'no fields'}")
        value = fields[at]
    if isinstance(value, Mapping) and value and all(map(_is_object, value.values())):
        if any(key in row for row in value.values()):
            raise ArgumentError(f"{name}: objects have a {key!r} of their own; give another key=")
        value = [{key: video} | row for video, row in value.items()]
    elif value is table and not isinstance(table, list):
        return as_table(table)
    with read_whole(name):
        return table_of_json(value, "at= names the field that has the videos"), name


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


def _lists(column: pa.ChunkedArray, called: str, name: str) -> pa.Array:
    """A column of lists, or of their text."""
    import pyarrow as pa

    kind, types = column.type, pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        texts = enumerate(column.to_pylist())
        parsed = [_parsed(text, f"{name}: column {called!r}", row) for row, text in texts]
        with read_whole(name):
            return pa.array(parsed, None if any(parsed) else pa.list_(pa.null()))
    if types.is_null(kind):
        column = column.cast(pa.list_(pa.null()))
    elif types.is_fixed_size_list(kind):
        column = column.cast(pa.list_(kind.value_type))
    elif not types.is_list(kind) and not types.is_large_list(kind):
        raise ArgumentError(
            f"{name}: column {called!r} has values of type {kind}, which are no lists"
        )
    array: pa.Array = column.combine_chunks()
    return array


def _parsed(text: str | None, what: str, row: int) -> list[Any] | None:
    """A list from its text, in JSON or as Python writes it; CSV has empty text for none."""
    if text is None or not text.strip():
        return None
    try:
        try:
            value = json.loads(text)
        except ValueError:
            value = ast.literal_eval(text)
    except _NO_LITERAL:
        value = None
    if not isinstance(value, list):
        raise ArgumentError(f"{what} has {text!r:.80} in row {row}, which is no list")
    return value
