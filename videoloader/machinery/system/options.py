"""Options: keywords that several functions share, as one `TypedDict` with one documentation.

A function declares them as `**options: Unpack[...]`, which type checkers and editors read.
`takes_options` does the rest at run time: it refuses other keywords, and text for a `bool`, fills
in defaults, and completes signature and docstring. `from_options` makes a frozen dataclass from
them, which checks the values.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from functools import partial, wraps
from typing import Any, TypeVar, cast

from videoloader.machinery.system.checks import check_truth
from videoloader.machinery.system.spelling import unexpected_keyword

_T = TypeVar("_T")

_LINES = r"(?:(?: {5,}.*)?\n)*"  # continuation of an entry
_SECTION = re.compile(rf"^(?:Args|Attributes):\n(?: {{4}}[\w*].*\n{_LINES})+", re.MULTILINE)
_ENTRY = re.compile(rf"^ {{4}}(\*{{0,2}}\w+(?:, \w+)*):.*\n{_LINES}", re.MULTILINE)


def from_options(value: type[_T], options: Mapping[str, object], **others: object) -> _T:
    """Make a dataclass from the options that are its fields; other options are ignored.

    Args:
        value: the dataclass.
        options: values by name.
        **others: values of further fields, or in place of `options`.
    """
    make: Any = value
    given = dict(others)
    for name in make.__dataclass_fields__:
        if name in options and name not in given:
            given[name] = options[name]
    made: _T = make(**given)
    return made


def takes_options(options: type, *values: type, **defaults: object) -> Callable[[_T], _T]:
    """Let a function, or the constructor of a class, take the keys of a TypedDict as keywords.

    Its last parameter is `**options: Unpack[...]`, which then has every key. Other keywords are a
    TypeError, as Python gives it; text for a keyword that is declared `bool` is one too.
    `inspect.signature` and `help` show each key with its default.

    Args:
        options: the TypedDict; its docstring documents each key.
        *values: dataclasses made from the options; the defaults of their fields are those of
            the keywords.
        **defaults: defaults of keywords without such a field, or in place of its default.
    """
    for value in values:
        for field in fields(cast(Any, value)):
            if field.default is not MISSING:
                defaults.setdefault(field.name, field.default)
    known = {name: defaults[name] for name in options.__annotations__}

    def decorate(target: _T) -> _T:
        decorated: Any = target
        if isinstance(target, type):
            decorated.__init__ = _completing(decorated.__init__, options, known)
        else:
            decorated = _completing(decorated, options, known)
        decorated.__doc__ = _with_entries(decorated.__doc__, known, (options,))
        return cast(_T, decorated)

    return decorate


def _completing(function: Any, options: type, known: Mapping[str, object]) -> Any:
    """Wrap a function that takes these options: check them, add defaults, set the signature."""
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    names = {each.name for each in own} | known.keys()
    keyword = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    added = [  # annotations are text, as those of functions
        keyword(name, default=known[name], annotation=getattr(kind, "__forward_arg__", kind))
        for name, kind in options.__annotations__.items()
    ]

    truths = {each.name for each in (*own, *added) if each.annotation == "bool"}

    @wraps(function)
    def complete(*args: Any, **keywords: Any) -> Any:
        if not keywords.keys() <= names:
            unknown = next(name for name in keywords if name not in names)
            raise unexpected_keyword(function.__qualname__, unknown, sorted(names - {"self"}))
        for name in keywords:
            if name in truths:
                check_truth(name, keywords[name])
        return function(*args, **{**known, **keywords})

    cast(Any, complete).__signature__ = signature.replace(parameters=[*own, *added])
    return complete


def documented(*sources: type) -> Callable[[_T], _T]:
    """Add descriptions of fields from other docstrings to a dataclass or TypedDict.

    Args:
        *sources: TypedDicts with keys of the same names and meanings.
    """

    def decorate(target: _T) -> _T:
        decorated: Any = target
        decorated.__doc__ = _with_entries(target.__doc__, decorated.__annotations__, sources)
        return target

    return decorate


def _with_entries(text: str | None, names: Iterable[str], sources: Iterable[type]) -> str | None:
    """Add entries for names that a docstring does not describe, from the first source that does."""
    if text is None:  # python -OO
        return None
    found: dict[str, str] = {}
    for source in sources:
        found = _entries(inspect.cleandoc(source.__doc__ or "") + "\n") | found
    text = inspect.cleandoc(text) + "\n"
    own = _entries(text)
    added = "".join(found[name] for name in names if name in found and name not in own)
    if not own:
        return f"{text}\nArgs:\n{added}"
    last = own.get("**options", list(own.values())[-1])
    return text.replace(last, added if "**options" in own else last + added, 1)


def _entries(text: str) -> dict[str, str]:
    """The entries of the arguments section of a docstring, by name."""
    section = _SECTION.search(text)
    found = [] if section is None else _ENTRY.finditer(section.group())
    return {name: each.group().rstrip() + "\n" for each in found for name in each[1].split(", ")}
