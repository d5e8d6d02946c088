"""Files of records, found by index files: TFRecord and RecordIO."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, FormatError
from videoloader.machinery.system.address import shown
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source

_MAGIC = 0xCED7230A  # of a part of a RecordIO record
_PART_SIZE = (1 << 29) - 1
_WHOLE, _FIRST, _LAST = 0, 1, 3  # the part of a record that a part is

_NUM_HEADER, _NUM_FOOTER = 12, 4  # bytes around the data of a TFRecord: length, two checksums


class StoredRecords:
    """Records by number: their files, and where they lie in them.

    Args:
        paths: of the files.
        places: for each file its records: (offset, size), shape (N, 2).
    """

    def __init__(self, paths: Sequence[str], places: Sequence[NDArray[np.int64]]) -> None:
        self._paths = paths
        self._places = np.concatenate(places)
        self.ends = np.cumsum([len(each) for each in places])
        """Where the records of each file end."""

    def __len__(self) -> int:
        return len(self._places)

    def name(self, number: int) -> str:
        """The file of a record and its place there."""
        return f"{shown(self._paths[self.file(number)])} at index {self._places[number, 0]}"

    def data(self, number: int) -> memoryview:
        """The bytes of a record, framing included."""
        offset, size = self._places[number].tolist()
        with open_source(self._paths[self.file(number)]) as source:
            return source.array(offset, size).data

    def file(self, number: int) -> int:
        """The number of its file."""
        return int(np.searchsorted(self.ends, number, side="right"))


def read_offsets(path: str) -> NDArray[np.int64]:
    """The two columns of integers of an index file.

    Raises:
        SourceError: the file cannot be read.
        FormatError: it is no such file.
    """
    with open_source(path) as source:
        text = source.read(0, source.size).decode(errors="replace")
    try:
        table = np.array([line.split() for line in text.splitlines() if line.strip()], np.int64)
        if table.ndim != 2 or table.shape[1] != 2 or (table < 0).any():
            raise ValueError("two integers a line are expected")
    except (ValueError, OverflowError) as error:
        raise FormatError(f"{shown(path)}: no index of records ({error})") from error
    return table


def tfrecord_payload(record: memoryview) -> memoryview:
    """The data of a TFRecord."""
    size = int.from_bytes(record[:8], "little")
    if size + _NUM_HEADER > len(record):
        raise FormatError(
            f"a record of {size} bytes in {len(record)}; the index belongs to another file, or it "
            "is damaged"
        )
    return record[_NUM_HEADER : _NUM_HEADER + size]


def recordio_payload(record: memoryview) -> memoryview:
    """The data of a RecordIO record, its parts joined; bytes after the record are ignored."""
    parts, at = [], 0
    while True:
        if at + 8 > len(record):
            raise FormatError("a record that ends in its middle")
        magic, packed = struct.unpack_from("<II", record, at)
        size, part = packed & _PART_SIZE, packed >> 29
        if magic != _MAGIC or at + 8 + size > len(record):
            raise FormatError("no RecordIO record; the index belongs to another file")
        parts.append(record[at + 8 : at + 8 + size])
        at += 8 + -(-size // 4) * 4
        if part in (_WHOLE, _LAST):
            break
    if len(parts) == 1:
        return parts[0]
    return memoryview(struct.pack("<I", _MAGIC).join(parts))  # it stood where the data was cut


def find_tfrecords(path: str) -> NDArray[np.int64]:
    """Where the records of a TFRecord file lie: (offset, size), shape (N, 2)."""

    def size_at(source: Source, at: int) -> int:
        size = int.from_bytes(source.read(at, 8), "little")
        return _NUM_HEADER + size + _NUM_FOOTER

    return _find(path, size_at)


def _find_recordio(path: str) -> NDArray[np.int64]:
    """Where the records of a RecordIO file lie: (offset, size), shape (N, 2)."""

    def size_at(source: Source, at: int) -> int:
        end = at
        while True:
            magic, packed = struct.unpack("<II", source.read(end, 8))
            if magic != _MAGIC:
                raise FormatError(f"{shown(path)}: no RecordIO record at byte {end}")
            end += 8 + -(-(packed & _PART_SIZE) // 4) * 4
            if packed >> 29 in (_WHOLE, _LAST):
                return int(end - at)

    return _find(path, size_at)


def write_tfrecord_index(path: str, index: str) -> int:
    """Write the index file of a TFRecord file; gives the number of records."""
    places = find_tfrecords(path)
    np.savetxt(index, places, "%d")
    return len(places)


def write_recordio_index(path: str, index: str) -> int:
    """Write the index file of a RecordIO file; gives the number of records."""
    starts = _find_recordio(path)[:, 0]
    np.savetxt(index, np.stack([np.arange(len(starts)), starts], axis=1), "%d", delimiter="\t")
    return len(starts)


def _find(path: str, size_at: Callable[[Source, int], int]) -> NDArray[np.int64]:
    places, at = [], 0
    with open_source(path) as source:
        while at < source.size:
            size = size_at(source, at)
            if at + size > source.size:
                raise FormatError(f"{shown(path)}: the record at byte {at} is cut off")
            places.append((at, size))
            at += size
    if not places:
        raise ArgumentError(f"{shown(path)}: holds no record")
    return np.array(places, dtype=np.int64)
