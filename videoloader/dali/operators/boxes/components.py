"""Connected parts of masks of any number of dimensions, and the boxes around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def boxes_around_parts(mask: NDArray[np.bool_]) -> Integers:
    """Boxes around the parts of a mask that are connected by faces of their pixels.

    Planes of the last two dimensions are labelled by OpenCV; parts of neighbouring planes that
    touch are then joined.

    Returns:
        (parts, 2, dimensions): the first pixel of each box and one behind its last.
    """
    if mask.ndim == 1:
        return boxes_around_parts(mask[None])[..., 1:]
    import cv2

    outer = mask.shape[:-2]
    planes = mask.reshape(-1, *mask.shape[-2:])
    labels = np.full(planes.shape, -1, dtype=np.int64)
    boxes: list[NDArray[Any]] = [np.empty((0, 2, mask.ndim), dtype=np.int64)]
    count = 0
    for number, plane in enumerate(planes):
        if not plane.any():
            continue
        found, own, stats, _ = cv2.connectedComponentsWithStats(
            plane.astype(np.uint8), connectivity=4, ltype=cv2.CV_32S
        )
        labels[number][plane] = own[plane] - 1 + count
        boxes.append(_boxes_in_plane(np.unravel_index(number, outer), stats[1:]))
        count += found - 1
    every = np.concatenate(boxes)
    roots = _joined(count, _touching(labels.reshape(mask.shape)))
    starts, stops = every[:, 0].copy(), every[:, 1].copy()
    np.minimum.at(starts, roots, every[:, 0])
    np.maximum.at(stops, roots, every[:, 1])
    return np.stack([starts, stops], axis=1)[np.unique(roots)]


def _boxes_in_plane(place: tuple[Any, ...], stats: NDArray[np.int32]) -> Integers:
    """The boxes that OpenCV gives as (x, y, width, height, area), in all dimensions."""
    front = np.broadcast_to(np.array(place, dtype=np.int64), (len(stats), len(place)))
    start = stats[:, [1, 0]].astype(np.int64)
    stop = start + stats[:, [3, 2]]
    return np.stack(
        [np.concatenate([front, start], axis=1), np.concatenate([front + 1, stop], axis=1)], axis=1
    )


def _touching(labels: Integers) -> Integers:
    """Pairs of labels of neighbouring planes; -1 is no label."""
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for axis in range(labels.ndim - 2):
        moved = labels.swapaxes(axis, 0)
        both = (moved[:-1] >= 0) & (moved[1:] >= 0)
        pairs.append(np.stack([moved[:-1][both], moved[1:][both]], axis=1))
    return np.unique(np.concatenate(pairs), axis=0)


def _joined(count: int, pairs: Integers) -> Integers:
    """For each of `count` numbers the smallest one that pairs connect it with."""
    roots = np.arange(count)
    while True:
        first, second = roots[pairs[:, 0]], roots[pairs[:, 1]]
        low = np.minimum(first, second)
        joined = roots.copy()
        np.minimum.at(joined, first, low)
        np.minimum.at(joined, second, low)
        joined = joined[joined]
        if np.array_equal(joined, roots):
            return roots
        roots = joined
