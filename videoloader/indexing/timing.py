"""Times of packets: packet tables, whether times determine frame order, and given frame rates."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.errors import ArgumentError
from videoloader.indexing.index import PACKET_DTYPE, PacketFlags, VideoIndex

__all__ = ["NO_TIME", "order_is_known", "packet_table", "read_rate", "spacings", "with_rate"]

NO_TIME = np.iinfo(np.int64).min
"""Marks a packet without a time."""

# Formats without packet times; FFmpeg assumes 25 frames a second if the stream states no rate.
_TIMELESS = {"apv", "avs", "avs2", "avs3", "cavsvideo", "dirac", "dnxhd", "evc", "h261", "h263"}
_TIMELESS |= {"h264", "hevc", "m4v", "mjpeg", "mjpeg_2000", "mpegvideo", "obu", "vc1", "vvc"}
_MAX_DENOMINATOR = 1_001_000  # for rates given as floats; large enough for 24000/1001
_MOST_DIGITS = 40  # of a rate that is text

_UNSEEN = np.uint16(PacketFlags.DISCARD | PacketFlags.HIDDEN)


def packet_table(
    offsets: ArrayLike,
    sizes: ArrayLike,
    *,
    pts: ArrayLike,
    dts: ArrayLike,
    flags: ArrayLike,
    durations: ArrayLike | None = None,
) -> NDArray[Any]:
    """Make a packet table; without `durations`, each frame lasts until the next one."""
    table = np.empty(len(np.asarray(offsets)), dtype=PACKET_DTYPE)
    table["offset"], table["size"] = offsets, sizes
    table["pts"], table["dts"], table["flags"] = pts, dts, flags
    table["duration"] = spacings(table) if durations is None else durations
    return table


def spacings(table: NDArray[Any]) -> NDArray[np.int64]:
    """Ticks from each frame to the next in presentation order; the last repeats the previous."""
    durations = np.zeros(len(table), dtype=np.int64)
    shown = np.flatnonzero((table["flags"] & _UNSEEN) == 0)
    if len(shown) > 1:
        shown = shown[np.argsort(table["pts"][shown], kind="stable")]
        steps = np.diff(table["pts"][shown])
        durations[shown] = np.append(steps, steps[-1])
    return durations


def order_is_known(table: NDArray[Any]) -> bool:
    """Whether the first packet is a keyframe and presentation times are distinct."""
    pts = np.sort(table["pts"][(table["flags"] & _UNSEEN) == 0])
    distinct = bool((pts[1:] > pts[:-1]).all())
    return len(table) == 0 or (distinct and bool(table["flags"][0] & PacketFlags.KEY))


def read_rate(fps: float | Fraction) -> Fraction:
    """Frames a second as an exact fraction; a float is read as the nearest short fraction.

    Raises:
        ArgumentError: it is not above 0, or not finite.

    >>> read_rate(24000 / 1001), read_rate(12.5)
    (Fraction(24000, 1001), Fraction(25, 2))
    """
    try:
        if isinstance(fps, str) and (len(fps) > _MOST_DIGITS or "e" in fps.lower()):
            raise ValueError  # an exponent of a few digits takes minutes
        rate = Fraction(fps)
        if isinstance(fps, float):
            rate = rate.limit_denominator(_MAX_DENOMINATOR)
    except (OverflowError, TypeError, ValueError):
        rate = Fraction(0)
    if rate <= 0:
        raise ArgumentError(f"fps must be a number above 0, got {fps!r}")
    return rate


def with_rate(index: VideoIndex, rate: Fraction) -> VideoIndex:
    """The same frames at `rate` frames a second, starting at time 0; one tick is one frame.

    Raises:
        ArgumentError: the container has times of its own.
    """
    if index.container not in _TIMELESS and not index.container.endswith("_pipe"):
        raise ArgumentError(
            f"{index.name}: fps={rate} given, but {index.container} files have times of their own; "
            "leave fps out"
        )
    table = index.packets.copy()
    # A packet that shows no frame gets the time of the frame before it.
    shown = np.full(len(table), -1)
    shown[index.frame_packets] = np.arange(index.num_frames)
    table["pts"] = np.where(shown >= 0, shown, np.maximum.accumulate(np.maximum(shown, 0)))
    places = np.arange(len(table))
    table["dts"] = places - max(int((places - table["pts"]).max(initial=0)), 0)
    table["duration"] = 1
    return replace(index, packets=table, time_base=1 / rate)
