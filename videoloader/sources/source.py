"""`Source`: random access to the bytes of a video; `Fingerprint`: the state of a file."""

from __future__ import annotations

import hashlib
import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError, SourceError
from videoloader.machinery.system.checks import one_of
from videoloader.machinery.system.closing import Closing
from videoloader.machinery.system.forking import cached_property

VideoSource: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO"
"""Ways to specify a video; a `str` may be a URL."""

Check: TypeAlias = Literal["size", "mtime", "none"]
"""Ways to compare a file with the one that was indexed, see `difference`."""

_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Properties that identify the state of a file.

    Args:
        size: in bytes.
        mtime_ns: modification time, if known.
        etag: the server's identifier of this state.
        head: hash of the first bytes, see `Source.head`; computed when a file is indexed. `==`
            and `is_same` ignore it, since they read nothing.
    """

    size: int
    mtime_ns: int | None = None
    etag: str | None = None
    head: str | None = field(default=None, compare=False)

    def is_same(self, other: Fingerprint) -> bool:
        """Whether all properties that both have are equal; if both have an etag, ignores times.

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
        """Whether only modification times differ, so that the first bytes have to be compared."""
        return self.size == other.size and (None in (self.etag, other.etag) or self.is_same(other))


def as_check(check: str) -> Check:
    """Check the name of a way of comparing files.

    Raises:
        ArgumentError: there is no such way.
    """
    known: Check = one_of("check", check, get_args(Check))
    return known


def difference(then: Fingerprint, source: Source, check: Check) -> str | None:
    """Describe how a file differs from the one that was indexed; None if it does not.

    Args:
        then: state of the file when it was indexed.
        source: the current file.
        check: `size` compares size and etag; if one has no etag and modification times differ, as
            for a copy, the first bytes are compared. `mtime` also requires equal modification
            times. `none` compares nothing.
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
    """`width` bytes from each of many offsets in an array, zeros past its end."""
    inside = places <= len(data) - width
    if inside.all():
        # One element of `width` bytes is copied in half the time of a row.
        windows = np.ndarray((max(len(data) - width + 1, 0),), f"V{width}", data, 0, (1,))
        return windows[places].view(np.uint8).reshape(-1, width)
    rows = np.zeros((len(places), width), dtype=np.uint8)
    rows[inside] = rows_at(data, places[inside], width)
    for row, place in zip(np.flatnonzero(~inside).tolist(), places[~inside].tolist(), strict=True):
        rest = data[place:]
        rows[row, : len(rest)] = rest
    return rows


class Source(Closing, ABC):
    """Random access to the bytes of one video. Threads may share it; close it when done.

    Attributes:
        name: for messages.
        size: in bytes.
        stored: bytes that are not holes of a sparse file, as far as known.
        is_local: whether short reads are cheap, so that many short reads are better than one long.
        path: absolute path, if the source is a whole local file; others may open it by that.
        whole: state of the object that contains the source, if getting it takes a request; another
            process can pass it to open the source without a request.

    >>> from videoloader.indexing import open_source
    >>> with open_source(b"twelve bytes") as source:
    ...     source.name, source.size, source.read(7, 5)
    ('<12 bytes>', 12, b'bytes')
    """

    is_local = False
    path: str | None = None
    whole: Fingerprint | None = None

    def __init__(self, *, name: str, size: int) -> None:
        if size == 0:
            raise FormatError(f"{name}: the file is empty")
        self.name = name
        self.size = self.stored = size

    @property
    @abstractmethod
    def fingerprint(self) -> Fingerprint:
        """The state of the file, without reading it."""

    @cached_property
    def beginning(self) -> bytes:
        """The first 4096 bytes."""
        return self.read_up_to(0, _HEAD_BYTES)

    @cached_property
    def head(self) -> str:
        """A hash of the first 4096 bytes, to distinguish a copy from another file."""
        return hashlib.blake2b(self.beginning, digest_size=8).hexdigest()

    @abstractmethod
    def _read(self, offset: int, size: int) -> bytes:
        """Bytes of a range inside the source; fewer if the file was truncated meanwhile."""

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes from `offset` on.

        Raises:
            SourceError: the source ends too early, or cannot be read.
        """
        data = self.read_up_to(offset, size)
        if len(data) != size:
            raise SourceError(
                f"{self.name}: {size} bytes wanted at {offset}, but the file ends at "
                f"{offset + len(data)}; it is truncated or was changed while being read"
            )
        return data

    def read_up_to(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset` on; fewer at the end of the source."""
        if offset < 0 or size < 0:
            raise SourceError(f"{self.name}: {size} bytes wanted at {offset}")
        size = min(size, max(self.size - offset, 0))
        return self._read(offset, size) if size else b""

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Exactly the bytes of each (offset, size); concurrently if the source is remote.

        Raises:
            SourceError: as `read`.
        """
        return [self.read(offset, size) for offset, size in ranges]

    def array(self, offset: int, size: int) -> NDArray[np.uint8]:
        """`read` into a new array, which the caller owns and may write to."""
        return np.frombuffer(bytearray(self.read(offset, size)), dtype=np.uint8)

    def window(self, offset: int, size: int) -> NDArray[np.uint8]:
        """`read` into an array that may be read-only.

        Files are not memory-mapped: if another process truncates a mapped file, reading it kills
        this process (SIGBUS).
        """
        return np.frombuffer(self.read(offset, size), dtype=np.uint8)

    def windows(self, offset: int, stop: int, size: int) -> Iterator[NDArray[np.uint8]]:
        """`window` of each `size` bytes from `offset` to `stop`; the last may be shorter.

        A window is valid until the next one is taken: local files are read into one buffer.
        """
        for begin in range(offset, stop, size):
            yield self.window(begin, min(size, stop - begin))

    def gather(self, places: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """`width` bytes from each offset, zeros past the end; shape (len(places), width)."""
        rows = [self.read_up_to(place, width).ljust(width, b"\0") for place in places.tolist()]
        return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), width)

    def file(self) -> BinaryIO:
        """A new file object over the same bytes, positioned at the beginning."""
        return cast(BinaryIO, io.BufferedReader(_View(self)))

    def close(self) -> None:
        """Close the files that this object opened; a file object that was passed in stays open."""


class _View(io.RawIOBase):
    """A file object with its own position over a shared source."""

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
