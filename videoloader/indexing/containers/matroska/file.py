"""`index_matroska`: selects a track of a Matroska file and builds its `VideoIndex`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs import tags
from videoloader.codecs.codec import Described
from videoloader.codecs.nal import has_b_slices, walk_units
from videoloader.codecs.records import crop_to_container
from videoloader.codecs.registry import codec_of
from videoloader.indexing.containers.container import Container, Indexed, past_the_end, table_index
from videoloader.indexing.containers.frame_flags import vpx_flags
from videoloader.indexing.containers.matroska.blocks import BlockTable, Frames, read_blocks, unlace
from videoloader.indexing.containers.matroska.clusters import scan_clusters
from videoloader.indexing.containers.matroska.ebml import NeedsDemuxerError
from videoloader.indexing.containers.matroska.segment import (
    Segment,
    begins_with_ebml,
    read_segment,
    segment_end,
)
from videoloader.indexing.containers.matroska.tracks import VIDEO, Track, check_is_readable
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.order.nal_scan import describe_start_coded
from videoloader.indexing.order.picture_order import picture_order, scan_packets, with_order
from videoloader.indexing.packets import (
    PACKET_DTYPE,
    PacketFlags,
    believe_pictures,
    order_is_known,
    spacings,
)
from videoloader.indexing.packing import PacketLayout
from videoloader.indexing.payloads import packet_windows
from videoloader.indexing.rates import rate_of_duration
from videoloader.indexing.traits import NO_AUDIO
from videoloader.sources.local import nearby
from videoloader.sources.source import Source

_FRAMED = 1  # first byte of a configuration record; other data has start codes
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
    if source.is_local:  # of another, blocks are found in few requests
        source = nearby(source)
    try:
        return _index(source, read_segment(source), stream)
    except NeedsDemuxerError:
        return None


def _index(source: Source, segment: Segment, stream: int | None) -> Indexed:
    videos = [track for track in segment.tracks if track.kind == VIDEO]
    if stream is not None:
        videos = [track for track in videos if track.stream == stream]
    if not videos or not any(track.codec in tags.MATROSKA for track in videos):
        return None  # FFmpeg's demuxer reads it, or explains what the file is
    blocks = scan_clusters(source, segment.clusters, segment.stop)
    table = read_blocks(blocks)
    if not np.isin(table.tracks, [track.number for track in segment.tracks]).all():
        return None
    track = _best(videos, table)
    if track.codec not in tags.MATROSKA:
        return None
    check_is_readable(track)
    mine = table.of(track.number)
    if not len(mine.pts) or mine.pts.min() < 0:
        return None  # FFmpeg treats negative times as missing
    frames = unlace(mine, source, usual_duration=track.frame_ns, scale=segment.scale)
    assert track.prefix is not None
    first = source.read(int(frames.offsets[0]), min(int(frames.sizes[0]), _SAMPLE))
    description = _describe(track, track.prefix + first)
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
        sizes = packets["size"].astype(np.int64)
        flags, most = vpx_flags(codec, source, packets["offset"], sizes, prefix or b"")
        if most > 1:
            raise NeedsDemuxerError(f"a packet shows {most} frames")
        packets["flags"] = flags
    shown = np.flatnonzero(packets["flags"] & np.uint16(PacketFlags.HIDDEN) == 0)
    packets["duration"] = frames.durations
    if (frames.durations <= 0).any():
        packets["duration"] = np.where(frames.durations > 0, frames.durations, spacings(packets))
    packets["dts"] = _decode_times(frames.pts)
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
        audio=next((each.audio for each in segment.tracks if each.audio is not None), NO_AUDIO),
        aspect=track.aspect,
        interlaced=track.interlaced,
        light=track.light,
        extradata=((0, description.extradata),),
        length_size=description.length_size,
        packing=PacketLayout(prefix or b""),
        stated_rate=rate_of_duration(track.frame_ns, np.sort(packets["pts"][shown]), time_base),
    )


def _describe(track: Track, sample: bytes) -> Described | None:
    """Describe the stream of a track; None if its codec is not supported here.

    `sample` is the first packet, for codecs that have no extradata.

    Raises:
        FormatError: the extradata is damaged.
    """
    codec, private = codec_of(tags.MATROSKA[track.codec]), track.private
    assert codec.describe is not None
    if codec.nal is not None and private[:1] != bytes([_FRAMED]):
        found = describe_start_coded(codec.name, codec.nal, private, sample)
        found = None if found is None else found._replace(extradata=private)
    else:
        found = codec.describe(private, sample)
    if found is not None and codec.nal is not None and codec.nal.fits_container:
        cropped = crop_to_container(found.picture, track.width, track.height)
        return found._replace(picture=cropped)
    return found


def _decode_times(pts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Decode time of each packet: ascending, at most its pts, and as late as possible.

    >>> _decode_times(np.array([0, 120, 40, 80, 240, 160, 200]))
    array([-40,   0,  40,  80, 120, 160, 200])
    """
    if (pts[1:] >= pts[:-1]).all():
        return pts.copy()
    order = np.argsort(pts, kind="stable")  # `sort` and a search take twice as long
    ordered = pts[order]
    depth = int((order - np.arange(len(pts))).max())  # the largest reorder delay of any packet
    step = max(int(ordered[-1] - ordered[0]) // (len(pts) - 1), 1)
    lead = ordered[0] - step * np.arange(depth, 0, -1)
    return np.concatenate([lead, ordered])[: len(pts)]


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
    return with_order(index, order) if order_is_known(index.packets) else (index, False)


def _ordered(index: VideoIndex, description: Described, source: Source) -> tuple[VideoIndex, bool]:
    """The index, and whether presentation order is known.

    Some writers store decode times as timestamps. So if timestamps never decrease although the
    stream may have B-frames, the slice headers are checked.
    """
    if not order_is_known(index.packets):
        return index, False
    pts = index.packets["pts"][index.packets["flags"] & np.uint16(PacketFlags.HIDDEN) == 0]
    if len(pts) == 1 or (np.diff(pts) < 0).any() or description.picture.reorders is False:
        return index, True
    nal = codec_of(index.codec).nal
    if nal is not None and nal.has_slice_types and index.packing.is_plain:
        sizes = index.packets["size"].astype(np.int64)
        if not any(
            has_b_slices(walk_units(read, starts, sizes[some], index.length_size))
            for some, read, starts in packet_windows(source, index.packets["offset"], sizes)
        ):
            return index, True
    return with_order(index, picture_order(index, source))


MATROSKA = Container(
    name="matroska",
    endings=(".mkv", ".webm"),
    begins=begins_with_ebml,
    parser=index_matroska,
    stated_end=segment_end,
    has_display_matrix=True,
    media_type="video/webm",
)
