"""Sources on this machine: files, bytes in memory, and seekable file objects."""

from __future__ import annotations

import errno
import io
import itertools
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import SourceError, VideoError
from videoloader.machinery.system.address import absolute_path, escaped, shown
from videoloader.machinery.system.faults import raise_shortage
from videoloader.machinery.system.forking import ForkSafeLock
from videoloader.sources.source import Fingerprint, Source, rows_at

_GATHERED = 1 << 12  # places whose bytes are read together
_NEAR = 1 << 12  # gaps up to this many bytes are read through instead of starting a new read
SMALL_FILE = 8 << 20
"""Most bytes of a file that is read at once where its parser would read here and there."""

# Kinds of files that are not regular: reading them blocks, or never ends.
_KINDS = {
    stat.S_IFDIR: "a directory; name a video file in it",
    stat.S_IFIFO: "a pipe, not a file; write what comes out of it to one",
    stat.S_IFCHR: "a device, not a file",
    stat.S_IFBLK: "a device, not a file",
}


class _State(NamedTuple):
    """Identifies a file and its state, to detect that it was changed or replaced."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> _State:
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


class _Held:
    """A file that stays open."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self.close = file.close

    def opened(self) -> _Held:
        """Itself; in a `with` block, its descriptor."""
        return self

    def __enter__(self) -> int:
        return self._file.fileno()

    def __exit__(self, *_: object) -> None:
        pass


class _InTurn:
    """A file that is opened for each read: there are too many open ones to keep it open."""

    def __init__(self, path: str, state: _State) -> None:
        self._path = path
        self._state = state
        self._is_closed = False

    @contextmanager
    def opened(self) -> Iterator[int]:
        """In a `with` block, its descriptor, if the file has not changed."""
        if self._is_closed:
            raise ValueError("read of closed file")
        descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if _State.of(os.fstat(descriptor)) != self._state:
                raise ValueError("the file has changed since it was opened")
            yield descriptor
        finally:
            os.close(descriptor)

    def close(self) -> None:
        self._is_closed = True


class LocalSource(Source):
    """A file, or a part of one from `base` on; takes ownership of the open file."""

    is_local = True

    def __init__(
        self,
        file: _Held | _InTurn,
        *,
        name: str,
        size: int,
        mtime_ns: int,
        path: str | None,
        base: int = 0,
    ) -> None:
        super().__init__(name=name, size=size)
        self._file = file
        self._fingerprint = Fingerprint(size, mtime_ns)
        self.path = path
        self._base = base

    @property
    def fingerprint(self) -> Fingerprint:
        """Size and modification time when the file was opened."""
        return self._fingerprint

    def _read(self, offset: int, size: int) -> bytes:
        try:
            with self._file.opened() as file:
                return os.pread(file, size, self._base + offset)
        except (OSError, ValueError) as error:
            raise self._cannot_be_read(error) from error

    def _cannot_be_read(self, error: OSError | ValueError) -> SourceError:
        raise_shortage(error, self.name)
        return SourceError(f"{self.name}: cannot be read: {error}")

    def array(self, offset: int, size: int) -> NDArray[np.uint8]:
        """`read` into a new array, without a copy."""
        if not 0 <= offset <= offset + size <= self.size:
            return super().array(offset, size)  # raises the error
        found = np.empty(size, dtype=np.uint8)
        self._fill(found, offset)
        return found

    def windows(self, offset: int, stop: int, size: int) -> Iterator[NDArray[np.uint8]]:
        """Each `size` bytes from `offset` to `stop`, in one buffer."""
        buffer = np.empty(max(min(size, stop - offset), 0), dtype=np.uint8)
        for begin in range(offset, stop, size):
            window = buffer[: min(size, stop - begin)]
            self._fill(window, begin)
            yield window

    def _fill(self, buffer: NDArray[np.uint8], offset: int) -> None:
        """Read as many bytes from `offset` on as `buffer` has.

        Raises:
            SourceError: the file ends too early, or cannot be read.
        """
        filled = 0
        try:
            with self._file.opened() as file:
                while filled < len(buffer):
                    at = self._base + offset + filled
                    count = os.preadv(file, [buffer.data[filled:]], at)
                    if not count:
                        self.read(offset, len(buffer))  # raises the error
                    filled += count
        except VideoError:
            raise
        except (OSError, ValueError) as error:
            raise self._cannot_be_read(error) from error

    def gather(self, places: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """`width` bytes from each of many offsets on; nearby ones are read together."""
        found = np.empty((len(places), width), dtype=np.uint8)
        try:
            for begin in range(0, len(places), _GATHERED):
                some = places[begin : begin + _GATHERED]
                found[begin : begin + _GATHERED] = self._gather(some, width)
        except VideoError:
            raise
        except (OSError, ValueError) as error:
            raise self._cannot_be_read(error) from error
        return found

    def _gather(self, places: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        gaps = places[1:] - places[:-1]
        if gaps.min(initial=_NEAR + 1) > _NEAR:
            return self._blocks(places, places + width).reshape(-1, width)
        is_apart = np.append(True, (gaps < 0) | (gaps > _NEAR))
        firsts = np.flatnonzero(is_apart)
        starts, lasts = places[firsts], places[np.append(firsts[1:], len(places)) - 1]
        data = self._blocks(starts, lasts + width)
        spans = lasts + width - starts
        moved = np.cumsum(spans) - spans - starts  # from the file into `data`
        return rows_at(data, places + moved[np.cumsum(is_apart) - 1], width)

    def _blocks(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The concatenated bytes of ranges, zeros past the end of the file."""
        sizes = (stops - starts).tolist()
        if int(starts.min()) >= 0 and int(stops.max()) <= self.size:
            with self._file.opened() as file:
                places = (starts + self._base).tolist()
                data = b"".join(map(os.pread, itertools.repeat(file), sizes, places))
            if len(data) == sum(sizes):
                return np.frombuffer(data, dtype=np.uint8)
        found = []
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            inside = self.read(start, min(stop, max(self.size, start)) - start)
            found.append(inside.ljust(stop - start, b"\0"))
        return np.frombuffer(b"".join(found), dtype=np.uint8)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class MemorySource(Source):
    """Bytes in memory.

    Args:
        memory: has them.
        name: for messages.
        size: in bytes.
        fingerprint: of the file that they were read from; by default the size alone.
    """

    is_local = True

    def __init__(
        self, memory: memoryview, *, name: str, size: int, fingerprint: Fingerprint | None = None
    ) -> None:
        super().__init__(name=name, size=size)
        self._memory = memory
        self._fingerprint = fingerprint or Fingerprint(size)

    @property
    def fingerprint(self) -> Fingerprint:
        """That of the file, or the size."""
        return self._fingerprint

    def _read(self, offset: int, size: int) -> bytes:
        return bytes(self._memory[offset : offset + size])

    def window(self, offset: int, size: int) -> NDArray[np.uint8]:
        """The bytes themselves."""
        return np.frombuffer(self._memory, dtype=np.uint8)[offset : offset + size]

    def gather(self, places: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """`width` bytes from each of many offsets on."""
        return rows_at(np.frombuffer(self._memory, dtype=np.uint8), places, width)


def nearby(source: Source) -> Source:
    """A source with cheap small reads: `source` if it is a large local file, else a copy in memory.

    For parsers that access all of a file in any order. Each read lets go of the interpreter, so of
    many threads that read each waits for the others; a small file is therefore read once.
    """
    if isinstance(source, MemorySource) or (source.is_local and source.size > SMALL_FILE):
        return source
    return MemorySource(
        source.window(0, source.size).data,
        name=source.name,
        size=source.size,
        fingerprint=source.fingerprint,
    )


class FileSource(Source):
    """A seekable file object passed in by the caller."""

    def __init__(self, file: BinaryIO, *, name: str, size: int) -> None:
        super().__init__(name=name, size=size)
        self._file = file
        self._lock = ForkSafeLock()
        # Forks share the file position with their parent; use reads without a position if possible.
        raw = getattr(file, "raw", None)
        self._is_plain = type(file) is io.BufferedReader and type(raw) is io.FileIO

    @property
    def fingerprint(self) -> Fingerprint:
        """The size."""
        return Fingerprint(self.size)

    def _read(self, offset: int, size: int) -> bytes:
        try:
            if self._is_plain:
                return os.pread(self._file.fileno(), size, offset)
            with self._lock:
                self._file.seek(offset)
                return self._file.read(size)
        except (OSError, ValueError) as error:
            raise SourceError(f"{self.name}: cannot be read: {error}") from error


def open_path(
    path: str, *, name: str | None = None, offset: int = 0, size: int | None = None
) -> Source:
    """A file, or `size` bytes of it from `offset` on."""
    called = escaped(path)
    file, status = _open_regular(path, called)
    try:
        if size is None:
            size = status.st_size - offset
        if not 0 <= offset <= offset + size <= status.st_size:
            raise SourceError(
                f"{called}: {name} is said to lie at {offset}, but the file ends before"
            )
        source = LocalSource(
            _kept(file, path, status),
            name=f"{called}/{name}" if name else called,
            size=size,
            mtime_ns=status.st_mtime_ns,
            path=absolute_path(path) if (offset, size) == (0, status.st_size) else None,
            base=offset,
        )
        if status.st_blocks:  # some file systems do not report blocks
            source.stored = min(size, 512 * status.st_blocks)
        return source
    except BaseException:
        file.close()
        raise


def _kept(file: io.FileIO, path: str, status: os.stat_result) -> _Held | _InTurn:
    """The file, kept open unless this process has used half of the descriptors that it may have.

    The system assigns the lowest free number, so a number tells how many are in use.
    """
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY or file.fileno() < most // 2:
        return _Held(file)
    file.close()
    return _InTurn(absolute_path(path), _State.of(status))


def read_whole(path: str) -> NDArray[np.uint8] | None:
    """The bytes of a file in a new array; None on errors, which `open_path` then raises.

    For a small file, this takes half the time of opening a source.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            return None
        found = np.empty(status.st_size, dtype=np.uint8)
        return found if os.readv(descriptor, [found.data]) == status.st_size else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _open_regular(path: str, called: str) -> tuple[io.FileIO, os.stat_result]:
    """An open file and its state.

    Raises:
        SourceError: there is no such file, or it is not a regular file.
    """
    try:
        # Non-blocking: opening a pipe blocks until another process writes to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise_shortage(error, called)
        is_socket = isinstance(error, OSError) and error.errno == errno.ENXIO
        reason = "is a socket, not a file" if is_socket else getattr(error, "strerror", error)
        raise SourceError(f"{called}: {reason}") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise SourceError(f"{called}: is {_KINDS.get(stat.S_IFMT(status.st_mode), 'no file')}")
    return io.FileIO(descriptor, "rb"), status


def open_file(file: BinaryIO) -> Source:
    """A source over an open file object.

    Raises:
        SourceError: it is not a seekable binary file.
    """
    name = shown(str(getattr(file, "name", "<file>")))
    try:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if not isinstance(file.read(1), bytes):
            raise ValueError("it gives text")
    except (AttributeError, OSError, ValueError) as error:
        raise SourceError(
            f"{name}: {type(file).__name__} is no seekable binary file; pass a path, bytes, or a "
            "file opened with mode 'rb'"
        ) from error
    return FileSource(file, name=name, size=size)
