"""Tables that a user gives: CSV, JSON and Parquet files, and tables in memory, as Arrow tables."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from videoloader.errors import ArgumentError, ArgumentTypeError, FormatError, VideoError
from videoloader.machinery.system.address import shown
from videoloader.machinery.system.faults import unreadable

if TYPE_CHECKING:
    import pyarrow as pa

_JSON, _PARQUET = (".json", ".jsonl", ".ndjson"), ".parquet"
_NULL = re.compile(rb"^[ \t\r]*null", re.MULTILINE)
_UNNAMED = "__index_level_"  # columns that pyarrow makes of the index of a pandas table


def is_csv(table: object) -> bool:
    """Whether a table that a user gave is a CSV file."""
    return isinstance(table, str | os.PathLike) and _ending(table) not in {_PARQUET, *_JSON}


def read_table(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    key: str = "",
    texts: Sequence[str] = (),
    column_names: Sequence[str] | None = None,
) -> pa.Table:
    """Read columns of a Parquet, JSON or CSV file, by its ending; of TSV with `.tsv`.

    A JSON file has an object a row, in a list or one a line, or one object of columns.

    Args:
        path: of the file.
        columns: all by default.
        key: column that is read as text, even if it looks like numbers.
        texts: further such columns.
        column_names: of a CSV file whose first line has none.

    Raises:
        SourceError: there is no such file.
        FormatError: it is no such table.
        ArgumentError: it lacks a column.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    name, ending = shown(os.fspath(path)), _ending(path)
    with read_whole(path):
        if ending == _PARQUET:
            with pq.ParquetFile(Path(path)) as file:
                check_columns(file.schema_arrow.names, columns or (), name, key=key)
                return file.read(None if columns is None else list(dict.fromkeys(columns)))
        if is_csv(path):
            kept = dict.fromkeys([*texts, *([key] if key else [])], pa.string())
            table = pa.csv.read_csv(
                Path(path),
                pa.csv.ReadOptions(column_names=column_names),
                pa.csv.ParseOptions(
                    delimiter="\t" if ending == ".tsv" else ",", newlines_in_values=True
                ),
                pa.csv.ConvertOptions(column_types=kept),
            )
        elif ending != ".json" or (value := load_json(Path(path))) is None:
            table = _read_lines(Path(path))
        else:
            table = table_of_json(value, "videoloader.unnest reads lists inside of objects")
    check_columns(table.column_names, columns or (), name, key=key)
    return table if columns is None else table.select(list(dict.fromkeys(columns)))


def _ending(path: str | os.PathLike[str]) -> str:
    return Path(path).suffix.lower()


@contextmanager
def read_whole(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise what goes wrong with the file of a table as an error of ours.

    Raises:
        SourceError: it cannot be read.
        FormatError: it is no table.
    """
    import pyarrow as pa

    try:
        yield
    except VideoError:
        raise
    except OSError as error:
        raise unreadable(os.fspath(path), error) from None
    except (pa.ArrowException, ValueError, OverflowError, RecursionError) as error:
        raise FormatError(f"{shown(os.fspath(path))}: no table ({error})") from error


def _read_lines(path: Path) -> pa.Table:
    """The objects of JSON lines as rows.

    Raises:
        ArrowException: a line has no object.
    """
    import pyarrow as pa
    import pyarrow.json

    data = path.read_bytes()
    if _NULL.search(data):  # pyarrow crashes on a block of them
        raise pa.ArrowInvalid("a line is null, which is no object")
    return pa.json.read_json(pa.BufferReader(data))


def load_json(path: Path) -> Any:
    """The value in a file; None if it has JSON lines.

    Raises:
        JSONDecodeError: it has neither.
    """
    try:
        return json.loads(path.read_bytes())
    except json.JSONDecodeError as error:
        if error.msg.startswith("Extra data"):
            return None
        raise


def table_of_json(value: Any, advice: str) -> pa.Table:
    """A list of objects, or an object of lists, as a table; `advice` says what else to call.

    Raises:
        ArrowException: it is neither.
    """
    import pyarrow as pa

    if isinstance(value, list) and all(isinstance(row, dict) for row in value) and value:
        return pa.Table.from_struct_array(pa.array(value))
    if isinstance(value, dict) and all(isinstance(rows, list) for rows in value.values()):
        return pa.table(value)
    raise pa.ArrowInvalid(f"neither a list of objects nor an object of lists; {advice}")


def check_columns(known: Sequence[str], wanted: Sequence[str], name: str, *, key: str = "") -> None:
    """Check that a table has some columns; `key` is the one that a user names as key=.

    Raises:
        ArgumentError: it lacks one, or has several of that name.
    """
    counts = Counter(known)
    for column in wanted:
        if counts[column] > 1:
            raise ArgumentError(f"{name}: has {counts[column]} columns {column!r}; rename one")
        if column not in known:
            message = f"{name}: has no column {column!r}; it has {', '.join(known)}"
            if column == key:
                message += "; key= names the one that says which video a row is of"
            raise ArgumentError(message)


def as_table(
    table: Any, *, key: str = "", column_names: Sequence[str] | None = None
) -> tuple[pa.Table, str]:
    """A table that a user gave, and its name for messages.

    Args:
        table: path of a CSV, Parquet or JSON file; a table of Arrow, pandas or Polars, or another
            with `__arrow_c_stream__`; a dictionary of columns, or a list of dictionaries.
        key: column that is read as text from a CSV file.
        column_names: of a CSV file whose first line has none.

    Raises:
        ArgumentTypeError: it is none of these.
        ArgumentError: there are names of columns for something else, or columns of one name.
    """
    import pyarrow as pa

    if column_names is not None and not is_csv(table):
        raise ArgumentError("column_names= is for CSV files, whose first line may have no names")
    if isinstance(table, str | os.PathLike):
        made, name = read_table(table, key=key, column_names=column_names), shown(os.fspath(table))
        check_columns(made.column_names, made.column_names, name)
        return made, name
    if type(table).__module__.startswith("polars"):
        import polars

        if isinstance(table, polars.DataFrame):  # by default Arrow gets views, which it cannot take
            table = table.to_arrow(compat_level=polars.CompatLevel.oldest())
    if isinstance(table, list) and table and all(isinstance(row, Mapping) for row in table):
        names = dict.fromkeys(name for row in table for name in row)
        table = {name: [row.get(name) for row in table] for name in names}
    if isinstance(table, Mapping):
        table = {name: _without_paths(column) for name, column in table.items()}
    try:
        made = pa.table(table)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise ArgumentTypeError(
            "a table is the path of a CSV, Parquet or JSON file, a table of Arrow, pandas or "
            "Polars, a dictionary of columns, or a list of dictionaries, one a row; "
            f"got {type(table).__name__} ({str(error).partition(chr(10))[0]})"
        ) from error
    unnamed = [name for name in made.column_names if name.startswith(_UNNAMED)]
    made = made.drop_columns(unnamed).replace_schema_metadata(None)
    check_columns(made.column_names, made.column_names, "the table")
    return made, "the table"


def _without_paths(column: Any) -> Any:
    """A column with its `Path`s as text, which Arrow takes."""
    if not isinstance(column, list | tuple):
        return column
    return [os.fspath(value) if isinstance(value, os.PathLike) else value for value in column]
