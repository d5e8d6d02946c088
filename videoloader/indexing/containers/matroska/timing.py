"""Derives times that Matroska does not store: decode times and missing durations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["decode_times", "fill_durations"]

Ints = NDArray[np.int64]


def decode_times(pts: Ints) -> Ints:
    """Decode time of each packet: ascending, at most its pts, and as late as possible.

    >>> decode_times(np.array([0, 120, 40, 80, 240, 160, 200]))
    array([-40,   0,  40,  80, 120, 160, 200])
    """
    if (pts[1:] >= pts[:-1]).all():
        return pts.copy()
    ordered = np.sort(pts)
    # The largest reorder delay of any packet.
    rank = np.searchsorted(ordered, pts, side="right") - 1
    depth = max(int((np.arange(len(pts)) - rank).max()), 0)
    step = max(int(ordered[-1] - ordered[0]) // (len(pts) - 1), 1)
    lead = ordered[0] - step * np.arange(depth, 0, -1)
    return np.concatenate([lead, ordered])[: len(pts)]


def fill_durations(durations: Ints, pts: Ints, shown: Ints) -> Ints:
    """Durations; missing ones (0) are replaced by the interval to the next shown frame.

    Args:
        durations: of packets in ticks, in decode order.
        pts: presentation times of the packets.
        shown: numbers of the packets that are shown.

    >>> fill_durations(np.array([0, 0, 5]), np.array([0, 30, 10]), np.arange(3))
    array([10, 20,  5])
    """
    missing = durations[shown] <= 0
    if not missing.any() or len(shown) < 2:
        return durations
    order = shown[np.argsort(pts[shown], kind="stable")]
    steps = np.diff(pts[order])
    filled = durations.copy()
    filled[order] = np.append(steps, steps[-1])
    return np.where(durations > 0, durations, filled)
