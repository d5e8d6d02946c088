"""Values of the rows of a table that no column has: functions of a row, formats of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, Any, TypeAlias

from videoloader.errors import ArgumentError
from videoloader.indexing.dataset.tables import check_columns

if TYPE_CHECKING:
    import pyarrow as pa

RowFunction: TypeAlias = Callable[[dict[str, Any]], Any]

_AT_ONCE = 1 << 13  # rows that are made into dictionaries together


def of_rows(function: RowFunction, table: pa.Table, what: str) -> list[Any]:
    """What a user's function gives for each row.

    Args:
        function: is called with a dictionary of the columns.
        table: that has the rows.
        what: for messages.

    Raises:
        ArgumentError: the function fails.
    """
    values: list[Any] = []
    for batch in table.to_batches(max_chunksize=_AT_ONCE):
        for row in batch.to_pylist():
            try:
                values.append(function(row))
            except Exception as error:
                kind = type(error).__name__
                text = f"{what} failed for row {len(values)}, {kind}: {error}"
                raise ArgumentError(text) from error
    return values


@dataclass(frozen=True, slots=True)
class NameFormat:
    """A name that is made of columns, such as `{youtube_id}_{time_start:06d}.mp4`.

    Attributes:
        text: of the format.
        parts: text before a column, the column if one follows, and how its value is written.
    """

    text: str
    parts: tuple[tuple[str, str | None, str], ...]

    @classmethod
    def of(cls, text: str, known: Sequence[str], name: str) -> NameFormat:
        """A format, as a user gave it.

        Args:
            text: fields in braces are names of columns, also such as have dots and slashes.
            known: names of columns.
            name: of the table, for messages.

        Raises:
            ArgumentError: there is no such column, or the text is no format.
        """
        try:
            parts = [*Formatter().parse(text)]
        except ValueError as error:
            raise ArgumentError(f"video={text!r} is no format of columns: {error}") from None
        for _, column, _, conversion in parts:
            if column == "" or conversion:
                example = "'{youtube_id}_{time_start:06d}.mp4'"
                raise ArgumentError(f"video={text!r} is no format of columns, such as {example}")
            check_columns(known, [] if column is None else [column], name)
        return cls(text, tuple((before, column, spec or "") for before, column, spec, _ in parts))

    @property
    def texts(self) -> list[str]:
        """The columns whose values are written as they are."""
        return [column for _, column, spec in self.parts if column is not None and not spec]

    def fill(self, table: pa.Table, name: str) -> list[str | None]:
        """The name of each row; None where a column has no value.

        Raises:
            ArgumentError: a value cannot be written so.
        """
        columns = {column for _, column, _ in self.parts if column is not None}
        return of_rows(self._of, table.select(sorted(columns)), f"{name}: video={self.text!r}")

    def _of(self, row: dict[str, Any]) -> str | None:
        if None in row.values():
            return None
        return "".join(
            before + ("" if column is None else _written(row[column], spec))
            for before, column, spec in self.parts
        )


def _written(value: Any, spec: str) -> str:
    """A value, as a format has it; whole numbers may be floats, as pandas makes them."""
    is_whole = spec.endswith("d") and isinstance(value, float) and value.is_integer()
    return format(int(value) if is_whole else value, spec)
