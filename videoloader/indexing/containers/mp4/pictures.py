"""Checks keyframes and the order of frames against pictures, where tables may be incomplete.

Without `stss`, all samples are keyframes by the standard, but not in all files.

Without `ctts`, presentation order is decode order. But some writers omit the box although the
stream has B-frames. H.264 parameter sets rule B-frames out in the Baseline profile, with
`pic_order_cnt_type` 2, or with `max_num_reorder_frames` 0. Otherwise the first slices of some
packets, spread over the file, are read. One B slice proves reordering; finding none only makes it
unlikely: if a share p of the packets are B-frames, all are missed with probability (1 - p)^256,
which is 1 in 10^11 for p = 0.1 and 1 in 13 for p = 0.01. Only reading the headers of all packets
(`index_video(..., headers=True)`) is proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.bits import BitReader, unescape
from videoloader.codecs.codec import NalSyntax
from videoloader.codecs.nal import RECOVERY_POINT, length_units, read_messages
from videoloader.codecs.registry import codec_of
from videoloader.errors import FormatError
from videoloader.indexing.containers.mp4.entry import VisualEntry
from videoloader.indexing.containers.mp4.older import tells_order
from videoloader.indexing.containers.mp4.samples import Samples
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.order.picture_order import picture_order, with_order
from videoloader.indexing.order.slice_heads import some_slice_heads
from videoloader.indexing.packets import PacketFlags
from videoloader.indexing.payloads import packet_windows
from videoloader.sources.source import Source

_LOOKS, _REMOTE_LOOKS = 256, 64  # packets to examine; fewer if each takes a request
_SLICES, _IDR, _MESSAGE = (1, 2, 5), 5, 6  # types of NAL units of H.264
_P, _B = 0, 1  # slice_type, modulo 5
_MAX_BEFORE = 255  # packets before the first keyframe to examine
_CUT_HEAD = 256  # bytes of such a packet to search for its first slice
_FEW, _BEGIN = 8, 2048  # packets to examine at first if all are keyframes; bytes of each
_BATCH, _HEAD = 256, 4096  # packets to read together, and bytes of each to search for a picture


def settle_order(
    index: VideoIndex, samples: Samples, entries: list[VisualEntry], source: Source
) -> tuple[VideoIndex, bool]:
    """The index with the order of its frames, and whether that is known."""
    if samples.doubt:
        warning = f"{index.name}: damaged timestamps: {samples.doubt}"
        index = replace(index, warnings=(*index.warnings, warning))
        if samples.composition is not None:
            return index, False
    if samples.composition is not None and not samples.durations.all():
        # Samples of duration 0 may have the same time as others.
        pts = np.sort(samples.shown_at)
        if (pts[1:] == pts[:-1]).any():
            return index, False
    entry = entries[0]
    reorders = None if any(e.picture.reorders is not False for e in entries) else False
    codec = codec_of(entry.codec)
    if codec.start_codes is not None:
        return index, tells_order(entry.codec, samples, entry.extradata, source, reorders=reorders)
    if samples.composition is not None or reorders is False:
        return index, True
    nal, size = codec.nal, entry.length_size
    if nal and nal.has_slice_types and size and _seems_forward(nal, samples, size, source):
        return index, True
    return with_order(index, picture_order(index, source))


def _seems_forward(nal: NalSyntax, samples: Samples, length_size: int, source: Source) -> bool:
    """Whether the first slices of some packets include no B slice."""
    chosen = _chosen(len(samples), _LOOKS if source.is_local else _REMOTE_LOOKS)
    starts, sizes = samples.offsets[chosen], samples.sizes[chosen]
    heads, found = some_slice_heads(nal, length_size, source, starts, sizes)
    try:
        kinds = [_slice_type(head.tobytes()) for head in heads[found]]
    except FormatError:
        return False
    return 2 * len(kinds) >= len(chosen) and _B not in kinds


def _chosen(count: int, looks: int) -> list[int]:
    """Packet numbers: all if there are few, else one at random from each of equal parts.

    Equal steps could hit the same picture type every time in a periodic GOP structure.
    """
    if count <= looks:
        return list(range(count))
    edges = np.linspace(0, count, looks + 1).astype(np.int64)
    inside = np.random.default_rng(count).integers(0, edges[1:] - edges[:-1])
    chosen: list[int] = (edges[:-1] + inside).tolist()
    return chosen


def _slice_type(head: bytes) -> int:
    """slice_type of a slice, modulo 5."""
    bits = BitReader(unescape(head[1:]))
    bits.ue()  # first_mb_in_slice
    return bits.ue() % 5


def hide_before_keyframe(index: VideoIndex, source: Source) -> VideoIndex | None:
    """The index of an H.264 track with the packets before the first keyframe hidden.

    FFmpeg's decoder outputs nothing until a picture that it considers correct: an IDR picture, a
    recovery point, or by a heuristic some other I picture. The packets are hidden if an IDR
    picture is the first of these.

    Returns:
        None if a decoder may output one of their pictures, or there are too many of them.
    """
    keys = np.flatnonzero(index.packets["flags"] & np.uint16(PacketFlags.KEY))
    nal = codec_of(index.codec).nal
    if nal is None or not nal.has_slice_types or not index.length_size:
        return None
    if not len(keys) or keys[0] > _MAX_BEFORE:
        return None
    first = int(keys[0])
    table = index.packets[: first + 1]
    ranges = [(int(row["offset"]), min(int(row["size"]), _CUT_HEAD)) for row in table]
    *before, key = source.read_ranges(ranges)
    if not _begins_with_idr(key, index.length_size):
        return None
    if not all(_is_predicted(head, index.length_size) for head in before):
        return None
    return index.with_flags(PacketFlags.HIDDEN, np.arange(len(index.packets)) < first)


def _begins_with_idr(head: bytes, length_size: int) -> bool:
    kinds = [unit[0] & 31 for unit in length_units(memoryview(head), length_size) if len(unit)]
    return next((kind for kind in kinds if kind in _SLICES), None) == _IDR


def _is_predicted(head: bytes, length_size: int) -> bool:
    """Whether a packet is a P or B picture without a recovery point message."""
    for unit in length_units(memoryview(head), length_size):
        kind = unit[0] & 31 if len(unit) else 0
        if kind == _MESSAGE and any(one == RECOVERY_POINT for one, _ in read_messages(unit)):
            return False
        if kind in _SLICES:
            try:
                return _slice_type(bytes(unit[:16])) in (_P, _B)
            except FormatError:
                return False
    return False


def keys_of_pictures(index: VideoIndex, source: Source) -> list[bool | None] | None:
    """Whether each packet is a keyframe by its picture; None if the container can be trusted.

    It can if it marks some samples as keyframes and others not, or if all of the first few samples
    are keyframes by their pictures, as in an intra-only stream.
    """
    table = index.packets
    is_keyframe = codec_of(index.codec).is_keyframe
    if is_keyframe is None or not (table["flags"] & PacketFlags.KEY).all():
        return None
    few = [(int(row["offset"]), min(int(row["size"]), _BEGIN)) for row in table[: _FEW + 1]]
    if all(is_keyframe(head, index.length_size) for head in source.read_ranges(few)):
        return None
    heads = _heads(source, table)
    return [is_keyframe(head, index.length_size) for head in heads]


def _heads(source: Source, table: NDArray[Any]) -> Iterator[bytes]:
    """The beginning of each packet."""
    sizes = table["size"].astype(np.int64)
    for some, read, starts in packet_windows(source, table["offset"], sizes):
        for begin in range(0, len(starts), _BATCH):
            heads = read(starts[begin : begin + _BATCH], _HEAD)
            own = sizes[some][begin : begin + _BATCH]
            for head, size in zip(heads, own.tolist(), strict=True):
                yield head[:size].tobytes()
