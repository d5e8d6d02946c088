"""decord's logging levels; FFmpeg's own messages are never shown."""

from __future__ import annotations

__all__ = [
    "CRITICAL",
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "PANIC",
    "QUIET",
    "TRACE",
    "VERBOSE",
    "WARNING",
    "set_level",
]

QUIET = -8
PANIC = 0
FATAL = CRITICAL = 8
ERROR = 16
WARNING = 24
INFO = 32
VERBOSE = 40
DEBUG = 48
TRACE = 56


def set_level(lvl: int = ERROR) -> None:
    """Accept a level, without effect.

    FFmpeg's logger and its frame threads can wait for each other, so it is never turned on.
    """
