"""Random numbers that depend on what is drawn, never on who draws it or when."""

from __future__ import annotations

import numpy as np

__all__ = ["generator"]

_WORD = (1 << 64) - 1


def generator(
    seed: int, *, stage: int = 0, sample: int = 0, epoch: int = 0, draw: int = 0
) -> np.random.Generator:
    """The random stream of one draw: equal arguments, equal numbers, in any process.

    Philox is counter based, so streams of different samples never overlap and any of them is
    reached in constant time; a resumed run needs to know no more than where it stopped.

    Args:
        seed: of the whole run.
        stage: which decision draws, such as the number of an operator in its pipeline.
        sample: which sample it draws for, counted over the data set or over the run.
        epoch: which pass over the data set.
        draw: how many times the sample was drawn before in that pass.

    >>> generator(7, sample=3).integers(100, size=3).tolist()
    [36, 75, 30]
    """
    key = np.array([seed & _WORD, stage & _WORD], dtype=np.uint64)
    counter = np.array([0, draw & _WORD, sample & _WORD, epoch & _WORD], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))
