"""`CONTAINERS`: one `Container` value for each known container."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from videoloader.indexing.containers.asf import ASF
from videoloader.indexing.containers.avi import AVI
from videoloader.indexing.containers.container import Container, Indexed
from videoloader.indexing.containers.flv import FLV
from videoloader.indexing.containers.ivf import IVF
from videoloader.indexing.containers.matroska.file import MATROSKA
from videoloader.indexing.containers.mp4.movie import MP4
from videoloader.indexing.containers.mpegts.stream import MPEGTS
from videoloader.indexing.containers.obu import OBU
from videoloader.indexing.containers.raw import H264, HEVC
from videoloader.sources.source import Source

# Further raw streams that FFmpeg reads. It assumes 25 frames a second if they state no rate.
_RAW = """
    apv avs avs2 avs3 cavsvideo dirac dnxhd evc h261 h263 m4v mjpeg_2000 mpegvideo vc1 vvc
""".split()  # noqa: SIM905

CONTAINERS = (
    # Parsers in the order in which they are tried; the least distinctive beginnings come last.
    MP4,
    MATROSKA,
    MPEGTS,
    IVF,
    FLV,
    HEVC,
    H264,
    AVI,
    OBU,
    ASF,
    # Without parsers: FFmpeg reads them; their endings and times are known.
    Container(name="mpeg", endings=(".mpeg", ".mpg", ".ps")),
    Container(name="ogg", endings=(".ogv",), media_type="video/ogg"),
    Container(name="mjpeg", endings=(".mjpeg",), times="none"),
    *(Container(name=name, times="none") for name in _RAW),
)

_SOUND = (
    *(
        Container(name=name, counts_samples=True, duration_slack=0.0)
        for name in ("aiff", "au", "flac", "w64", "wav")
    ),
    Container(name="caf", counts_samples=True),
    Container(name="mp3", duration_slack=0.25),
)

VIDEO_SUFFIXES = frozenset(ending for container in CONTAINERS for ending in container.endings)
"""File name suffixes, in lower case, of videos in folders and archives."""

_BY_NAME = {
    name: one for one in (*CONTAINERS, *_SOUND) for name in (one.name, one.demuxer or one.name)
}


@cache
def container_of(name: str) -> Container:
    """The container with this name or this FFmpeg demuxer; for others, a `Container` of defaults.

    >>> container_of("mp4") is container_of("mov"), container_of("invented").times
    (True, 'presentation')
    """
    if name.endswith("_pipe"):  # pictures one after the other
        return Container(name=name, times="none")
    return _BY_NAME.get(name) or Container(name=name)


def index_by_tables(source: Source, *, stream: int | None = None) -> Indexed:
    """The result of the first parser that reads the file; None if none does."""
    for container in _containers_at(source):
        if container.parser is not None:
            found = container.parser(source, stream=stream)
            if found is not None:
                return found
    return None


def stated_end(source: Source) -> int:
    """The end of a file by its headers; 0 if they do not state it."""
    ends = [one.stated_end(source) for one in _containers_at(source) if one.stated_end is not None]
    return max(ends, default=0)


def _containers_at(source: Source) -> Iterator[Container]:
    first = source.beginning
    return (one for one in CONTAINERS if one.begins is not None and one.begins(first))
