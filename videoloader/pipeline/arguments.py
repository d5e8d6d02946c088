"""Checks of the arguments of a pipeline, and those of DALI's that change nothing here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from videoloader.errors import ArgumentError, UnsupportedError

__all__ = ["at_least_one", "check_others", "queue_depth", "start_method"]

_HARMLESS: Mapping[str, tuple[Any, ...]] = {
    "debug": (False,),
}
"""DALI's other arguments, with the values (besides None) that say what happens here anyway."""

_START_METHODS = ("fork", "spawn", "forkserver")


def at_least_one(name: str, value: Any) -> int:
    """The value as an int; an error if it is none, or less than 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ArgumentError(f"{name} of a pipeline must be an int, at least 1, got {value!r}")
    return int(value)


def check_others(others: Mapping[str, Any]) -> None:
    """Fail for arguments that no pipeline has, or that ask for what is not there."""
    for name, value in others.items():
        if name not in _HARMLESS:
            raise ArgumentError(f"a pipeline has no argument {name!r}")
        if value is not None and value not in _HARMLESS[name]:
            raise UnsupportedError(f"{name} of a pipeline is not supported yet, got {value!r}")


def start_method(value: Any) -> str:
    """The value, if it is a way to start a process."""
    if value not in _START_METHODS:
        raise ArgumentError(f"py_start_method is one of {', '.join(_START_METHODS)}, got {value!r}")
    return str(value)


def queue_depth(value: int | Mapping[str, int], *, exec_async: bool) -> int:
    """The depth of queues; the larger, if there are two."""
    if not isinstance(value, Mapping):
        return at_least_one("prefetch_queue_depth", value)
    if not exec_async:
        raise ArgumentError("two depths of queues need exec_async=True")
    return at_least_one("prefetch_queue_depth", max(value.values()))
