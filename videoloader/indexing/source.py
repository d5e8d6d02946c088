"""Where the bytes of a video come from: a path, a URL, bytes in memory, or a seekable file."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import BinaryIO, Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, FormatError, SourceError
from videoloader.indexing.address import escaped, is_url, local_path, shown
from videoloader.indexing.forking import ForkSafeLock

__all__ = [
    "Check",
    "Fingerprint",
    "Source",
    "VideoSource",
    "as_check",
    "difference",
    "is_url",
    "local_path",
    "nearby",
    "open_member",
    "open_source",
    "rows_at",
]

VideoSource: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO"
"""What a video may be given as; a `str` may be a URL."""

Check: TypeAlias = Literal["size", "mtime", "none"]
"""How the file at hand is compared with the one that was indexed, see `difference`."""

_HEAD_BYTES = 4096  # that a fingerprint has a hash of


_GATHERED = 1 << 12  # places whose bytes are read together
_NEAR = 1 << 11  # bytes that are rather read than begun anew behind

# What is no file, and would be waited for, or has no end.
_KINDS = {
    stat.S_IFDIR: "a directory; name a video file in it",
    stat.S_IFIFO: "a pipe, not a file; write what comes out of it to one",
    stat.S_IFCHR: "a device, not a file",
    stat.S_IFBLK: "a device, not a file",
}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells one state of a file from another, as far as a look at it can.

    Args:
        size: in bytes.
        mtime_ns: time of the last change, where there is one.
        etag: what a server calls this state of the file.
        head: hash of the first bytes, see `Source.head`; taken when a file is indexed. It takes
            no part in comparisons by `==` or `is_same`, which read nothing.
    """

    size: int
    mtime_ns: int | None = None
    etag: str | None = None
    head: str | None = field(default=None, compare=False)

    def is_same(self, other: Fingerprint) -> bool:
        """Whether nothing that both know differs; where both have an etag, times do not count.

        >>> Fingerprint(5, mtime_ns=1).is_same(Fingerprint(5))
        True
        >>> Fingerprint(5, 1, etag="a").is_same(Fingerprint(5, 1, etag="b"))
        False
        """
        if self.size != other.size:
            return False
        if None not in (self.etag, other.etag):
            return self.etag == other.etag
        return None in (self.mtime_ns, other.mtime_ns) or self.mtime_ns == other.mtime_ns

    def may_be(self, other: Fingerprint) -> bool:
        """Whether nothing but a time of change differs, so that the first bytes have to tell."""
        return self.size == other.size and (None in (self.etag, other.etag) or self.is_same(other))


def as_check(check: str) -> Check:
    """A way of comparing files by its name.

    Raises:
        ArgumentError: there is no such way.
    """
    for known in get_args(Check):
        if check == known:
            return cast(Check, known)
    raise ArgumentError(f"check must be one of {', '.join(get_args(Check))}, got {check!r}")


def difference(then: Fingerprint, source: Source, check: Check) -> str | None:
    """What tells a file from the one that was indexed, None if nothing does.

    Args:
        then: of the file when it was indexed.
        source: the file at hand.
        check: `size` compares size and etag; where one of them has no etag and the times of
            change differ, as those of a copy do, the first bytes decide. With `mtime` the times
            must be equal too. `none` compares nothing.
    """
    now = source.fingerprint
    if check == "none":
        return None
    if now.size != then.size:
        return f"its size differs ({then.size} bytes then, {now.size} now)"
    if then.etag is not None and now.etag is not None:
        return None if then.etag == now.etag else "its etag differs"
    knows_times = then.mtime_ns is not None and now.mtime_ns is not None
    if knows_times and then.mtime_ns == now.mtime_ns:
        return None
    if check == "size" and then.head is not None:
        return None if source.head == then.head else "its first bytes differ"
    if not knows_times:
        return None
    unknown = ", and no hash of its first bytes is known" if check == "size" else ""
    return f"its time of change differs{unknown}"


def rows_at(data: NDArray[np.uint8], places: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """The bytes from each of many places in an array on, zeros behind its end."""
    inside = places <= len(data) - width
    if inside.all():
        windows = np.ndarray((max(len(data) - width + 1, 0), width), np.uint8, data, 0, (1, 1))
        return windows[places]
    rows = np.zeros((len(places), width), dtype=np.uint8)
    rows[inside] = rows_at(data, places[inside], width)
    for row, place in zip(np.flatnonzero(~inside).tolist(), places[~inside].tolist(), strict=True):
        rest = data[place:]
        rows[row, : len(rest)] = rest
    return rows


class Source(ABC):
    """Random access to the bytes of one video. Threads may share it; close it when done.

    Attributes:
        name: for messages.
        size: in bytes.
        stored: bytes that are more than a hole in a sparse file, as far as is known.
        is_local: whether a read of a few bytes costs next to nothing, so that reading little is
            better than reading at once.
        path: absolute, where the source is a whole local file; others may open it by that.
    """

    is_local = False
    path: str | None = None

    def __init__(self, *, name: str, size: int) -> None:
        if size == 0:
            raise FormatError(f"{name}: the file is empty")
        self.name = name
        self.size = self.stored = size

    @property
    @abstractmethod
    def fingerprint(self) -> Fingerprint:
        """The state of the file, as far as a look at it tells."""

    @cached_property
    def head(self) -> str:
        """A hash of the first 4096 bytes, which tells a copy from another file."""
        data = self.read_up_to(0, _HEAD_BYTES)
        return hashlib.blake2b(data, digest_size=8).hexdigest()

    @abstractmethod
    def _read(self, offset: int, size: int) -> bytes:
        """Bytes of a range inside the source; fewer if it ends before after all."""

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes from `offset` on.

        Raises:
            SourceError: the source ends before, or cannot be read.
        """
        data = self.read_up_to(offset, size)
        if len(data) != size:
            raise SourceError(
                f"{self.name}: {size} bytes wanted at {offset}, but the file ends at "
                f"{offset + len(data)}; it is truncated or was changed while being read"
            )
        return data

    def read_up_to(self, offset: int, size: int) -> bytes:
        """At most `size` bytes from `offset` on, fewer where the source ends."""
        if offset < 0 or size < 0:
            raise SourceError(f"{self.name}: {size} bytes wanted at {offset}")
        size = min(size, max(self.size - offset, 0))
        return self._read(offset, size) if size else b""

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Exactly the bytes of each (offset, size), side by side where waiting is what it costs.

        Raises:
            SourceError: as `read`.
        """
        return [self.read(offset, size) for offset, size in ranges]

    def window(self, offset: int, size: int) -> NDArray[np.uint8]:
        """The same bytes as an array.

        Nothing is mapped: where another process truncates a mapped file, the system ends the one
        that looks at it (SIGBUS).
        """
        return np.frombuffer(self.read(offset, size), dtype=np.uint8)

    def gather(self, places: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """The bytes from each of many places on, zeros behind the end: (len(places), width)."""
        rows = [self.read_up_to(place, width).ljust(width, b"\0") for place in places.tolist()]
        return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), width)

    def file(self) -> BinaryIO:
        """A file object of its own over the same bytes, at their beginning."""
        return cast(BinaryIO, io.BufferedReader(_View(self)))

    def close(self) -> None:  # noqa: B027  (not all sources hold something)
        """Let go of what this object opened; a file object that was passed in stays open."""

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _LocalSource(Source):
    """A file, or a stretch of one from `base` on; the open file becomes this object's own."""

    is_local = True

    def __init__(
        self,
        file: BinaryIO,
        *,
        name: str,
        size: int,
        mtime_ns: int,
        path: str | None,
        base: int = 0,
    ) -> None:
        super().__init__(name=name, size=size)
        self._file = file
        self._mtime_ns = mtime_ns
        self.path = path
        self._base = base

    @property
    def fingerprint(self) -> Fingerprint:
        """Size, and the time of the last change, when the file was opened."""
        return Fingerprint(self.size, self._mtime_ns)

    def _read(self, offset: int, size: int) -> bytes:
        try:
            return os.pread(self._file.fileno(), size, self._base + offset)
        except (OSError, ValueError) as error:
            raise SourceError(f"{self.name}: cannot be read: {error}") from error

    def gather(self, places: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """The bytes from each of many places on; those that lie close are read together."""
        found = np.empty((len(places), width), dtype=np.uint8)
        try:
            for begin in range(0, len(places), _GATHERED):
                some = places[begin : begin + _GATHERED]
                found[begin : begin + _GATHERED] = self._gather(some, width)
        except SourceError:
            raise
        except (OSError, ValueError) as error:
            raise SourceError(f"{self.name}: cannot be read: {error}") from error
        return found

    def _gather(self, places: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        gaps = np.diff(places)
        is_apart = np.append(True, (gaps < 0) | (gaps > _NEAR))
        firsts = np.flatnonzero(is_apart)
        starts, lasts = places[firsts], places[np.append(firsts[1:], len(places)) - 1]
        data = self._blocks(starts, lasts + width)
        if len(starts) == len(places):
            return data.reshape(-1, width)
        spans = lasts + width - starts
        moved = np.cumsum(spans) - spans - starts  # from the file into `data`
        return rows_at(data, places + moved[np.cumsum(is_apart) - 1], width)

    def _blocks(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The bytes of ranges, one behind the other, zeros behind the end."""
        file, read, base = self._file.fileno(), os.pread, self._base
        ranges = list(zip(starts.tolist(), stops.tolist(), strict=True))
        if int(starts.min()) >= 0 and int(stops.max()) <= self.size:
            blocks = [read(file, stop - start, base + start) for start, stop in ranges]
            if sum(map(len, blocks)) == int((stops - starts).sum()):
                return np.frombuffer(b"".join(blocks), dtype=np.uint8)
        blocks = []
        for start, stop in ranges:
            inside = self.read(start, min(stop, max(self.size, start)) - start)
            blocks.append(inside.ljust(stop - start, b"\0"))
        return np.frombuffer(b"".join(blocks), dtype=np.uint8)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _MemorySource(Source):
    """Bytes in memory."""

    is_local = True

    def __init__(self, memory: memoryview, *, name: str, size: int) -> None:
        super().__init__(name=name, size=size)
        self._memory = memory

    @property
    def fingerprint(self) -> Fingerprint:
        """The size."""
        return Fingerprint(self.size)

    def _read(self, offset: int, size: int) -> bytes:
        return bytes(self._memory[offset : offset + size])

    def window(self, offset: int, size: int) -> NDArray[np.uint8]:
        """The bytes themselves."""
        return np.frombuffer(self._memory, dtype=np.uint8)[offset : offset + size]

    def gather(self, places: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """The bytes from each of many places on."""
        return rows_at(np.frombuffer(self._memory, dtype=np.uint8), places, width)


def nearby(source: Source) -> Source:
    """The same bytes where small reads cost little: of a source that is far away, a copy.

    For parsers that look at all of a file, back and forth.
    """
    if source.is_local:
        return source
    return _MemorySource(source.window(0, source.size).data, name=source.name, size=source.size)


class _FileSource(Source):
    """A seekable file object of somebody else."""

    def __init__(self, file: BinaryIO, *, name: str, size: int) -> None:
        super().__init__(name=name, size=size)
        self._file = file
        self._lock = ForkSafeLock()
        # Forks share the position of a file with their parent; what needs none goes without.
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


class _View(io.RawIOBase):
    """A reading position of its own in a shared source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._source.read_up_to(self._position, len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = (0, self._position, self._source.size)[whence]
        self._position = max(base + offset, 0)
        return self._position

    def tell(self) -> int:
        return self._position


def open_member(path: str | os.PathLike[str], *, name: str, offset: int, size: int) -> Source:
    """Open a stretch of a file, such as a member of a tar archive, as a source of its own.

    Messages call it by the name of the file and `name` behind a slash.

    Raises:
        SourceError: the file cannot be opened, or ends before.
    """
    place = local_path(os.fspath(path))
    if is_url(place):
        from videoloader.indexing.remote import open_url

        return open_url(place, name=escaped(name), offset=offset, size=size)
    return _open_path(place, name=escaped(name), offset=offset, size=size)


def open_source(source: VideoSource | Source) -> Source:
    """Open a path, a URL, bytes, or a seekable binary file.

    Raises:
        SourceError: there is no such file, it is a directory, or it cannot be read.
        FormatError: it is empty.
        UnsupportedError: a URL of a kind that is not read, or obstore, which reads URLs, is not
            installed.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, bytes | bytearray | memoryview):
        memory = memoryview(source).cast("B")
        return _MemorySource(memory, name=f"<{memory.nbytes} bytes>", size=memory.nbytes)
    if isinstance(source, str | os.PathLike):
        place = local_path(os.fspath(source))
        if is_url(place):
            from videoloader.indexing.remote import open_url

            return open_url(place)
        return _open_path(place)
    return _open_file(source)


def _open_path(
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
        source = _LocalSource(
            file,
            name=f"{called}/{name}" if name else called,
            size=size,
            mtime_ns=status.st_mtime_ns,
            path=os.path.abspath(path) if (offset, size) == (0, status.st_size) else None,
            base=offset,
        )
        if status.st_blocks:  # some file systems do not say
            source.stored = min(size, 512 * status.st_blocks)
        return source
    except BaseException:
        file.close()
        raise


def _open_regular(path: str, called: str) -> tuple[BinaryIO, os.stat_result]:
    """An open file and its state.

    Raises:
        SourceError: there is none, or it is of a kind that has no bytes to come back to.
    """
    try:
        # Without waiting: a pipe opens only when somebody writes into it.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        is_socket = isinstance(error, OSError) and error.errno == errno.ENXIO
        reason = "is a socket, not a file" if is_socket else getattr(error, "strerror", error)
        raise SourceError(f"{called}: {reason}") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise SourceError(f"{called}: is {_KINDS.get(stat.S_IFMT(status.st_mode), 'no file')}")
    return os.fdopen(descriptor, "rb"), status


def _open_file(file: BinaryIO) -> Source:
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
    return _FileSource(file, name=name, size=size)
