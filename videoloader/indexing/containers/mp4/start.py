"""H.264 tracks that begin without a keyframe, cut somewhere or by an edit list.

FFmpeg's decoder outputs nothing until a picture that it considers correct: an IDR picture, a
recovery point, or by a heuristic some other I picture. If an IDR picture is the first of these,
the packets before it are hidden; their first bytes are read to decide this.
"""

from __future__ import annotations

import numpy as np

from videoloader.codecs.bits import BitReader, unescape
from videoloader.codecs.nal import RECOVERY_POINT, length_units, read_messages
from videoloader.codecs.registry import codec_of
from videoloader.errors import FormatError
from videoloader.indexing.index import PacketFlags, VideoIndex
from videoloader.sources.source import Source

__all__ = ["hide_before_keyframe"]

_HEAD = 256  # bytes of a packet to search for its first slice
_MAX_PACKETS = 255  # packets to examine
_SLICES, _IDR, _MESSAGE = (1, 2, 5), 5, 6
_P, _B = 0, 1  # slice types, modulo 5


def hide_before_keyframe(index: VideoIndex, source: Source) -> VideoIndex | None:
    """The index with the packets before the first keyframe hidden.

    Returns:
        None if a decoder may output one of their pictures, or there are too many of them.
    """
    keys = np.flatnonzero(index.packets["flags"] & np.uint16(PacketFlags.KEY))
    nal = codec_of(index.codec).nal
    if nal is None or not nal.has_slice_types or not index.length_size:
        return None
    if not len(keys) or keys[0] > _MAX_PACKETS:
        return None
    first = int(keys[0])
    table = index.packets[: first + 1]
    ranges = [(int(row["offset"]), min(int(row["size"]), _HEAD)) for row in table]
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
            bits = BitReader(unescape(bytes(unit[1:16])))
            try:
                bits.ue()  # first_mb_in_slice
                return bits.ue() % 5 in (_P, _B)
            except FormatError:
                return False
    return False
