"""Frame rates: given by a user, or derived from times that are rounded to ticks."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError

_NTSC = tuple(Fraction(1000 * rate, 1001) for rate in (24, 30, 48, 60, 120, 240))
_MOST_WHOLE = 240  # frames a second
_LEAST_TICKS = 4  # ticks a frame; with fewer, an uneven step may be a dropped frame
_EXACT = 1e-6  # ticks; smaller errors are ignored
_MAX_DENOMINATOR = 1_001_000  # for rates given as floats; large enough for 24000/1001
_MOST_DIGITS = 40  # of a rate that is text
_SLACK = 2  # maximum error of the end of the last frame in ticks


def even_rate(pts: NDArray[np.int64], end: int, time_base: Fraction) -> Fraction | None:
    """The usual rate of frames that are evenly spaced except for rounding; None if there is none.

    Usual rates are whole numbers and those of NTSC, such as 30000/1001. If several fit, as in
    short videos, whole numbers are preferred, then small errors.

    Args:
        pts: of the frames in ticks, ascending.
        end: of the last frame.
        time_base: seconds a tick.

    >>> even_rate(np.array([0, 33, 67, 100, 133]), 167, Fraction(1, 1000))
    Fraction(30, 1)
    """
    steps = len(pts) - 1
    span = int(pts[-1]) - int(pts[0]) if steps > 0 else 0
    if steps < 1 or span < _LEAST_TICKS * steps:
        return None
    if steps > 1 and (pts[1:] - pts[:-1] == pts[1] - pts[0]).all():  # nothing was rounded
        ticks = span // steps
        is_even = abs(end - int(pts[-1]) - ticks) <= _SLACK
        return _rate_of_step(ticks, time_base.numerator, time_base.denominator) if is_even else None
    # Rounding moves the first and the last frame apart by less than a tick.
    low, high = Fraction(span - 1, steps), Fraction(span + 1, steps)
    found: list[tuple[bool, float, Fraction]] = []
    for rate in _usual(1 / (high * time_base), 1 / (low * time_base)):
        step = 1 / (rate * time_base)
        errors = (pts - pts[0]) - np.arange(len(pts)) * float(step)
        spread = float(errors.max() - errors.min())
        if spread < 1 + _EXACT and abs(end - int(pts[0]) - step * len(pts)) <= _SLACK:
            found.append((rate.denominator > 1, spread, rate))
    return min(found)[2] if found else None


@lru_cache(maxsize=256)  # most files of a data set have one of a few
def _rate_of_step(ticks: int, numerator: int, denominator: int) -> Fraction | None:
    """The rate of frames so many ticks apart, if it is a usual one."""
    rate = Fraction(denominator, ticks * numerator)
    is_whole = rate.denominator == 1 and 1 <= rate <= _MOST_WHOLE
    return rate if is_whole or rate in _NTSC else None


def _usual(least: Fraction, most: Fraction) -> list[Fraction]:
    """The usual rates between two."""
    whole = range(max(math.ceil(least), 1), min(math.floor(most), _MOST_WHOLE) + 1)
    return [Fraction(rate) for rate in whole] + [rate for rate in _NTSC if least <= rate <= most]


def rate_of_duration(
    nanoseconds: int, pts: NDArray[np.int64], time_base: Fraction
) -> Fraction | None:
    """The rate of a default frame duration; None if most frames have another.

    >>> rate_of_duration(41708333, np.array([0, 42, 83]), Fraction(1, 1000))
    Fraction(24000, 1001)
    """
    if nanoseconds <= 0 or len(pts) < 2:
        return None
    ticks = Fraction(nanoseconds, 10**9) / time_base
    if abs(Fraction(float(np.median(np.diff(pts)))) - ticks) > 1:
        return None
    return Fraction(10**9, nanoseconds).limit_denominator(1001) or None


def read_rate(fps: float | Fraction) -> Fraction:
    """Frames a second as an exact fraction; a float is read as the nearest short fraction.

    Raises:
        ArgumentError: it is not above 0, or not finite.

    >>> read_rate(24000 / 1001), read_rate(12.5)
    (Fraction(24000, 1001), Fraction(25, 2))
    """
    try:
        if isinstance(fps, str) and (len(fps) > _MOST_DIGITS or "e" in fps.lower()):
            raise ValueError  # an exponent of a few digits takes minutes
        rate = Fraction(fps)
        if isinstance(fps, float):
            rate = rate.limit_denominator(_MAX_DENOMINATOR)
    except (OverflowError, TypeError, ValueError):
        rate = Fraction(0)
    if rate <= 0:
        raise ArgumentError(f"fps must be a number above 0, got {fps!r}")
    return rate
