"""Edit lists of MP4 files that were just written: the part of each track that is shown."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, NamedTuple

from videoloader.errors import FormatError, UnsupportedError
from videoloader.indexing.containers.mp4.boxes import Box


class Shown(NamedTuple):
    """The part of a track that is shown, in seconds.

    Attributes:
        skipped: media before it that is only decoded; negative for a pause before the media.
        duration: of what is shown, the pause included.
    """

    skipped: Fraction
    duration: Fraction


def write_edits(path: Path, tracks: Sequence[Shown | None]) -> None:
    """Write the shown parts into a file's edit lists; FFmpeg's muxer does not know their ends.

    The lists have to be there already, with one entry, or an empty edit and one entry for a track
    with a pause: they are overwritten in place.

    Args:
        path: a file that FFmpeg's muxer wrote, not in fragments.
        tracks: the first ones, in their order; None leaves the list as it is.

    Raises:
        UnsupportedError: a list has other entries, or a value does not fit.
    """
    with open(path, "r+b") as file:
        base, movie = _find_movie(file, path)
        boxes = [box for box in movie.children() if box.kind == b"trak"]
        header = movie.need(b"mvhd")
        (timescale,) = header.unpack("I", 20 if _is_long(header) else 12)
        changes, longest = [], 0
        for box, shown in zip_longest(boxes, tracks):
            if box is None:
                break
            head = box.need(b"tkhd")
            place = 28 if _is_long(head) else 20
            if shown is None:
                (ticks,) = head.unpack("Q" if _is_long(head) else "I", place)
            else:
                ticks = round(shown.duration * timescale)
                changes.append((head.start + place, _is_long(head), ticks))
                changes += _track_changes(box, shown, timescale, ticks)
            longest = max(longest, ticks)
        place = header.start + (24 if _is_long(header) else 16)
        changes.append((place, _is_long(header), longest))
        for place, is_long, value in changes:
            file.seek(base + place)
            try:
                file.write(struct.pack(">q" if is_long else ">i", value))
            except struct.error as error:
                raise UnsupportedError(
                    f"{path}: {value} ticks do not fit into its tables"
                ) from error


def _track_changes(
    box: Box, shown: Shown, timescale: int, ticks: int
) -> Iterator[tuple[int, bool, int]]:
    """Place, whether it has 64 bits, and value of the fields of an edit list."""
    media = box.need(b"mdia", b"mdhd")
    (media_scale,) = media.unpack("I", 20 if _is_long(media) else 12)
    edits = box.need(b"edts", b"elst")
    is_long = _is_long(edits)
    width = 8 if is_long else 4
    (count,) = edits.unpack("I", 4)
    pause = max(int(-shown.skipped * timescale), 0)  # rounded down, as the muxer does
    entries = [(pause, -1)] if pause else []
    entries.append((ticks - pause, max(round(shown.skipped * media_scale), 0)))
    if count != len(entries):
        raise UnsupportedError(f"an edit list of {count} entries was written, not {len(entries)}")
    for number, (duration, start) in enumerate(entries):
        place = edits.start + 8 + number * (2 * width + 4)
        yield place, is_long, duration
        yield place + width, is_long, start


def _is_long(box: Box) -> bool:
    """Whether times in a box have 64 bits."""
    return box.unpack("B")[0] == 1


def _find_movie(file: BinaryIO, path: Path) -> tuple[int, Box]:
    """Where the content of the `moov` box begins, and the box."""
    place = 0
    while len(head := file.read(16)) >= 8:
        size, kind = struct.unpack_from(">I4s", head)
        body = place + 8
        if size == 1:
            (size,) = struct.unpack_from(">Q", head, 8)
            body += 8
        if kind == b"moov":
            file.seek(body)
            content = file.read(place + size - body)
            return body, Box(kind, content, 0, len(content))
        place += size
        file.seek(place)
    raise FormatError(f"{path}: no 'moov' box was written")
