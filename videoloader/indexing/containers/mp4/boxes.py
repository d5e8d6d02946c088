"""Parses boxes of ISO base media files (ISO/IEC 14496-12, section 4.2); checks every size."""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError

_HEADER = struct.Struct(">I4s").unpack_from
_LONG_SIZE = struct.Struct(">Q").unpack_from


@dataclass(frozen=True, slots=True)
class Box:
    """One box: its type, and its content as a range of a shared buffer."""

    kind: bytes
    data: bytes
    start: int
    stop: int

    @property
    def size(self) -> int:
        """Bytes of content."""
        return self.stop - self.start

    def children(self, skip: int = 0) -> Iterator[Box]:
        """The child boxes, from `skip` bytes on. A last one that exceeds this box is truncated."""
        for kind, start, stop in box_ranges(self.data, self.start + skip, self.stop):
            yield Box(kind, self.data, start, stop)

    def find(self, *path: bytes) -> Box | None:
        """The first box at a path of types below this one."""
        found = self.kind, self.start, self.stop
        for wanted in path:
            inside = box_ranges(self.data, found[1], found[2])
            for found in inside:
                if found[0] == wanted:
                    break
            else:
                return None
        kind, start, stop = found
        return Box(kind, self.data, start, stop)

    def need(self, *path: bytes) -> Box:
        """`find`, but raises a `FormatError` that names a missing box."""
        return _there(self.find(*path), path[-1], self)

    def unpack(self, layout: str, offset: int = 0) -> tuple[int, ...]:
        """Big-endian fields of the content (`struct` layout, without the byte order)."""
        fields, first = _fields(layout), self.start + offset
        if first + fields.size > self.stop:
            raise FormatError(f"box {box_name(self.kind)} of {self.size} bytes is too short")
        return fields.unpack_from(self.data, first)

    def table(self, dtype: str, *, width: int = 1, header: int = 4) -> NDArray[Any]:
        """The table after the header, shape (count, width); a view of the box.

        The row count is in the last four bytes before the rows. A count that exceeds the box is
        an error, so that a false count takes no memory.
        """
        (count,) = self.unpack("I", header)
        first = self.start + header + 4
        row = np.dtype(dtype).itemsize * width
        if count * row > self.stop - first:
            raise FormatError(
                f"box {box_name(self.kind)} says {count} entries, but its {self.size} bytes hold "
                f"{max(self.stop - first, 0) // row}"
            )
        values = np.frombuffer(self.data, dtype=dtype, count=count * width, offset=first)
        return values.reshape(count, width)


@cache
def _fields(layout: str) -> struct.Struct:
    return struct.Struct(f">{layout}")


class Tables:
    """The first child of each of some types: `find` and `need` of a box, which is walked once.

    Args:
        box: whose children.
        kinds: their types; of others none is found.
    """

    def __init__(self, box: Box, kinds: Container[bytes]) -> None:
        self._box = box
        self._found: dict[bytes, Box] = {}
        for kind, start, stop in box_ranges(box.data, box.start, box.stop):
            if kind in kinds and kind not in self._found:
                self._found[kind] = Box(kind, box.data, start, stop)

    def find(self, kind: bytes) -> Box | None:
        """The first box of a type."""
        return self._found.get(kind)

    def need(self, kind: bytes) -> Box:
        """`find`, but raises a `FormatError` that names a missing box."""
        return _there(self._found.get(kind), kind, self._box)


def _there(box: Box | None, kind: bytes, parent: Box) -> Box:
    if box is None:
        raise FormatError(f"box {box_name(kind)} is missing in {box_name(parent.kind)}")
    return box


def box_ranges(data: bytes, start: int, stop: int) -> Iterator[tuple[bytes, int, int]]:
    """(type, content start, content end) of each box in a range; see `Box.children`."""
    while start + 8 <= stop:
        size, kind = _HEADER(data, start)
        body, end = start + 8, start + size
        if size < 8:
            if size == 1 and body + 8 <= stop:
                end = start + _LONG_SIZE(data, body)[0]
                body += 8
            elif size == 0:
                end = stop
            if end < body:
                return  # QuickTime terminates some lists with four zero bytes
        yield kind, body, end if end < stop else stop  # a third of the time of `min`
        start = end


def box_name(kind: bytes) -> str:
    """A type for messages."""
    return repr(kind.decode("latin-1"))
