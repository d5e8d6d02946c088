"""Conditions in SQL over the columns of a data set index, evaluated by DuckDB (extra `query`).

A condition may come from anybody. It is one expression that reads no table but the videos, and
DuckDB evaluates it in a worker process, without access to files. A single call of a function can
take any time and memory, which DuckDB's own limits do not bound; those of the process do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Set
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from videoloader import errors
from videoloader.errors import ArgumentError, ArgumentTypeError, UnsupportedError
from videoloader.indexing.dataset.joining import ROW
from videoloader.indexing.dataset.rows import as_error
from videoloader.machinery.system.checks import real_number
from videoloader.machinery.system.spelling import did_you_mean
from videoloader.machinery.workers.supervisor import TaskFailure
from videoloader.machinery.workers.tasks import run_tasks

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_ALL = "*"
_WANTED = "give what stands behind WHERE, such as codec = 'av1' and height >= 720"
_TOTALS = ("num_frames", "duration")
_SETTINGS = ("SET enable_external_access = false", "SET lock_configuration = true")
_CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    "python_enable_replacements": False,  # names of tables are not those of variables in a program
    "memory_limit": "2GB",
    "temp_directory": "",  # what does not fit into memory is not written to `.tmp` here
}
MEMORY = 4 << 30
"""Bytes that a query may take, besides those of the columns that it reads."""

_ROW_MEMORY = 4096  # bytes for each row
_TIME = 60.0


class Rows(Protocol):
    """A data set index or videos of one, as `DatasetIndex` documents them."""

    @property
    def column_names(self) -> list[str]: ...  # noqa: D102

    def columns(self, wanted: list[str] | None = None) -> pa.Table: ...  # noqa: D102

    def without_sign(self) -> Rows: ...  # noqa: D102

    def __len__(self) -> int: ...


def query_rows(rows: Rows, where: str, *, time_limit: float = _TIME) -> NDArray[np.int64]:
    """Rows, failures too, for which a condition is true, ascending.

    Args:
        rows: of a data set.
        where: what stands behind WHERE.
        time_limit: seconds that it may take.

    Raises:
        ArgumentError: it is no condition, does not apply to the columns, or takes too much time or
            memory.
        UnsupportedError: DuckDB is not installed.

    >>> import videoloader as vl
    >>> query_rows(vl.open_dataset("set.parquet"), "key like 'run/%' and num_frames > 60")
    array([2, 3])
    """
    found: NDArray[np.int64] = _ask(Query(rows, where), time_limit)
    return found


def count_by(rows: Rows, where: str, by: str, *, time_limit: float = _TIME) -> list[dict[str, Any]]:
    """Rows, frames and hours for each value of a column or expression, the most rows first.

    Args:
        rows: of a data set.
        where: what stands behind WHERE.
        by: a column or an expression.
        time_limit: seconds that it may take.

    Returns:
        Dictionaries of `value`, `videos`, `frames` and `hours`.

    Raises:
        ArgumentError: they do not apply to the columns, or take too much time or memory.
        UnsupportedError: DuckDB is not installed.

    >>> import videoloader as vl
    >>> count_by(vl.open_dataset("set.parquet"), "true", "codec")[0]["videos"]
    4
    """
    found: list[dict[str, Any]] = _ask(Query(rows, where, by), time_limit)
    return found


class Query(NamedTuple):
    """A query of rows; `by` is the expression they are counted by, None for their numbers."""

    rows: Rows
    where: str
    by: str | None = None


def _ask(query: Query, time_limit: float) -> Any:
    """The answer to a query, from a worker process."""
    for text in (query.where, query.by or ""):
        if not isinstance(text, str):
            raise ArgumentTypeError(f"a query is a text, got {text!r}; {_WANTED}")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(f"the query {text!r} is no text: {error.reason}") from error
    if find_spec("duckdb") is None:
        raise UnsupportedError('queries need DuckDB; pip install "videoloader[query]"')
    ((_, found),) = run_tasks(
        f"{answer.__module__}:{answer.__name__}",
        [query._replace(rows=query.rows.without_sign())],
        workers=1,
        time_limit=real_number("time_limit", time_limit, above=0),
        memory_limit=MEMORY + _ROW_MEMORY * len(query.rows),
    )
    if not isinstance(found, TaskFailure):
        return found
    if found.kind in errors.__all__:
        raise as_error(found.kind, found.reason)
    advice = "simplify it"
    if found.kind == "TimeLimit":
        advice += ", or pass a larger time_limit"
    asked = query.where if query.by is None else f"{query.where} by {query.by}"
    raise ArgumentError(f"the query {asked!r:.200} cannot be answered: {found.reason}; {advice}")


def answer(query: Query) -> Any:
    """The answer to a query, from this process; without limits.

    Raises:
        ArgumentError: see `query_rows`.
    """
    import duckdb

    rows, where, by = query
    with duckdb.connect(config=_CONFIGURATION) as connection:
        if by is None:
            condition = _condition(connection, rows, where)
            with _explained(rows, where):
                found = connection.execute(f"select {ROW} from videos where {condition}")
                return np.sort(np.asarray(found.fetchnumpy()[ROW], dtype=np.int64))
        value, used = _expression(connection, by)
        condition = _condition(connection, rows, where, {*used, *_TOTALS})
        with _explained(rows, by):
            groups = connection.execute(
                f"select {value} as value, count(*) as videos, sum(num_frames) as frames, "
                f"sum(duration) / 3600 as hours from videos where {condition} "
                "group by 1 order by videos desc, value"
            )
            names = [each[0] for each in groups.description]
            return [dict(zip(names, group, strict=True)) for group in groups.fetchall()]


def _condition(
    connection: duckdb.DuckDBPyConnection, rows: Rows, where: str, further: Set[str] = frozenset()
) -> str:
    """A condition to execute on the table `videos`, made with the columns that it needs.

    The database then neither reads files nor loads extensions.

    Args:
        connection: gets the table.
        rows: of a data set.
        where: what stands behind WHERE.
        further: names of columns that are needed beside those of the condition.
    """
    condition, used = _expression(connection, where)
    used |= further
    # A column `row`, which a file of others may have, is hidden.
    own = [name for name in rows.column_names if name.lower() not in ("key", ROW)]
    table = rows.columns(["key", *(name for name in own if _ALL in used or name.lower() in used)])
    connection.register("videos", table.append_column(ROW, [np.arange(len(table))]))
    for setting in _SETTINGS:
        connection.execute(setting).fetchall()
    with _explained(rows, where):
        connection.execute(f"select {ROW} from videos where {condition} limit 0").fetchall()
        probe = connection.execute(f"select {condition} from videos limit 0")
        kind = probe.description[0][1]
        probe.fetchall()
    if kind != "BOOLEAN":
        raise ArgumentError(
            f"the query {where!r} is no condition: it gives {kind}, not true or false; compare it "
            "with something, as in height >= 720"
        )
    return condition


def _expression(connection: duckdb.DuckDBPyConnection, text: str) -> tuple[str, set[str]]:
    """One expression in parentheses, and the names in it in lower case; `_ALL` for all columns.

    It is parsed as the only element of a SELECT: what else DuckDB finds there is not part of one
    expression, such as `true) from other where (true` or a second statement.

    Raises:
        ArgumentError: it is no expression, or reads another table.
    """
    enclosed = f"(\n{text}\n)"  # on lines of its own, so that a comment ends with it
    tree = _parse(connection, enclosed)
    plain = _parse(connection, "(true)")
    names: set[str] = set()
    if "error_message" in tree:
        raise ArgumentError(
            f"the query {text!r} is no SQL: {_in_line(tree['error_message'])}; {_WANTED}"
        )
    if tree["error"] or len(tree["statements"]) != 1:
        raise ArgumentError(f"the query {text!r} is no condition; {_WANTED}")
    node, empty = tree["statements"][0]["node"], plain["statements"][0]["node"]
    chosen = node.pop("select_list", [])
    empty.pop("select_list")
    is_one = len(chosen) == 1 and not chosen[0]["alias"] and bool(text.strip())
    if not is_one or chosen[0].get("subquery_type") == "SCALAR" or node != empty:
        raise ArgumentError(f"the query {text!r} is no condition alone; {_WANTED}")
    other = _collect(chosen[0], names)
    if other:
        raise ArgumentError(f"the query {text!r} reads {other}; it may read no table but `videos`")
    return enclosed, names


def _parse(connection: duckdb.DuckDBPyConnection, enclosed: str) -> Any:
    import duckdb

    try:
        query = [f"select {enclosed}"]
        found = connection.execute("select json_serialize_sql(?)", query).fetchall()
        return json.loads(found[0][0])
    except RecursionError as error:
        raise ArgumentError("the query is nested too deeply; simplify it") from error
    except duckdb.Error as error:
        raise ArgumentError(f"the query is no SQL: {_in_line(str(error))}; {_WANTED}") from error


def _collect(tree: Any, names: set[str]) -> str:
    """Add the names of columns in a parsed expression.

    Returns:
        What it reads besides the videos, "" for nothing.
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            if node.get("class") == "STAR":
                names.add(_ALL)
            names.update(name.lower() for name in node.get("column_names") or ())
            read = [node["from_table"]] if "from_table" in node else []
            if node.get("type") == "JOIN":
                read = [node["left"], node["right"]]
            other = next(filter(None, map(_other_table, read)), "")
            if node.get("type") == "RECURSIVE_CTE_NODE" or (node.get("cte_map") or {}).get("map"):
                other = "a table of its own (WITH)"
            if other:
                return other
            waiting += node.values()
    return ""


def _other_table(table: dict[str, Any]) -> str:
    """The file or table in a part of FROM that is neither `videos`, a join nor a subquery."""
    match table["type"]:
        case "BASE_TABLE":
            is_own = table["table_name"].lower() == "videos" and not table["schema_name"]
            return "" if is_own else f"the table {table['table_name']!r}"
        case "TABLE_FUNCTION":
            return f"the table function {table['function'].get('function_name')!r}"
        case "EMPTY" | "JOIN" | "SUBQUERY":
            return ""
        case kind:
            return f"a table of the kind {kind}"


@contextmanager
def _explained(rows: Rows, text: str) -> Iterator[None]:
    """Errors of DuckDB as ours."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException as error:
        reason = _in_line(str(error).partition("\n")[0])
        raise ArgumentError(
            f"the query {text!r:.200} takes more memory than it may: {reason}; simplify it"
        ) from error
    except duckdb.Error as error:
        # Without the place in our own query, and names of the few columns that it was given.
        reason = _in_line(re.split("\n\nLINE|\nCandidate", str(error))[0])
        names = rows.column_names
        words = set(re.findall(r"[a-z_]\w*", text.lower())) - {*names}
        hint = _quoted(text, reason) or did_you_mean(names, *sorted(words), most=1)
        raise ArgumentError(
            f"the query {text!r} does not apply: {reason}; {hint}{' ' * bool(hint)}columns are "
            f"{', '.join(names)}"
        ) from error


def _quoted(text: str, reason: str) -> str:
    """Advice where a text stands without single quotes, so that SQL takes it as a column."""
    missing = re.search(r'Referenced column "(\w+)" not found', reason)
    if missing is None:
        return ""
    word = missing[1]
    found = re.search(rf'(\w+\s*(?:=|<>|!=|\blike\b)\s*)["\s]*{word}\b', text, re.IGNORECASE)
    return "" if found is None else f"quote texts: {found[1]}'{word}';"


def _in_line(message: str) -> str:
    return " ".join(message.split())
