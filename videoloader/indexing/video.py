"""`index_video`: indexes a video file of any container."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import numpy as np

from videoloader.codecs.contexts import LibavNeededError, without_libav
from videoloader.errors import ArgumentError, FormatError, VideoError
from videoloader.indexing.containers.container import past_the_end
from videoloader.indexing.containers.registry import container_of, index_by_tables, stated_end
from videoloader.indexing.demuxing import index_by_demuxing
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.order.decode_scan import scan_order
from videoloader.indexing.order.time_check import check_times
from videoloader.indexing.payloads import read_packets
from videoloader.indexing.rates import read_rate
from videoloader.indexing.references import read_headers
from videoloader.machinery.system.faults import as_video_error, is_mistake
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source, VideoSource


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
                index = _with_rate(index, rate)
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
    found = index_by_tables(source, stream=stream)
    if found is None:
        index, order_known = index_by_demuxing(source, stream=stream)
        end = stated_end(source)
        warnings = index.warnings or past_the_end(source, "what its headers announce", end)
        index = replace(index, warnings=warnings)
    else:
        index, order_known = found
    if order_known:
        index = check_times(index, source)
    else:
        index = scan_order(index, read_packets(index, source))
    return _with_damage_flags(index)


def _with_damage_flags(index: VideoIndex) -> VideoIndex:
    """The index, with a warning if packets are damaged."""
    damaged = index.damaged.nonzero()[0]
    is_last = len(damaged) and damaged[0] == len(index.packets) - 1
    if not len(damaged) or (is_last and index.warnings):
        return index
    text = f"damaged: packets are not whole: {len(damaged)}, the first of them packet {damaged[0]}"
    if is_last:
        text = "truncated: the last packet is not whole"
    return replace(index, warnings=(*index.warnings, f"{index.name}: {text}"))


def _with_rate(index: VideoIndex, rate: Fraction) -> VideoIndex:
    """The same frames at `rate` frames a second, starting at time 0; one tick is one frame.

    Raises:
        ArgumentError: the container has times of its own.
    """
    if container_of(index.container).times != "none":
        raise ArgumentError(
            f"{index.name}: fps={rate} given, but {index.container} files have times of their own; "
            "leave fps out"
        )
    table = index.packets.copy()
    # A packet that shows no frame gets the time of the frame before it.
    shown = np.full(len(table), -1)
    shown[index.frame_packets] = np.arange(index.num_frames)
    table["pts"] = np.where(shown >= 0, shown, np.maximum.accumulate(np.maximum(shown, 0)))
    places = np.arange(len(table))
    table["dts"] = places - max(int((places - table["pts"]).max(initial=0)), 0)
    table["duration"] = 1
    return replace(index, packets=table, time_base=1 / rate)
