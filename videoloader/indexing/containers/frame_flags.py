"""Flags of VP8, VP9 and AV1 packets, from the headers of their frames."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs import vpx
from videoloader.codecs.av1 import units as av1
from videoloader.codecs.registry import codec_of
from videoloader.indexing.packets import PacketFlags
from videoloader.sources.source import Source

Ints = NDArray[np.int64]


def vpx_flags(
    codec: str, source: Source, offsets: Ints, sizes: Ints, prefix: bytes = b""
) -> tuple[NDArray[np.uint16], int]:
    """Flags of VP8 or VP9 packets, and the largest number of frames that one shows.

    Read from the first and last bytes of each packet. `prefix` holds the first bytes of all
    packets, if these are not in the file.
    """
    # The last byte of a packet is read with the beginning of the next, if they are adjacent.
    ends = np.stack([offsets, offsets + sizes - 1], axis=1).reshape(-1)
    found = source.gather(ends, 2).reshape(-1, 2, 2)
    heads = np.zeros((len(offsets), 2 + len(prefix)), dtype=np.uint8)
    heads[:, : len(prefix)] = np.frombuffer(prefix, dtype=np.uint8)
    heads[:, len(prefix) :] = found[:, 0]
    heads[sizes == 1, -1] = 0
    hidden, most = vpx.are_hidden(codec, heads[:, :2]), 1
    if codec_of(codec).has_superframes:
        for number in np.flatnonzero(vpx.are_superframes(found[:, 1, 0])).tolist():
            packet = prefix + source.read(int(offsets[number]), int(sizes[number]))
            shown = vpx.count_shown(packet)
            hidden[number], most = shown == 0, max(most, shown)
    keys = vpx.are_keys(codec, heads[:, :2])
    return keys * np.uint16(PacketFlags.KEY) + hidden * np.uint16(PacketFlags.HIDDEN), most


def av1_flags(
    source: Source, offsets: Iterable[int], sizes: Iterable[int], sequence: av1.Sequence
) -> tuple[NDArray[np.uint16], list[int]]:
    """Flags of AV1 temporal units, and the number of frames that each shows."""
    found = [
        av1.shown_frames(source.read(offset, size), sequence)
        for offset, size in zip(offsets, sizes, strict=True)
    ]
    flags = [PacketFlags.KEY * key | PacketFlags.HIDDEN * (shown == 0) for shown, key in found]
    return np.array(flags, dtype=np.uint16), [shown for shown, _ in found]
