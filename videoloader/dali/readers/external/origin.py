"""The origin of an external source: a callable, an iterable or a generator function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.machinery.workers.python_jobs import IterableJob

Cycle: TypeAlias = Literal["no", "quiet", "raise"]


@dataclass(frozen=True, slots=True)
class Origin:
    """A source that was checked.

    Attributes:
        source: as it was given.
        kind: an iterable is never called, even where it could be.
        takes_argument: whether a callable is told the sample or batch.
        cycle: what follows where an iterable ends.
    """

    source: Any
    kind: Literal["callable", "iterable", "generator function"]
    takes_argument: bool = False
    cycle: Cycle = "no"

    @classmethod
    def of(cls, source: Any, cycle: Cycle) -> Origin:
        """Look at a source.

        Raises:
            ArgumentError: it is none, or `cycle` does not go with it.
        """
        if is_generator_function(source):
            return cls(source, "generator function", cycle=cycle)
        if inspect.isgenerator(source) and cycle != "no":
            raise ArgumentTypeError(
                "fn.external_source: a generator cannot begin again for cycle; pass the generator "
                "function that made it"
            )
        if is_iterable(source):
            return cls(source, "iterable", cycle=cycle)
        if not callable(source):
            raise ArgumentTypeError(
                "fn.external_source: source must be callable or iterable, "
                f"got {type(source).__name__}"
            )
        if cycle != "no":
            raise ArgumentError("fn.external_source: a callable has no end to cycle from")
        return cls(source, "callable", _takes_argument(source))

    def iterable_job(self, num_outputs: int | None) -> IterableJob:
        """A job that gives the items of the source one after another, by `cycle`."""
        return IterableJob(_Begin(self.source, self.kind), num_outputs, self.cycle)

    def __str__(self) -> str:
        name = getattr(self.source, "__qualname__", type(self.source).__qualname__)
        return f"{self.kind} {name}"


@dataclass(frozen=True, slots=True)
class _Begin:
    """Makes new iterators over a source; it pickles if the source does."""

    source: Any
    kind: str

    def __call__(self) -> Iterator[Any]:
        return iter(self.source() if self.kind == "generator function" else self.source)


def is_generator_function(source: Any) -> bool:
    """Whether a call gives a generator: of a function, a partial one, or an object's `__call__`."""
    if isinstance(source, functools.partial):
        return is_generator_function(source.func)
    if inspect.isgeneratorfunction(source):
        return True
    if not callable(source) or inspect.isroutine(source) or isinstance(source, type):
        return False
    return inspect.isgeneratorfunction(type(source).__call__)


def is_iterable(source: Any) -> bool:
    """Whether `iter` takes it."""
    return hasattr(type(source), "__iter__") or (
        not isinstance(source, type) and hasattr(type(source), "__getitem__")
    )


def _takes_argument(function: Callable[..., Any]) -> bool:
    """Whether a callable takes the one argument that it may take."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of a built-in
        return False
    required = "fn.external_source: the callable must accept no or one positional argument"
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is not parameter.empty:
            continue
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise ArgumentTypeError(f"{required}; it has {parameter}")
    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if len(positional) > 1:
        raise ArgumentTypeError(f"{required}; it has {', '.join(p.name for p in positional)}")
    return bool(positional)
