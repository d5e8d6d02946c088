"""Parses a Matroska file up to its first cluster: EBML header, segment, and tables.

Tracks after the clusters are found through the SeekHead, as in FFmpeg.
"""

from __future__ import annotations

from dataclasses import dataclass

from videoloader.errors import FormatError
from videoloader.indexing.containers.matroska.ebml import (
    LEVEL_1,
    MAX_HEAD,
    Element,
    Id,
    NeedsDemuxerError,
    read_head,
)
from videoloader.indexing.containers.matroska.tracks import Track, read_tracks
from videoloader.sources.source import Source

_MAX_BEFORE_CLUSTERS = 1 << 16
_MAX_SCALE = 1 << 32
_MAX_TABLE = 1 << 26  # maximum bytes of a table


@dataclass(frozen=True, slots=True)
class Segment:
    """The tables of a segment.

    `clusters` is the offset of the first cluster, `stop` the end of the segment (None if unknown;
    past the end of a truncated file), `scale` the nanoseconds in a tick.
    """

    tracks: list[Track]
    scale: int
    clusters: int
    stop: int | None


def begins_with_ebml(head: bytes) -> bool:
    """Whether a file begins with an EBML header."""
    return head.startswith(Id.EBML.to_bytes(4, "big"))


def read_segment(source: Source) -> Segment:
    """Read up to the first cluster.

    Raises:
        FormatError: the file ends before the first cluster.
        NeedsDemuxerError: sizes of elements are inconsistent.
    """
    return _tables(source, *_begin(source))


def segment_end(source: Source) -> int:
    """End of the segment; 0 if it is unknown."""
    try:
        return _begin(source)[1] or 0
    except FormatError:
        return 0


def _begin(source: Source) -> tuple[int, int | None]:
    """Start and end of the content of the segment."""
    head = _content(source, *_head(source, 0))
    fields = head.fields()
    if Id.DOC_TYPE not in fields or fields[Id.DOC_TYPE].text() not in ("matroska", "webm"):
        raise NeedsDemuxerError("an EBML file, but none that says it is Matroska or WebM")
    position = head.at + len(head.data)
    kind, body, size = _head(source, position)
    while kind == Id.VOID and size is not None:
        kind, body, size = _head(source, body + size)
    if kind != Id.SEGMENT:
        raise NeedsDemuxerError(
            f"element {kind:x} at byte {position} where the segment should begin"
        )
    return body, None if size is None else body + size


def _tables(source: Source, begin: int, stop: int | None) -> Segment:
    found: dict[int, Element] = {}
    position = begin
    for _ in range(_MAX_BEFORE_CLUSTERS):
        kind, body, size = _head(source, position)
        if kind == Id.CLUSTER:
            if not {Id.INFO, Id.TRACKS} <= found.keys():
                _follow_seek_head(source, begin, found)
            info = found[Id.INFO].fields() if Id.INFO in found else {}
            scale = info[Id.TIMESTAMP_SCALE].uint() if Id.TIMESTAMP_SCALE in info else 0
            if scale >= _MAX_SCALE:
                raise NeedsDemuxerError(f"ticks of {scale} ns")
            return Segment(read_tracks(found[Id.TRACKS]), scale or 1_000_000, position, stop)
        if kind not in LEVEL_1 or size is None or (stop is not None and body + size > stop):
            raise NeedsDemuxerError(
                f"element {kind:x} at byte {position} of the segment is damaged"
            )
        if kind in (Id.INFO, Id.TRACKS):
            if kind in found:
                raise NeedsDemuxerError("a segment with two tables of one kind")
            found[kind] = _content(source, kind, body, size)
        elif kind == Id.SEEK_HEAD and kind not in found:
            found[kind] = _content(source, kind, body, size)
        position = body + size
    raise NeedsDemuxerError(f"{_MAX_BEFORE_CLUSTERS} elements and no cluster")


def _follow_seek_head(source: Source, begin: int, found: dict[int, Element]) -> None:
    """Add the tables after the clusters, located by the SeekHead.

    Raises:
        NeedsDemuxerError: the SeekHead has no Tracks entry, or another element is there.
    """
    entries = found[Id.SEEK_HEAD].children() if Id.SEEK_HEAD in found else iter(())
    for entry in entries:
        fields = entry.fields()
        if entry.kind != Id.SEEK or not {Id.SEEK_ID, Id.SEEK_POSITION} <= fields.keys():
            continue
        wanted = fields[Id.SEEK_ID].uint()
        position = begin + fields[Id.SEEK_POSITION].uint()
        if wanted not in (Id.INFO, Id.TRACKS) or wanted in found or position >= source.size:
            continue
        kind, body, size = _head(source, position)
        if kind != wanted:
            raise NeedsDemuxerError(f"element {kind:x} stands where {wanted:x} should")
        found[kind] = _content(source, kind, body, size)
    if Id.TRACKS not in found:
        raise NeedsDemuxerError("no tracks in front of the clusters, and nothing leads to them")


def _head(source: Source, position: int) -> tuple[int, int, int | None]:
    data = source.read_up_to(position, MAX_HEAD)
    if len(data) < 2:
        raise FormatError(
            f"truncated: the file ends at byte {source.size}, before the first cluster of frames"
        )
    kind, length, size = read_head(data, position)
    return kind, position + length, size


def _content(source: Source, kind: int, body: int, size: int | None) -> Element:
    if size is None:
        raise NeedsDemuxerError(f"element {kind:x} at byte {body} has no size")
    if size > _MAX_TABLE:
        raise NeedsDemuxerError(f"element {kind:x} at byte {body} has {size} bytes")
    if body + size > source.size:
        raise FormatError(
            f"truncated: element {kind:x} runs to byte {body + size}, but the file ends at "
            f"{source.size}"
        )
    return Element(kind, source.read(body, size), body)
