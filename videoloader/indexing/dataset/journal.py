"""The journal of an indexing job: an append-only file of finished rows that survives SIGKILL."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import zlib
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from videoloader.errors import FormatError, SourceError
from videoloader.indexing.dataset.rows import EncodedRow, Row
from videoloader.machinery.system.closing import Closing
from videoloader.machinery.system.folders import check_owner
from videoloader.machinery.system.writing import written
from videoloader.sources.items import Item

ENDING = ".journal"
_FRAME = struct.Struct("<II")  # bytes of a row, their checksum
_FORMAT = 5  # part of the checksums, so that rows in another format are invalid


class Journal(Closing):
    """The latest row of each video, or part of one; rows are appended to a file.

    A file lock admits one job at a time. If a killed process leaves a truncated row, it and
    everything after it is dropped when the journal is opened again. Where everybody may write, a
    journal that another user made is refused, and so is a link.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[tuple[object, ...], tuple[int, int]] = {}
        self._end = 0
        with written(path):
            self._file = _locked(path)
            for place, begin, size in self._scan():
                self._places[place] = (begin, size)
                self._end = begin + size
            self._file.truncate(self._end)

    def add(self, row: Row | EncodedRow) -> None:
        """Append a row; it is in the file when this returns.

        Raises:
            SourceError: it cannot be written; earlier rows are kept.
        """
        data = row.encode()
        frame = _FRAME.pack(len(data), zlib.crc32(data, _FORMAT)) + data
        with written(self.path):
            done = 0
            while done < len(frame):
                done += os.pwrite(self._file.fileno(), frame[done:], self._end + done)
        self._places[_place(row.item, row.part)] = (self._end + _FRAME.size, len(data))
        self._end += len(frame)

    def get(self, item: Item, part: int | None = None) -> Row | None:
        """The row of a video, or of a part of it, if there is one; see `Row.part`."""
        return self.row(item, part) if _place(item, part) in self._places else None

    def row(self, item: Item, part: int | None = None) -> Row:
        """The row of a video, or of a part of it, that has one."""
        begin, size = self._places[_place(item, part)]
        return Row.decode(os.pread(self._file.fileno(), size, begin))

    def close(self) -> None:
        """Close the file, which stays if there is a row in it."""
        if not self._end and not self._file.closed:
            self.path.unlink(missing_ok=True)
        self._file.close()

    def remove(self) -> None:
        """Delete the file and close it."""
        self.path.unlink(missing_ok=True)
        self._file.close()

    def _scan(self) -> Iterator[tuple[tuple[object, ...], int, int]]:
        """Place of the video, offset and size of every valid row from the beginning."""
        position, end = 0, os.fstat(self._file.fileno()).st_size
        with open(self._file.fileno(), "rb", closefd=False) as file:
            while len(frame := file.read(_FRAME.size)) == _FRAME.size:
                size, checksum = _FRAME.unpack(frame)
                data = file.read(min(size, end))  # allocates no more than there is
                if len(data) != size or zlib.crc32(data, _FORMAT) != checksum:
                    return
                try:
                    row = Row.decode(data)
                except FormatError:
                    return
                yield _place(row.item, row.part), position + _FRAME.size, size
                position += _FRAME.size + size


def _place(item: Item, part: int | None) -> tuple[object, ...]:
    return (*item.place(), part)


def _locked(path: Path) -> FileIO:
    """Open the file with an exclusive lock, which the system releases with the process."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    while True:
        check_owner(path)
        file = FileIO(os.open(path, flags, 0o666), "r+")
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise SourceError(f"{path}: is no regular file, so no journal of a job; remove it")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.stat(file.fileno()).st_nlink:
                return file
        except BlockingIOError as error:
            file.close()
            raise SourceError(
                f"{path}: another job is at work on the same output; wait for it, or write "
                "elsewhere"
            ) from error
        except OSError:  # a file system without locks
            return file
        file.close()  # the job that held it has just finished and removed the file
