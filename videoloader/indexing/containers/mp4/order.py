"""Determines the frame order of a track from its tables, or from its slices.

Without `ctts`, presentation order is decode order. But some writers omit the box although the
stream has B-frames. H.264 parameter sets rule B-frames out in the Baseline profile, with
`pic_order_cnt_type` 2, or with `max_num_reorder_frames` 0. Otherwise the first slices of some
packets, spread over the file, are read. One B slice proves reordering; finding none only makes it
unlikely: if a share p of the packets are B-frames, all are missed with probability (1 - p)^256,
which is 1 in 10^11 for p = 0.1 and 1 in 13 for p = 0.01. Only reading the headers of all packets
(`index_video(..., headers=True)`) is proof.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from videoloader.codecs.bits import BitReader, unescape
from videoloader.codecs.codec import NalSyntax
from videoloader.codecs.registry import codec_of
from videoloader.errors import FormatError
from videoloader.indexing.containers.mp4.entry import VisualEntry
from videoloader.indexing.containers.mp4.older import tells_order
from videoloader.indexing.containers.mp4.samples import Samples
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.order.picture_order import picture_order, with_order
from videoloader.indexing.order.slice_heads import some_slice_heads
from videoloader.sources.source import Source

__all__ = ["settle_order"]

_LOOKS, _REMOTE_LOOKS = 256, 64  # packets to examine; fewer if each takes a request
_B = 1  # slice_type, modulo 5


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
