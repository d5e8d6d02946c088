"""Reads and writes the Parquet file of a data set index, such as some rows of another one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.indexing.dataset.arrow import as_array
from videoloader.indexing.dataset.cache import is_default_root, read_batches, read_metadata, reading
from videoloader.indexing.dataset.reader import StoredRows
from videoloader.indexing.dataset.rows import Row, completed, schema
from videoloader.indexing.dataset.skipped import SKIPPED, Skipped
from videoloader.machinery.system.address import is_url, local_path, shown
from videoloader.machinery.system.writing import check_target, written_whole
from videoloader.sources.items import Item
from videoloader.sources.source import Fingerprint

if TYPE_CHECKING:
    import pyarrow as pa


GROUP = 4096  # rows in a row group
_STATE = ("size", "mtime_ns", "etag", "head")  # columns of a fingerprint
_SPLITS = b"splits"  # metadata: how often the rows were chosen by `split`
_SHARD = b"shard"  # metadata: which part of the videos of a job, such as 0/2
_DICTIONARY = ["member", "error", "error_kind", "codec", "container", "pixel_format"]
_DICTIONARY += ["exactness", "color_matrix", "color_primaries", "color_transfer", "color_range"]
_DICTIONARY += ["audio_codec", "mastering_display"]


def table_path(out: str | os.PathLike[str]) -> Path:
    """Where a data set index, or another table of a job, is to be written.

    Raises:
        SourceError: it is a URL, a folder or a device.
        ArgumentError: the name does not end in `.parquet`, by which loaders and commands know it,
            or is no UTF-8, which Arrow needs.
    """
    place = local_path(os.fspath(out))
    check_target(Path(place))
    try:
        os.path.abspath(place).encode()
    except UnicodeEncodeError:
        text = "the path of a Parquet table is text in UTF-8; write to another file or folder"
        raise ArgumentError(f"{shown(place)}: {text}") from None
    if not place.endswith(".parquet"):
        raise ArgumentError(
            f"{shown(place)}: the name of a Parquet table ends in .parquet, by which loaders and "
            f"commands know it; write to {shown(place)}.parquet"
        )
    return Path(place)


@contextmanager
def table_writer(
    target: Path,
    root: str | None,
    *,
    is_default: bool = False,
    joined: pa.Schema | None = None,
    splits: int = 0,
    shard: tuple[int, int] = (0, 1),
    skipped: Skipped | None = None,
) -> Iterator[Any]:
    """A writer of the Parquet file, which appears whole or not at all.

    Args:
        target: the file.
        root: what its paths are relative to.
        is_default: the root was not given by the user.
        joined: further columns.
        splits: how often the rows were chosen by `split`.
        shard: part of the videos of a job that they are.
        skipped: what the listing passed over.
    """
    import pyarrow.parquet as pq

    stored = None if root is None else _stored_root(root, target)
    columns = schema(stored, is_default=is_default)
    for field in joined or ():
        columns = columns.append(field)
    further: dict[bytes, str | bytes] = {}
    if splits:
        further[_SPLITS] = str(splits)
    if shard[1] > 1:
        further[_SHARD] = _shard_text(shard)
    if skipped:
        further[SKIPPED] = skipped.encode()
    columns = columns.with_metadata({**columns.metadata, **further})
    with (
        written_whole(target) as partial,
        pq.ParquetWriter(
            partial,
            columns,
            compression="zstd",
            compression_level=9,
            use_dictionary=_DICTIONARY,
            write_page_checksum=True,
        ) as writer,
    ):
        yield writer


def read_rows(path: Path) -> Iterator[Row]:
    """All rows of a data set index, failures included.

    Raises:
        FormatError: the file is not a data set index, or is damaged.
    """
    for batch in read_batches(path):
        with reading(path):
            rows = [_as_row(values) for values in batch.to_pylist()]
        yield from rows


def _as_row(values: dict[str, Any]) -> Row:
    values.pop("key", None)
    item = Item(*(values.pop(name) for name in ("path", "member", "offset")))
    state = Fingerprint(*(values.pop(name, None) for name in _STATE))
    item = replace(item, size=state.size if item.member else -1)
    index, error = values.pop("index") or b"", values.pop("error") or ""
    kind = values.pop("error_kind", None) or ""
    is_known = state.mtime_ns is not None or state.etag is not None
    facts = {} if error else values
    return Row(item, state if is_known else None, facts, index, error, kind)


def write_rows(
    target: Path, rows: Iterator[Row], root: str | None, *, skipped: Skipped, **facts: Any
) -> None:
    """Write the Parquet file, whole or not at all; `facts` as in `table_writer`."""
    with table_writer(target, root, skipped=skipped, **facts) as writer:
        while group := list(islice(rows, GROUP)):
            writer.write_table(_table(group))


def _table(rows: list[Row]) -> pa.Table:
    import pyarrow as pa

    items = [row.item for row in rows]
    states = [row.state or Fingerprint(row.item.size) for row in rows]
    own: dict[str, list[Any]] = {
        "key": [item.key for item in items],
        "path": [item.path for item in items],
        "member": [item.member for item in items],
        "offset": [item.offset for item in items],
        **{name: [getattr(state, name) for state in states] for name in _STATE},
        "error": [row.error or None for row in rows],
        "error_kind": [row.kind or None for row in rows],
        "index": [row.index or None for row in rows],
    }
    fields = schema()
    columns = (own.get(name) or [row.facts.get(name) for row in rows] for name in fields.names)
    arrays = [as_array(*column) for column in zip(columns, fields.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=fields)


def write_part(
    dataset: StoredRows,
    rows: NDArray[np.int64],
    out: str | os.PathLike[str],
    *,
    joined: pa.Table | None = None,
    splits: int = 0,
) -> None:
    """Write rows of a data set index, failures too, to another one.

    Args:
        dataset: where the rows are.
        rows: ascending.
        out: the Parquet file to write.
        joined: further columns, one row for each row of the data set.
        splits: how often the rows were chosen by `split`.

    Raises:
        ArgumentError: `out` is the data set itself.
        SourceError: it cannot be written.

    >>> import videoloader as vl
    >>> with vl.open_dataset("set.parquet") as dataset:
    ...     write_part(dataset, np.array([0, 3]), "part.parquet")
    >>> len(vl.open_dataset("part.parquet"))
    2
    """
    target = table_path(out)
    if os.path.realpath(target) == os.path.realpath(dataset.path):
        raise ArgumentError(f"{target}: is the data set itself; write its videos to another file")
    with table_writer(
        target,
        dataset.root,
        is_default=dataset.root is not None and is_default_root(dataset.path),
        joined=_further(dataset, joined),
        splits=splits,
    ) as writer:
        write_groups(writer, _chosen(dataset, rows, joined, writer.schema.names))


def stored_splits(path: Path) -> int:
    """Number of times that the rows of a data set index were chosen by `split`."""
    with reading(path):
        stored = read_metadata(path).get(_SPLITS, b"0")
        if not re.fullmatch(rb"[0-9]{1,9}", stored):
            raise ValueError(f"it was split {stored!r:.40} times")
        return int(stored)


def is_part(path: Path, shard: tuple[int, int]) -> bool:
    """Whether a data set index was made of this part of the videos of a job."""
    return read_metadata(path).get(_SHARD, b"0/1") == _shard_text(shard).encode()


def _shard_text(shard: tuple[int, int]) -> str:
    return "/".join(map(str, shard))


def _further(dataset: StoredRows, joined: pa.Table | None) -> pa.Schema:
    """The columns that not every data set index has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(dataset.path):
        stored = pq.read_schema(dataset.path)
    own = schema().names
    fields = [field for field in stored if field.name not in own]
    return pa.schema(fields + ([] if joined is None else [*joined.schema]))


def _chosen(
    dataset: StoredRows, rows: NDArray[np.int64], joined: pa.Table | None, names: list[str]
) -> Iterator[pa.Table]:
    """The rows, in parts of any size."""
    import pyarrow as pa

    first = 0
    for batch in read_batches(dataset.path):
        begin, end = np.searchsorted(rows, [first, first + len(batch)]).tolist()
        if end > begin:
            inside = pa.array(rows[begin:end] - first)
            table = completed(pa.Table.from_batches([batch]).take(inside))
            if joined is not None:
                further = joined.take(pa.array(rows[begin:end]))
                for column in further.column_names:
                    table = table.append_column(column, further[column])
            yield table.select(names)
        first += len(batch)


def write_groups(writer: Any, tables: Iterable[pa.Table]) -> None:
    """Write the rows of tables in row groups of `GROUP`, but the last one."""
    import pyarrow as pa

    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += len(table)
        if count >= GROUP:
            whole = pa.concat_tables(waiting)
            count %= GROUP
            writer.write_table(whole.slice(0, len(whole) - count), row_group_size=GROUP)
            waiting = [whole.slice(len(whole) - count)]
    if count:
        writer.write_table(pa.concat_tables(waiting))


def _stored_root(root: str, target: Path) -> str:
    """A root as it is stored: relative to the folder of the index if it contains the index."""
    folder = os.path.abspath(target.parent)
    if is_url(root) or os.path.commonpath([folder, root]) != root:
        return root
    return os.path.relpath(root, folder)
