"""Checks the integers of a state that a user passes to `load_state_dict` and the like."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from videoloader.errors import ArgumentError, ArgumentTypeError

__all__ = ["state_number", "whole_number"]


def whole_number(name: str, value: object, *, most: int | None = None) -> int:
    """Check that a value is an integer from 0 to `most`; returns it as an `int`.

    Args:
        name: of the value, for the message.
        value: an integer, also of NumPy or torch.
        most: the maximum; none by default.

    Raises:
        ArgumentTypeError: it is not an integer.
        ArgumentError: it is below 0 or above `most`.

    >>> whole_number("epoch", 3)
    3
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise ArgumentTypeError(f"{name} is a whole number, got {value!r}")
    if not 0 <= number <= (number if most is None else most):
        top = "" if most is None else f" to {most}"
        raise ArgumentError(f"{name} is a whole number from 0{top}, got {number}")
    return number


def state_number(state: Mapping[str, Any], name: str, *, most: int | None = None) -> int:
    """Read an integer from 0 to `most` from a state.

    Args:
        state: the state that a user passed.
        name: key of the integer.
        most: the maximum; none by default.

    Raises:
        ArgumentTypeError: the state is not a mapping, or the value not an integer.
        ArgumentError: the key is missing, or the integer is below 0 or above `most`.
    """
    if not isinstance(state, Mapping):
        raise ArgumentTypeError(f"a state is what state_dict() gives, got {state!r:.200}")
    if name not in state:
        found = ", ".join(map(str, state)) or "nothing"
        raise ArgumentError(f"the state has no {name}, but {found:.200}; it is of something else")
    return whole_number(f"{name} of a state", state[name], most=most)
