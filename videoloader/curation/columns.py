"""What functions of users return, as rows of Arrow tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from videoloader.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["as_rows", "completed", "decode_table", "encode_rows", "unified"]


def as_rows(result: Any, columns: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The rows that a function returned.

    Args:
        result: a dictionary, a NamedTuple, the value of one column or the values of several; or a
            list of dictionaries or NamedTuples.
        columns: names of the values, for results that are no dictionaries.

    Raises:
        ArgumentTypeError: it is none of these.

    >>> as_rows({"a": 1}), as_rows([{"a": 1}, {"a": 2}]), as_rows((1, 2), ["a", "b"])
    ([{'a': 1}], [{'a': 1}, {'a': 2}], [{'a': 1, 'b': 2}])
    """
    if isinstance(result, list) and all(map(_is_row, result)) and (result or not columns):
        return [_row(each) for each in result]
    if _is_row(result):
        return [_row(result)]
    if not columns:
        raise ArgumentTypeError(
            f"the function returned {type(result).__name__} {result!r:.80}; return a dictionary, "
            "or name the values with columns="
        )
    values = [result] if len(columns) == 1 else result
    if not isinstance(values, Sequence) or len(values) != len(columns):
        raise ArgumentTypeError(
            f"the function returned {type(result).__name__} {result!r:.80} for the columns "
            f"{', '.join(columns)}"
        )
    return [dict(zip(columns, values, strict=True))]


def _is_row(value: Any) -> bool:
    return isinstance(value, Mapping) or hasattr(value, "_asdict")


def _row(value: Any) -> dict[str, Any]:
    row: dict[str, Any] = dict(value) if isinstance(value, Mapping) else value._asdict()
    return row


def encode_rows(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows as an Arrow stream; a value that a row lacks is null."""
    import pyarrow as pa

    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table(
        {name: pa.array([_plain(row.get(name)) for row in rows]) for name in names}
        or {"": pa.nulls(len(rows))}
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def decode_table(data: bytes) -> pa.Table:
    """The rows that `encode_rows` packed."""
    import pyarrow as pa

    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


def unified(schemas: Iterable[pa.Schema], names: Sequence[str] = ()) -> pa.Schema:
    """One schema for the rows of all videos: integers become floats where some are.

    Args:
        schemas: of each video.
        names: of columns that are there even where no video has them.

    Raises:
        ArgumentError: a column has values that do not go together, such as texts and numbers.
    """
    import pyarrow as pa

    schema = pa.schema([(name, pa.null()) for name in names])
    try:
        for each in dict.fromkeys(schemas):
            schema = pa.unify_schemas([schema, each], promote_options="permissive")
    except pa.ArrowException as error:
        raise ArgumentError(f"videos have values of several types in a column: {error}") from error
    return schema


def completed(table: pa.Table, schema: pa.Schema, facts: Mapping[str, pa.Array]) -> pa.Table:
    """A table with the columns of a schema: of its own, those of `facts`, or null."""
    import pyarrow as pa

    columns = {name: table[name] for name in table.column_names} | dict(facts)
    return pa.Table.from_arrays(
        [
            columns[field.name].cast(field.type)
            if field.name in columns
            else pa.nulls(len(table), field.type)
            for field in schema
        ],
        schema=schema,
    )


def _plain(value: Any) -> Any:
    """A value as Arrow takes it: tensors and arrays as lists of arrays of one dimension."""
    if hasattr(value, "detach"):  # a tensor, without importing torch
        value = value.detach().cpu()
        value = (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    if isinstance(value, np.ndarray) and value.ndim != 1:
        return value.item() if value.ndim == 0 else [_plain(each) for each in value]
    return value
