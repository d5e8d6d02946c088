"""decord's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from videoloader.errors import FrameRangeError, VideoError

__all__ = ["ALL", "DECORDError", "DECORDLimitReachedError", "as_decord_errors"]

ALL = "all"


class DECORDError(VideoError, RuntimeError):
    """A video that does not open, or a frame that does not decode; the cause is chained."""


class DECORDLimitReachedError(DECORDError):
    """More damaged frames than `fault_tol` allows."""


@contextmanager
def as_decord_errors() -> Iterator[None]:
    """Raise errors of this library as decord's; frames out of range stay an `IndexError`."""
    try:
        yield
    except (FrameRangeError, DECORDError):
        raise
    except VideoError as error:
        raise DECORDError(str(error)) from error
