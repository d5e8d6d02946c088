"""The random numbers of operators that are called outside a pipeline and without a seed."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Callable

import numpy as np

from videoloader.sampling.random import generator

__all__ = ["next_call", "seed"]

_EAGER_STAGES = 1 << 32
"""Behind the numbers of operators in pipelines, so that draws of both never coincide."""


class _Calls:
    """A seed, and the calls that have drawn from it. Threads may share it."""

    def __init__(self, value: int | None) -> None:
        self.is_chosen = value is not None
        self.value = secrets.randbits(63) if value is None else value
        self.stages = itertools.count(_EAGER_STAGES)
        self.process = os.getpid()


_calls = _Calls(None)


def seed(value: int | None = None) -> None:
    """Make what operators draw outside a pipeline repeatable: equal seeds, equal numbers.

    Every call that draws counts, so the same calls in the same order give the same numbers.
    Pipelines have seeds of their own. Without this, numbers differ from run to run, and between
    processes that were forked.

    Args:
        value: the seed; None chooses one.

    >>> from videoloader import fn
    >>> seed(7); first = fn.random.uniform()
    >>> seed(7); first == fn.random.uniform()
    tensor(True)
    """
    global _calls
    _calls = _Calls(value)


def next_call() -> Callable[[int], np.random.Generator]:
    """The random generators of the next call, by the position of a sample."""
    if not _calls.is_chosen and _calls.process != os.getpid():
        seed()  # a forked process draws other numbers than its parent
    own, stage = _calls.value, next(_calls.stages)
    return lambda position: generator(own, stage=stage, sample=position)
