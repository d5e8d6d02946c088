"""Presentation order from the pictures of all packets, where timestamps do not tell it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from videoloader.indexing.bitstream.nal import length_units, split_units
from videoloader.indexing.bitstream.records import setup_units
from videoloader.indexing.index import PacketFlags, VideoIndex
from videoloader.indexing.payloads import packet_windows, read_packets
from videoloader.indexing.source import Source
from videoloader.indexing.survey import Survey

__all__ = ["picture_order", "survey_packets", "with_order"]

Units = Iterator[bytes] | Iterator[memoryview]


def picture_order(index: VideoIndex, source: Source) -> NDArray[np.int64] | None:
    """All packets by their picture order counts.

    Returns:
        None where these do not tell what a decoder gives: other codecs than H.264 and HEVC,
        packets that are not one picture each, streams of fields, damaged headers.
    """
    survey = survey_packets(index, source, order_only=True)
    return None if survey is None else survey.order()


def with_order(index: VideoIndex, order: NDArray[np.int64] | None) -> tuple[VideoIndex, bool]:
    """The index with what `picture_order` gives, and whether the order of its frames is known.

    Where timestamps say the same, they suffice.
    """
    if order is None:
        return index, False
    unseen = index.packets["flags"] & np.uint16(PacketFlags.DISCARD | PacketFlags.HIDDEN)
    order = order[unseen[order] == 0]
    if np.array_equal(order, index.frame_packets):
        return index, True
    return replace(index, order=order), True


def survey_packets(index: VideoIndex, source: Source, *, order_only: bool = False) -> Survey | None:
    """What the NAL units of all packets tell; None if a packet is not one picture.

    With `order_only`, also None as soon as the order is not told.
    """
    if index.codec not in ("h264", "hevc"):
        return None
    survey = Survey(index.codec)
    setups = dict(index.extradata)
    room, kept = source.size, 0  # parameter sets are repeated in `setups` wherever one changes
    for number, units in enumerate(_packets(index, source)):
        if number in setups:
            survey.take(setup_units(index.codec, setups[number]))
        if survey.take(units) != 1 or (order_only and not survey.is_told):
            return None
        if len(survey.setups) > kept:
            room, kept = room - len(survey.setups[-1][1]), len(survey.setups)
            if room < 0:
                return None
    return survey


def _packets(index: VideoIndex, source: Source) -> Iterator[Units]:
    """The units of each packet; of a mapped file, no more is touched than is looked at."""
    if not index.length_size or index.packing != "plain":
        for payload in read_packets(index, source):
            if index.length_size:
                yield length_units(memoryview(payload), index.length_size)
            else:
                yield split_units(payload)
        return
    table = index.packets
    sizes = table["size"].astype(np.int64)
    for some, data, starts in packet_windows(source, table["offset"], sizes):
        view = data.data
        for start, size in zip(starts.tolist(), sizes[some].tolist(), strict=True):
            yield length_units(view[start : start + size], index.length_size)
