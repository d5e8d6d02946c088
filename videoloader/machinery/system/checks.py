"""Checks of numbers, choices and truth values that users pass; errors name the allowed ones.

>>> whole_number("workers", "2")
Traceback (most recent call last):
videoloader.errors.ArgumentTypeError: workers must be a whole number of at least 0, got '2'
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any, TypeVar

from videoloader.errors import ArgumentError, ArgumentTypeError

Choice = TypeVar("Choice")


def whole_number(name: str, value: Any, *, least: int | None = 0, most: int | None = None) -> int:
    """Check that a value is an integer from `least` to `most`; returns it as an `int`.

    Args:
        name: of the value, for the message.
        value: an integer, also of NumPy or torch; neither a bool nor a float.
        least: the minimum; None for none.
        most: the maximum; None for none.

    Raises:
        ArgumentTypeError: it is not an integer.
        ArgumentError: it is below `least` or above `most`.

    >>> whole_number("epoch", 3)
    3
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if (
        number is not None
        and (least is None or number >= least)
        and (most is None or number <= most)
    ):
        return number
    error = ArgumentTypeError if number is None else ArgumentError
    raise error(f"{name} must be a whole number{_range(least, most)}, got {value!r:.80}")


def real_number(
    name: str,
    value: Any,
    *,
    least: float = 0,
    most: float | None = None,
    above: float | None = None,
) -> float:
    """Check that a value is a number in a range; returns it as a `float`.

    Args:
        name: of the value, for the message.
        value: a number, also a fraction, or of NumPy or torch; neither a bool nor text.
        least: the minimum.
        most: the maximum, which may be infinite; None for any finite number.
        above: what the value must exceed, instead of `least`.

    Raises:
        ArgumentTypeError: it is not a number.
        ArgumentError: it is outside the range, or NaN.

    >>> real_number("flip", 1, most=1)
    1.0
    """
    try:
        number = None if isinstance(value, str | bytes | bool) else float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        number = None
    if number is not None:
        is_large_enough = number >= least if above is None else number > above
        if is_large_enough and (number < math.inf if most is None else number <= most):
            return number
    words = _range(least, most) if above is None else f" above {above}"
    error = ArgumentTypeError if number is None else ArgumentError
    raise error(f"{name} must be a number{words}, got {value!r:.80}")


def one_of(name: str, value: object, choices: Iterable[Choice], *, hint: str = "") -> Choice:
    """Check that a value equals one of several; returns that one.

    Args:
        name: of the value, for the message.
        value: anything that can be compared with the choices.
        choices: what is allowed.
        hint: what may have been meant, for the message.

    Raises:
        ArgumentError: it equals none of them.

    >>> one_of("snap", "frames", ("none", "keyframe"))
    Traceback (most recent call last):
    videoloader.errors.ArgumentError: snap must be one of none, keyframe, got 'frames'
    """
    allowed = tuple(choices)
    for choice in allowed:
        if value == choice:
            return choice
    names = ", ".join(map(str, allowed))
    advice = f"; {hint}" if hint else ""
    raise ArgumentError(f"{name} must be one of {names}, got {value!r:.80}{advice}")


def check_truth(name: str, value: object) -> None:
    """Refuse a truth value that is given as text, since any text counts as true.

    Raises:
        ArgumentTypeError: it is text.
    """
    if isinstance(value, str | bytes):
        raise ArgumentTypeError(f"{name} must be True or False, not text, got {value!r:.80}")


def _range(least: float | None, most: float | None) -> str:
    if least is None:
        return "" if most is None else f" of at most {most}"
    return f" of at least {least}" if most in (None, math.inf) else f" from {least} to {most}"
