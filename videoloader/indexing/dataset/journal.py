"""Rows on their way into a data set index: an append-only file that survives being killed."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from videoloader.indexing.dataset.rows import Row
from videoloader.indexing.dataset.sources import Item

__all__ = ["Journal"]

_FRAME = struct.Struct("<II")  # bytes of a row, their checksum


class Journal:
    """Rows by the video that they belong to, the last one of each; on disk, one behind the other.

    A row that was cut short, as happens to a killed process, ends the file: it and what follows
    is dropped when the journal is opened again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[Item, tuple[int, int]] = {}
        self._file = open(path, "a+b")  # noqa: SIM115  (closed by close)
        end = 0
        for item, begin, size in self._scan():
            self._places[item] = (begin, size)
            end = begin + size
        self._file.truncate(end)
        self._file.seek(0, os.SEEK_END)

    def add(self, row: Row) -> None:
        """Append a row; it is in the file when this returns."""
        data = row.encode()
        self._file.write(_FRAME.pack(len(data), zlib.crc32(data)) + data)
        self._file.flush()
        end = self._file.tell()
        self._places[row.item] = (end - len(data), len(data))

    def get(self, item: Item) -> Row | None:
        """The row of a video."""
        if item not in self._places:
            return None
        begin, size = self._places[item]
        return Row.decode(os.pread(self._file.fileno(), size, begin))

    def close(self) -> None:
        """Close the file, which stays."""
        self._file.close()

    def remove(self) -> None:
        """Close the file and delete it."""
        self.close()
        self.path.unlink(missing_ok=True)

    def _scan(self) -> Iterator[tuple[Item, int, int]]:
        """Video, place and size of every sound row from the beginning."""
        self._file.seek(0)
        position = 0
        while len(frame := self._file.read(_FRAME.size)) == _FRAME.size:
            size, checksum = _FRAME.unpack(frame)
            data = self._file.read(size)
            if len(data) != size or zlib.crc32(data) != checksum:
                return
            yield Row.decode(data).item, position + _FRAME.size, size
            position += _FRAME.size + size
