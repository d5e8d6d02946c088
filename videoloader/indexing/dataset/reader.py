"""`DatasetIndex`: the index of any video of a data set, at once and shared by all processes.

A Parquet file is read by the column, not by the row. So the indexes lie once more in a file beside
it, one behind the other; it is mapped into memory, of which all processes share one copy.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from videoloader.errors import FormatError, SourceError
from videoloader.indexing.dataset.sources import Item
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.source import Source
from videoloader.indexing.storage import decode_index

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DatasetIndex", "open_dataset"]

_MAGIC = b"VLCACHE1"
_HEAD = struct.Struct("<8sQQQ")  # magic, size and time of the Parquet file, number of videos
_LENGTH = struct.Struct("<I")


class DatasetIndex:
    """The videos of a data set that can be read, in the order of its file.

    Opening takes milliseconds however many videos there are, an index of one of them some tens of
    microseconds. Pickles as its path, so workers open it for themselves and share the memory.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._open()

    def _open(self) -> None:
        try:
            state = self.path.stat()
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror}") from error
        cache = self.path.with_name(f"{self.path.name}.cache")
        if not _fits(cache, state):
            _make_cache(self.path, cache, state)
        with open(cache, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        count = _HEAD.unpack_from(self._map)[3]
        self._ends = np.frombuffer(self._map, dtype="<u8", count=count + 1, offset=_HEAD.size)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, video: int) -> VideoIndex:
        """The index of a video."""
        return decode_index(self._record(video)[1])

    def item(self, video: int) -> Item:
        """Where a video is."""
        return Item(**json.loads(self._record(video)[0]))

    def source(self, video: int) -> Source:
        """The bytes of a video: `Video(dataset.source(i), index=dataset[i])`."""
        return self.item(video).open()

    @property
    def table(self) -> pa.Table:
        """All columns but the indexes, of all videos, those with errors too."""
        import pyarrow.parquet as pq

        names = [name for name in pq.read_schema(self.path).names if name != "index"]
        return pq.read_table(self.path, columns=names)

    @property
    def errors(self) -> pa.Table:
        """Path, member and error of every video that cannot be read."""
        import pyarrow.compute as pc

        table = self.table.select(["path", "member", "error"])
        return table.filter(pc.is_valid(table["error"]))

    def close(self) -> None:
        """Let go of the file."""
        self._ends = np.zeros(1, dtype="<u8")
        self._map.close()

    def __enter__(self) -> DatasetIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path = state["path"]
        self._open()

    def __repr__(self) -> str:
        return f"<DatasetIndex {self.path.name}: {len(self)} videos>"

    def _record(self, video: int) -> tuple[bytes, bytes]:
        """Place, as JSON, and index of a video, as bytes."""
        if not -len(self) <= video < len(self):
            raise IndexError(f"video {video} of a data set of {len(self)}")
        video %= len(self)
        begin, end = int(self._ends[video]), int(self._ends[video + 1])
        data = self._map[begin:end]
        (length,) = _LENGTH.unpack_from(data)
        return data[_LENGTH.size : _LENGTH.size + length], data[_LENGTH.size + length :]


def open_dataset(path: str | os.PathLike[str]) -> DatasetIndex:
    """Open what `index_dataset` wrote.

    The first opening of a new file makes the cache beside it; if several processes do so at once,
    one of the equal caches stays.

    Raises:
        SourceError: there is no such file, or no cache can be written beside it.
        FormatError: it is no data set index.
    """
    return DatasetIndex(path)


def _fits(cache: Path, state: os.stat_result) -> bool:
    try:
        with open(cache, "rb") as file:
            head = file.read(_HEAD.size)
    except OSError:
        return False
    if len(head) != _HEAD.size:
        return False
    return _HEAD.unpack(head)[:3] == (_MAGIC, state.st_size, state.st_mtime_ns)


def _make_cache(path: Path, cache: Path, state: os.stat_result) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    partial = cache.with_name(f"{cache.name}.{os.getpid()}.partial")
    columns = ["path", "member", "offset", "size", "index"]
    try:
        with pq.ParquetFile(path) as file, open(partial, "wb") as out:
            if not set(columns) <= set(file.schema_arrow.names):
                raise FormatError(f"{path}: no data set index of videoloader")
            lengths: list[int] = []
            body = partial.with_suffix(".body")
            with open(body, "w+b") as records:
                for batch in file.iter_batches(batch_size=1024, columns=columns):
                    good = (row for row in batch.to_pylist() if row["index"] is not None)
                    lengths.extend(records.write(_encode(row)) for row in good)
                count = len(lengths)
                begin = _HEAD.size + 8 * (count + 1)
                ends = begin + np.cumsum([0, *lengths], dtype="<u8")
                out.write(_HEAD.pack(_MAGIC, state.st_size, state.st_mtime_ns, count))
                out.write(ends.astype("<u8").tobytes())
                records.seek(0)
                while chunk := records.read(1 << 20):
                    out.write(chunk)
            body.unlink()
        partial.replace(cache)
    except pa.ArrowException as error:
        raise FormatError(f"{path}: no data set index of videoloader ({error})") from error
    except OSError as error:
        raise SourceError(f"{cache}: cannot be written ({error.strerror or error})") from error
    finally:
        partial.unlink(missing_ok=True)
        partial.with_suffix(".body").unlink(missing_ok=True)


def _encode(row: dict[str, Any]) -> bytes:
    size = row["size"] if row["member"] else -1
    place = {"path": row["path"], "member": row["member"], "offset": row["offset"], "size": size}
    text = json.dumps(place, separators=(",", ":")).encode()
    return _LENGTH.pack(len(text)) + text + bytes(row["index"])
