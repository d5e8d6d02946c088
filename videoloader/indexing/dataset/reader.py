"""`DatasetIndex`: the index of any video of a data set, at once and shared by all processes.

A Parquet file is read by the column, not by the row. So the indexes lie once more in a file beside
it, one behind the other. What is read of it stays in the memory of the system, of which all
processes share one copy; it is not mapped, since another process may replace or truncate it.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from videoloader.errors import FormatError, SourceError, VideoError
from videoloader.indexing.address import is_url, local_path
from videoloader.indexing.dataset.rows import check_schema
from videoloader.indexing.dataset.sources import Item
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.source import Source
from videoloader.indexing.storage import decode_index
from videoloader.indexing.writing import written_whole

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DatasetIndex", "KnownUrls", "Sign", "open_dataset", "reading"]

Sign: TypeAlias = Callable[[str], str]
"""Gives the URL to fetch for a URL as it is stored: without user, password and query."""

_MAGIC = b"VLCACHE2"
_HEAD = struct.Struct("<8sQQQ")  # magic, size and time of the Parquet file, number of videos
_PLACE = struct.Struct("<II")  # bytes of the place of a video, their check sum
_RANGE = struct.Struct("<QQ")


class DatasetIndex:
    """The videos of a data set that can be read, in the order of its file.

    Opening takes milliseconds however many videos there are, an index of one of them some tens of
    microseconds. Pickles as its path, so workers open it for themselves and share the memory.
    """

    def __init__(self, path: str | os.PathLike[str], *, sign: Sign | None = None) -> None:
        self.path = Path(path).absolute()
        self._sign = sign
        self._open()

    def _open(self) -> None:
        try:
            state = self.path.stat()
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror}") from error
        self._cache = self.path.with_name(f"{self.path.name}.cache")
        if not _fits(self._cache, state):
            _make_cache(self.path, self._cache, state)
        try:
            self._file = os.open(self._cache, os.O_RDONLY | os.O_CLOEXEC)
            self._let_go = weakref.finalize(self, os.close, self._file)
            self._count: int = _HEAD.unpack(os.pread(self._file, _HEAD.size, 0))[3]
        except (OSError, struct.error) as error:
            raise SourceError(f"{self._cache}: cannot be read ({error}); try again") from error

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, video: int) -> VideoIndex:
        """The index of a video."""
        try:
            return decode_index(self._record(video)[1])
        except FormatError as error:
            raise self._damaged(str(error)) from error

    def item(self, video: int) -> Item:
        """Where a video is."""
        item = Item(**json.loads(self._record(video)[0]))
        if self._sign is None or not is_url(local_path(item.path)):
            return item
        return replace(item, signed=self._sign(item.path))

    def source(self, video: int) -> Source:
        """The bytes of a video: `Video(dataset.source(i), index=dataset[i])`."""
        return self.item(video).open()

    @property
    def table(self) -> pa.Table:
        """All columns but the indexes, of all videos, those with errors too."""
        return self._columns(lambda name: name != "index")

    @property
    def errors(self) -> pa.Table:
        """Path, member and error of every video that cannot be read."""
        import pyarrow.compute as pc

        table = self._columns({"path", "member", "error"}.__contains__)
        return table.filter(pc.is_valid(table["error"]))

    def _columns(self, is_wanted: Callable[[str], bool]) -> pa.Table:
        import pyarrow.parquet as pq

        with reading(self.path), pq.ParquetFile(self.path, page_checksum_verification=True) as file:
            return file.read([name for name in file.schema_arrow.names if is_wanted(name)])

    def close(self) -> None:
        """Let go of the file."""
        self._count = 0
        self._let_go()

    def __enter__(self) -> DatasetIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "sign": self._sign}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path, self._sign = state["path"], state["sign"]
        self._open()

    def __repr__(self) -> str:
        return f"<DatasetIndex {self.path.name}: {len(self)} videos>"

    def _record(self, video: int) -> tuple[bytes, bytes]:
        """Place, as JSON, and index of a video, as bytes."""
        if not -len(self) <= video < len(self):
            raise IndexError(f"video {video} of a data set of {len(self)}")
        video %= len(self)
        begin, end = _RANGE.unpack(self._read(_HEAD.size + 8 * video, _RANGE.size))
        data = self._read(begin, end - begin)
        if len(data) < _PLACE.size:
            raise self._damaged("a record is too short")
        length, checksum = _PLACE.unpack_from(data)
        place = data[_PLACE.size : _PLACE.size + length]
        if zlib.crc32(place) != checksum:
            raise self._damaged("a check sum is not that of what is there")
        return place, data[_PLACE.size + length :]

    def _read(self, offset: int, size: int) -> bytes:
        try:
            data = os.pread(self._file, size, offset)
        except (OSError, OverflowError, MemoryError, ValueError) as error:
            raise self._damaged(f"{size} bytes at {offset} cannot be read: {error}") from error
        if len(data) != size:
            raise self._damaged("it ends too early")
        return data

    def _damaged(self, reason: str) -> FormatError:
        return FormatError(
            f"{self._cache}: damaged ({reason}); delete it, and it is made again of {self.path}; "
            "if that does not help, index the videos again"
        )


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Errors of pyarrow while it reads a data set index as ours."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, VideoError):
            raise
        reason = " ".join(str(error).split())
        raise FormatError(f"{path}: no data set index of videoloader ({reason})") from error


class KnownUrls:
    """A `Sign` that knows the URLs of one job; others stay as they are."""

    def __init__(self, signed: dict[str, str]) -> None:
        self._signed = signed

    def __call__(self, url: str) -> str:
        """The URL to fetch."""
        return self._signed.get(url, url)


def open_dataset(path: str | os.PathLike[str], *, sign: Sign | None = None) -> DatasetIndex:
    """Open what `index_dataset` wrote.

    The first opening of a new file makes the cache beside it; if several processes do so at once,
    one of the equal caches stays.

    Args:
        path: the Parquet file.
        sign: called with the URL of a video, or of the archive that it is in, whenever it is to be
            opened; gives the URL to fetch, such as one that is signed anew. What that adds is not
            stored, since it may be secret. It pickles if the data set is to.

    Raises:
        SourceError: there is no such file, or no cache can be written beside it.
        FormatError: it is no data set index.
    """
    return DatasetIndex(path, sign=sign)


def _fits(cache: Path, state: os.stat_result) -> bool:
    """Whether a cache is of this Parquet file, and as long as it says."""
    try:
        with open(cache, "rb") as file:
            head = file.read(_HEAD.size)
            if len(head) != _HEAD.size:
                return False
            *of, count = _HEAD.unpack(head)
            end = os.pread(file.fileno(), 8, _HEAD.size + 8 * count)
            size = os.stat(file.fileno()).st_size
    except (OSError, OverflowError):
        return False
    is_whole = int.from_bytes(end, "little") == size > 0
    return is_whole and of == [_MAGIC, state.st_size, state.st_mtime_ns]


def _make_cache(path: Path, cache: Path, state: os.stat_result) -> None:
    with written_whole(cache) as partial, TemporaryFile(dir=cache.parent) as records:
        lengths = [records.write(record) for record in _records(path)]
        begin = _HEAD.size + 8 * (len(lengths) + 1)
        ends = begin + np.cumsum([0, *lengths], dtype="<u8")
        records.seek(0)
        with open(partial, "wb") as out:
            out.write(_HEAD.pack(_MAGIC, state.st_size, state.st_mtime_ns, len(lengths)))
            out.write(ends.astype("<u8").tobytes())
            shutil.copyfileobj(records, out, 1 << 20)


def _records(path: Path) -> Iterator[bytes]:
    """Place and index of every video that can be read."""
    import pyarrow.parquet as pq

    columns = ["path", "member", "offset", "size", "index"]
    with reading(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        check_schema(file.schema_arrow, path)
        for batch in file.iter_batches(batch_size=1024, columns=columns):
            yield from (_encode(row) for row in batch.to_pylist() if row["index"] is not None)


def _encode(row: dict[str, Any]) -> bytes:
    size = row["size"] if row["member"] else -1
    place = {"path": row["path"], "member": row["member"], "offset": row["offset"], "size": size}
    text = json.dumps(place, separators=(",", ":")).encode()
    return _PLACE.pack(len(text), zlib.crc32(text)) + text + bytes(row["index"])
