"""Warnings about names that only old programs use."""

from __future__ import annotations

import warnings

from videoloader.system.callers import frame_of_user

__all__ = ["warn_deprecated"]


def warn_deprecated(text: str) -> None:
    """Give a `DeprecationWarning` that points at the innermost line outside of this package."""
    frame = frame_of_user()
    names = frame.f_globals
    warnings.warn_explicit(
        text,
        DeprecationWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=names.get("__name__"),
        registry=names.setdefault("__warningregistry__", {}),
    )
