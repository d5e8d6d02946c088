"""Where the bytes of a video come from: a path, a URL, bytes in memory, or a seekable file."""

from __future__ import annotations

import hashlib
import io
import mmap
import os
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
    "open_member",
    "open_source",
]

VideoSource: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO"
"""What a video may be given as; a `str` may be a URL."""

Check: TypeAlias = Literal["size", "mtime", "none"]
"""How the file at hand is compared with the one that was indexed, see `difference`."""

_HEAD_BYTES = 4096  # that a fingerprint has a hash of


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


class Source(ABC):
    """Random access to the bytes of one video. Threads may share it; close it when done.

    Attributes:
        name: for messages.
        size: in bytes.
        is_mapped: whether a `window` costs nothing but what is looked at in it.
        path: absolute, where the source is a whole local file; others may open it by that.
    """

    is_mapped = False
    path: str | None = None

    def __init__(self, *, name: str, size: int) -> None:
        if size == 0:
            raise FormatError(f"{name}: the file is empty")
        self.name = name
        self.size = size

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
        """The same bytes as an array; see `is_mapped` for what it costs.

        For parsers that look at little of a file and at once: if another process truncates a
        mapped file just then, the system ends this one (SIGBUS).
        """
        return np.frombuffer(self.read(offset, size), dtype=np.uint8)

    def gather(self, places: NDArray[np.int64]) -> NDArray[np.uint8]:
        """One byte at each of many places within the source."""
        if self.is_mapped:
            return self.window(0, self.size)[places]
        return np.frombuffer(b"".join(self.read(place, 1) for place in places.tolist()), np.uint8)

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

    is_mapped = True

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
        self._lock = ForkSafeLock()
        self._map: mmap.mmap | None = None

    @property
    def fingerprint(self) -> Fingerprint:
        """Size, and the time of the last change, when the file was opened."""
        return Fingerprint(self.size, self._mtime_ns)

    def _read(self, offset: int, size: int) -> bytes:
        try:
            return os.pread(self._file.fileno(), size, self._base + offset)
        except (OSError, ValueError) as error:
            raise SourceError(f"{self.name}: cannot be read: {error}") from error

    def window(self, offset: int, size: int) -> NDArray[np.uint8]:
        """The bytes as an array, mapped and not read."""
        with self._lock:
            end = os.stat(self._file.fileno()).st_size
            if end < self._base + self.size:
                raise SourceError(
                    f"{self.name}: the file was truncated to {end} bytes while being read"
                )
            if self._map is None:
                self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        begin = self._base + offset
        return np.frombuffer(self._map, dtype=np.uint8)[begin : begin + size]

    def file(self) -> BinaryIO:
        """A file object of its own over the same bytes, at their beginning."""
        return super().file() if self.path is None else open(self.path, "rb")

    def close(self) -> None:
        """Close the file."""
        self._map = None
        self._file.close()


class _MemorySource(Source):
    """Bytes in memory."""

    is_mapped = True

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
    try:
        file = open(path, "rb")  # noqa: SIM115  (closed by the source)
    except IsADirectoryError as error:
        raise SourceError(f"{called}: is a directory; name a video file in it") from error
    except (OSError, ValueError) as error:
        raise SourceError(f"{called}: {getattr(error, 'strerror', None) or error}") from error
    try:
        status = os.stat(file.fileno())
        if size is None:
            size = status.st_size - offset
        if not 0 <= offset <= offset + size <= status.st_size:
            raise SourceError(
                f"{called}: {name} is said to lie at {offset}, but the file ends before"
            )
        return _LocalSource(
            file,
            name=f"{called}/{name}" if name else called,
            size=size,
            mtime_ns=status.st_mtime_ns,
            path=os.path.abspath(path) if (offset, size) == (0, status.st_size) else None,
            base=offset,
        )
    except BaseException:
        file.close()
        raise


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
