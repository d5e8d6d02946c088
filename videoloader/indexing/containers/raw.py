"""Raw H.264 and HEVC streams: packets from slice headers, order from picture order counts."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.picture import PictureFormat
from videoloader.codecs.registry import nal_syntax
from videoloader.indexing.containers.annexb import (
    AnnexBUnits,
    find_units,
    packet_begins,
    split_pictures,
    unit_bytes,
)
from videoloader.indexing.containers.container import Container, Indexed, table_index
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.order.nal_scan import NalScan, scan_units
from videoloader.indexing.packets import NO_TIME, PacketFlags, packet_table
from videoloader.sources.local import nearby
from videoloader.sources.source import Source

_TIME_BASE = Fraction(1, 1_200_000)  # FFmpeg's default for raw streams
_RATE = Fraction(25)  # frames a second if the stream states no rate
_START = b"\0\0\1"
_HEAD = 6  # bytes that tell the codec
_MIN_PACKET = 24  # minimum average bytes of a picture; less is not a plausible video
_FORBIDDEN = 0x80  # forbidden_zero_bit of the first byte of a unit


def index_raw(codec: str, source: Source, *, stream: int | None = None) -> Indexed:
    """Index a raw H.264 or HEVC stream.

    Returns:
        The index, and whether picture order counts determine the order of the frames; None if
        the file is of another format, has layers, or lacks its parameter sets.

    Raises:
        FormatError: the first parameter set is damaged.
    """
    if stream not in (None, 0):
        return None
    source = nearby(source)
    units = find_units(nal_syntax(codec), source)
    if not _is_plain(units):
        return None
    starts, slices = split_pictures(units)
    if not len(starts) or len(starts) * _MIN_PACKET > source.size:
        return None
    picture = _first_picture(units, source, int(slices[0]))
    scan = (
        None if picture is None else scan_units(units, source, slices[slices < len(units.places)])
    )
    if picture is None or scan is None:
        return None
    return _build(source, codec, packet_begins(units, source, starts), picture, scan)


def _begins(codec: str, head: bytes) -> bool:
    """Whether a stream begins with a unit that streams of the codec may begin with."""
    start = head[:_HEAD].find(_START) + 3
    if not 3 <= start <= 4 or len(head) < _HEAD:
        return False
    nal, first, second = nal_syntax(codec), head[start], head[start + 1]
    if first & (_FORBIDDEN | nal.layer_bits) or nal.kind(first) not in nal.leaders:
        return False
    return not nal.has_sub_layers or (second & 0xF8 == 0 and second & 7 > 0)


def _is_plain(units: AnnexBUnits) -> bool:
    """Whether a stream has a single layer and its units are plausible."""
    nal = units.nal
    if not len(units.places) or (units.heads[:, 0] & _FORBIDDEN).any():
        return False
    if not nal.has_sub_layers:
        return not nal.are_of(nal.layered, units.heads[:, 0]).any()
    layers = (units.heads[:, 0] & 1) << 5 | units.heads[:, 1] >> 3
    return not layers.any() and bool((units.heads[:, 1] & 7).all())


def _first_picture(units: AnnexBUnits, source: Source, stop: int) -> PictureFormat | None:
    """Picture format in the first sequence parameter set, if it is before the first slice."""
    numbers = np.flatnonzero(units.kinds[:stop] == units.nal.sequence)
    if not len(numbers):
        return None
    return units.nal.parse_sequence(unit_bytes(units, source, int(numbers[0]))).picture


def _times(scan: NalScan, count: int, step: int) -> tuple[Any, Any]:
    """Presentation and decode times of packets; `NO_TIME` if the order is unknown."""
    shown = scan.order()
    if shown is None:
        return NO_TIME, NO_TIME
    places = np.arange(count)
    pts = places.copy()
    pts[shown] = np.arange(len(shown))
    delay = int((places - pts).max())
    return pts * step, (places - delay) * step


def _build(
    source: Source, codec: str, offsets: NDArray[np.int64], picture: PictureFormat, scan: NalScan
) -> tuple[VideoIndex, bool]:
    step = round(1 / (_TIME_BASE * (picture.frame_rate or _RATE)))
    count = len(offsets)
    flags = np.full(count, PacketFlags.HIDDEN, dtype=np.uint16)  # the last may have no slice
    flags[: len(scan.keys)] = np.array(scan.keys) * np.uint16(PacketFlags.KEY)
    pts, dts = _times(scan, count, step)
    table = packet_table(
        offsets,
        np.diff(offsets, append=source.size),
        pts=pts,
        dts=dts,
        flags=flags,
        durations=np.full(count, step),
    )
    index = table_index(
        source,
        picture,
        table,
        time_base=_TIME_BASE,
        codec=codec,
        container=codec,
        extradata=tuple(scan.setups),
        warnings=scan.warnings(source.name),
    )
    return index, scan.order_known


HEVC = Container(
    name="hevc",
    endings=(".265", ".h265", ".hevc"),
    begins=partial(_begins, "hevc"),
    parser=partial(index_raw, "hevc"),
    times="none",
)
H264 = Container(
    name="h264",
    endings=(".264", ".h264", ".jsv"),
    begins=partial(_begins, "h264"),
    parser=partial(index_raw, "h264"),
    times="none",
)
