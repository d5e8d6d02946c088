"""Sound JPEGs by libjpeg-turbo, into memory that is there already.

`cv2.imdecode` gives new memory for each image, and takes longer for the same pixels.
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
    """The pixels of a JPEG, those of OpenCV; None where OpenCV has to say what becomes of it.

    That is the case for any damage, and for another size than that of `shape`.

    Args:
        data: the whole file.
        shape: (H, W, C) of the pixels; C is 3 for RGB, 1 for grey, which is the luma as stored.
        room: memory for them, used if it is of their size.
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
