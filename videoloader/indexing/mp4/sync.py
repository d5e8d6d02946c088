"""Files in which every sample is said to be a keyframe: some writers leave the list out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs import vpx
from videoloader.codecs.nal import is_random_access, length_units, split_units
from videoloader.indexing.index import PacketFlags, VideoIndex
from videoloader.indexing.payloads import packet_windows
from videoloader.sources.source import Source

__all__ = ["keys_of_pictures"]

_CODECS = ("h264", "hevc", "mpeg4", "vp8", "vp9")
_FEW = 8
_BEGIN = 2048  # bytes read of each of these
_BATCH = 256
_HEAD = 4096  # bytes of a packet in which its first picture begins
_MPEG4_PICTURE = b"\0\0\1\xb6"


def keys_of_pictures(index: VideoIndex, source: Source) -> list[bool | None] | None:
    """Which packets are keyframes by their pictures, None if the container is to be believed.

    Where the container tells keyframes from other samples, or where all of the first few are
    keyframes indeed, as in a stream without references, it is.
    """
    table = index.packets
    if index.codec not in _CODECS or not (table["flags"] & PacketFlags.KEY).all():
        return None
    few = [(int(row["offset"]), min(int(row["size"]), _BEGIN)) for row in table[: _FEW + 1]]
    if all(_is_key(index, np.frombuffer(head, np.uint8)) for head in source.read_ranges(few)):
        return None
    return list(_are_keys(index, source, table))


def _are_keys(index: VideoIndex, source: Source, table: NDArray[Any]) -> Iterator[bool]:
    sizes = table["size"].astype(np.int64)
    for some, read, starts in packet_windows(source, table["offset"], sizes):
        for begin in range(0, len(starts), _BATCH):
            heads = read(starts[begin : begin + _BATCH], _HEAD)
            own = sizes[some][begin : begin + _BATCH]
            for head, size in zip(heads, own.tolist(), strict=True):
                yield _is_key(index, head[:size])


def _is_key(index: VideoIndex, head: NDArray[np.uint8]) -> bool:
    match index.codec:
        case "h264" | "hevc":
            if not index.length_size:
                return is_random_access(index.codec, split_units(head.tobytes()))
            return is_random_access(index.codec, length_units(head.data, index.length_size))
        case "mpeg4":
            _, found, picture = head.tobytes().partition(_MPEG4_PICTURE)
            return bool(found) and picture[:1] < b"\x40"  # vop_coding_type 0
        case codec:
            return len(head) > 1 and bool(vpx.are_keys(codec, head[None, :2])[0])
