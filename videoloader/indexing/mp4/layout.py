"""The boxes at the top of a file: its `moov`, and the fragments behind it.

Fragments are found by walking, with one read each: what is read ahead of a `moof` box holds the
header of the `mdat` behind it, which tells where the next one is. Finding them through `sidx` or
`mfra` would need as many reads, and would have to believe that those boxes name them all.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from videoloader.errors import FormatError
from videoloader.indexing.mp4.boxes import Box, box_name
from videoloader.indexing.source import Source

__all__ = ["Fragment", "Layout", "read_layout"]

# What may begin a file of this family; anything else is another format.
_FIRST = {b"ftyp", b"styp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot", b"uuid", b"moof"}
_MAX_TOP_LEVEL = 1 << 20
_HEADER = 16  # bytes of a box header with a 64-bit size
_AHEAD = 64  # bytes read behind a `moof`, for the headers that follow it


@dataclass(frozen=True, slots=True)
class Fragment:
    """One `moof` box: where it begins in the file, and its content."""

    position: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Layout:
    """What tables a file has.

    `segments` are the `sidx` boxes in front of fragments, each with the byte behind it.
    """

    movie: Box
    fragments: list[Fragment]
    segments: list[tuple[int, Box]]


class _Reader:
    """Reads forwards, a block at a time."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._block = b""
        self._start = 0
        self._ahead = _HEADER

    def header(self, position: int) -> bytes:
        """Up to 16 bytes at a position, and perhaps more kept for what is asked next."""
        inside = position - self._start
        head = self._block[inside : inside + _HEADER] if inside >= 0 else b""
        if len(head) < _HEADER:
            self._block, self._start = self._source.read_up_to(position, self._ahead), position
            head = self._block[:_HEADER]
        return head

    def content(self, start: int, stop: int) -> bytes:
        """All bytes between two positions, the header of that box having been read."""
        inside = start - self._start
        content = self._block[inside : stop - self._start]
        if len(content) < stop - start:
            content += self._source.read(start + len(content), stop - start - len(content))
        return content

    def expect(self, size: int) -> None:
        """Read that many bytes at once from now on: the next fragment is likely no larger."""
        self._ahead = max(self._ahead, size + size // 4 + _AHEAD)


def read_layout(source: Source) -> Layout | None:
    """Walk through a file; None if it is none of this family.

    Raises:
        FormatError: it is one, but has no `moov`, or a box is broken before it.
    """
    if source.read_up_to(4, 4) not in _FIRST:
        return None
    movie: Box | None = None
    fragments: list[Fragment] = []
    segments: list[tuple[int, Box]] = []
    reader = _Reader(source)
    position = 0
    for _ in range(_MAX_TOP_LEVEL):
        head = reader.header(position)
        if len(head) < 8:
            break
        size, kind = struct.unpack_from(">I4s", head)
        body = position + 8
        if size == 1 and len(head) == _HEADER:
            (size,) = struct.unpack_from(">Q", head, 8)
            body += 8
        end = source.size if size == 0 else position + size
        if end < body:
            if movie is not None:
                break
            raise FormatError(f"box {box_name(kind)} at byte {position} has the size {size}")
        # Tables of fragments mean nothing before the movie that they belong to.
        if (kind == b"moov") if movie is None else (kind in (b"moof", b"sidx")):
            if end > source.size:
                raise FormatError(
                    f"truncated: box {box_name(kind)} at byte {position} runs to byte {end}, but "
                    f"the file ends at {source.size}"
                )
            content = reader.content(body, end)
            if kind == b"moof":
                fragments.append(Fragment(position, content))
                reader.expect(end - position)
            else:
                box = Box(kind, content, 0, len(content))
                if kind == b"moov":
                    movie = box
                else:
                    segments.append((end, box))
        position = end
    if movie is None:
        raise FormatError(
            f"no 'moov' box in {source.size} bytes; the file is truncated or was never finished"
        )
    return Layout(movie, fragments, segments)
