"""The random numbers of operators that are called outside a pipeline and without a seed."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from videoloader.sampling.random import generator

__all__ = ["next_call", "seed", "seeded_calls"]

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
    processes that were forked. The workers of a DataLoader differ in any case: what they draw
    depends on this seed and on theirs, so on `torch.manual_seed`, the worker and the epoch.

    Args:
        value: the seed; None chooses one.

    >>> from videoloader import eager, fn
    >>> with eager():
    ...     seed(7); first = fn.random.uniform()
    ...     seed(7); first == fn.random.uniform()
    tensor(True)
    """
    global _calls
    _calls = _Calls(value)


@contextmanager
def seeded_calls(value: int) -> Iterator[None]:
    """Let the block draw by a seed; behind it the calls go on where they were before."""
    global _calls
    before, _calls = _calls, _Calls(value)
    try:
        yield
    finally:
        _calls = before


def next_call(worker_seed: int | None = None) -> Callable[..., np.random.Generator]:
    """The random generators of the next call, by the position of a sample; see `generator`.

    Args:
        worker_seed: in a worker process of a loader, what tells it from the others and its epoch
            from others. A seed that is set in the worker itself goes before it.
    """
    is_inherited = _calls.process != os.getpid()
    if worker_seed is not None and (is_inherited or not _calls.is_chosen):
        chosen = [_calls.value] if _calls.is_chosen else []
        entropy = [value % (1 << 64) for value in (worker_seed, *chosen)]
        seed(int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> np.uint64(1)))
    elif is_inherited and not _calls.is_chosen:
        seed()  # a forked process draws other numbers than its parent
    own, stage = _calls.value, next(_calls.stages)
    return lambda position, into=None: generator(own, stage=stage, sample=position, into=into)
