"""The cache of a data set index: random access to rows.

Parquet stores columns, so reading one row is slow. The cache file next to it stores the rows one
after the other. Reads go through the page cache, which all processes share. The file is not
memory-mapped, since another process may replace or truncate it. Where everybody may write, a cache
of another user is not read: it says which files are opened.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import weakref
import zlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, FormatError, SourceError, VideoError
from videoloader.indexing.dataset.rows import LONGEST_TEXT, check_schema, is_stored
from videoloader.machinery.system.address import is_url
from videoloader.machinery.system.faults import raise_shortage, unreadable
from videoloader.machinery.system.folders import check_owner, make_own, open_regular
from videoloader.machinery.system.writing import written, written_whole

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"VLCACHE3"
_STATE = struct.Struct("<8sQQ")  # magic, size and modification time of the Parquet file
_HEAD = struct.Struct("<8sQQQQII")  # the same; rows, failed rows, bytes of the root, check sum
_PLACE = struct.Struct("<II")  # bytes of the place of a video, their check sum
_RANGE = struct.Struct("<QQ")
_OF_VIDEO = {"path": str, "member": str, "offset": int, "size": int}
_OF_FAILURE = {"error": str, "kind": str}
_BATCH = 1024  # rows read at once
FREE_BYTES, RATIO = 1 << 28, 256  # values may take so many bytes, and more in a larger file
AT_ONCE = 1 << 30  # bytes of the indexes that are read at once, at most
_OF_TEXT = ("key", "path", "member", "error", "error_kind")
_COLUMNS = ["path", "member", "offset", "size", "error", "error_kind", "index"]


INDEX_FIRST = "index the videos first (index_dataset, `videoloader index VIDEOS -o set.parquet`)"


class Cache:
    """An open cache file.

    Layout: head, offset of each record and end of the last, numbers of the failed rows, root,
    records. A record is JSON (path of the video, or error of a failed row), then the index.

    Attributes:
        count: rows.
        failed: failed rows, ascending.
        root: root as stored, None if paths are absolute.
    """

    def __init__(self, file: int, name: str) -> None:
        self._file = file
        self._name = name
        self._let_go = weakref.finalize(self, os.close, file)
        head: tuple[int, ...] = _HEAD.unpack(self._read(0, _HEAD.size))[3:]
        self.count, failures, size, checksum = head
        facts = self._read(_HEAD.size + 8 * (self.count + 1), 8 * failures + size)
        if zlib.crc32(facts) != checksum:
            raise self.damaged("the check sum of its failed rows is wrong")
        self.failed: NDArray[np.int64] = np.frombuffer(facts[: 8 * failures], "<i8")
        bordered = np.concatenate(([-1], self.failed, [self.count]))
        if not (bordered[1:] > bordered[:-1]).all():
            raise self.damaged("its failed rows are not ascending, or rows that it does not have")
        try:
            self.root = facts[8 * failures :].decode() or None
        except UnicodeDecodeError as error:
            raise self.damaged("its root is no text") from error

    def record(self, row: int) -> tuple[dict[str, Any], bytes]:
        """Place (with the error of a failure) and stored index of a row.

        Raises:
            FormatError: the cache is damaged.
        """
        begin, end = _RANGE.unpack(self._read(_HEAD.size + 8 * row, _RANGE.size))
        data = self._read(begin, end - begin)
        if len(data) < _PLACE.size:
            raise self.damaged("a record is too short")
        length, checksum = _PLACE.unpack_from(data)
        place = data[_PLACE.size : _PLACE.size + length]
        if zlib.crc32(place) != checksum:
            raise self.damaged("a check sum is not that of what is there")
        return self._place(place), data[_PLACE.size + length :]

    def check_rows(self, count: int) -> None:
        """Check that it has as many rows as its data set index, unless it was closed.

        Raises:
            FormatError: it has others.
        """
        if self._let_go.alive and count != self.count:
            raise self.damaged(f"it has {self.count} rows, its data set index {count}")

    def _place(self, text: bytes) -> dict[str, Any]:
        try:
            place = json.loads(text)
            kinds = {name: type(value) for name, value in place.items()}
        except (AttributeError, ValueError, RecursionError):
            kinds = {}
        is_place = kinds in (_OF_VIDEO, _OF_VIDEO | _OF_FAILURE)
        if not is_place or not all(is_stored(place[n]) for n in kinds if kinds[n] is str):
            raise self.damaged(f"{text!r:.80} is no place of a video")
        return dict(place)

    def _read(self, offset: int, size: int) -> bytes:
        try:
            most = os.fstat(self._file).st_size  # bounds the allocation
            data = os.pread(self._file, min(size, most), offset)
        except (OSError, OverflowError, ValueError) as error:
            raise self.damaged(f"{size} bytes at {offset} cannot be read: {error}") from error
        if len(data) != size:
            raise self.damaged("it ends too early")
        return data

    def damaged(self, reason: str) -> FormatError:
        """The error for a damaged cache."""
        return FormatError(
            f"{self._name}: damaged ({reason}); delete it, and it is made again; if that does not "
            "help, index the videos again"
        )

    def close(self) -> None:
        """Let go of the file."""
        self.count = 0
        self._let_go()


def open_cache(path: Path) -> Cache:
    """Open the cache of a Parquet file; create it if it is missing or out of date.

    The cache is next to the file. If that folder is not writable, it is in the user's cache
    folder; if that is not writable either, in memory, for this process and its forks.

    Raises:
        SourceError: there is no such Parquet file, or no cache can be written.
        FormatError: the file is not a data set index.
    """
    try:
        state = path.stat()
    except OSError as error:
        raise unreadable(str(path), error) from None
    if path.is_dir():
        raise SourceError(f"{path}: is a folder, no data set index; {INDEX_FIRST}")
    of = (_MAGIC, state.st_size, state.st_mtime_ns)
    beside = path.with_name(f"{path.name}.cache")
    if _fits(beside, of):
        return _opened(beside)
    elsewhere = _in_user_folder(path)
    if _fits(elsewhere, of):
        return _opened(elsewhere)
    problem = ""  # as text: an exception would keep the caller's objects alive
    for place in (beside, elsewhere):
        try:
            if place == elsewhere:
                make_own(place.parent)
            with written_whole(place) as partial, open(partial, "wb") as out:
                _write(out, path, of, folder=place.parent)
        except SourceError as error:
            problem = problem or str(error)
        else:
            return _opened(place)
    return _in_memory(path, of, problem)


def _opened(place: Path) -> Cache:
    try:
        with open_regular(place) as file:
            return Cache(os.dup(file.fileno()), str(place))
    except OSError as error:
        raise unreadable(str(place), error) from None


def _in_user_folder(path: Path) -> Path:
    """Path of the cache in the user's cache folder, for a file on a read-only mount."""
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    name = hashlib.blake2b(os.fsencode(path), digest_size=16).hexdigest()
    return Path(folder, "videoloader", f"{name}.cache")


def _in_memory(path: Path, of: tuple[bytes, int, int], problem: str) -> Cache:
    try:
        file = os.memfd_create(f"{path.name}.cache")
    except OSError as error:
        raise unreadable(str(path), error) from None
    try:
        with written(path), open(file, "wb", closefd=False) as out:
            _write(out, path, of, folder=None)
    except SourceError as error:
        os.close(file)
        raise SourceError(problem or str(error)) from error
    return Cache(file, f"the cache of {path}")


def _fits(cache: Path, of: tuple[bytes, int, int]) -> bool:
    """Whether a cache belongs to this Parquet file and is complete."""
    try:
        check_owner(cache)
        with open_regular(cache) as file:
            head = file.read(_HEAD.size)
            if len(head) != _HEAD.size:
                return False
            count = _HEAD.unpack(head)[3]
            end = os.pread(file.fileno(), 8, _HEAD.size + 8 * count)
            size = os.stat(file.fileno()).st_size
    except (OSError, OverflowError) as error:
        raise_shortage(error, cache)
        return False
    is_whole = int.from_bytes(end, "little") == size > 0
    return is_whole and _STATE.unpack_from(head) == of


def _write(out: BinaryIO, path: Path, of: tuple[bytes, int, int], *, folder: Path | None) -> None:
    """Write a cache; temporary data is in `folder`, or in memory."""
    spare = os.memfd_create("records") if folder is None else None
    with TemporaryFile(dir=folder) if spare is None else open(spare, "w+b") as records:
        lengths, failed = array("q", [0]), []
        for row, (record, is_failed) in enumerate(_records(path)):
            lengths.append(records.write(record))
            if is_failed:
                failed.append(row)
        root = (read_root(path, resolved=False) or "").encode()
        facts = np.array(failed, dtype="<i8").tobytes() + root
        begin = _HEAD.size + 8 * len(lengths) + len(facts)
        ends = begin + np.cumsum(lengths, dtype=np.int64)
        records.seek(0)
        out.write(_HEAD.pack(*of, len(lengths) - 1, len(failed), len(root), zlib.crc32(facts)))
        out.write(ends.astype("<u8").tobytes() + facts)
        shutil.copyfileobj(records, out, 1 << 20)


def _records(path: Path) -> Iterator[tuple[bytes, bool]]:
    """Every row, and whether it is a failure."""
    for batch in read_batches(path, _COLUMNS):
        yield from ((_encode(row), row["index"] is None) for row in batch.to_pylist())


def read_batches(path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a data set index, failures included; a part of the file is read at a time.

    Args:
        path: of the index.
        columns: that are read, if the file has them; all by default.

    Raises:
        FormatError: the file is not a data set index, or is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(path), pq.ParquetFile(path) as file:
        kept, metadata = file.schema_arrow, file.metadata
    check_schema(kept, path)
    names = [name for name in kept.names if columns is None or name in columns]
    texts = [name for name in names if pa.types.is_string(kept.field(name).type)]
    left = FREE_BYTES + RATIO * path.stat().st_size
    with (
        reading(path),
        pq.ParquetFile(
            path,
            metadata=metadata,
            read_dictionary=texts,  # else a value that is stored once is copied for each row
            page_checksum_verification=True,
            pre_buffer=False,  # else all of it is in memory
        ) as file,
    ):
        wanted = pa.schema([kept.field(name) for name in names], kept.metadata)
        for batch in file.iter_batches(batch_size=_rows_at_once(metadata), columns=names):
            left -= sum(
                _expanded(column, name) if name in texts else column.nbytes
                for name, column in zip(names, batch.columns, strict=True)
            )
            if left < 0:
                raise ValueError("its values take far more bytes than the file")
            columns_of = zip(batch.columns, wanted, strict=True)
            plain = [column.cast(field.type) for column, field in columns_of]
            yield pa.RecordBatch.from_arrays(plain, schema=wanted)


def _rows_at_once(metadata: Any) -> int:
    """Rows to read, few where the same large index may be stored once for all of them.

    What damaged metadata says of single columns ends the process in pyarrow, so it is not asked.
    """
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    largest = max((group.total_byte_size for group in groups), default=0)
    return min(max(AT_ONCE // max(largest, 1), 1), _BATCH)


def _expanded(column: pa.Array, name: str) -> int:
    """Bytes of the values of a column that was read as a dictionary.

    Raises:
        ValueError: one is longer than any that is written, or no text.
    """
    import pyarrow.compute as pc

    column.validate(full=True)  # of text that is none, too
    lengths = pc.binary_length(column.dictionary)
    longest = pc.max(lengths).as_py() or 0
    if name in _OF_TEXT and longest > LONGEST_TEXT:
        raise ValueError(f"a {name} has {longest} bytes")
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def _encode(row: dict[str, Any]) -> bytes:
    size = row["size"] if row["member"] else -1
    place = {"path": row["path"], "member": row["member"], "offset": row["offset"], "size": size}
    if row["index"] is None:
        place |= {"error": row["error"] or "", "kind": row.get("error_kind") or ""}
    text = json.dumps(place, separators=(",", ":")).encode()
    return _PLACE.pack(len(text), zlib.crc32(text)) + text + (row["index"] or b"")


def read_root(path: Path, *, resolved: bool = True) -> str | None:
    """The root that the paths of a data set index are relative to, None if they are absolute.

    Raises:
        FormatError: the file is not a data set index.
    """
    with reading(path):
        stored = read_metadata(path).get(b"root", b"").decode() or None
    return resolve_root(stored, path) if resolved else stored


def is_default_root(path: Path) -> bool:
    """Whether the user gave no root for a data set index."""
    metadata = read_metadata(path)
    return b"root" not in metadata or b"root_is_default" in metadata


def read_metadata(path: Path) -> dict[bytes, bytes]:
    """Facts that a data set index stores about itself.

    Raises:
        FormatError: the file is not a data set index.
    """
    import pyarrow.parquet as pq

    with reading(path), pq.ParquetFile(path) as file:
        check_schema(file.schema_arrow, path)
        return file.schema_arrow.metadata or {}


def resolve_root(stored: str | None, path: Path) -> str | None:
    """The full path of a root that is stored relative to the folder of the data set index."""
    if stored is None or is_url(stored):
        return stored
    return os.path.normpath(os.path.join(path.absolute().parent, stored))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert errors of pyarrow while it reads a data set index to ours."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, VideoError) and not isinstance(error, ArgumentError):
            raise
        raise_shortage(error, path)
        reason = " ".join(str(error).split())
        advice = "" if path.suffix.lower() == ".parquet" else f"; {INDEX_FIRST}"
        raise FormatError(f"{path}: no data set index of videoloader ({reason}){advice}") from error
