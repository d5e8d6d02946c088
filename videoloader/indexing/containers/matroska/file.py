"""`index_matroska`: selects a track of a Matroska file and builds its `VideoIndex`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs import vpx
from videoloader.codecs.codec import Described
from videoloader.codecs.nal import has_b_slices, walk_units
from videoloader.codecs.registry import codec_of
from videoloader.indexing.containers.container import Container, Indexed, past_the_end, table_index
from videoloader.indexing.containers.matroska.blocks import BlockTable, Frames, read_blocks, unlace
from videoloader.indexing.containers.matroska.clusters import scan_clusters
from videoloader.indexing.containers.matroska.codecs import CODECS, describe
from videoloader.indexing.containers.matroska.ebml import NeedsDemuxerError
from videoloader.indexing.containers.matroska.segment import (
    Segment,
    begins_with_ebml,
    read_segment,
    segment_end,
)
from videoloader.indexing.containers.matroska.timing import decode_times, fill_durations
from videoloader.indexing.containers.matroska.tracks import VIDEO, Track, check_is_readable
from videoloader.indexing.index import PACKET_DTYPE, PacketFlags, VideoIndex
from videoloader.indexing.order.picture_order import picture_order, scan_packets, with_order
from videoloader.indexing.packets import believe_pictures
from videoloader.indexing.payloads import packet_windows
from videoloader.indexing.rates import rate_of_duration
from videoloader.sources.source import Source

__all__ = ["MATROSKA", "index_matroska"]

_SAMPLE = 1 << 16


def index_matroska(source: Source, *, stream: int | None = None) -> Indexed:
    """Index a Matroska or WebM file.

    Returns:
        The index, and whether timestamps determine the order of the frames; None if the file is
        of another format, is damaged, or has unsupported features (rare codecs, compressed
        blocks), which need FFmpeg's demuxer.

    Raises:
        FormatError: the file is truncated before its first frame, or extradata is damaged.
        UnsupportedError: the track is encrypted.
    """
    try:
        return _index(source, read_segment(source), stream)
    except NeedsDemuxerError:
        return None


def _index(source: Source, segment: Segment, stream: int | None) -> Indexed:
    videos = [track for track in segment.tracks if track.kind == VIDEO]
    if stream is not None:
        videos = [track for track in videos if track.stream == stream]
    if not videos or not any(track.codec in CODECS for track in videos):
        return None  # FFmpeg's demuxer reads it, or its error says what is there
    blocks = scan_clusters(source, segment.clusters, segment.stop)
    table = read_blocks(blocks)
    if not np.isin(table.tracks, [track.number for track in segment.tracks]).all():
        return None
    track = _best(videos, table)
    if track.codec not in CODECS:
        return None
    check_is_readable(track)
    mine = table.of(track.number)
    if not len(mine.pts) or mine.pts.min() < 0:
        return None  # FFmpeg treats negative times as missing
    frames = unlace(mine, source, usual_duration=track.frame_ns, scale=segment.scale)
    assert track.prefix is not None
    first = source.read(int(frames.offsets[0]), min(int(frames.sizes[0]), _SAMPLE))
    description = describe(track, track.prefix + first)
    if description is None:
        return None
    index = _build(source, segment, track, description, frames)
    end = max(blocks.end, segment.stop or 0)
    index = replace(index, warnings=past_the_end(source, "what its elements announce", end))
    if codec_of(index.codec).nal is not None and not index.length_size:
        return _start_coded(index, source)
    return _ordered(index, description, source)


def _best(tracks: list[Track], table: BlockTable) -> Track:
    """The track that FFmpeg selects: by its flags, then one with more than one picture."""

    def preference(track: Track) -> tuple[int, int]:
        return track.preference, min(int((table.tracks == track.number).sum()), 5)

    return tracks[0] if len(tracks) == 1 else max(tracks, key=preference)


def _build(
    source: Source, segment: Segment, track: Track, description: Described, frames: Frames
) -> VideoIndex:
    codec, picture, prefix = description.codec, description.picture, track.prefix
    packets = np.empty(len(frames.sizes), dtype=PACKET_DTYPE)
    packets["offset"] = frames.offsets
    packets["size"] = frames.sizes
    packets["pts"] = frames.pts
    packets["flags"] = frames.keys * np.uint16(PacketFlags.KEY)
    if codec_of(codec).count_shown is not None:
        packets["flags"] = _vpx_flags(codec, source, packets, prefix or b"")
    shown = np.flatnonzero(packets["flags"] & np.uint16(PacketFlags.HIDDEN) == 0)
    packets["duration"] = fill_durations(frames.durations, frames.pts, shown)
    packets["dts"] = decode_times(frames.pts)
    time_base = Fraction(segment.scale, 1_000_000_000)
    return table_index(
        source,
        picture,
        packets,
        time_base=time_base,
        codec=codec,
        stream=track.stream,
        container=MATROSKA.name,
        color=picture.color.or_else(track.color),
        orientation=track.orientation,
        extradata=((0, description.extradata),),
        length_size=description.length_size,
        packing=f"prefix:{prefix.hex()}" if prefix else "plain",
        stated_rate=rate_of_duration(track.frame_ns, np.sort(packets["pts"][shown]), time_base),
    )


def _vpx_flags(
    codec: str, source: Source, packets: NDArray[Any], prefix: bytes
) -> NDArray[np.uint16]:
    """Flags of key frames and hidden frames, from the first and last bytes of packets."""
    offsets, sizes = packets["offset"], packets["size"].astype(np.int64)
    # The last byte of a packet is read with the beginning of the next, if they are adjacent.
    ends = np.stack([offsets, offsets + sizes - 1], axis=1).reshape(-1)
    found = source.gather(ends, 2).reshape(-1, 2, 2)
    heads = np.zeros((len(packets), 2 + len(prefix)), dtype=np.uint8)
    heads[:, : len(prefix)] = np.frombuffer(prefix, dtype=np.uint8)
    heads[:, len(prefix) :] = found[:, 0]
    heads[sizes == 1, -1] = 0
    hidden = vpx.are_hidden(codec, heads[:, :2])
    if codec_of(codec).has_superframes:
        for number in np.flatnonzero(vpx.are_superframes(found[:, 1, 0])).tolist():
            packet = prefix + source.read(int(offsets[number]), int(sizes[number]))
            shown = vpx.count_shown(packet)
            if shown > 1:
                raise NeedsDemuxerError(f"packet {number} shows {shown} frames")
            hidden[number] = shown == 0
    keys = vpx.are_keys(codec, heads[:, :2])
    return keys * np.uint16(PacketFlags.KEY) + hidden * np.uint16(PacketFlags.HIDDEN)


def _start_coded(index: VideoIndex, source: Source) -> Indexed:
    """Take parameter sets and keyframes of a byte stream in blocks from its NAL units."""
    scan = scan_packets(index, source)
    if scan is None or not scan.setups:
        return None
    packets = index.packets.copy()
    believe_pictures(packets, [*scan.keys])
    index = replace(index, packets=packets, extradata=tuple(scan.setups))
    order = scan.order()
    index = replace(index, warnings=index.warnings + scan.warnings(source.name))
    return with_order(index, order) if _is_timed(index) else (index, False)


def _ordered(index: VideoIndex, description: Described, source: Source) -> tuple[VideoIndex, bool]:
    """The index, and whether presentation order is known.

    Some writers store decode times as timestamps. So if timestamps never decrease although the
    stream may have B-frames, the slice headers are checked.
    """
    if not _is_timed(index):
        return index, False
    pts = index.packets["pts"][index.packets["flags"] & np.uint16(PacketFlags.HIDDEN) == 0]
    if len(pts) == 1 or (np.diff(pts) < 0).any() or description.picture.reorders is False:
        return index, True
    nal = codec_of(index.codec).nal
    if nal is not None and nal.has_slice_types and index.packing == "plain":
        sizes = index.packets["size"].astype(np.int64)
        if not any(
            has_b_slices(walk_units(read, starts, sizes[some], index.length_size))
            for some, read, starts in packet_windows(source, index.packets["offset"], sizes)
        ):
            return index, True
    return with_order(index, picture_order(index, source))


def _is_timed(index: VideoIndex) -> bool:
    """Whether the first packet is a keyframe and presentation times are distinct."""
    table = index.packets
    pts = np.sort(table["pts"][table["flags"] & np.uint16(PacketFlags.HIDDEN) == 0])
    return bool(table["flags"][0] & PacketFlags.KEY) and bool((np.diff(pts) > 0).all())


MATROSKA = Container(
    name="matroska",
    endings=(".mkv", ".webm"),
    begins=begins_with_ebml,
    parser=index_matroska,
    stated_end=segment_end,
    has_display_matrix=True,
)
