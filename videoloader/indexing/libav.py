"""Indexes a file with FFmpeg's demuxers (PyAV), by one pass over all packets."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.color import Color, color_from_codes
from videoloader.codecs.nal import annexb_units
from videoloader.codecs.registry import codec_of
from videoloader.errors import FormatError, UnsupportedError
from videoloader.indexing.contexts import check_allowed, most_pixels, pixel_format_of, reason_of
from videoloader.indexing.formats import CONFINED, HEAD, is_text, refuse_others, refuse_references
from videoloader.indexing.index import (
    PACKET_DTYPE,
    Orientation,
    PacketFlags,
    VideoIndex,
)
from videoloader.sources.faults import InterruptedReadError
from videoloader.sources.source import Source

if TYPE_CHECKING:
    import av
    from av.container import InputContainer
    from av.video.stream import VideoStream

__all__ = [
    "StreamHeader",
    "demux_packets",
    "find_best_stream",
    "index_by_demuxing",
    "open_container",
    "read_stream_header",
]

_NO_TIME = np.iinfo(np.int64).min
_SPARE = 1 << 20  # total bytes by which packets may overlap
_PART = 4096  # packets
_FREE_PACKETS, _TINY = 1 << 15, 8  # beyond this many packets, the minimum average size
_SEARCH = 64  # bytes after a packet's stated position in which its payload may begin

# Formats with a display matrix.
_TURNING = {"mov", "matroska"}


class _Packet(NamedTuple):
    """A packet as the demuxer describes it."""

    data: bytes
    offset: int
    pts: int
    dts: int
    duration: int
    flags: int
    is_whole: bool


@contextmanager
def open_container(
    source: Source, kind: str = "video file", options: Mapping[str, str] | None = None
) -> Iterator[InputContainer]:
    """Open the container in a source with FFmpeg.

    libav opens nothing by name, and does not get the name of the file: it would treat
    `%03d.jpg` as a pattern of image files and open them.

    Args:
        source: stays open; the file object that FFmpeg reads from is closed at the end.
        kind: what the file should be, for the message.
        options: options of FFmpeg, in addition to `CONFINED`.
    """
    check_allowed()
    import av

    head = source.read_up_to(0, HEAD)
    refuse_references(head)
    refuse_others(head)
    with source.file() as file:
        try:
            arguments = _arguments(CONFINED | dict(options or {}))
            container = av.open(_Nameless(file), mode="r", **arguments)
        except (av.error.FFmpegError, ValueError) as error:
            reason = "it is text" if is_text(head) else reason_of(error)
            raise FormatError(f"no {kind} that FFmpeg opens ({reason})") from error
        except InterruptedReadError as error:
            raise error.interrupt from None
        with container:
            try:
                yield container
            except InterruptedReadError as error:
                raise error.interrupt from None


class _Nameless:
    """A file as PyAV reads it.

    PyAV reads in the middle of calls of FFmpeg. It raises an error of the file when the call
    returns, if it is an `Exception`; it drops an interrupt, and takes the file to end there.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.seek = file.seek
        self.tell = file.tell
        self._read = file.read
        self._is_interrupted = False

    def read(self, size: int) -> bytes:
        if self._is_interrupted:
            return b""
        try:
            return self._read(size)
        except Exception:
            raise
        except BaseException as interrupt:  # noqa: BLE001  (`open_container` raises it)
            self._is_interrupted = True
            raise InterruptedReadError(interrupt) from None


@contextmanager
def _open(source: Source, stream: int | None) -> Iterator[tuple[InputContainer, VideoStream]]:
    """The container and the stream asked for, FFmpeg's best by default."""
    # Limits of the pictures that FFmpeg may decode while it probes the streams.
    limits = {"max_pixels": str(most_pixels(source.size))}
    with open_container(source, options=limits) as container:
        chosen = _choose(container, stream)
        if chosen.codec_context is not None:
            chosen.codec_context.options = limits
        yield container, chosen


def _arguments(options: dict[str, str]) -> dict[str, Any]:
    """The arguments of `av.open` that give these options to FFmpeg.

    PyAV before 17 frees memory that it does not own where options are for codecs as well and
    streams come to light in the middle of a file, as those of MPEG-PS. There they are for the
    container only: what FFmpeg decodes to find out what streams are is bounded by the size of the
    file, and not by `max_pixels`. Titles in an unknown encoding are no reason to refuse a video;
    PyAV 19 takes any.
    """
    import av

    version = int(av.__version__.partition(".")[0])
    arguments: dict[str, Any] = {"options" if version >= 17 else "container_options": options}
    return arguments | ({"metadata_errors": "ignore"} if version < 19 else {})


def find_best_stream(source: Source) -> int:
    """The number of the video stream that FFmpeg selects by default."""
    with _open(source, None) as (_, video):
        return video.index


class StreamHeader(NamedTuple):
    """Properties of a video stream that FFmpeg reads from the header of a container.

    `duration` and `begin` are in seconds, None if unknown; `bit_rate` is in bits a second, 0 if
    unknown. `frame_rate` is FFmpeg's estimate of the rate that all times are multiples of.
    `pixel_aspect_ratio` is 0 if unknown.
    """

    duration: float | None
    begin: float | None
    bit_rate: int
    num_frames: int | None
    frame_rate: float | None
    pixel_aspect_ratio: Fraction


def read_stream_header(source: Source, stream: int) -> StreamHeader:
    """Read the properties of a video stream from the container's header; reads no packets."""
    with _open(source, stream) as (_, video):
        seconds_per_tick = _fraction(video.time_base)
        rate = video.base_rate
        context = video.codec_context
        ratio = None if context is None else context.sample_aspect_ratio
        return StreamHeader(
            float(video.duration * seconds_per_tick) if video.duration else None,
            None if video.start_time is None else float(video.start_time * seconds_per_tick),
            video.bit_rate or 0,
            video.frames or None,
            float(_fraction(rate)) if rate else None,
            _fraction(ratio) if ratio else Fraction(0),
        )


def _choose(container: InputContainer, stream: int | None) -> VideoStream:
    if stream is None:
        best = container.streams.best("video")
        if best is None:
            kinds = ", ".join(sorted({s.type for s in container.streams})) or "none"
            raise FormatError(f"there is no video stream (streams: {kinds})")
        return best  # type: ignore[return-value]
    chosen = [s for s in container.streams.video if s.index == stream]
    if not chosen:
        numbers = [s.index for s in container.streams.video]
        raise FormatError(f"stream {stream} is no video stream; those are {numbers}")
    return chosen[0]


def demux_packets(source: Source, stream: int) -> Generator[bytes, None, None]:
    """The payloads of all packets of a stream, in the order of its index."""
    with _open(source, stream) as (container, video):
        for packet in _packets(container, video, []):
            yield packet.data


def _packets(
    container: InputContainer, stream: VideoStream, problems: list[str]
) -> Iterator[_Packet]:
    """All packets of a stream; an error that ends them early is appended to `problems`."""
    import av

    demuxed = container.demux(stream)
    while True:
        try:
            packet = next(demuxed, None)
        except av.error.FFmpegError as error:
            # The rest is unreadable; FFmpeg's own decode ends here too.
            problems.append(f"unreadable behind the last packet ({reason_of(error)})")
            return
        if packet is None:
            return
        if packet.size == 0:
            continue
        flags = PacketFlags.KEY * packet.is_keyframe | PacketFlags.DISCARD * packet.is_discard
        yield _Packet(
            data=bytes(packet),
            offset=-1 if packet.pos is None else packet.pos,
            pts=_NO_TIME if packet.pts is None else packet.pts,
            dts=_NO_TIME if packet.dts is None else packet.dts,
            duration=packet.duration or 0,
            flags=int(flags),
            is_whole=not packet.is_corrupt,
        )


def index_by_demuxing(source: Source, *, stream: int | None = None) -> tuple[VideoIndex, bool]:
    """Index any file that FFmpeg reads, by a pass over its packets.

    Returns:
        The index, and whether the packets determine which frames there are and in which order.

    Raises:
        FormatError: FFmpeg does not open it, or there is no video stream in it.
        UnsupportedError: the codec has no decoder.
    """
    with _open(source, stream) as (container, video):
        context = video.codec_context
        if context is None:
            raise UnsupportedError(f"the codec of stream {video.index} has no decoder")
        codec = context.codec.canonical_name
        problems: list[str] = []
        packets = _packets(container, video, problems)
        first, table, is_located, is_single = _tabulate(packets, codec, source, problems)
        index = VideoIndex(
            packets=table,
            time_base=_fraction(video.time_base),
            codec=codec,
            width=context.width,
            height=context.height,
            exactness="demux",
            stream=video.index,
            container=container.format.name.split(",")[0],
            pixel_format=pixel_format_of(context),
            bit_depth=context.format.components[0].bits if context.format else None,
            color=_color(context),
            codec_tag=_tag(context),
            extradata=((0, context.extradata or b""),),
            packing="plain" if is_located else "demuxed",
            name=source.name,
            fingerprint=source.fingerprint,
            warnings=tuple(f"{source.name}: {text}" for text in problems),
        )
        is_intra_only = context.codec.intra_only
        reorders = context.has_b_frames
    index = replace(index, **_framing(index, first))
    if index.container in _TURNING:
        index = replace(index, orientation=_orientation(source, index.stream))
    order_known = _order_is_known(index, is_intra_only=is_intra_only, reorders=reorders)
    return index, is_single and order_known


def _tabulate(
    packets: Iterator[_Packet], codec: str, source: Source, problems: list[str]
) -> tuple[bytes, NDArray[Any], bool, bool]:
    """The first payload, the packet table, and whether all were located and none shows two frames.

    A demuxer states where the header of a packet begins, or nothing; a packet in several pieces
    has no single position. A position is accepted only if all bytes there equal the payload.
    Payloads are released one by one, so the file need not fit into memory.
    """
    first, end, is_located, is_whole, is_single = b"", 0, True, True, True
    known, room = codec_of(codec), 2 * source.size + _SPARE
    most = _FREE_PACKETS + source.stored // _TINY
    rows: list[tuple[int, ...]] = []
    parts = [np.empty(0, dtype=PACKET_DTYPE)]
    for packet in packets:
        is_whole = packet.is_whole
        first = first or packet.data
        offset = _locate(packet, end, source) if is_located else -1
        is_located = offset >= 0
        size = len(packet.data)
        end = offset + size
        flags = packet.flags
        if known.count_shown is not None:
            shown = known.count_shown(packet.data)
            flags |= PacketFlags.HIDDEN * (shown == 0)
            is_single &= shown < 2
        if known.is_intra is not None and (intra := known.is_intra(packet.data)) is not None:
            # Trust the picture headers instead of the container's keyframe flags.
            flags = flags & ~PacketFlags.KEY | PacketFlags.KEY * intra
        rows.append((offset, size, packet.pts, packet.dts, packet.duration, int(flags)))
        room -= size
        if room < 0:
            raise FormatError("its packets lie over one another")
        most -= 1
        if most < 0:
            raise FormatError(f"its packets have less than {_TINY} bytes on average")
        if len(rows) == _PART:  # a table takes a tenth of the memory
            parts.append(np.array(rows, dtype=PACKET_DTYPE))
            rows.clear()
    if not is_whole:
        problems.append("truncated: the last packet is not whole")
    table = np.concatenate([*parts, np.array(rows, dtype=PACKET_DTYPE)])
    if not is_located:
        table["offset"] = -1
    return first, table, is_located, is_single


def _locate(packet: _Packet, end: int, source: Source) -> int:
    """Offset of a payload: near the demuxer's position or after the previous packet; else -1."""
    for start in (packet.offset, end):
        if start >= 0:
            found = source.read_up_to(start, len(packet.data) + _SEARCH).find(packet.data)
            if found >= 0:
                return start + found
    return -1


def _fraction(value: Any) -> Fraction:
    """A rational of PyAV as a `Fraction`; its type depends on PyAV's version."""
    return Fraction(value.numerator, value.denominator) if value else Fraction(1)


def _tag(context: av.VideoCodecContext) -> str:
    try:
        tag = context.codec_tag
    except (UnicodeDecodeError, ValueError):
        return ""  # not text, as in transport streams; decoders ignore it
    return tag if tag.isprintable() else ""


def _color(context: av.VideoCodecContext) -> Color:
    full = {1: False, 2: True}.get(int(context.color_range))
    return color_from_codes(
        int(context.color_primaries),
        int(context.color_trc),
        int(context.colorspace),
        full_range=full,
    )


def _framing(index: VideoIndex, first: bytes) -> dict[str, Any]:
    """Length size of NAL units, and number of sub-layers of an HEVC stream."""
    nal, extradata = codec_of(index.codec).nal, index.extradata_of(0)
    if nal is None:
        return {}
    framed = extradata[:1] == b"\1" and len(extradata) >= nal.shortest_record
    if not nal.has_sub_layers:
        return {"length_size": nal.record_length_size(extradata)} if framed else {}
    # The parameter set is in the extradata, in either framing, or in the first packet.
    for data in (extradata, first):
        for unit in annexb_units(data):
            if len(data) > unit + 2 and nal.kind(data[unit]) == nal.sequence:
                stop = data.find(b"\0\0\1", unit)
                sequence = data[unit : stop if stop >= 0 else None]
                return {"sub_layers": nal.parse_sequence(sequence).picture.sub_layers}
    if framed:
        length_size = nal.record_length_size(extradata)
        return {"length_size": length_size, "sub_layers": extradata[21] >> 3 & 7 or 1}
    return {}


def _order_is_known(index: VideoIndex, *, is_intra_only: bool, reorders: bool) -> bool:
    """Whether the packets alone determine which frames there are and in which order."""
    table = index.packets
    if not len(table):
        return True
    if not (index.width and index.height):
        return False  # left to decoding
    shown = (table["flags"] & (PacketFlags.DISCARD | PacketFlags.HIDDEN)) == 0
    pts = np.sort(table["pts"][shown])
    return bool(
        (table["pts"] != _NO_TIME).all()
        and (pts[1:] > pts[:-1]).all()
        and table["flags"][0] & PacketFlags.KEY
        # Some writers omit composition times although frames are reordered.
        and not (reorders and (table["pts"] == table["dts"]).all())
        # AVI and ASF number packets instead of frames, and may still hold B-frames.
        and (is_intra_only or index.container not in ("avi", "asf"))
    )


def _orientation(source: Source, stream: int) -> Orientation:
    """The display matrix. PyAV exposes it only on decoded frames, so one frame is decoded."""
    import av

    with _open(source, stream) as (container, video):
        try:
            frame = next(container.decode(video), None)
        except av.error.FFmpegError:
            return Orientation()
        side_data: Any = None if frame is None else frame.side_data.get("DISPLAYMATRIX")
        if side_data is None:
            return Orientation()
        matrix = np.frombuffer(bytes(side_data), dtype="<i4")
        return Orientation.from_matrix(*(int(matrix[place]) for place in (0, 1, 3, 4)))
