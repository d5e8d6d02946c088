"""Finds pictures by their NAL units if PES packets do not begin with pictures.

Some segmenters put the end of a picture into the next PES packet. As with FFmpeg's parsers, a
picture has the times of the PES packet in which it begins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from videoloader.codecs.registry import codec_of
from videoloader.indexing.containers.annexb import find_units, packet_begins, split_pictures
from videoloader.indexing.containers.mpegts.grid import PACKET, Grid, Ints
from videoloader.indexing.containers.mpegts.pes import PesPackets
from videoloader.indexing.containers.mpegts.units import pes_bytes
from videoloader.indexing.order.nal_scan import NalScan, scan_units
from videoloader.sources.opening import open_source

__all__ = ["Unaligned", "read_unaligned"]

_MAX_STREAM = 1 << 28  # maximum bytes of a stream to hold in memory
_LEAD = 1  # zeros before the first start code


@dataclass(frozen=True, slots=True)
class Unaligned:
    """One picture for each PES packet: its file offset, its bytes, and its units."""

    offsets: Ints
    sizes: Ints
    scan: NalScan


def read_unaligned(codec: str, grid: Grid, pes: PesPackets) -> Unaligned | None:
    """Split an H.264 or HEVC stream into pictures.

    Returns:
        None if not exactly one picture begins in each PES packet, or the stream is too large.
    """
    nal = codec_of(codec).nal
    if nal is None or int(pes.sizes.sum()) > _MAX_STREAM:
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
    return Unaligned(_places(grid, pes, begins), np.diff(begins, append=stream.size), scan)


def _owners(pes: PesPackets, positions: Ints) -> Ints:
    """Number of the PES packet that holds each position of the elementary stream."""
    return np.searchsorted(np.cumsum(pes.sizes), positions, side="right")


def _places(grid: Grid, pes: PesPackets, positions: Ints) -> Ints:
    """File offset of each position of the elementary stream."""
    lengths = PACKET - pes.starts
    ends = np.cumsum(lengths)
    rows = np.searchsorted(ends, positions, side="right")
    inside = positions - (ends[rows] - lengths[rows])
    return grid.places(pes.rows[rows]) + pes.starts[rows] + inside
