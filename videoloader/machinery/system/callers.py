"""Finds the line of the user's program that called this package, and warns there."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from types import FrameType

PACKAGE = str(Path(os.path.abspath(__file__)).parents[2]) + os.sep
"""The folder of this package: code in it is not the user's."""


def frame_of_user() -> FrameType:
    """The innermost frame outside of this package; the outermost one if there is none."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame


def warn_user(text: str, category: type[Warning]) -> None:
    """Give a warning that points at the innermost line outside of this package."""
    frame = frame_of_user()
    names = frame.f_globals
    warnings.warn_explicit(
        text,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=names.get("__name__"),
        registry=names.setdefault("__warningregistry__", {}),
    )


def warn_deprecated(text: str) -> None:
    """Give a `DeprecationWarning` that points at the innermost line outside of this package."""
    warn_user(text, DeprecationWarning)
