"""Random access to the rows of a data set index, shared by all processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, FormatError, SourceError
from videoloader.indexing.dataset.arrow import as_array
from videoloader.indexing.dataset.cache import open_cache, reading, resolve_root
from videoloader.indexing.dataset.rows import as_error, text_at
from videoloader.indexing.dataset.skipped import Skipped, stored_skipped
from videoloader.indexing.dataset.tables import check_columns
from videoloader.indexing.index import VideoIndex, decode_index
from videoloader.machinery.system.address import escaped, is_url, local_path, shown
from videoloader.machinery.system.checks import whole_number
from videoloader.machinery.system.closing import Closing
from videoloader.machinery.views import rows_table
from videoloader.sources.items import Item, as_root
from videoloader.sources.source import Check, Source, as_check

if TYPE_CHECKING:
    import pyarrow as pa

Sign: TypeAlias = Callable[[str], str]
"""Maps a stored URL, which has no user, password and query, to the URL to fetch."""

_ROWS = 1 << 16  # rows read at once
_SHOWN = 10  # rows in a notebook
_ERRORS = ["key", "path", "member", "error_kind", "error"]


class StoredRows(Closing):
    """The rows of a data set index file; see `DatasetIndex`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        root: str | os.PathLike[str] | None = None,
        check: Check = "size",
        sign: Sign | None = None,
    ) -> None:
        place = local_path(os.fspath(path))
        if is_url(place):
            reason = "a data set index is a file on this machine; download it and pass its path"
            raise SourceError(f"{shown(place)}: {reason}")
        self.path = Path(place).absolute()
        self.check: Check = as_check(check)
        self._given = None if root is None else as_root(root)
        self._sign = sign
        self._open()

    def _open(self) -> None:
        self._cache = open_cache(self.path)
        stored = resolve_root(self._cache.root, self.path)
        if self._given is not None and stored is None:
            self._cache.close()
            raise ArgumentError(
                f"{self.path}: its paths are absolute, root= cannot move them; index the videos "
                "of one folder, or of several with index_dataset(root=...)"
            )
        self.root = self._given or stored
        # Number of videos before each failure; a short array even for many videos.
        self.videos_before = self.failed - np.arange(len(self.failed))

    def __len__(self) -> int:
        return self._cache.count

    @overload
    def __getitem__(self, row: int) -> VideoIndex: ...
    @overload
    def __getitem__(self, row: str) -> pa.ChunkedArray: ...
    def __getitem__(self, row: int | str) -> VideoIndex | pa.ChunkedArray:
        """The index of a video; or by the name of a column its values, one a row of the file.

        Raises:
            VideoError: the row is a failure; the recorded error is raised.
            ArgumentError: there is no such column.
            IndexError: there is no such row.
        """
        if isinstance(row, str):
            return self.columns([row])[row]
        place, data = self._record(row)
        if "error" in place:
            item = self._item(place)
            text = escaped(text_at(place["error"], _stored(place), item))
            names_item = text and item.name in text
            text = text if names_item else f"{item.name}: {text or 'failed'}"
            raise as_error(place["kind"], text)
        try:
            index = decode_index(data)
        except FormatError as error:
            raise self._cache.damaged(str(error)) from error
        if self.root is None and self.check == "size":
            return index
        is_moved = self.root is not None and not place["member"]
        name = self._item(place).name if is_moved else index.name
        return replace(index, name=name, checks=self.check)

    def __iter__(self) -> Iterator[VideoIndex]:
        return (self[row] for row in range(len(self)))

    def item(self, row: int) -> Item:
        """Location of a video."""
        return self._item(self._record(row)[0])

    def source(self, row: int) -> Source:
        """The bytes of a video: `Video(dataset.source(i), index=dataset[i])`."""
        return self.item(row).open()

    def key(self, row: int) -> str:
        """The key of a video, see `keys`."""
        return _stored(self._record(row)[0]).key

    @property
    def failed(self) -> NDArray[np.int64]:
        """Failed rows, ascending."""
        return self._cache.failed

    @property
    def keys(self) -> list[str]:
        """Key of each row, for joins with labels and other tables.

        It is the path, or for an archive its path, a slash and the name of the member. With a
        root it is relative to that, and does not change when the data is moved.
        """
        keys: list[str] = self.columns(["key"])["key"].to_pylist()
        return keys

    @property
    def table(self) -> pa.Table:
        """All columns but the indexes; row i is `dataset[i]`."""
        return self.columns()

    @property
    def errors(self) -> pa.Table:
        """Row, key, path, member, kind and text of every error."""
        import pyarrow as pa

        rows = as_array(self.failed, pa.int64())
        return self.columns(_ERRORS).take(rows).add_column(0, "row", rows)

    @property
    def skipped(self) -> Skipped:
        """Files and folders that the listing of the sources passed over: (path, reason) each.

        Such are compressed archives, links that lead nowhere, folders that may not be read, and
        files without the ending of a video. Of each reason at most 1,000 are named; all are in
        `skipped.counts`. Files that are taken for videos and are none are in `errors` instead. What
        was chosen from a data set and written anew has none.
        """
        return stored_skipped(self.path)

    @property
    def column_names(self) -> list[str]:
        """Names of all columns but the indexes: ours, then joined and written ones."""
        import pyarrow.parquet as pq

        from videoloader.indexing.dataset.rows import schema

        with reading(self.path):
            stored = pq.read_schema(self.path).names
        return [name for name in dict.fromkeys([*schema().names, *stored]) if name != "index"]

    def columns(self, wanted: list[str] | None = None) -> pa.Table:
        """Some columns, all but the indexes by default; row i is `dataset[i]`.

        Only these are read. Columns that an older file lacks are null, but for `key`.

        Raises:
            ArgumentError: there is no such column.
        """
        import pyarrow.parquet as pq

        from videoloader.indexing.dataset.rows import completed

        names = self.column_names if wanted is None else wanted
        check_columns([*self.column_names, "index"], names, str(self.path))
        with reading(self.path), pq.ParquetFile(self.path, page_checksum_verification=True) as file:
            self._cache.check_rows(file.metadata.num_rows)
            missing = {*names} - {*file.schema_arrow.names}  # in an older file
            if missing:
                stored = ({*names} - missing) | {"path", "member"}
                return completed(_checked(file.read(sorted(stored)))).select(names)
            return _checked(file.read(names)).select(names)

    def numbers(self, wanted: list[str]) -> dict[str, NDArray[Any]]:
        """Some numeric columns as arrays, 0 for missing values; read in parts."""
        import pyarrow.parquet as pq

        from videoloader.indexing.dataset.rows import schema

        arrays = {
            name: np.zeros(len(self), schema().field(name).type.to_pandas_dtype())
            for name in wanted
        }
        with reading(self.path), pq.ParquetFile(self.path, page_checksum_verification=True) as file:
            self._cache.check_rows(file.metadata.num_rows)
            first = 0
            for batch in file.iter_batches(batch_size=_ROWS, columns=wanted, use_threads=False):
                for name, array in arrays.items():
                    values = batch.column(name).fill_null(0)
                    array[first : first + len(batch)] = values.to_numpy(zero_copy_only=False)
                first += len(batch)
        return arrays

    def opened(self, path: str | os.PathLike[str]) -> Self:
        """Another file, opened with the same root, check and sign."""
        return type(self)(path, root=self._given, check=self.check, sign=self._sign)

    def without_sign(self) -> Self:
        """The data set without its `sign`, which may not pickle, for jobs."""
        return type(self)(self.path, root=self._given, check=self.check)

    def close(self) -> None:
        """Close the file."""
        self._cache.close()

    def __getstate__(self) -> dict[str, Any]:
        names = ("path", "check", "_given", "_sign")
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def _repr_html_(self) -> str:
        """HTML for notebooks: the first rows."""
        names = ["key", "codec", "width", "height", "num_frames", "fps", "duration", "error"]
        rows = self.columns(names).slice(0, _SHOWN).to_pylist()
        more = len(self) - len(rows)
        return rows_table(names, rows, repr(self) + (f", the first {len(rows)}" if more else ""))

    def __repr__(self) -> str:
        failures = f", {len(self.failed)} failures" if len(self.failed) else ""
        return f"<DatasetIndex {self.path.name}: {len(self) - len(self.failed)} videos{failures}>"

    def _record(self, row: int) -> tuple[dict[str, Any], bytes]:
        row = whole_number("row", row, least=None)
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of a data set of {len(self)} rows")
        return self._cache.record(row % len(self))

    def _item(self, place: dict[str, Any]) -> Item:
        try:
            item = _stored(place).under(self.root)
        except FormatError as error:
            raise FormatError(f"{self.path}: {error}") from error
        if self._sign is None or not is_url(local_path(item.path)):
            return item
        return replace(item, signed=self._sign(item.path))


def _checked(table: pa.Table) -> pa.Table:
    """The table, whose texts were found to be text; Parquet files may hold any bytes.

    Raises:
        ArrowInvalid: one is not.
    """
    table.validate(full=True)
    return table


def _stored(place: dict[str, Any]) -> Item:
    """Location of a video as stored: relative to the root if there is one."""
    return Item(place["path"], place["member"], place["offset"], place["size"])


class KnownUrls:
    """A `Sign` with the URLs of one job; other URLs are unchanged."""

    def __init__(self, signed: dict[str, str]) -> None:
        self._signed = signed

    def __call__(self, url: str) -> str:
        """The URL to fetch."""
        return self._signed.get(url, url)
