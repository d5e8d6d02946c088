"""`index_video`: indexes a video file of any container."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

from videoloader.errors import FormatError, VideoError
from videoloader.indexing.containers.avi import index_avi
from videoloader.indexing.containers.flv import index_flv
from videoloader.indexing.containers.ivf import index_ivf
from videoloader.indexing.containers.matroska import index_matroska, segment_end
from videoloader.indexing.containers.mp4 import index_mp4
from videoloader.indexing.containers.mpegts.grid import transport_end
from videoloader.indexing.containers.mpegts.stream import index_mpegts
from videoloader.indexing.containers.obu import index_obu
from videoloader.indexing.containers.raw import index_raw
from videoloader.indexing.containers.riff import riff_end
from videoloader.indexing.contexts import LibavNeededError, without_libav
from videoloader.indexing.headers import read_headers
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.libav import index_by_demuxing
from videoloader.indexing.order.decode_scan import scan_order
from videoloader.indexing.order.time_check import check_times
from videoloader.indexing.payloads import read_packets
from videoloader.indexing.timing import read_rate, with_rate
from videoloader.indexing.truncation import asf_end, past_the_end
from videoloader.sources.faults import as_video_error, is_mistake
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source, VideoSource

__all__ = ["index_natively", "index_video"]

# Readers recognize a container by its first bytes; the least distinctive formats come last.
_READERS = (
    index_mp4,
    index_matroska,
    index_mpegts,
    index_ivf,
    index_flv,
    index_raw,
    index_avi,
    index_obu,
)


def index_video(
    source: VideoSource | Source,
    headers: bool = False,
    *,
    stream: int | None = None,
    fps: float | Fraction | None = None,
    strict: bool = False,
) -> VideoIndex:
    """Find every frame of a video from the tables of its container.

    MP4 and MOV, Matroska and WebM, MPEG transport streams, AVI, FLV, IVF and raw streams are read
    without a demuxer. Other containers take a pass over their packets with FFmpeg's demuxer. If
    packets do not determine the frames, the video is decoded once. `VideoIndex.exactness` says
    which way was taken.

    Args:
        source: path, URL, bytes, or a seekable binary file.
        headers: also read the header of every packet, to know which are disposable. Otherwise
            this is determined for each run of packets when it is decoded.
        stream: number of a video stream in the container; by default the one FFmpeg selects.
        fps: frames a second of a raw stream, which has no times; by default the rate in its
            headers, or 25. The float 24000 / 1001 is read as that exact fraction.
        strict: refuse a file that is truncated or has damaged timestamps. By default the frames
            that are present are indexed, and `VideoIndex.warnings` says what is wrong.

    Raises:
        ArgumentError: `fps` is given, but the container has times of its own.
        SourceError: the file is missing, a directory, or cannot be read.
        FormatError: it is not a video, or is damaged or truncated.
        UnsupportedError: it is encrypted, or its codec has no decoder.

    >>> index_video(b"no video")
    Traceback (most recent call last):
    ...
    videoloader.errors.FormatError: <8 bytes>: no video file that FFmpeg opens ...
    """
    rate = None if fps is None else read_rate(fps)
    opened = open_source(source)
    try:
        with _naming(opened):
            index = _index(opened, stream)
            if rate is not None:
                index = with_rate(index, rate)
            if strict and index.warnings:
                raise FormatError(index.warnings[0])
            return read_headers(index, opened) if headers else index
    finally:
        if opened is not source:
            opened.close()


def index_natively(source: Source) -> VideoIndex | None:
    """`index_video` without FFmpeg's code, which may crash or hang; None if FFmpeg is needed.

    Raises:
        VideoError: as `index_video`.
    """
    try:
        with _naming(source), without_libav():
            return _index(source, None)
    except LibavNeededError:
        return None


@contextmanager
def _naming(source: Source) -> Iterator[None]:
    """Convert errors to `VideoError` subclasses that name the source."""
    try:
        yield
    except VideoError as error:
        if str(error).startswith(source.name):
            raise
        raise type(error)(f"{source.name}: {error}") from error
    except LibavNeededError:
        raise
    except Exception as error:
        # An unexpected exception of a parser means that the file is damaged.
        if is_mistake(error):
            raise
        raise as_video_error(error, source.name, FormatError) from error


def _index(source: Source, stream: int | None) -> VideoIndex:
    head = source.head
    index = _read(source, stream)
    return replace(index, fingerprint=replace(index.fingerprint, head=head))


def _read(source: Source, stream: int | None) -> VideoIndex:
    for read in _READERS:
        found = read(source, stream=stream)
        if found is not None:
            return _ordered(source, *found)
    index, order_known = index_by_demuxing(source, stream=stream)
    end = max(says(source) for says in (riff_end, segment_end, transport_end, asf_end))
    warnings = index.warnings or past_the_end(source, "what its headers announce", end)
    return _ordered(source, replace(index, warnings=warnings), order_known)


def _ordered(source: Source, index: VideoIndex, order_known: bool) -> VideoIndex:
    if order_known:
        return check_times(index, source)
    return scan_order(index, read_packets(index, source))
