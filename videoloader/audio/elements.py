"""Element types of decoded sound, converted as FFmpeg does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


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


def _to_int16(samples: NDArray[Any]) -> NDArray[np.int16]:
    """Samples of 16 bits; lower bits are cut off, floating point values are rounded.

    >>> _to_int16(np.array([-1.0, 0.5, 1.5], np.float32)).tolist()
    [-32768, 16384, 32767]
    """
    if samples.dtype.kind == "f":
        return np.rint(samples * 32768.0).clip(-32768, 32767).astype(np.int16)
    if samples.dtype == np.int16:
        return samples
    if samples.dtype == np.uint8:
        return ((samples.astype(np.int16) - 128) << 8).astype(np.int16)
    return (samples >> (8 * (samples.dtype.itemsize - 2))).astype(np.int16)


def _to_int32(samples: NDArray[Any]) -> NDArray[np.int32]:
    """Samples of 32 bits; floating point values are rounded.

    >>> _to_int32(np.array([-2, 3], np.int16)).tolist()
    [-131072, 196608]
    """
    if samples.dtype.kind == "f":
        wide = np.rint(samples.astype(np.float64) * 2.0**31)
        return wide.clip(-(2.0**31), 2.0**31 - 1).astype(np.int32)
    if samples.dtype == np.int32:
        return samples
    if samples.dtype.itemsize == 8:
        return (samples >> 32).astype(np.int32)
    middle = 128 if samples.dtype == np.uint8 else 0
    return (samples.astype(np.int32) - middle) << (32 - 8 * samples.dtype.itemsize)


CONVERSIONS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "float32": to_float32,
    "int16": _to_int16,
    "int32": _to_int32,
    "stored": lambda samples: samples,
}
"""Conversions of decoded samples by the name of what they give."""
