"""Checks of arrays of numbers that users pass; single ones are in `system/checks.py`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentTypeError


def real_numbers(name: str, values: Any) -> NDArray[np.float64]:
    """Check that values are numbers; returns them as float64 in one row.

    Args:
        name: of the values, for the message.
        values: one or several, also fractions, or of NumPy or torch; no texts, which NumPy reads
            as numbers.

    Raises:
        ArgumentTypeError: one is not a number.

    >>> real_numbers("times", [0.5, 1])
    array([0.5, 1. ])
    """
    with suppress(TypeError, ValueError, OverflowError):
        given = np.asarray(values).reshape(-1)
        is_objects = given.dtype.kind == "O" and not any(
            isinstance(value, str | bytes | None) for value in given.tolist()
        )
        if is_objects or given.dtype.kind in "biuf":
            return given.astype(np.float64, copy=False)
    raise ArgumentTypeError(f"{name} must be numbers, got {values!r:.80}")
