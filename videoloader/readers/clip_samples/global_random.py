"""The global random numbers that transforms draw from: of torch, NumPy, Python and `fn`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from videoloader.sampling.seeding import seeded_calls
from videoloader.system.eager_calls import eager

__all__ = ["seeded"]


@contextmanager
def seeded(rng: np.random.Generator) -> Iterator[None]:
    """Seed the global random numbers, and put them back afterwards.

    They are those of torch (CPU), NumPy, Python, and of operators that run at once, as those
    without inputs do in the block.
    """
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        # Not torch.manual_seed: that would reset the random numbers of GPUs as well.
        torch.default_generator.manual_seed(int(rng.integers(1 << 63)))
        np.random.seed(int(rng.integers(1 << 32)))  # noqa: NPY002
        random.seed(int(rng.integers(1 << 63)))
        with eager(), seeded_calls(int(rng.integers(1 << 63))):
            yield
    finally:
        torch.set_rng_state(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        random.setstate(before[2])
