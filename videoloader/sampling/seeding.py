"""Random numbers of operators that are called outside a pipeline without a seed."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from videoloader.sampling.random import generator

_EAGER_STAGES = 1 << 32
"""Larger than the numbers of operators in pipelines, so that draws of both never coincide."""


class _Calls:
    """A seed, and the number of calls that have drawn from it. Thread-safe."""

    def __init__(self, value: int | None) -> None:
        self.is_chosen = value is not None
        self.value = secrets.randbits(63) if value is None else value
        self.stages = itertools.count(_EAGER_STAGES)
        self.process = os.getpid()


_calls = _Calls(None)


def seed(value: int | None = None) -> None:
    """Seed the random numbers of operators outside a pipeline.

    Every call that draws is counted, so the same calls in the same order give the same numbers.
    Pipelines have their own seeds. Without this, numbers differ from run to run, and between
    forked processes. Workers of a DataLoader always differ: their numbers depend on this seed and
    on their worker seed, that is on `torch.manual_seed`, the worker and the epoch.

    Args:
        value: the seed; None chooses one.

    >>> from videoloader.dali import eager, fn
    >>> with eager():
    ...     seed(7); first = fn.random.uniform()
    ...     seed(7); first == fn.random.uniform()
    tensor(True)
    """
    global _calls
    _calls = _Calls(value)


@contextmanager
def seeded_calls(value: int) -> Iterator[None]:
    """Seed the calls within the block; afterwards the previous state is restored."""
    global _calls
    before, _calls = _calls, _Calls(value)
    try:
        yield
    finally:
        _calls = before


def next_call(worker_seed: int | None = None) -> Callable[..., np.random.Generator]:
    """Count a call; returns its random generators by sample position, see `generator`.

    Args:
        worker_seed: seed of a loader's worker process, different for each worker and epoch. A
            seed that was set in the worker itself takes precedence.
    """
    is_inherited = _calls.process != os.getpid()
    if worker_seed is not None and (is_inherited or not _calls.is_chosen):
        chosen = [_calls.value] if _calls.is_chosen else []
        entropy = [value % (1 << 64) for value in (worker_seed, *chosen)]
        seed(int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> np.uint64(1)))
    elif is_inherited and not _calls.is_chosen:
        seed()  # a forked process must not repeat the numbers of its parent
    own, stage = _calls.value, next(_calls.stages)
    return lambda position, into=None: generator(own, stage=stage, sample=position, into=into)
