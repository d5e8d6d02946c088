"""What has changed from one data set index to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from videoloader.indexing.dataset.rows import schema

if TYPE_CHECKING:
    import pyarrow as pa

_ELSEWHERE = {"key", "path", "member", "offset", "mtime_ns", "etag", "error", "index"}
"""Columns that differ where a video is the same: those of its place, and texts that name it."""


def find_changes(table: pa.Table, before: pa.Table) -> tuple[list[str], list[str]]:
    """Compare the rows of two data set indexes that have the same key.

    Args:
        table: columns of a data set index.
        before: those of an earlier one.

    Returns:
        For each row `new`, `same`, `readable now`, `no longer readable`, or `changed` with the
        columns that differ; and the keys that are in `before` alone, in their order. Columns that
        have no value in one of the two are not compared.

    >>> import videoloader as vl
    >>> table = vl.open_dataset("set.parquet").table
    >>> find_changes(table.slice(1, 2), table.slice(0, 2))
    (['same', 'new'], ['jump/0.mp4'])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    places = pc.index_in(table["key"], value_set=before["key"].combine_chunks())
    is_there = pc.is_valid(places).to_numpy()
    rows, earlier = np.flatnonzero(is_there), pc.drop_null(places)
    differing: dict[int, list[str]] = {}
    for name in schema().names:
        if name in _ELSEWHERE or _is_empty(table, name) or _is_empty(before, name):
            continue
        now, then = table[name].take(pa.array(rows)), before[name].take(earlier)
        is_same = pc.or_kleene(pc.equal(now, then), pc.and_(pc.is_null(now), pc.is_null(then)))
        for row in rows[~pc.fill_null(is_same, False).to_numpy()].tolist():  # noqa: FBT003
            differing.setdefault(row, []).append("first bytes" if name == "head" else name)
    found = ["same" if known else "new" for known in is_there.tolist()]
    for row, names in differing.items():
        found[row] = f"changed: {', '.join(names)}"
    failed, failed_then = (pc.is_valid(one["error_kind"]) for one in (table, before))
    now, then = failed.take(pa.array(rows)).to_numpy(), failed_then.take(earlier).to_numpy()
    for row, is_failed in zip(rows[now != then].tolist(), now[now != then].tolist(), strict=True):
        found[row] = "no longer readable" if is_failed else "readable now"
    is_kept = pc.is_in(before["key"], value_set=table["key"].combine_chunks())
    return found, before["key"].filter(pc.invert(is_kept)).to_pylist()


def _is_empty(table: pa.Table, name: str) -> bool:
    return name not in table.column_names or bool(table[name].null_count == len(table))
