"""Results of users' functions as rows of Arrow tables and of the Parquet file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.indexing.dataset.part import write_groups
from videoloader.indexing.dataset.rows import Row
from videoloader.indexing.dataset.video_job import Task, part_number

if TYPE_CHECKING:
    import pyarrow as pa

_NO_COLUMN = ""  # gives a table without columns its rows


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
            f"the function returned {_described(result)}; return a dictionary, or name the values "
            "with columns="
        )
    values = [result] if len(columns) == 1 else result
    if not isinstance(values, Sequence) or len(values) != len(columns):
        raise ArgumentTypeError(
            f"the function returned {_described(result)} for the columns {', '.join(columns)}"
        )
    return [dict(zip(columns, values, strict=True))]


def _described(result: Any) -> str:
    """A result in messages."""
    if isinstance(getattr(result, "shape", None), tuple):  # tensors and arrays, on one line
        return f"a {type(result).__name__} of shape {tuple(result.shape)}"
    return f"{type(result).__name__} {result!r:.80}"


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
        or {_NO_COLUMN: pa.nulls(len(rows))}
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


def write_rows(
    target: Path,
    found: Callable[..., Row],
    *,
    tasks: list[Task],
    keys: list[str],
    names: tuple[str, ...],
    has_frames: bool,
    metadata: dict[bytes, str],
) -> None:
    """Write the rows of all videos in their order, a group at a time.

    Args:
        target: Parquet file to write.
        found: what the job found of a video, or of a part of it.
        tasks: number and place of each video or part.
        keys: of each video.
        names: of columns that are there even where no video has them.
        has_frames: whether rows have the frames of clips.
        metadata: of the file.

    Raises:
        ArgumentError: columns do not go together, or are none of Parquet.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = pa.string()
    own = [("row", pa.int64()), ("key", text), ("clip", pa.int32())]
    own += [("frames", pa.list_(pa.int64()))] * has_frames
    own += [("error", text), ("error_kind", text)]
    fields = {name: pa.field(name, kind) for name, kind in own}

    def rows() -> Iterator[Row]:
        return (found(task[1], part_number(task)) for task in tasks)

    schemas = (decode_table(row.index).schema for row in rows() if row.index)
    for field in _unified(schemas, names):
        if field.name == _NO_COLUMN or (field.name == "frames" and has_frames):
            continue
        if field.name in dict(own):
            raise ArgumentError(
                f"the function has a column {field.name!r}, which map_clips has too"
            )
        fields[field.name] = field
    schema = pa.schema(fields.values(), metadata=metadata)

    def tables() -> Iterator[pa.Table]:
        for task, key, row in zip(tasks, keys, rows(), strict=True):
            if row.error:
                table = pa.table({"error": [row.error], "error_kind": [row.kind]})
            else:
                table = decode_table(row.index)
            count = len(table)
            facts = {
                "row": pa.array([task[0]] * count, pa.int64()),
                "key": pa.array([key] * count, text),
                "clip": pa.array(np.arange(count, dtype=np.int32)),
            }
            yield _completed(table, schema, facts)

    try:
        writer = pq.ParquetWriter(target, schema, compression="zstd")
    except pa.ArrowNotImplementedError as error:
        raise ArgumentError(
            f"the function returns values that Parquet cannot hold ({error}); return others, such "
            "as text"
        ) from error
    with writer:
        write_groups(writer, tables())


def _unified(schemas: Iterable[pa.Schema], names: Sequence[str] = ()) -> pa.Schema:
    """One schema for the rows of all videos: integers become floats where some are.

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


def _completed(table: pa.Table, schema: pa.Schema, facts: Mapping[str, pa.Array]) -> pa.Table:
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
