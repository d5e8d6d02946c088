"""Checks keyframes of files without `stss`: by the standard all samples are keyframes then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.registry import codec_of
from videoloader.indexing.index import PacketFlags, VideoIndex
from videoloader.indexing.payloads import packet_windows
from videoloader.sources.source import Source

__all__ = ["keys_of_pictures"]

_FEW = 8
_BEGIN = 2048  # bytes to read of each of these
_BATCH = 256
_HEAD = 4096  # bytes of a packet to search for its first picture


def keys_of_pictures(index: VideoIndex, source: Source) -> list[bool | None] | None:
    """Which packets are keyframes by their pictures, None if the container can be trusted.

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
