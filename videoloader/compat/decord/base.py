"""decord's errors, and conversions of arguments."""

from __future__ import annotations

import io
import operator
from typing import Any

from videoloader.compat.runtime_errors import RaisedAs
from videoloader.errors import ArgumentError, FrameRangeError, VideoError

ALL = "all"


class DECORDError(VideoError, RuntimeError):
    """A video that does not open, or a frame that does not decode; the cause is chained."""


class DECORDLimitReachedError(VideoError, RuntimeError):
    """More damaged frames than `fault_tol` allows; no `DECORDError`, as in decord."""


class RefusedError(ArgumentError, AssertionError):
    """An argument that decord rejects with an assertion."""


class _NoIntegerError(DECORDError, TypeError):
    """A value that is not an integer."""


def as_source(uri: Any) -> Any:
    """The argument of a reader; an open file is read to its end."""
    if isinstance(uri, io.TextIOBase):
        raise ArgumentError(f"uri is a path or a file opened in binary mode, got {uri!r}")
    return uri.read() if hasattr(uri, "read") else uri


def as_integer(given: Any, name: str) -> int:
    """An integer of any type.

    Raises:
        DECORDError, TypeError: it is not an integer.
    """
    try:
        return operator.index(given)
    except TypeError as error:
        raise _NoIntegerError(f"{name} is an integer, got {given!r:.80}") from error


as_decord_errors = RaisedAs(
    {VideoError: DECORDError},
    kept=(FrameRangeError, DECORDError, DECORDLimitReachedError),
    words={'device="cpu"': "ctx=cpu(0)"},
)
