"""Presentation order from picture order counts, if timestamps do not determine it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.codec import NalSyntax
from videoloader.codecs.nal import length_units, split_units
from videoloader.codecs.records import setup_units
from videoloader.codecs.registry import codec_of
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.order.nal_scan import SLICE_HEADER, NalScan
from videoloader.indexing.packets import UNSEEN
from videoloader.indexing.payloads import read_packets
from videoloader.sources.source import Source

PacketUnits = Iterator[bytes] | Iterator[memoryview]

_HEAD = 1 << 10  # bytes of a packet to read at a time
_UNIT = 1 << 16  # maximum bytes of a parameter set or message


def picture_order(index: VideoIndex, source: Source) -> NDArray[np.int64] | None:
    """All packets in presentation order, by their picture order counts.

    Returns:
        None if the counts do not determine the decoder's output: codecs other than H.264 and
        HEVC, packets that are not one picture each, streams of fields, damaged headers.
    """
    scan = scan_packets(index, source, order_only=True)
    return None if scan is None else scan.order()


def with_order(index: VideoIndex, order: NDArray[np.int64] | None) -> tuple[VideoIndex, bool]:
    """The index with the result of `picture_order`, and whether its frame order is known.

    `order` is not stored if timestamps give the same.
    """
    if order is None:
        return index, False
    order = order[index.packets["flags"][order] & UNSEEN == 0]
    if np.array_equal(order, index.frame_packets):
        return index, True
    return replace(index, order=order), True


def scan_packets(index: VideoIndex, source: Source, *, order_only: bool = False) -> NalScan | None:
    """Scan the NAL units of all packets; None if a packet is not exactly one picture.

    With `order_only`, also None as soon as the order cannot be determined.
    """
    nal = codec_of(index.codec).nal
    if nal is None:
        return None
    scan = NalScan(nal, room=source.size)
    setups = dict(index.extradata)
    for number, units in enumerate(_packets(index, nal, source)):
        if number in setups:
            scan.take(setup_units(nal, setups[number]))
        if scan.take(units) != 1 or (order_only and not scan.order_known):
            return None
        if scan.is_excessive:
            return None
    return scan


def _packets(index: VideoIndex, nal: NalSyntax, source: Source) -> Iterator[PacketUnits]:
    """The units of each packet; in local files, only the heads of slices."""
    if index.length_size and index.packing.is_plain and source.is_local:
        table = index.packets
        for start, size in zip(table["offset"].tolist(), table["size"].tolist(), strict=True):
            yield _begun_units(index.length_size, nal, source, start, start + size)
        return
    for payload in read_packets(index, source):
        if index.length_size:
            yield length_units(memoryview(payload), index.length_size)
        else:
            yield split_units(payload)


def _begun_units(
    length_size: int, nal: NalSyntax, source: Source, position: int, end: int
) -> Iterator[bytes]:
    """The units of a packet: heads of slices, and the first `_UNIT` bytes of other units."""
    base, block = position, source.read_up_to(position, min(end - position, _HEAD))
    while position + length_size < end:
        if position + length_size >= base + len(block):
            base, block = position, source.read_up_to(position, min(end - position, _HEAD))
        inside = position - base + length_size
        length = int.from_bytes(block[position - base : inside], "big")
        is_slice = nal.kind(block[inside]) in nal.slices
        position += length_size
        wanted = SLICE_HEADER if is_slice else _UNIT
        wanted = min(wanted, length, end - position)
        unit = block[inside : inside + wanted]
        yield unit if len(unit) == wanted else source.read(position, wanted)
        position += length
