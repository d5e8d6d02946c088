"""Indexing through FFmpeg's demuxers (PyAV), and through its decoders where nothing else is exact.

The slower ways to the same `VideoIndex`: one pass over all packets, and, where packets do not
tell which of them becomes which frame, one decoding pass over those.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError, UnsupportedError
from videoloader.indexing.bitstream import hevc
from videoloader.indexing.bitstream.color import Color, color_from_codes
from videoloader.indexing.bitstream.h263 import is_intra
from videoloader.indexing.bitstream.nal import annexb_units
from videoloader.indexing.bitstream.vpx import is_hidden
from videoloader.indexing.index import PACKET_DTYPE, Orientation, PacketFlags, VideoIndex
from videoloader.indexing.source import Source

if TYPE_CHECKING:
    import av
    from av.container import InputContainer
    from av.video.stream import VideoStream

__all__ = ["demux_packets", "index_by_demuxing", "make_packet", "open_decoder", "scan_order"]

_NO_TIME = np.iinfo(np.int64).min
_SEARCH = 64  # bytes behind a packet's position in which its payload may begin

# Formats that are text or that lead to other files: no video of their own.
_REFUSED = {"tty", "concat", "hls", "dash", "sdp", "rtsp", "bin", "adf", "idf", "xbin", "ansi"}

# Formats with a display matrix.
_TURNING = {"mov", "matroska"}

# Decoders that FFmpeg itself prefers, or that decode in software where its first choice does not.
_DECODERS = {"av1": "libdav1d"}


def open_decoder(
    codec: str,
    *,
    extradata: bytes = b"",
    tag: str = "",
    width: int = 0,
    height: int = 0,
    threads: int = 1,
) -> av.VideoCodecContext:
    """A decoder that takes packets directly, no container behind it.

    Raises:
        UnsupportedError: FFmpeg has no such decoder, or it refuses the set-up data.
    """
    import av

    try:
        context = av.CodecContext.create(_DECODERS.get(codec, codec), "r")
        assert isinstance(context, av.VideoCodecContext)
        if extradata:
            context.extradata = extradata
        if len(tag) == 4:
            context.codec_tag = tag
        context.width, context.height = width, height
        context.thread_count = threads
        context.thread_type = "FRAME" if threads > 1 else "NONE"
        if codec == "h264":
            # Hold back as many frames as the level allows. FFmpeg otherwise begins with too few
            # where the stream does not say, and drops the first that come out of order.
            context.options = {"strict": "1"}
        context.open()
    except (av.error.FFmpegError, ValueError) as error:
        raise UnsupportedError(
            f"no decoder for {codec!r} starts here ({_reason(error)})"
        ) from error
    return context


def make_packet(payload: bytes, number: int) -> av.Packet[Any]:
    """A packet for `open_decoder`'s decoders that names its frame by `number`.

    The payload is copied: `av.Packet(payload)` would point at Python's memory, without the zeros
    behind the end that decoders read into, and their output would depend on what lies there.
    """
    import av

    packet: av.Packet[Any] = av.Packet(len(payload))
    packet.update(payload)
    packet.pts = number
    return packet


@dataclass(frozen=True, slots=True)
class _Packet:
    """What is kept of a demuxed packet."""

    data: bytes
    offset: int
    pts: int | None
    dts: int | None
    duration: int
    flags: int


@contextmanager
def _open(source: Source, stream: int | None) -> Iterator[tuple[InputContainer, VideoStream]]:
    """The container and the stream asked for, FFmpeg's best by default."""
    import av

    with source.file() as file:
        try:
            container = av.open(file, mode="r", **_lenient())
        except (av.error.FFmpegError, ValueError) as error:
            raise FormatError(f"no video file that FFmpeg opens ({_reason(error)})") from error
        with container:
            yield container, _choose(container, stream)


def _lenient() -> dict[str, Any]:
    """Titles in an unknown encoding are no reason to refuse a video; PyAV 19 takes any."""
    import av

    return {"metadata_errors": "ignore"} if int(av.__version__.partition(".")[0]) < 19 else {}


def _reason(error: Exception) -> str:
    """FFmpeg's words, without number and path."""
    return str(getattr(error, "strerror", None) or error)


def _choose(container: InputContainer, stream: int | None) -> VideoStream:
    if set(container.format.name.split(",")) & _REFUSED:
        raise FormatError(f"it is {container.format.long_name}, not a video file")
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


def demux_packets(source: Source, stream: int) -> Iterator[bytes]:
    """The payloads of all packets of a stream, in the order of its index."""
    with _open(source, stream) as (container, video):
        for packet in _packets(container, video):
            yield packet.data


def _packets(container: InputContainer, stream: VideoStream) -> Iterator[_Packet]:
    import av

    demuxed = container.demux(stream)
    while True:
        try:
            packet = next(demuxed, None)
        except av.error.FFmpegError:
            return  # the rest is unreadable; FFmpeg's own decode ends here too
        if packet is None:
            return
        if packet.size == 0:
            continue
        flags = PacketFlags.KEY if packet.is_keyframe else PacketFlags(0)
        if packet.is_discard:
            flags |= PacketFlags.DISCARD
        offset = -1 if packet.pos is None else packet.pos
        yield _Packet(bytes(packet), offset, packet.pts, packet.dts, packet.duration or 0, flags)


def index_by_demuxing(source: Source, *, stream: int | None = None) -> VideoIndex:
    """Index any file that FFmpeg reads, by a pass over its packets.

    Raises:
        FormatError: FFmpeg does not open it, or there is no video stream in it.
        UnsupportedError: the codec has no decoder.
    """
    with _open(source, stream) as (container, video):
        context = video.codec_context
        if context is None:
            raise UnsupportedError(f"the codec of stream {video.index} has no decoder")
        packets = list(_packets(container, video))
        index = VideoIndex(
            packets=np.zeros(len(packets), dtype=PACKET_DTYPE),
            time_base=_fraction(video.time_base),
            codec=context.codec.canonical_name,
            width=context.width,
            height=context.height,
            exactness="demux",
            stream=video.index,
            container=container.format.name.split(",")[0],
            pixel_format=context.pix_fmt,
            bit_depth=context.format.components[0].bits if context.format else None,
            color=_color(context),
            codec_tag=_tag(context),
            extradata=((0, context.extradata or b""),),
            name=source.name,
            fingerprint=source.fingerprint,
        )
        reorders = context.has_b_frames
    index = replace(index, **_framing(index, packets))
    for field in ("offset", "size", "pts", "dts", "duration", "flags"):
        index.packets[field] = _column(packets, field)
    if not _locate(index.packets, packets, source):
        index = replace(index, packing="demuxed")
    if index.codec in ("vp8", "vp9"):
        hidden = np.array([is_hidden(index.codec, packet.data) for packet in packets], dtype=bool)
        index = index.with_flags(PacketFlags.HIDDEN, hidden)
    if index.codec == "h263":
        _mark_keys(index.packets, [is_intra(packet.data) for packet in packets])
    if index.container in _TURNING:
        index = replace(index, orientation=_orientation(source, index.stream))
    if _is_told(index, reorders=reorders):
        return index
    return scan_order(index, [packet.data for packet in packets])


def _column(packets: list[_Packet], field: str) -> NDArray[np.int64]:
    match field:
        case "size":
            values = [len(packet.data) for packet in packets]
        case "pts" | "dts":
            times = [getattr(packet, field) for packet in packets]
            values = [_NO_TIME if time is None else time for time in times]
        case _:
            values = [getattr(packet, field) for packet in packets]
    return np.array(values, dtype=np.int64)


def _fraction(value: Any) -> Fraction:
    """A rational of PyAV's, whose type depends on its version."""
    return Fraction(value.numerator, value.denominator) if value else Fraction(1)


def _tag(context: av.VideoCodecContext) -> str:
    try:
        tag = context.codec_tag
    except (UnicodeDecodeError, ValueError):
        return ""  # four numbers, as transport streams have, mean nothing to a decoder
    return tag if tag.isprintable() else ""


def _color(context: av.VideoCodecContext) -> Color:
    full = {1: False, 2: True}.get(int(context.color_range))
    return color_from_codes(
        int(context.color_primaries),
        int(context.color_trc),
        int(context.colorspace),
        full_range=full,
    )


def _framing(index: VideoIndex, packets: list[_Packet]) -> dict[str, Any]:
    """How NAL units are told apart, and the sub-layers of an HEVC stream."""
    extradata = index.extradata_of(0)
    framed = len(extradata) > 22 and extradata[0] == 1
    if index.codec == "h264" and len(extradata) > 6 and extradata[0] == 1:
        return {"length_size": (extradata[4] & 3) + 1}
    if index.codec != "hevc":
        return {}
    # The parameter set is in the set-up data, whatever its framing, or in the first packet.
    for data in (extradata, packets[0].data if packets else b""):
        for unit in annexb_units(data):
            if len(data) > unit + 2 and data[unit] >> 1 == 33:
                return {"sub_layers": hevc.parse_sps(data[unit:]).sub_layers}
    if framed:
        return {"length_size": (extradata[21] & 3) + 1, "sub_layers": extradata[21] >> 3 & 7 or 1}
    return {}


def _locate(table: NDArray[Any], packets: list[_Packet], source: Source) -> bool:
    """Find where each payload lies in the file, so that it can be read without the demuxer.

    Demuxers tell where a packet's header begins, or nothing; containers of split packets have no
    such place. A place counts only if all bytes there are the payload's.
    """
    end = 0
    for number, packet in enumerate(packets):
        size = len(packet.data)
        for start in (packet.offset, end):
            if start < 0:
                continue
            found = source.read_up_to(start, size + _SEARCH).find(packet.data)
            if found >= 0:
                table["offset"][number] = start + found
                end = start + found + size
                break
        else:
            table["offset"] = -1
            return False
    return True


def _mark_keys(table: NDArray[Any], intra: list[bool | None]) -> None:
    """Believe the pictures, where they tell, and not the container's list of keyframes."""
    key = np.uint16(PacketFlags.KEY)
    table["flags"][[told is False for told in intra]] &= ~key
    table["flags"][[told is True for told in intra]] |= key


def _is_told(index: VideoIndex, *, reorders: bool) -> bool:
    """Whether the packets alone tell which frames there are and in which order."""
    table = index.packets
    if not len(table):
        return True
    shown = (table["flags"] & (PacketFlags.DISCARD | PacketFlags.HIDDEN)) == 0
    pts = np.sort(table["pts"][shown])
    return bool(
        (table["pts"] != _NO_TIME).all()
        and (pts[1:] > pts[:-1]).all()
        and table["flags"][0] & PacketFlags.KEY
        # Some writers leave composition times out although frames are reordered.
        and not (reorders and (table["pts"] == table["dts"]).all())
        # AVI and ASF count packets, not frames, and may hold B-frames all the same.
        and index.container not in ("avi", "asf")
    )


def scan_order(index: VideoIndex, payloads: list[bytes]) -> VideoIndex:
    """Decode everything once: each frame says which packet it came from.

    Args:
        index: whose packets are known, but not which frames they become.
        payloads: bytes of all packets.
    """
    table = index.packets.copy()
    places: list[int] = []
    size = (index.width, index.height)
    for place, frame in _decode_all(index, payloads):
        if not places:
            size = (frame.width, frame.height)
        places.append(place)
    order = np.array(places, dtype=np.int64)
    shown = np.zeros(len(table), dtype=bool)
    shown[order] = True
    discarded = (table["flags"] & PacketFlags.DISCARD) != 0
    order = order[~discarded[order]]
    table["flags"][~shown & ~discarded] |= np.uint16(PacketFlags.HIDDEN)
    table["pts"][order] = _complete(table["pts"][order], table["duration"][order], index)
    rest = table["pts"] == _NO_TIME
    # What is not shown has no time of its own; it takes that of the frame before it.
    last = np.maximum.accumulate(np.where(rest, -1, np.arange(len(table))))
    table["pts"][rest] = np.where(last[rest] >= 0, table["pts"][np.maximum(last[rest], 0)], 0)
    table["dts"][table["dts"] == _NO_TIME] = 0
    width, height = size
    return replace(
        index, packets=table, order=order, exactness="decode", width=width, height=height
    )


def _decode_all(
    index: VideoIndex, payloads: list[bytes]
) -> Iterator[tuple[int, av.VideoFrame]]:
    """All frames in the order a decoder gives them, each with its packet."""
    import av

    decoder = open_decoder(
        index.codec,
        extradata=index.extradata_of(0),
        tag=index.codec_tag,
        width=index.width,
        height=index.height,
    )
    for number in range(len(payloads) + 1):
        try:
            if number == len(payloads):
                frames = decoder.decode(None)
            else:
                frames = decoder.decode(make_packet(payloads[number], number))
        except av.error.FFmpegError:
            continue  # FFmpeg's decode leaves out what does not decode
        for frame in frames:
            if frame.pts is not None:
                yield frame.pts, frame


def _complete(
    pts: NDArray[np.int64], durations: NDArray[np.int64], index: VideoIndex
) -> NDArray[np.int64]:
    """Times for the frames that have none: a frame's duration after the one before."""
    missing = pts == _NO_TIME
    if not missing.any():
        return pts
    known = durations[durations > 0]
    step = int(np.median(known)) if len(known) else max(round(1 / (25 * index.time_base)), 1)
    places = np.arange(len(pts))
    given = places[~missing]
    if not len(given):
        return places * step
    anchor = given[np.maximum(np.searchsorted(given, places, side="right") - 1, 0)]
    return np.where(missing, pts[anchor] + (places - anchor) * step, pts)


def _orientation(source: Source, stream: int) -> Orientation:
    """The display matrix, which PyAV shows on decoded frames only."""
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
