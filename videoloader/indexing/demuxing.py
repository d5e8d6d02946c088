"""Indexes a file with FFmpeg's demuxers, by one pass over all packets."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.codec import PictureCheck
from videoloader.codecs.color import Color, color_from_codes
from videoloader.codecs.contexts import pixel_format_of
from videoloader.codecs.nal import split_units
from videoloader.codecs.registry import codec_of
from videoloader.errors import FormatError, UnsupportedError
from videoloader.indexing.containers.registry import container_of
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.libav import Packet, fraction_of, open_stream, packets_of
from videoloader.indexing.packets import (
    NO_TIME,
    PACKET_DTYPE,
    Orientation,
    PacketFlags,
    order_is_known,
)
from videoloader.indexing.packing import PacketLayout
from videoloader.indexing.traits import NO_AUDIO, Audio, StreamTraits
from videoloader.sources.source import Source

if TYPE_CHECKING:
    import av
    from av.container import InputContainer
    from av.video.stream import VideoStream

_SPARE = 1 << 20  # total bytes by which packets may overlap
_PART = 4096  # packets
_FREE_PACKETS, _TINY = 1 << 15, 8  # beyond this many packets, the minimum average size
_SEARCH = 64  # bytes after a packet's stated position in which its payload may begin


def index_by_demuxing(source: Source, *, stream: int | None = None) -> tuple[VideoIndex, bool]:
    """Index any file that FFmpeg reads, by a pass over its packets.

    Returns:
        The index, and whether the packets determine which frames there are and in which order.

    Raises:
        FormatError: FFmpeg does not open it, or there is no video stream in it.
        UnsupportedError: the codec has no decoder.
    """
    with open_stream(source, stream) as (opened, video):
        context = video.codec_context
        if context is None:
            raise UnsupportedError(f"the codec of stream {video.index} has no decoder")
        codec = context.codec.canonical_name
        problems: list[str] = []
        packets = packets_of(opened, video, problems)
        check = codec_of(codec).picture_check
        is_one = check and check(context.extradata or b"")
        found = _tabulate(packets, codec, source, is_one)
        table = found.table
        pieces = container_of(opened.format.name.split(",")[0]).damaged_pieces
        if pieces is not None:
            _mark_damaged(table, found.places, pieces(source, video.id))
        is_intra_only = context.codec.intra_only
        if not is_intra_only and codec_of(codec).describe is None:
            _doubt_keyframes(table)
        index = VideoIndex(
            packets=table,
            time_base=fraction_of(video.time_base),
            codec=codec,
            width=context.width,
            height=context.height,
            exactness="demux",
            stream=video.index,
            container=opened.format.name.split(",")[0],
            pixel_format=pixel_format_of(context),
            bit_depth=context.format.components[0].bits if context.format else None,
            color=_color(context),
            codec_tag=_tag(context),
            extradata=((0, context.extradata or b""),),
            packing=PacketLayout(is_demuxed=not found.is_located),
            name=source.name,
            fingerprint=replace(source.fingerprint, head=source.head),
            warnings=tuple(f"{source.name}: {text}" for text in problems),
            traits=_traits(opened, video, codec),
        )
        reorders = context.has_b_frames > 0
    index = replace(index, **_framing(index, found.first))
    container = container_of(index.container)
    if container.has_display_matrix:
        index = replace(index, orientation=_orientation(source, index.stream))
    # Times of AVI and ASF number packets instead of frames; there may still be B-frames.
    is_timed = is_intra_only or container.times != "decode"
    order_known = is_timed and _order_is_known(
        index, reorders=reorders, is_forward=found.is_forward
    )
    return index, found.is_single and order_known


class _Demuxed(NamedTuple):
    """Packets of a demuxer.

    Attributes:
        first: the first payload.
        table: of all packets.
        places: where the demuxer says that each begins, -1 if it does not.
        is_located: `table` has their offsets.
        is_single: no packet shows two frames.
        is_forward: headers do not tell of B-pictures.
    """

    first: bytes
    table: NDArray[Any]
    places: NDArray[np.int64]
    is_located: bool
    is_single: bool
    is_forward: bool


def _tabulate(
    packets: Iterator[Packet], codec: str, source: Source, is_one: PictureCheck | None
) -> _Demuxed:
    """Tabulate all packets. `is_one` is from `Codec.picture_check`.

    A demuxer states where the header of a packet begins, or nothing; a packet in several pieces
    has no single position. A position is accepted only if all bytes there equal the payload.
    Payloads are released one by one, so the file need not fit into memory.
    """
    first, end, is_located, is_single = b"", 0, True, True
    is_forward = True
    known, room = codec_of(codec), 2 * source.size + _SPARE
    most = _FREE_PACKETS + source.stored // _TINY
    rows: list[tuple[int, ...]] = []
    places = array("q")
    parts = [np.empty(0, dtype=PACKET_DTYPE)]
    for packet in packets:
        first = first or packet.data
        places.append(packet.offset)
        offset = _locate(packet, end, source) if is_located else -1
        is_located = offset >= 0
        size = len(packet.data)
        end = offset + size
        flags = packet.flags
        if known.count_shown is not None:
            shown = known.count_shown(packet.data)
            flags |= PacketFlags.HIDDEN * (shown == 0)
            is_single &= shown < 2
        if is_one is not None:
            is_forward = is_forward and is_one(packet.data, forwards=True)
            is_single = is_single and (is_forward or is_one(packet.data, forwards=False))
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
    table = np.concatenate([*parts, np.array(rows, dtype=PACKET_DTYPE)])
    if not is_located:
        table["offset"] = -1
    begins = np.array(places)
    return _Demuxed(first, table, begins, is_located, is_single, is_forward)


def _mark_damaged(
    table: NDArray[Any], places: NDArray[np.int64], pieces: NDArray[np.int64] | None
) -> None:
    """Mark packets that begin in damaged pieces of the file.

    FFmpeg's parsers hand the mark of a piece to the packet before the one that begins in it, which
    may end there.
    """
    damaged = (table["flags"] & np.uint16(PacketFlags.DAMAGED)) != 0
    if pieces is None:
        damaged[1:] |= damaged[:-1]
    else:
        damaged |= np.isin(places, pieces)
    table["flags"] |= damaged * np.uint16(PacketFlags.DAMAGED)


def _doubt_keyframes(table: NDArray[Any]) -> None:
    """Leave the mark of a keyframe to the first packet if all packets have it.

    Demuxers and parsers that do not know which packets are keyframes mark all of them: AVI without
    an index, H.261. Decoding from the beginning is right in any case.
    """
    key = np.uint16(PacketFlags.KEY)
    if (table["flags"] & key).all():
        table["flags"][1:] &= ~key


def _locate(packet: Packet, end: int, source: Source) -> int:
    """Offset of a payload: near the demuxer's position or after the previous packet; else -1."""
    for start in (packet.offset, end):
        if start >= 0:
            found = source.read_up_to(start, len(packet.data) + _SEARCH).find(packet.data)
            if found >= 0:
                return start + found
    return -1


def _tag(context: av.VideoCodecContext) -> str:
    try:
        tag = context.codec_tag
    except (UnicodeDecodeError, ValueError):
        return ""  # not text, as in transport streams; decoders ignore it
    return tag if tag.isprintable() else ""


def _traits(opened: InputContainer, video: VideoStream, codec: str) -> StreamTraits:
    audio = NO_AUDIO
    if opened.streams.audio:
        sound = opened.streams.audio[0].codec_context
        if sound is None:  # without a decoder
            audio = Audio()
        else:
            rate, channels = sound.sample_rate or None, sound.channels or None
            audio = Audio(sound.codec.canonical_name, rate, channels)
    ratio = video.sample_aspect_ratio
    aspect = fraction_of(ratio) if ratio else None
    return StreamTraits(audio, aspect or None, codec_of(codec).has_fields)


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
        for unit in split_units(data):
            if len(unit) > 2 and nal.kind(unit[0]) == nal.sequence:
                return {"sub_layers": nal.parse_sequence(unit).picture.sub_layers}
    if framed:
        length_size = nal.record_length_size(extradata)
        return {"length_size": length_size, "sub_layers": extradata[21] >> 3 & 7 or 1}
    return {}


def _order_is_known(index: VideoIndex, *, reorders: bool, is_forward: bool) -> bool:
    """Whether the packets alone determine which frames there are and in which order."""
    table = index.packets
    if not len(table):
        return True
    if not (index.width and index.height):
        return False  # left to decoding
    discards = table["flags"] & np.uint16(PacketFlags.DISCARD)
    if discards.any() and codec_of(index.codec).start_codes is not None:
        return False  # frames shown at the edges of edits may have times of frames before them
    # Some writers omit composition times although frames are reordered.
    is_suspicious = reorders and (table["pts"] == table["dts"]).all()
    if not is_forward and len(table) > 1:
        is_suspicious = (np.diff(table["pts"]) >= 0).all()
    return not is_suspicious and (table["pts"] != NO_TIME).all() and order_is_known(table)


def _orientation(source: Source, stream: int) -> Orientation:
    """The display matrix. PyAV exposes it only on decoded frames, so one frame is decoded."""
    import av

    with open_stream(source, stream) as (container, video):
        try:
            frame = next(container.decode(video), None)
        except av.error.FFmpegError:
            return Orientation()
        side_data: Any = None if frame is None else frame.side_data.get("DISPLAYMATRIX")
        if side_data is None:
            return Orientation()
        matrix = np.frombuffer(bytes(side_data), dtype="<i4")
        return Orientation.from_matrix(*(int(matrix[place]) for place in (0, 1, 3, 4)))
