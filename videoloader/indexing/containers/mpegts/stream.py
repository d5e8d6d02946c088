"""`index_mpegts`: builds the `VideoIndex` of a transport stream."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs import mpeg2, tags
from videoloader.codecs.codec import Described, NalSyntax
from videoloader.codecs.nal import split_units
from videoloader.codecs.picture import PictureFormat
from videoloader.codecs.registry import codec_of, nal_syntax
from videoloader.errors import FormatError
from videoloader.indexing.containers.annexb import find_units, packet_begins, split_pictures
from videoloader.indexing.containers.container import Container, Indexed, past_the_end, table_index
from videoloader.indexing.containers.mpegts.grid import (
    PACKET,
    Grid,
    Ints,
    begins_with_packets,
    read_grid,
    transport_end,
)
from videoloader.indexing.containers.mpegts.pes import PesPackets, damaged_pes, read_pes, unwrap
from videoloader.indexing.containers.mpegts.pictures import Pictures, read_pictures
from videoloader.indexing.containers.mpegts.programs import ElementaryStream, read_streams
from videoloader.indexing.containers.mpegts.units import (
    TransportUnits,
    count_pictures,
    pes_bytes,
    read_units,
)
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.libav import find_best_stream
from videoloader.indexing.order.nal_scan import NalScan, scan_units
from videoloader.indexing.order.picture_order import picture_order, with_order
from videoloader.indexing.packets import NO_TIME, PACKET_DTYPE, PacketFlags, order_is_known
from videoloader.indexing.packing import PacketLayout, TransportLayout
from videoloader.sources.opening import open_source
from videoloader.sources.source import Source

_TICKS = 90000
_MAX_SIZE = 1 << 29
_MAX_UNALIGNED = 1 << 28  # bytes of a stream to hold in memory
_LEAD = 1  # zeros before the first start code
_SAMPLES = 32  # PES packets to read completely even if their times are plausible


def index_mpegts(source: Source, *, stream: int | None = None) -> Indexed:
    """Index an MPEG transport stream.

    Returns:
        The index, and whether timestamps determine the order of the frames; None if the file is
        of another format or has unsupported features (rare codecs, PES packets that are not one
        frame each, tables that change), which need FFmpeg's demuxer.

    Raises:
        UnsupportedError: the stream is scrambled.
    """
    grid = read_grid(source)
    if grid is None:
        return None
    chosen = _choose(source, grid, stream)
    if chosen is None:
        return None
    pes = read_pes(grid, chosen.pid)
    if pes is None or (pes.pts == NO_TIME).any() or pes.sizes.max() > _MAX_SIZE:
        return None
    units = read_units(tags.MPEGTS[chosen.kind], grid, pes)
    if units is None:
        return _index_unaligned(source, grid, chosen, pes)
    setup = _read_setup(tags.MPEGTS[chosen.kind], grid, pes, units)
    if setup is None:
        return None
    pictures = read_pictures(setup.codec, setup.picture, grid, pes, units)
    frames = _frames(setup, grid, pes, pictures)
    if frames is None:
        return None
    packets = _packets(setup.picture, grid, pes, pictures, frames, chosen.together)
    index = _build(source, grid, chosen, setup, packets)
    index = replace(index, has_headers=True)
    if pes.damaged.any() or not _is_timed(packets):
        return index, False
    if pictures.reordered.any() and (packets["pts"] == packets["dts"]).all():
        return with_order(index, picture_order(index, source))
    return index, True


def _index_unaligned(
    source: Source, grid: Grid, chosen: ElementaryStream, pes: PesPackets
) -> Indexed:
    """Index a stream whose pictures do not begin with PES packets."""
    codec = tags.MPEGTS[chosen.kind]
    found = _read_unaligned(codec, grid, pes)
    if found is None:
        return None
    scan = found.scan
    picture = nal_syntax(codec).parse_sequence(scan.sequence or b"").picture
    setup = Described(codec, picture, b"")
    packets = np.empty(len(found.sizes), dtype=PACKET_DTYPE)
    packets["offset"], packets["size"] = found.offsets, found.sizes
    packets["pts"], packets["dts"] = unwrap(grid, np.stack([pes.pts, pes.dts]), chosen.together)
    packets["duration"] = _duration(setup.picture, packets["pts"])
    packets["flags"] = np.array(scan.keys) * np.uint16(PacketFlags.KEY)
    damaged = pes.damaged | np.append(pes.damaged[1:], False)  # a picture ends in the next one
    packets["flags"] |= damaged * np.uint16(PacketFlags.DAMAGED)
    index = _build(source, grid, chosen, setup, packets)
    transport = TransportLayout(grid.step, chosen.pid, grid.phase)
    order = scan.order()
    index = replace(
        index,
        extradata=tuple(scan.setups),
        packing=PacketLayout(transport=transport),
        warnings=index.warnings + scan.warnings(source.name),
    )
    if pes.damaged.any() or not _is_timed(packets):
        return index, False
    return with_order(index, order)


def _build(
    source: Source, grid: Grid, chosen: ElementaryStream, setup: Described, packets: NDArray[Any]
) -> VideoIndex:
    return table_index(
        source,
        setup.picture,
        packets,
        time_base=Fraction(1, _TICKS),
        codec=setup.codec,
        stream=chosen.number,
        container=MPEGTS.name,
        extradata=((0, setup.extradata),),
        audio=chosen.audio,
        packing=PacketLayout(transport=TransportLayout(grid.step, chosen.pid)),
        warnings=past_the_end(source, "the last transport packet", grid.end),
    )


def _packets(
    picture: PictureFormat,
    grid: Grid,
    pes: PesPackets,
    pictures: Pictures,
    frames: Ints,
    together: tuple[int, ...],
) -> NDArray[Any]:
    """The packet table: one row for all PES packets of a frame."""
    packets = np.empty(len(frames), dtype=PACKET_DTYPE)
    packets["offset"] = grid.places(pes.rows[pes.first[frames]])
    packets["size"] = np.add.reduceat(pes.sizes, frames)
    times = np.stack([pes.pts[frames], pes.dts[frames]])
    packets["pts"], packets["dts"] = unwrap(grid, times, together)
    packets["duration"] = _duration(picture, packets["pts"])
    disposable = np.logical_and.reduceat(pictures.disposable, frames)
    packets["flags"] = pictures.keys[frames] * np.uint16(PacketFlags.KEY)
    packets["flags"] |= disposable * np.uint16(PacketFlags.DISPOSABLE)
    damaged = np.logical_or.reduceat(pes.damaged, frames)
    packets["flags"] |= damaged * np.uint16(PacketFlags.DAMAGED)
    return packets


def _choose(source: Source, grid: Grid, number: int | None) -> ElementaryStream | None:
    streams = read_streams(grid)
    if streams is None:
        return None
    videos = [stream for stream in streams if stream.is_video]
    if number is None and len(videos) > 1:
        # FFmpeg selects by how many frames it decoded of each while probing.
        number = find_best_stream(source)
    chosen = [stream for stream in videos if number in (None, stream.number)]
    return chosen[0] if chosen and chosen[0].kind in tags.MPEGTS else None


def _read_setup(codec: str, grid: Grid, pes: PesPackets, units: TransportUnits) -> Described | None:
    """Read the parameter sets of the first picture that has any; None if they are damaged."""
    given = np.flatnonzero(units.parameters)
    if not len(given):
        return None
    data = pes_bytes(grid, pes, int(given[0]), int(given[0]) + 1).tobytes()
    try:
        nal = codec_of(codec).nal
        if nal is None:
            found = mpeg2.parse_sequence(data)
            return Described(*found) if found is not None and found.setup else None
        sets, sequence = _parameter_sets(nal, data)
        if sequence is None:
            return None
        return Described(codec, nal.parse_sequence(sequence).picture, sets)
    except FormatError:
        return None  # FFmpeg may find valid ones later


def _parameter_sets(nal: NalSyntax, data: bytes) -> tuple[bytes, bytes | None]:
    """All parameter sets of an access unit, concatenated, and the sequence parameter set."""
    sets, sequence = b"", None
    for unit in split_units(data):
        kind = nal.kind(unit[0])
        if kind in nal.parameters:
            sets += b"\0\0\0\1" + unit.rstrip(b"\0")
            if kind == nal.sequence and sequence is None:
                sequence = unit.rstrip(b"\0")
        elif kind in nal.pictures:
            break
    return sets, sequence


def _frames(setup: Described, grid: Grid, pes: PesPackets, pictures: Pictures) -> Ints | None:
    """The PES packets in which frames begin, None if a PES packet holds more than one.

    A PES packet with two frames has the duration of two, so if the interval to the next one is too
    long, all bytes of the PES packet are read.
    """
    count = len(pes.first)
    doubted = np.ones(count, dtype=np.bool_)
    if setup.picture.frame_rate:
        longest = min(int(1.5 * _TICKS / setup.picture.frame_rate), _TICKS)
        steps = np.diff(pes.dts)
        doubted[:-1] = (steps < 0) | (steps > longest)
        doubted[np.linspace(0, count - 1, _SAMPLES).astype(np.int64)] = True
    doubted |= pictures.is_field
    numbers = np.flatnonzero(doubted)
    counts = count_pictures(setup.codec, grid, pes, numbers)
    if counts is None or (counts > 1 + pictures.is_field[numbers]).any():
        return None
    single = pictures.is_field.copy()
    single[numbers] &= counts == 1
    return np.flatnonzero(~pictures.second_fields(single))


def _duration(picture: PictureFormat, pts: Ints) -> int:
    """The frame duration in ticks, assuming a constant rate.

    Streams of a variable rate state their encoder's clock as their rate; it is not used.
    """
    steps = np.diff(np.sort(pts))
    usual = int(np.median(steps)) if len(steps) else 0
    if picture.frame_rate and usual / 4 <= _TICKS / picture.frame_rate < 1 << 31:
        return round(_TICKS / picture.frame_rate)
    return usual


def _is_timed(table: NDArray[Any]) -> bool:
    """Whether every packet decodes to a frame, in the order of timestamps."""
    pts, dts = table["pts"], table["dts"]
    is_ordered = pts[0] == pts.min() and (dts[1:] > dts[:-1]).all() and (pts >= dts).all()
    return bool(is_ordered) and order_is_known(table)


@dataclass(frozen=True, slots=True)
class _Unaligned:
    """One picture for each PES packet: its file offset, its bytes, and its units."""

    offsets: Ints
    sizes: Ints
    scan: NalScan


def _read_unaligned(codec: str, grid: Grid, pes: PesPackets) -> _Unaligned | None:
    """Split an H.264 or HEVC stream into pictures.

    Some segmenters put the end of a picture into the next PES packet. As with FFmpeg's parsers, a
    picture has the times of the PES packet in which it begins.

    Returns:
        None if not exactly one picture begins in each PES packet, or the stream is too large.
    """
    nal = codec_of(codec).nal
    if nal is None or int(pes.sizes.sum()) > _MAX_UNALIGNED:
        return None
    stream = open_source(pes_bytes(grid, pes, 0, len(pes.first)).data)
    units = find_units(nal, stream)
    if not len(units.places) or units.places[0] > _LEAD + 3:
        return None
    starts, slices = split_pictures(units)
    if len(starts) != len(pes.first) or not (slices < len(units.places)).all():
        return None
    begins = packet_begins(units, stream, starts)
    owners = _owners(pes, begins)
    whole = owners == _owners(pes, units.places[starts])  # no start code spans two PES packets
    if not whole.all() or not (owners == np.arange(len(owners))).all():
        return None
    scan = scan_units(units, stream, slices)
    if scan is None or scan.sequence is None or not scan.setups:
        return None
    return _Unaligned(_file_places(grid, pes, begins), np.diff(begins, append=stream.size), scan)


def _owners(pes: PesPackets, positions: Ints) -> Ints:
    """Number of the PES packet that holds each position of the elementary stream."""
    return np.searchsorted(np.cumsum(pes.sizes), positions, side="right")


def _file_places(grid: Grid, pes: PesPackets, positions: Ints) -> Ints:
    """File offset of each position of the elementary stream."""
    lengths = PACKET - pes.starts.astype(np.int64)
    ends = np.cumsum(lengths)
    rows = np.searchsorted(ends, positions, side="right")
    inside = positions - (ends[rows] - lengths[rows])
    return grid.places(pes.rows[rows]) + pes.starts[rows] + inside


MPEGTS = Container(
    name="mpegts",
    endings=(".m2ts", ".mts", ".ts"),
    begins=begins_with_packets,
    parser=index_mpegts,
    stated_end=transport_end,
    damaged_pieces=damaged_pes,
    times="both",
)
