"""States of runs, checked where they are taken: what a checkpoint says may be of anything."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from videoloader.errors import ArgumentError, ArgumentTypeError

__all__ = ["state_number", "whole_number"]


def whole_number(name: str, value: object, *, most: int | None = None) -> int:
    """A number of what is counted from 0.

    Args:
        name: of it, for the message.
        value: an integer, of NumPy or torch too.
        most: the largest that makes sense; any by default.

    Raises:
        ArgumentTypeError: no integer.
        ArgumentError: below 0, or above `most`.

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
    """A number of a state.

    Args:
        state: what was given as one.
        name: of the number.
        most: the largest that makes sense; any by default.

    Raises:
        ArgumentTypeError: the state is no mapping, or the number no integer.
        ArgumentError: there is no such number, or it is below 0 or above `most`.
    """
    if not isinstance(state, Mapping):
        raise ArgumentTypeError(f"a state is what state_dict() gives, got {state!r:.200}")
    if name not in state:
        found = ", ".join(map(str, state)) or "nothing"
        raise ArgumentError(f"the state has no {name}, but {found:.200}; it is of something else")
    return whole_number(f"{name} of a state", state[name], most=most)
