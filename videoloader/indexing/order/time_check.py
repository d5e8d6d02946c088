"""Checks timestamps against the pictures: a damaged one would renumber the frames after it.

FFmpeg's decoders output frames in picture order and ignore timestamps. So frames of a codec that
never reorders are numbered in decode order. For other codecs the tables are checked first: frames
that are evenly spaced, or spaced like the decode times of their packets, are in order. Otherwise
picture headers are read; if these do not determine the order, everything is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.codecs.codec import NalSyntax
from videoloader.codecs.records import setup_units
from videoloader.codecs.registry import codec_of
from videoloader.errors import FormatError, UnsupportedError
from videoloader.indexing.containers.registry import container_of
from videoloader.indexing.index import VideoIndex
from videoloader.indexing.order.decode_scan import scan_order
from videoloader.indexing.order.picture_order import picture_order
from videoloader.indexing.order.slice_heads import all_slice_heads, some_slice_heads
from videoloader.indexing.packets import UNSEEN
from videoloader.indexing.payloads import read_packets
from videoloader.sources.source import Source

Ints = NDArray[np.int64]

_MAX_DELAY = 16  # packets by which a frame may be shown later than decoded
_TOLERANCE = 2  # ticks that times are rounded by
_LOOKS = 256  # packets to examine if uneven times are the only doubt
_AROUND = 8  # packets to examine before and after a doubtful one
_FEW = 24  # at most so many packets or steps out of order are few in a short file
_UNCHECKED = "uneven timestamps, which could not be checked against the pictures"


def check_times(index: VideoIndex, source: Source) -> VideoIndex:
    """The index, with frames numbered by picture order if timestamps are damaged.

    It then has a warning. Pictures are read only if the tables leave doubt.
    """
    packets = index.frame_packets
    if index.order is not None or (packets[1:] > packets[:-1]).all():
        return index
    if _never_reorders(index):
        return _renumbered(index, np.sort(packets))
    doubted, are_few = _doubted(index)
    if not len(doubted):
        return index
    return _by_pictures(index, source, doubted, are_few=are_few)


def _never_reorders(index: VideoIndex) -> bool:
    """Whether presentation order is certain to be decode order."""
    codec = codec_of(index.codec)
    nal = codec.nal
    if nal is None or codec.reorders is not None:
        return codec.reorders is False
    try:
        sets = [unit for _, setup in index.extradata for unit in setup_units(nal, setup)]
        sequences = [nal.parse_sequence(u) for u in sets if nal.kind(u[0]) == nal.sequence]
    except FormatError:
        return False
    return bool(sequences) and all(one.picture.reorders is False for one in sequences)


def _doubted(index: VideoIndex) -> tuple[Ints, bool]:
    """Packets that may be out of order by the tables, the most doubtful first.

    Returns also whether they are only a few, which indicates damage; times that are uneven
    throughout do not.
    """
    nothing = np.zeros(0, dtype=np.int64)
    steps = index.pts[1:] - index.pts[:-1]
    least, most = int(steps.min()), int(steps.max())
    first = int(index.frame_packets[0])
    is_first = not first or not (index.packets["flags"][:first] & UNSEEN == 0).any()
    if is_first and most - least <= min(_TOLERANCE, least // 4):
        return nothing, False
    usual = int(np.median(steps))
    tolerance, late = min(_TOLERANCE, usual // 4), nothing
    if index.exactness == "tables" and container_of(index.container).times == "both":
        late = _out_of_step(index.packets, usual, tolerance)
        if is_first and not len(late):
            return nothing, False
    uneven = np.abs(steps - usual)
    worst = np.argsort(-uneven, kind="stable")
    worst = worst[uneven[worst] > tolerance]
    around = index.frame_packets[np.stack([worst, worst + 1], axis=1).reshape(-1)]
    packets = np.concatenate([nothing if is_first else np.array([0, first]), late, around])
    fewest = min(len(worst), len(late)) if len(late) else len(worst)
    return packets, fewest <= max(_FEW, len(steps) // 20)


def _out_of_step(table: NDArray[Any], usual: int, tolerance: int) -> Ints:
    """Packets whose presentation times are not the decode times shifted by a constant delay.

    The last frames, which no later decode times match, must be evenly spaced.
    """
    shown = np.argsort(table["pts"], kind="stable")
    times = table["pts"][shown]
    is_odd = np.append(np.abs(np.diff(times) - usual) > tolerance, False)
    found = np.arange(len(times))
    for delay in range(min(_MAX_DELAY + 1, len(times))):
        covered = len(times) - delay
        behind = times[:covered] - table["dts"][delay:]
        off = np.flatnonzero(np.abs(behind - np.median(behind)) > tolerance)
        odd = covered - 1 + np.flatnonzero(is_odd[covered - 1 :]) if delay else off[:0]
        if len(off) + len(odd) < len(found):
            found = np.concatenate([off, odd])
        if not len(found):
            break
    return shown[found]


def _by_pictures(index: VideoIndex, source: Source, doubted: Ints, *, are_few: bool) -> VideoIndex:
    """The index in picture order, if that differs."""
    nal = codec_of(index.codec).nal
    if nal is not None:
        if _pictures_agree(index, nal, source, doubted):
            return index
        order = picture_order(index, source)
        if order is not None:
            order = order[index.packets["flags"][order] & UNSEEN == 0]
            return _renumbered(index, order)
    if not are_few:
        return index
    try:
        scanned = scan_order(index, read_packets(index, source))
    except UnsupportedError:
        return replace(index, warnings=(*index.warnings, f"{index.name}: {_UNCHECKED}"))
    assert scanned.order is not None
    renumbered = _renumbered(index, scanned.order)
    return index if renumbered is index else replace(scanned, warnings=renumbered.warnings)


def _pictures_agree(index: VideoIndex, nal: NalSyntax, source: Source, doubted: Ints) -> bool:
    """Whether picture order counts agree with timestamps for the packets that are examined.

    If times of the container are usually right, these are the packets around doubtful ones.
    """
    sets = [unit for _, setup in index.extradata for unit in setup_units(nal, setup)]
    runs: Iterable[tuple[int, NDArray[np.uint8] | None]]
    if container_of(index.container).has_reliable_times and index.length_size:
        runs = _heads_around(index, nal, source, doubted)
    else:
        runs = [(0, all_slice_heads(index, source))]
    for start, heads in runs:
        order = None if heads is None else nal.shown_order(heads, sets)
        if order is None:
            return False
        packets = index.packets[start : start + len(order)][order]
        pts = packets["pts"][packets["flags"] & UNSEEN == 0]
        if (pts[1:] <= pts[:-1]).any():
            return False
    return True


def _heads_around(
    index: VideoIndex, nal: NalSyntax, source: Source, doubted: Ints
) -> Iterator[tuple[int, NDArray[np.uint8] | None]]:
    """First packet and slice heads of ranges around doubtful packets."""
    wanted = np.zeros(len(index.packets), dtype=np.bool_)
    count = 0
    for packet in doubted.tolist():
        around = slice(max(packet - _AROUND, 0), packet + _AROUND + 1)
        count += int((~wanted[around]).sum())
        if count > _LOOKS:
            break
        wanted[around] = True
    edges = np.flatnonzero(np.diff(wanted, prepend=False, append=False))
    sizes = index.packets["size"].astype(np.int64)
    for start, stop in edges.reshape(-1, 2).tolist():
        heads, found = some_slice_heads(
            nal, index.length_size, source, index.packets["offset"][start:stop], sizes[start:stop]
        )
        yield start, heads if found.all() else None


def _renumbered(index: VideoIndex, order: Ints) -> VideoIndex:
    """The index with frames in `order`, and a warning; unchanged if they are in it already."""
    if np.array_equal(order, index.frame_packets):
        return index
    pts = index.packets["pts"][order]
    late = np.flatnonzero(pts[1:] <= pts[:-1]) + 1
    first = f", first at packet {order[late[0]]}" if len(late) else ""
    warning = (
        f"{index.name}: damaged timestamps: they contradict the order of the pictures{first}; "
        "frames are numbered as they are decoded, and times stay as the file has them"
    )
    return replace(index, order=order, warnings=(*index.warnings, warning))
