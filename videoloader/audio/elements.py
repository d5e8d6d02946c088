"""Element types of decoded sound, converted as FFmpeg does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["to_float32", "to_int16"]


def to_float32(samples: NDArray[Any]) -> NDArray[np.float32]:
    """Samples from -1 to 1.

    >>> to_float32(np.array([-32768, 16384], np.int16)).tolist()
    [-1.0, 0.5]
    """
    if samples.dtype.kind == "f":
        return samples.astype(np.float32, copy=False)
    half = 2.0 ** (8 * samples.dtype.itemsize - 1)
    middle = half if samples.dtype.kind == "u" else 0.0
    exact: Any = np.float32 if samples.dtype.itemsize <= 2 else np.float64
    values = (samples.astype(exact) - middle) / half
    return values.astype(np.float32, copy=False)


def to_int16(samples: NDArray[Any]) -> NDArray[np.int16]:
    """Samples of 16 bits; lower bits are cut off, floating point values are rounded.

    >>> to_int16(np.array([-1.0, 0.5, 1.5], np.float32)).tolist()
    [-32768, 16384, 32767]
    """
    if samples.dtype.kind == "f":
        return np.rint(samples * 32768.0).clip(-32768, 32767).astype(np.int16)
    if samples.dtype == np.uint8:
        return ((samples.astype(np.int16) - 128) << 8).astype(np.int16)
    return (samples >> (8 * (samples.dtype.itemsize - 2))).astype(np.int16)
