"""Tables that a user gives: CSV, JSON and Parquet files, and tables in memory, as Arrow tables."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from videoloader.errors import ArgumentError, ArgumentTypeError, FormatError
from videoloader.machinery.system.address import shown
from videoloader.machinery.system.faults import unreadable

if TYPE_CHECKING:
    import pyarrow as pa

_JSON = {".json", ".jsonl", ".ndjson"}
_UNNAMED = "__index_level_"  # columns that pyarrow makes of the index of a pandas table


def read_table(
    path: str | os.PathLike[str], columns: Sequence[str] | None = None, *, key: str = ""
) -> pa.Table:
    """Read columns of a Parquet or JSON file (by its ending), or of a CSV file with column names.

    A JSON file has an object a row, in a list or one a line, or one object of columns.

    Args:
        path: of the file.
        columns: all by default.
        key: column that is read as text, even if it looks like numbers.

    Raises:
        SourceError: there is no such file.
        FormatError: it is no such table.
        ArgumentError: it lacks a column.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    name = shown(os.fspath(path))
    try:
        if Path(path).suffix.lower() == ".parquet":
            with pq.ParquetFile(Path(path)) as file:
                check_columns(file.schema_arrow.names, columns or (), name, key=key)
                return file.read(None if columns is None else list(dict.fromkeys(columns)))
        if Path(path).suffix.lower() in _JSON:
            table = _read_json(Path(path))
        else:
            texts = pa.csv.ConvertOptions(column_types={key: pa.string()} if key else {})
            table = pa.csv.read_csv(Path(path), convert_options=texts)
    except OSError as error:
        raise unreadable(os.fspath(path), error) from None
    except (pa.ArrowException, json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"{name}: no table ({error})") from error
    check_columns(table.column_names, columns or (), name, key=key)
    return table if columns is None else table.select(list(dict.fromkeys(columns)))


def _read_json(path: Path) -> pa.Table:
    """A file of JSON lines, or one of a list of objects or of an object of lists.

    Raises:
        ArrowException, JSONDecodeError: it is neither.
    """
    import pyarrow as pa
    import pyarrow.json

    if path.suffix.lower() == ".json":
        text = path.read_bytes()
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Extra data"):  # else an object a line
                raise
        else:
            if isinstance(value, list) and all(isinstance(row, dict) for row in value) and value:
                return pa.Table.from_struct_array(pa.array(value))
            if isinstance(value, dict) and all(isinstance(rows, list) for rows in value.values()):
                return pa.table(value)
            raise pa.ArrowInvalid("neither a list of objects nor an object of lists")
    return pa.json.read_json(path)


def check_columns(known: Sequence[str], wanted: Sequence[str], name: str, *, key: str = "") -> None:
    """Check that a table has some columns; `key` is the one that a user names as key=.

    Raises:
        ArgumentError: it lacks one.
    """
    for column in wanted:
        if column not in known:
            message = f"{name}: has no column {column!r}; it has {', '.join(known)}"
            if column == key:
                message += "; key= names the one that says which video a row is of"
            raise ArgumentError(message)


def as_table(table: Any, *, key: str = "") -> tuple[pa.Table, str]:
    """A table that a user gave, and its name for messages.

    Args:
        table: path of a CSV, Parquet or JSON file; a table of Arrow, pandas or Polars, or another
            with `__arrow_c_stream__`; a dictionary of columns.
        key: column that is read as text from a CSV file.

    Raises:
        ArgumentTypeError: it is none of these.
    """
    import pyarrow as pa

    if isinstance(table, str | os.PathLike):
        return read_table(table, key=key), shown(os.fspath(table))
    if type(table).__module__.startswith("polars"):
        import polars

        if isinstance(table, polars.DataFrame):  # by default Arrow gets views, which it cannot take
            table = table.to_arrow(compat_level=polars.CompatLevel.oldest())
    if isinstance(table, Mapping):
        table = {name: _without_paths(column) for name, column in table.items()}
    try:
        made = pa.table(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ArgumentTypeError(
            "a table is the path of a CSV, Parquet or JSON file, or a table of Arrow, pandas or "
            f"Polars; got {type(table).__name__} ({str(error).partition(chr(10))[0]})"
        ) from error
    unnamed = [name for name in made.column_names if name.startswith(_UNNAMED)]
    made = made.drop_columns(unnamed).replace_schema_metadata(None)
    return made, "the table"


def _without_paths(column: Any) -> Any:
    """A column with its `Path`s as text, which Arrow takes."""
    if not isinstance(column, list | tuple):
        return column
    return [os.fspath(value) if isinstance(value, os.PathLike) else value for value in column]
