"""Suggestions for misspelled names in errors."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

__all__ = ["did_you_mean", "no_attribute"]


def did_you_mean(known: Collection[str], *names: str, most: int = 3) -> str:
    """A question with the known names that are close to a name; empty if none is.

    Args:
        known: names that there are.
        *names: names that there are not.
        most: known names suggested for each of them.

    >>> did_you_mean(["resize", "rotate", "crop"], "resiz")
    'did you mean resize?'
    """
    close = {match: None for name in names for match in get_close_matches(name, known, n=most)}
    return f"did you mean {' or '.join(close)}?" if close else ""


def no_attribute(module: str, name: str, known: Collection[str]) -> AttributeError:
    """The error for a name that a module does not have; raised by its `__getattr__`."""
    hint = "" if name.startswith("__") else did_you_mean(known, name)
    text = f"module {module!r} has no attribute {name!r}"
    return AttributeError(f"{text}; {hint}" if hint else text)
