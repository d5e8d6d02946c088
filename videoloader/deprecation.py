"""Warnings about names that only old programs use."""

from __future__ import annotations

import os
import sys
import warnings

__all__ = ["warn_deprecated"]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn_deprecated(text: str) -> None:
    """Give a `DeprecationWarning` that points at the innermost line outside of this package."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    names = frame.f_globals
    warnings.warn_explicit(
        text,
        DeprecationWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=names.get("__name__"),
        registry=names.setdefault("__warningregistry__", {}),
    )
