"""Where the bytes of a video come from: a path, bytes in memory, or a seekable file."""

from __future__ import annotations

import io
import mmap
import os
import threading
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError, SourceError, UnsupportedError

__all__ = ["Fingerprint", "Source", "VideoSource", "open_member", "open_source"]

VideoSource: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO"
"""What a video may be given as."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells one state of a file from another, as far as a look at it can."""

    size: int
    mtime_ns: int | None = None


class Source:
    """Random access to the bytes of one video. Threads may share it; close it when done."""

    def __init__(
        self,
        file: BinaryIO,
        *,
        name: str,
        size: int,
        path: str | None = None,
        memory: memoryview | None = None,
        base: int = 0,
        owned: bool = True,
    ) -> None:
        if size == 0:
            raise FormatError(f"{name}: the file is empty")
        self.name = name
        self.path = path
        self.size = size
        self.base = base
        self._file = file
        self._owned = owned
        self._lock = threading.Lock()
        self._memory = memory
        self._map: mmap.mmap | None = None

    @property
    def is_mapped(self) -> bool:
        """Whether `window` costs nothing, however large: a local file, or bytes in memory."""
        return self.path is not None or self._memory is not None

    @property
    def fingerprint(self) -> Fingerprint:
        """Size, and the time of the last change where there is one."""
        if self.path is None:
            return Fingerprint(self.size)
        return Fingerprint(self.size, os.stat(self._file.fileno()).st_mtime_ns)

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
        try:
            if self.path is not None:
                return os.pread(self._file.fileno(), size, self.base + offset)
            with self._lock:
                self._file.seek(self.base + offset)
                return self._file.read(size)
        except (OSError, ValueError) as error:
            raise SourceError(f"{self.name}: cannot be read: {error}") from error

    def window(self, offset: int, size: int) -> NDArray[np.uint8]:
        """The same bytes as an array, not read but mapped if the source `is_mapped`."""
        if self._memory is not None:
            return np.frombuffer(self._memory, dtype=np.uint8)[offset : offset + size]
        if self.path is None:
            return np.frombuffer(self.read(offset, size), dtype=np.uint8)
        try:
            with self._lock:
                if self._map is None:
                    self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise SourceError(f"{self.name}: cannot be mapped: {error}") from error
        begin = self.base + offset
        mapped = np.frombuffer(self._map, dtype=np.uint8)[begin : begin + size]
        if len(mapped) != size:
            raise SourceError(f"{self.name}: the file was cut short while being read")
        return mapped

    def gather(self, places: NDArray[np.int64]) -> NDArray[np.uint8]:
        """One byte at each of many places within the source."""
        if self.is_mapped:
            return self.window(0, self.size)[places]
        return np.frombuffer(b"".join(self.read(place, 1) for place in places.tolist()), np.uint8)

    def file(self) -> BinaryIO:
        """A file object of its own over the same bytes, at their beginning."""
        if self.path is not None and self.base == 0:
            return open(self.path, "rb")
        return cast(BinaryIO, io.BufferedReader(_View(self)))

    def detach(self) -> BinaryIO:
        """Give the open file away; this source is done with."""
        self._owned = False
        return self._file

    def close(self) -> None:
        """Close what this object opened; a file object that was passed in stays open."""
        self._map = None
        if self._owned:
            self._file.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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

    Raises:
        SourceError: the file cannot be opened, or ends before.
    """
    whole = _open_path(os.fspath(path))
    if not 0 <= offset <= offset + size <= whole.size:
        whole.close()
        raise SourceError(f"{path}: {name} is said to lie at {offset}, but the file ends before")
    return Source(whole.detach(), name=name, size=size, path=whole.path, base=offset)


def open_source(source: VideoSource | Source) -> Source:
    """Open a path, bytes, or a seekable binary file.

    Raises:
        SourceError: there is no such file, it is a directory, or it cannot be read.
        FormatError: it is empty.
        UnsupportedError: a URL, which is not read yet.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, bytes | bytearray | memoryview):
        memory = memoryview(source).cast("B")
        name = f"<{memory.nbytes} bytes>"
        return Source(io.BytesIO(source), name=name, size=memory.nbytes, memory=memory)
    if isinstance(source, str | os.PathLike):
        return _open_path(os.fspath(source))
    return _open_file(source)


def _open_path(path: str) -> Source:
    scheme, separator, _ = path.partition("://")
    if separator and scheme.isalnum():
        raise UnsupportedError(f"{path}: URLs are not read yet; pass a path, bytes or a file")
    try:
        if os.path.isdir(path):
            raise SourceError(f"{path}: is a directory; name a video file in it")
        file = open(path, "rb")  # noqa: SIM115  (closed by the Source)
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{path}: {error.strerror or error}") from error
    try:
        size = os.stat(file.fileno()).st_size
        return Source(file, name=path, size=size, path=os.path.abspath(path))
    except BaseException:
        file.close()
        raise


def _open_file(file: BinaryIO) -> Source:
    name = str(getattr(file, "name", "<file>"))
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
    return Source(file, name=name, size=size, owned=False)
