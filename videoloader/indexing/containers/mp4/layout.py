"""Finds the top-level boxes of a file: its `moov`, and the fragments after it.

Fragments are found by walking, with one read each: the read of a `moof` box includes the header
of the next `mdat`, whose size locates the next fragment. Using `sidx` or `mfra` would take as many
reads, and these boxes may be incomplete. Once the media bytes read needlessly exceed `_SPARE`, a
`moof` takes two reads instead.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from videoloader.errors import FormatError
from videoloader.indexing.containers.mp4.boxes import Box, box_name
from videoloader.sources.source import Source

# Box types that a file may begin with; otherwise it is another format.
_FIRST = {b"ftyp", b"styp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot", b"uuid", b"moof"}
_OF_MEDIA = (b"mdat", b"mfra")
_FRAGMENT_TABLES = (b"moof", b"sidx")
_MAX_TOP_LEVEL = 1 << 20
_FREE_SAMPLES = 1 << 20  # nine hours of video
_BOX = struct.Struct(">I4s").unpack_from
_HEADER = 16  # bytes of a box header with a 64-bit size
_AHEAD = 32  # bytes to read after a `moof`, for the headers that follow it
_SPARE = 1 << 15  # bytes of media that may be read needlessly
_MAX_BOX = 1 << 28  # maximum bytes of a box with tables; a day of video has about 40 MB


class Fragment(NamedTuple):
    """One `moof` box: its offset in the file, and its content."""

    position: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Layout:
    """The tables of a file.

    `segments` are the `sidx` boxes before fragments, each with its end offset. `end` is the end of
    the last `mdat` box, which is past the end of a truncated file.
    """

    movie: Box
    fragments: list[Fragment]
    segments: list[tuple[int, Box]]
    end: int

    @property
    def room(self) -> int:
        """Maximum number of samples for tables of this size; a sample takes about 100 bytes here.

        Tables of equal samples can be short, but only sound tracks have very many of these.
        """
        size = self.movie.size + sum(len(fragment.content) for fragment in self.fragments)
        return _FREE_SAMPLES + size // 2


def referenced_end(segment: tuple[int, Box]) -> int:
    """End of the last subsegment that a `sidx` box references (section 8.16.3), 0 if truncated."""
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


def begins_with_box(head: bytes) -> bool:
    """Whether a file begins with a box of a type that MP4 and MOV files begin with."""
    return head[4:8] in _FIRST


def read_layout(source: Source) -> Layout:
    """Walk the top-level boxes.

    Raises:
        FormatError: it has no `moov`, or a box before it is damaged.
    """
    movie: Box | None = None
    fragments: list[Fragment] = []
    segments: list[tuple[int, Box]] = []
    block, start, ahead = source.beginning, 0, _HEADER
    position = last = used = spent = 0
    for _ in range(_MAX_TOP_LEVEL):
        inside = position - start
        if inside + _HEADER > len(block):
            spent += max(start + len(block) - used, 0) if start else 0  # read in any case
            ahead = ahead if spent < _SPARE else _HEADER
            block, start, inside = source.read_up_to(position, ahead), position, 0
            if len(block) < 8:
                if fragments and block:  # header of a truncated fragment
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
        # `moof` boxes before `moov` are ignored.
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
                ahead = size + _AHEAD  # the next fragment is probably as large
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
