"""A folder of files with a limit of bytes; the least recently used files are removed.

Files are named by digests, in one of 256 folders. Processes share them without locks: one is
written under a temporary name and renamed, so it is whole or not there, and read through one
descriptor, so it may be removed meanwhile. Each ends with a checksum: what is damaged is removed.
Only who removes files to make room holds a lock, which nobody waits for. A folder that another user
may have put there is neither read nor written, see `check_owner`. Who may write the folder may
write files with a valid checksum and any content: callers say how long a file may be, and discard
what has the wrong form.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from videoloader.errors import ArgumentError, SourceError
from videoloader.machinery.system.folders import check_owner, make_own, open_regular
from videoloader.machinery.system.forking import ForkSafeLock
from videoloader.machinery.system.writing import ABANDONED, written, written_whole

_LOCK = "remove.lock"
_PARTIAL = ".partial"
_CRC = 4  # bytes of the checksum
_NOWHERE = memoryview(bytearray())  # all bytes are returned
_FOLDERS = 256
FILES = 1 << 13  # least files in a part; chance puts a few percent more or fewer into each
_REMOVED = 16  # one part in so many is free after files were removed
_SHARE = 32  # of the limit, one part in so many is written before the folder is looked at again
_USED = 3600.0  # seconds after which the use of a file is noted once more

_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]?)(i?)B")


def as_bytes(name: str, size: int | str) -> int:
    """A number of bytes, or such as `50GB` or `50GiB`.

    Raises:
        ArgumentError: it is neither, or below 1; names `name`.
    """
    if isinstance(size, str) and (match := _SIZE.fullmatch(size)):
        number, unit, is_binary = match.groups()
        size = int(float(number) * (1024 if is_binary else 1000) ** _UNITS[unit])
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ArgumentError(f'{name} is a number of bytes, or such as "50GB", got {size!r}')
    return size


def as_folder(name: str, folder: str | os.PathLike[str]) -> Path:
    """The absolute path of a folder for `KeptFiles`, which need not be there.

    Raises:
        ArgumentError: it is a file, or another user may have put it there; names `name`.
    """
    path = Path(folder).absolute()
    if path.exists() and not path.is_dir():
        raise ArgumentError(f"{name}={os.fspath(folder)!r} is a file; name a folder")
    try:
        check_owner(path)
    except SourceError as error:
        raise ArgumentError(f"{name}={os.fspath(folder)!r} is not used: {error}") from error
    return path


class KeptFiles:
    """Files by key, 32 hexadecimal digits. Threads and processes may share it.

    Args:
        folder: need not be there; others of its files are left alone.
        ending: of the names of its files.
        limit: bytes that they may take. With several processes they may take 1/32 of it more for
            each further process that writes.
        what: is kept, for the log.
        size: bytes of a file, if all have about as many. Then a part of the folder, with a share of
            the limit, is looked at at a time, so that millions of files cost neither much memory
            nor long waits.

    Attributes:
        writes: False after a file that could not be written: this process then keeps nothing more.
    """

    def __init__(self, folder: Path, ending: str, limit: int, *, what: str, size: int = 0) -> None:
        self.folder, self.limit = folder, limit
        self._ending, self._what = ending, what
        self._name = re.compile(rf"[0-9a-f]{{32}}\.{ending}(\.[0-9a-f]+{_PARTIAL})?")
        parts = min(limit // (size * FILES), _FOLDERS) if size else 1
        self._parts = 1 << max(parts.bit_length() - 1, 0)  # so that they have as many folders each
        self._share = limit // self._parts
        # Bytes that may be written to each part before it is looked at again, and those of files
        # that threads of this process are writing there: what is in the folder does not tell them.
        self._room = [0] * self._parts
        self._unfinished = [0] * self._parts
        self.writes = True
        self._checked: set[Path] = set()  # folders that belong to whom they should
        self._lock = ForkSafeLock()

    def path(self, key: str) -> Path:
        """Where the file of a key is, if it is kept."""
        return self.folder / key[:2] / f"{key}.{self._ending}"

    def read(self, key: str, memory: memoryview = _NOWHERE, *, most: int) -> bytes | None:
        """The bytes written for a key; None if they are not kept, or were damaged and are removed.

        Args:
            key: of the file.
            memory: gets the first bytes, as many as it has; only what follows is returned.
            most: bytes that may follow; a longer file is damaged.
        """
        path = self.path(key)
        try:
            with open_regular(path) as file:
                self._check(path.parent)
                status = os.fstat(file.fileno())
                size = status.st_size - memory.nbytes - _CRC
                is_whole = 0 <= size <= most
                if is_whole:
                    file.readinto(memory)
                    data = file.read(size)
                    is_whole = file.read() == _checksum(key, memory, data)
        except OSError:
            return None
        if not is_whole:
            self.discard(key)
            return None
        if time.time() - status.st_mtime > _USED:  # used now, so it stays for longer
            with suppress(OSError):  # a read-only folder
                os.utime(path)
        return data

    def discard(self, key: str) -> None:
        """Remove the file of a key, because its content has changed."""
        with suppress(OSError):
            self.path(key).unlink()

    def write(self, key: str, *parts: bytes | memoryview) -> None:
        """Keep a file, unless it is there or has no room; logs if it cannot be written."""
        if not self.writes:
            return
        path, size = self.path(key), sum(memoryview(part).nbytes for part in parts) + _CRC
        try:
            with written(self.folder):
                if self.folder not in self._checked:
                    make_own(self.folder)
                    self._checked.add(self.folder)
                self._check(path.parent)
                if path.exists():
                    return
                with self._room_for(key, size) as has_room:
                    if not has_room:
                        return
                    with (
                        written_whole(path, looks_around=False) as unfinished,
                        open(unfinished, "wb") as file,
                    ):
                        file.writelines([*parts, _checksum(key, *parts)])
        except SourceError as error:
            with self._lock:
                if self.writes:
                    log = logging.getLogger(__name__)
                    log.warning("%s; %s are no longer kept by this process", error, self._what)
                self.writes = False

    def _check(self, folder: Path) -> None:
        """Look at the owner of one of the 256 folders, once if it is there.

        Raises:
            SourceError: see `check_owner`.
        """
        if folder not in self._checked:
            is_there = folder.is_dir()
            check_owner(folder)
            if is_there:
                self._checked.add(folder)

    @contextmanager
    def _room_for(self, key: str, size: int) -> Iterator[bool]:
        """Whether so many bytes may be written within the block; they then are counted."""
        part = int(key[:2], 16) % self._parts
        with self._lock:
            if self._room[part] < size <= self._share:
                self._room[part] = self._make_room(part, size)
            has_room = size <= self._room[part]
            taken = size if has_room else 0
            self._room[part] -= taken
            self._unfinished[part] += taken
        try:
            yield has_room
        finally:
            with self._lock:
                self._unfinished[part] -= taken

    def _make_room(self, part: int, size: int) -> int:
        """Bytes that may be written to a part, after files were removed if need be.

        0 where another process is removing files.
        """
        files, limit = sorted(self._files(part)), self._share
        total = sum(length for _, length, _ in files) + self._unfinished[part]
        if total + size > limit:
            with held(self.folder / _LOCK) as is_held:
                if not is_held:
                    return 0
                for _, length, path in files:
                    if total <= limit - max(limit // _REMOVED, size):
                        break
                    if not path.endswith(_PARTIAL):  # which another process renames
                        with suppress(FileNotFoundError):
                            os.unlink(path)
                        total -= length
        return min(limit - total, max(limit // _SHARE, size))

    def _files(self, part: int) -> Iterator[tuple[float, int, str]]:
        """Time of last use, bytes and path of each file, without abandoned ones."""
        now = time.time()
        for number in range(part, _FOLDERS, self._parts):
            with suppress(FileNotFoundError), os.scandir(self.folder / f"{number:02x}") as entries:
                for entry in entries:
                    if (match := self._name.fullmatch(entry.name)) is None:
                        continue
                    with suppress(FileNotFoundError):  # removed by another process
                        status = entry.stat()
                        if match[1] and now - status.st_mtime > ABANDONED:
                            os.unlink(entry.path)
                        else:
                            yield status.st_mtime, status.st_size, entry.path


def _checksum(key: str, *parts: bytes | memoryview) -> bytes:
    """CRC of a file; of its key too, so that one which was renamed is none."""
    crc = zlib.crc32(key.encode())
    for part in parts:
        crc = zlib.crc32(part, crc)
    return crc.to_bytes(_CRC, "little")


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Hold a lock, if no other process or thread does; the system releases it with the process."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(path, flags, 0o666), "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        except OSError:  # a file system without locks; two that remove files remove too many
            pass
        yield True
