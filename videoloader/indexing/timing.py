"""Packet tables out of columns, and whether their times tell the order of the frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.indexing.index import PACKET_DTYPE, PacketFlags

__all__ = ["NO_TIME", "order_is_told", "packet_table", "spacings"]

NO_TIME = np.iinfo(np.int64).min
"""The time of a packet that has none."""

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
    """A table of packets; each lasts until the next is shown unless `durations` are given."""
    table = np.empty(len(np.asarray(offsets)), dtype=PACKET_DTYPE)
    table["offset"], table["size"] = offsets, sizes
    table["pts"], table["dts"], table["flags"] = pts, dts, flags
    table["duration"] = spacings(table) if durations is None else durations
    return table


def spacings(table: NDArray[Any]) -> NDArray[np.int64]:
    """Ticks from each frame to the next one shown; the last lasts as long as the one before."""
    durations = np.zeros(len(table), dtype=np.int64)
    shown = np.flatnonzero((table["flags"] & _UNSEEN) == 0)
    if len(shown) > 1:
        shown = shown[np.argsort(table["pts"][shown], kind="stable")]
        steps = np.diff(table["pts"][shown])
        durations[shown] = np.append(steps, steps[-1])
    return durations


def order_is_told(table: NDArray[Any]) -> bool:
    """Whether decoding begins at a keyframe, and no two frames are shown at one time."""
    pts = np.sort(table["pts"][(table["flags"] & _UNSEEN) == 0])
    distinct = bool((pts[1:] > pts[:-1]).all())
    return len(table) == 0 or (distinct and bool(table["flags"][0] & PacketFlags.KEY))
