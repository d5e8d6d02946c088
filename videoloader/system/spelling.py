"""Suggestions for misspelled names in errors."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

__all__ = ["did_you_mean", "no_attribute", "suggests_names", "unexpected_keyword"]

_T = TypeVar("_T")

# What other libraries call things: names of ours, of which those are suggested that there are.
_OTHER_WORDS = {
    "min_length": ("min_frames", "min_duration"),
    "max_length": ("max_frames", "max_duration"),
    "num_clips": ("clips_per_video", "clips"),
    "num_frames": ("count", "segments", "sequence_length"),
    "step": ("stride",),
}


def did_you_mean(known: Collection[str], *names: str, most: int = 3) -> str:
    """A question with the known names that are close to a name; empty if none is.

    Args:
        known: names that there are.
        *names: names that there are not.
        most: known names suggested for each of them.

    >>> did_you_mean(["resize", "rotate", "crop"], "resiz")
    'did you mean resize?'
    """
    close = {match: None for name in names for match in _close(known, name, most)}
    return f"did you mean {' or '.join(close)}?" if close else ""


def _close(known: Collection[str], name: str, most: int) -> list[str]:
    if name in _OTHER_WORDS:  # what is spelled alike means something else
        return [each for each in _OTHER_WORDS[name] if each in known][:most]
    return get_close_matches(name, known, n=most)


def unexpected_keyword(function: str, name: str, known: Collection[str]) -> TypeError:
    """The error for a keyword that a function does not take, in Python's words."""
    hint = did_you_mean(known, name, most=1)
    text = f"{function}() got an unexpected keyword argument {name!r}"
    return TypeError(f"{text}; {hint}" if hint else text)


def suggests_names(made: type[_T]) -> type[_T]:
    """Class decorator: a keyword that the constructor lacks is answered with the right name."""
    changed: Any = made
    construct = changed.__init__
    known = [*inspect.signature(made).parameters]

    @wraps(construct)
    def checked(self: Any, *args: Any, **keywords: Any) -> None:
        for name in keywords:
            if name not in known:
                raise unexpected_keyword(made.__name__, name, known)
        construct(self, *args, **keywords)

    changed.__init__ = checked
    return made


def no_attribute(module: str, name: str, known: Collection[str]) -> AttributeError:
    """The error for a name that a module does not have; raised by its `__getattr__`."""
    hint = "" if name.startswith("__") else did_you_mean(known, name)
    text = f"module {module!r} has no attribute {name!r}"
    return AttributeError(f"{text}; {hint}" if hint else text)
