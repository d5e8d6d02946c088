"""Converts the orientation and colour space of decoded pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[Any]

GRAY_WEIGHTS = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in grey (ITU-R BT.601)."""

YCBCR = (
    (0.25678824, 0.50412941, 0.09790588, 16 / 255),
    (-0.14822290, -0.29099279, 0.43921569, 128 / 255),
    (0.43921569, -0.36778831, -0.07142737, 128 / 255),
)
"""Matrix from RGB (0 to 1) to limited-range Y'CbCr of BT.601 (0 to 1)."""


def oriented(pixels: Pixels, orientation: int) -> Pixels:
    """Apply an EXIF orientation to pixels (H, W, C).

    >>> oriented(np.arange(6).reshape(2, 3, 1), 6)[..., 0]
    array([[3, 0],
           [4, 1],
           [5, 2]])
    """
    if orientation > 4:
        pixels = pixels.swapaxes(0, 1)
    mirrored, flipped = {
        2: (True, False), 3: (True, True), 4: (False, True),
        6: (True, False), 7: (True, True), 8: (False, True),
    }.get(orientation, (False, False))  # fmt: skip
    pixels = pixels[:, ::-1] if mirrored else pixels
    return pixels[::-1] if flipped else pixels


def channels_of(stored: int, output_type: str) -> int:
    """Channels of an image after conversion to `output_type`."""
    if output_type == "ANY_DATA":
        return stored
    return 1 if output_type == "GRAY" else 3


def convert(pixels: Pixels, output_type: str) -> Pixels:
    """Convert pixels (grey or RGB, possibly with further channels) to a colour space.

    Alpha is dropped if the colour space has none.
    """
    if output_type == "ANY_DATA":
        return pixels
    is_color = pixels.shape[-1] >= 3
    if output_type == "GRAY":
        return _combined(pixels[..., :3], (GRAY_WEIGHTS,)) if is_color else pixels[..., :1]
    if not is_color:
        pixels = np.repeat(pixels[..., :1], 3, axis=-1)
    pixels = pixels[..., :3]
    if output_type == "BGR":
        return pixels[..., ::-1]
    if output_type == "YCbCr":
        return _combined(pixels, YCBCR)
    return pixels


def _combined(pixels: Pixels, rows: tuple[tuple[float, ...], ...]) -> Pixels:
    """Each output channel is a weighted sum of three channels plus a constant, rounded."""
    import cv2

    top = 1.0 if pixels.dtype.kind == "f" else float(np.iinfo(pixels.dtype).max)
    matrix = np.array([[*row[:3], (row[3] if len(row) > 3 else 0.0) * top] for row in rows])
    mixed: Pixels = cv2.transform(
        np.ascontiguousarray(pixels, np.float32), matrix.astype(np.float32)
    )
    mixed = mixed.reshape(*pixels.shape[:2], len(rows))
    if pixels.dtype.kind == "f":
        return mixed.astype(pixels.dtype)
    rounded: Pixels = np.clip(np.floor(mixed + 0.5), 0, top).astype(pixels.dtype)
    return rounded
