"""The boxes at the top of a file: its `moov`, and the fragments behind it.

Fragments are found by walking, with one read each: what is read ahead of a `moof` box holds the
header of the `mdat` behind it, which tells where the next one is. Finding them through `sidx` or
`mfra` would need as many reads, and would have to believe that those boxes name them all. Once
what was read of media along the way adds up to `_SPARE` bytes, a `moof` takes two reads instead.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from videoloader.errors import FormatError
from videoloader.indexing.mp4.boxes import Box, box_name
from videoloader.sources.source import Source

__all__ = ["Fragment", "Layout", "read_layout", "referenced_end"]

# What may begin a file of this family; anything else is another format.
_FIRST = {b"ftyp", b"styp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot", b"uuid", b"moof"}
_OF_MEDIA = (b"mdat", b"mfra")
_FRAGMENT_TABLES = (b"moof", b"sidx")
_MAX_TOP_LEVEL = 1 << 20
_FREE_SAMPLES = 1 << 20  # nine hours of video
_BOX = struct.Struct(">I4s").unpack_from
_HEADER = 16  # bytes of a box header with a 64-bit size
_AHEAD = 32  # bytes read behind a `moof`, for the headers that follow it
_SPARE = 1 << 15  # bytes of media that may be read for nothing
_MAX_BOX = 1 << 28  # bytes of tables in one box; a day of video has some 40 MB


class Fragment(NamedTuple):
    """One `moof` box: where it begins in the file, and its content."""

    position: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Layout:
    """What tables a file has.

    `segments` are the `sidx` boxes in front of fragments, each with the byte behind it. `end` is
    where the last box of media ends, which is past the end of a truncated file.
    """

    movie: Box
    fragments: list[Fragment]
    segments: list[tuple[int, Box]]
    end: int

    @property
    def room(self) -> int:
        """How many samples such tables may describe; a sample takes some 100 bytes of memory.

        Tables of samples that are all alike may be short, but only those of sound have so many.
        """
        size = self.movie.size + sum(len(fragment.content) for fragment in self.fragments)
        return _FREE_SAMPLES + size // 2


def referenced_end(segment: tuple[int, Box]) -> int:
    """Where the last piece ends that a `sidx` box leads to (section 8.16.3), 0 if it is cut."""
    end, box = segment
    wide = box.unpack("B")[0] == 1
    header = 32 if wide else 24
    if box.size < header:
        return 0
    (first,) = box.unpack("Q" if wide else "I", 20 if wide else 16)
    (count,) = box.unpack("H", header - 2)
    rows = box.data[box.start + header : min(box.start + header + 12 * count, box.stop)]
    whole = rows[: len(rows) // 12 * 12]
    sizes: list[int] = [row[0] & 0x7FFFFFFF for row in struct.iter_unpack(">III", whole)]
    return end + first + sum(sizes)


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
    block, start, ahead = b"", 0, _HEADER
    position = last = used = spent = 0
    for _ in range(_MAX_TOP_LEVEL):
        inside = position - start
        if inside + _HEADER > len(block):
            spent += max(start + len(block) - used, 0)
            ahead = ahead if spent < _SPARE else _HEADER
            block, start, inside = source.read_up_to(position, ahead), position, 0
            if len(block) < 8:
                if fragments and block:  # the head of a fragment that is not there
                    last = position + 8
                break
        size, kind = _BOX(block, inside)
        body = position + 8
        if size == 1 and inside + _HEADER <= len(block):
            (size,) = struct.unpack_from(">Q", block, inside + 8)
            body += 8
        end = source.size if size == 0 else position + size
        used = body
        if end < body:
            if movie is not None:
                break
            raise FormatError(f"box {box_name(kind)} at byte {position} has the size {size}")
        if kind in _OF_MEDIA:
            last = end
        # Tables of fragments mean nothing before the movie that they belong to.
        if (kind == b"moov") if movie is None else (kind in _FRAGMENT_TABLES):
            if end > source.size:
                raise FormatError(
                    f"truncated: box {box_name(kind)} at byte {position} runs to byte {end}, but "
                    f"the file ends at {source.size}"
                )
            if end - body > _MAX_BOX:
                raise FormatError(f"box {box_name(kind)} at byte {position} has {end - body} bytes")
            content = block[body - start : end - start]
            if len(content) < end - body:
                known = body + len(content)
                block, start = source.read(known, min(end + _HEADER, source.size) - known), known
                content += block[: end - known]
            used = end
            if kind == b"moof":
                fragments.append(Fragment(position, content))
                ahead = size + _AHEAD  # the next one is likely as large
            elif kind == b"sidx":
                segments.append((end, Box(kind, content, 0, len(content))))
            else:
                movie = Box(kind, content, 0, len(content))
        position = min(end, source.size)
    if movie is None:
        raise FormatError(
            f"no 'moov' box in {source.size} bytes; the file is truncated or was never finished"
        )
    return Layout(movie, fragments, segments, last)
