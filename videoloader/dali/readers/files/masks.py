"""Masks of COCO annotations: polygons and run lengths into pixels.

Pixels are counted column by column, as COCO does. Run lengths are the numbers of pixels outside,
inside, outside, ... of the object; as text, six bits a character, each from the third on as the
difference to the one two before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError

_SCALE = 5  # outlines are walked on a grid of fifths of a pixel, as COCO's own tools do
_MOST_PIXELS = 1 << 27
MOST_STEPS = 1 << 25  # of all outlines of an image, on that grid
_MOST_STEPS_OF_POLYGON = 1 << 22
MOST_PAINTED = 1 << 32  # pixels of all objects of an image
_EMPTY = np.empty((0, 2), dtype=np.int64)


def read_counts(text: str) -> list[int]:
    """Run lengths from their text form.

    >>> read_counts("04")
    [0, 4]
    """
    counts: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - 48
        if not 0 <= bits < 64 or shift > 60:
            raise FormatError(f"run lengths of a mask with the character {character!r}")
        value |= (bits & 0x1F) << shift
        shift += 5
        if bits & 0x20:
            continue
        if bits & 0x10:
            value -= 1 << shift
        if len(counts) > 2:
            value += counts[-2]
        counts.append(value)
        value = shift = 0
    if shift:
        raise FormatError("run lengths of a mask end in the middle of a number")
    return counts


def label_image(
    segmentations: Sequence[Any], labels: Sequence[int], height: int, width: int
) -> NDArray[np.int32]:
    """An image (H, W, 1) with the label of each pixel, 0 where there is no object.

    Where objects overlap the highest label is seen. Memory is that of the image, whatever the
    segmentations claim.

    Args:
        segmentations: of each object: polygons as lists of x, y, x, y, ..., run lengths, or None.
        labels: of each object.
        height: of the image.
        width: likewise.

    Raises:
        FormatError: a segmentation is neither, does not fit the size, or is out of proportion; the
            message has the number of the object.
    """
    if not 0 < height * width <= _MOST_PIXELS:
        raise FormatError(f"a mask of {width}x{height} pixels")
    pixels = np.zeros(height * width, dtype=np.int32)
    steps = painted = 0
    for number in sorted(range(len(labels)), key=labels.__getitem__):
        try:
            for runs, cost in _shapes(segmentations[number] or (), height, width):
                steps, painted = steps + cost, painted + int((runs[:, 1] - runs[:, 0]).sum())
                if steps > MOST_STEPS or painted > MOST_PAINTED:
                    raise FormatError("the objects up to it are too long or cover too much")
                for begin, end in runs.tolist():
                    pixels[begin:end] = labels[number]
        except (FormatError, TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"object {number}: {error}") from error
    return np.ascontiguousarray(pixels.reshape(width, height).T)[..., None]


def _shapes(segmentation: Any, height: int, width: int) -> Iterator[tuple[NDArray[np.int64], int]]:
    """The pixels of each piece as (begin, end) of runs (N, 2), and the length of its outline."""
    if isinstance(segmentation, dict):
        counts = segmentation.get("counts", ())
        counts = read_counts(counts) if isinstance(counts, str) else counts
        yield _of_counts(counts, height * width), 0
        return
    for polygon in segmentation:
        corners = _corners(polygon, height, width)
        edges = np.roll(corners, -1, axis=0) - corners
        steps = int((np.abs(edges).max(axis=1, initial=0) + 1).sum())
        if steps > _MOST_STEPS_OF_POLYGON:
            raise FormatError(f"a polygon with an outline of {steps // _SCALE} pixels")
        yield _of_polygon(corners, height, width), steps


def _of_counts(counts: Sequence[int], size: int) -> NDArray[np.int64]:
    runs = np.asarray(counts, dtype=np.int64)
    # One by one before the sum, which may overflow.
    if runs.ndim != 1 or (runs < 0).any() or (runs > size).any() or runs.sum() > size:
        raise FormatError(f"run lengths of a mask that do not fit its {size} pixels")
    ends = np.cumsum(runs)
    return np.stack([ends[0:-1:2], ends[1::2]], axis=1) if len(runs) > 1 else _EMPTY


def _corners(polygon: Sequence[float], height: int, width: int) -> NDArray[np.int64]:
    """The corners of a polygon on the grid, (N, 2); none of a polygon without an area."""
    # To float32 first, as the vertices are given out: halves of the grid round alike then.
    with np.errstate(over="ignore"):
        points = np.asarray(polygon, dtype=np.float32).astype(np.float64)
    if points.ndim != 1 or len(points) % 2 or not np.isfinite(points).all():
        raise FormatError(f"a polygon of {points.size} numbers, which are no points")
    if len(points) < 6:
        return _EMPTY
    limit = 4.0 * _SCALE * max(height, width)
    scaled = np.trunc(np.clip(_SCALE * points, -limit, limit) + 0.5).astype(np.int64)
    return scaled.reshape(-1, 2)


def _of_polygon(corners: NDArray[np.int64], height: int, width: int) -> NDArray[np.int64]:
    """The pixels inside a polygon, with the rounding of COCO's tools."""
    if not len(corners):
        return _EMPTY
    edges = zip(corners, np.roll(corners, -1, axis=0), strict=True)
    along_x, along_y = zip(*(_edge(start, end) for start, end in edges), strict=True)
    x, y = np.concatenate(along_x), np.concatenate(along_y)
    # Where the outline passes from one column to the next, the column's pixels below it toggle.
    step = np.flatnonzero(x[1:] != x[:-1]) + 1
    column = np.where(x[step] < x[step - 1], x[step], x[step] - 1)
    column = (column + 0.5) / _SCALE - 0.5
    row = (np.minimum(y[step], y[step - 1]) + 0.5) / _SCALE - 0.5
    row = np.ceil(np.clip(row, 0, height))
    kept = (np.floor(column) == column) & (column >= 0) & (column <= width - 1)
    found, times = np.unique(column[kept] * height + row[kept], return_counts=True)
    places: NDArray[np.int64] = found[(times & 1) == 1].astype(np.int64)
    if len(places) % 2:
        places = np.append(places, height * width)
    return places.reshape(-1, 2)


def _edge(
    start: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The points of an edge, one for each step along its longer side, both ends included."""
    (x0, y0), (x1, y1) = start.tolist(), end.tolist()
    across, down = abs(x1 - x0), abs(y1 - y0)
    is_wide = across >= down
    is_backwards = x0 > x1 if is_wide else y0 > y1
    if is_backwards:
        x0, y0, x1, y1 = x1, y1, x0, y0
    steps = np.arange(max(across, down) + 1)
    if is_backwards:
        steps = steps[::-1]
    if is_wide:
        slope = (y1 - y0) / across if across else 0.0
        return steps + x0, np.trunc(y0 + slope * steps + 0.5).astype(np.int64)
    slope = (x1 - x0) / down
    return np.trunc(x0 + slope * steps + 0.5).astype(np.int64), steps + y0
