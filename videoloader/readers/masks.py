"""Masks of COCO annotations: polygons and run lengths into pixels.

A mask is a vector of bool (height * width,) in column order, as COCO counts it. Run lengths are the
numbers of pixels outside, inside, outside, ... of the object; as text, six bits a character, each
from the third on as the difference to the one two before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import FormatError

__all__ = ["column_mask", "label_image", "read_counts"]

_SCALE = 5  # outlines are walked on a grid of fifths of a pixel, as COCO's own tools do
_MOST_PIXELS = 1 << 28


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


def column_mask(segmentation: Any, height: int, width: int) -> NDArray[np.bool_]:
    """The mask of an annotation: polygons as lists of x, y, x, y, ..., or run lengths.

    Raises:
        FormatError: it is neither, or does not fit the size.
    """
    if not 0 < height * width <= _MOST_PIXELS:
        raise FormatError(f"a mask of {width}x{height} pixels")
    if isinstance(segmentation, dict):
        counts = segmentation.get("counts", ())
        counts = read_counts(counts) if isinstance(counts, str) else counts
        return _of_counts(counts, height * width)
    mask = np.zeros(height * width, dtype=np.bool_)
    for polygon in segmentation:
        mask |= _of_polygon(polygon, height, width)
    return mask


def label_image(
    masks: Sequence[NDArray[np.bool_]], labels: Sequence[int], height: int, width: int
) -> NDArray[np.int32]:
    """An image (H, W, 1) with the label of each pixel, 0 where there is no object.

    Where objects overlap the highest label is seen.
    """
    pixels = np.zeros(height * width, dtype=np.int32)
    for mask, label in sorted(zip(masks, labels, strict=True), key=lambda pair: pair[1]):
        pixels[mask] = label
    return np.ascontiguousarray(pixels.reshape(width, height).T)[..., None]


def _of_counts(counts: Sequence[int], size: int) -> NDArray[np.bool_]:
    runs = np.asarray(counts, dtype=np.int64)
    if runs.ndim != 1 or (runs < 0).any() or int(runs.sum()) > size:
        raise FormatError(f"run lengths of a mask that do not fit its {size} pixels")
    inside = np.zeros(len(runs), dtype=np.bool_)
    inside[1::2] = True
    mask = np.zeros(size, dtype=np.bool_)
    filled = np.repeat(inside, runs)
    mask[: len(filled)] = filled
    return mask


def _of_polygon(polygon: Sequence[float], height: int, width: int) -> NDArray[np.bool_]:
    """The pixels inside a polygon, with the rounding of COCO's tools."""
    # To float32 first, as the vertices are given out: halves of the grid round alike then.
    points = np.asarray(polygon, dtype=np.float32).astype(np.float64)
    if points.ndim != 1 or len(points) % 2 or not np.isfinite(points).all():
        raise FormatError(f"a polygon of {points.size} numbers, which are no points")
    if len(points) < 6:
        return np.zeros(height * width, dtype=np.bool_)
    limit = 4.0 * _SCALE * max(height, width)
    scaled = np.trunc(np.clip(_SCALE * points, -limit, limit) + 0.5).astype(np.int64)
    corners = scaled.reshape(-1, 2)
    along_x, along_y = zip(
        *(
            _edge(start, end)
            for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True)
        ),
        strict=True,
    )
    x, y = np.concatenate(along_x), np.concatenate(along_y)
    # Where the outline passes from one column to the next, the column's pixels below it toggle.
    step = np.flatnonzero(x[1:] != x[:-1]) + 1
    column = np.where(x[step] < x[step - 1], x[step], x[step] - 1)
    column = (column + 0.5) / _SCALE - 0.5
    row = (np.minimum(y[step], y[step - 1]) + 0.5) / _SCALE - 0.5
    row = np.ceil(np.clip(row, 0, height))
    kept = (np.floor(column) == column) & (column >= 0) & (column <= width - 1)
    places = (column[kept] * height + row[kept]).astype(np.int64)
    toggles = np.bincount(places, minlength=height * width + 1)[: height * width]
    return (np.cumsum(toggles) & 1).astype(np.bool_)


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
