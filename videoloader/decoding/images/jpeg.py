"""Decodes undamaged JPEGs with libjpeg-turbo into existing memory.

`cv2.imdecode` allocates new memory for each image, and takes longer for the same pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["codec", "decode_jpeg"]


def decode_jpeg(
    data: memoryview, shape: tuple[int, int, int], room: NDArray[np.uint8] | None = None
) -> NDArray[np.uint8] | None:
    """The pixels of a JPEG, equal to OpenCV's; None if OpenCV has to decode it.

    That is so for any damage, and if the size differs from `shape`.

    Args:
        data: the whole file.
        shape: (H, W, C) of the pixels; C is 3 for RGB, 1 for grey (the luma plane as stored).
        room: memory for the pixels, used if it has their size.
    """
    decode = codec()
    if decode is None:
        return None
    buffer = room if room is not None and room.size == math.prod(shape) else None
    try:
        pixels = decode(data, "RGB" if shape[-1] == 3 else "GRAY", buffer=buffer)
    except ValueError:
        return None
    return pixels if pixels.shape == shape else None


@cache
def codec() -> Callable[..., NDArray[np.uint8]] | None:
    """`simplejpeg.decode_jpeg`; None on platforms that have no wheels of it."""
    try:
        import simplejpeg
    except ImportError:
        return None
    decode: Callable[..., NDArray[np.uint8]] = simplejpeg.decode_jpeg
    return decode
