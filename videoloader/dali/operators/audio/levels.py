"""Element types of sound in DALI's operators: each one's range stands for -1 to 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def to_levels(samples: NDArray[Any]) -> NDArray[np.float32]:
    """Samples as float32 from -1 to 1; the middle of an unsigned type is 0.

    >>> to_levels(np.array([-32767, 0, 32767], np.int16)).tolist()
    [-1.0, 0.0, 1.0]
    """
    if samples.dtype.kind == "f":
        return samples.astype(np.float32, copy=False)
    scale, middle = _range(samples.dtype)
    levels = (samples.astype(np.float64) - middle) / scale
    return levels.astype(np.float32)


def from_levels(levels: NDArray[np.float32], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values from -1 to 1 as samples of an element type, saturated.

    >>> from_levels(np.array([-1, 0, 1], np.float32), np.dtype("uint8")).tolist()
    [0, 128, 255]
    """
    if dtype.kind == "f":
        return levels.astype(dtype, copy=False)
    scale, middle = _range(dtype)
    exact = levels if dtype.itemsize < 4 else levels.astype(np.float64)
    return rounded(exact * scale + middle, dtype)


def rounded(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Numbers as an element type: integers are rounded half away from zero, and saturated."""
    if dtype.kind == "f":
        return values.astype(dtype, copy=False)
    limits = np.iinfo(dtype)
    exact = values if dtype.itemsize < 4 else values.astype(np.float64)
    whole: NDArray[Any] = np.trunc(exact + np.copysign(exact.dtype.type(0.5), exact))
    return whole.clip(limits.min, limits.max).astype(dtype)


def _range(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The values for 1 and for 0."""
    most = float(np.float32(np.iinfo(dtype).max))
    return (most / 2, most / 2) if dtype.kind == "u" else (most, 0.0)
