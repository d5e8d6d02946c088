"""Random generators keyed by seed, stage, sample and epoch, independent of process and time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_WORD = (1 << 64) - 1


class Draw(NamedTuple):
    """One drawing of a sample; `ClipDataset` makes the same clip of it in every process.

    Attributes:
        sample: number of the sample.
        epoch: pass over the data.
        draw: how many times the sample was drawn before in that epoch.

    >>> Draw(sample=1, epoch=0)
    Draw(sample=1, epoch=0, draw=0)
    """

    sample: int
    epoch: int
    draw: int = 0


def generator(
    seed: int,
    *,
    stage: int = 0,
    sample: int = 0,
    epoch: int = 0,
    draw: int = 0,
    into: np.random.Generator | None = None,
) -> np.random.Generator:
    """The random generator of one draw: equal arguments give equal numbers, in any process.

    Philox is counter based, so streams of different samples never overlap, and each is available
    in constant time. A resumed run needs only its position.

    Args:
        seed: of the whole run.
        stage: number of the random decision, such as the number of an operator in its pipeline.
        sample: number of the sample in the data set or in the run.
        epoch: number of the pass over the data set.
        draw: how many times the sample was drawn before in that pass.
        into: an existing generator to reset to this stream and return; a new one takes three
            times as long.

    >>> generator(7, sample=3).integers(100, size=3).tolist()
    [36, 75, 30]
    """
    philox = np.random.Philox(_NO_SEED, counter=_NO_COUNTER) if into is None else into.bit_generator
    state: Any = {
        "bit_generator": "Philox",
        "state": {
            "counter": (0, draw & _WORD, sample & _WORD, epoch & _WORD),
            "key": (seed & _WORD, stage & _WORD),
        },
        "buffer": (0, 0, 0, 0),
        "buffer_pos": 4,  # the buffer is empty
        "has_uint32": 0,
        "uinteger": 0,
    }
    philox.state = state
    return np.random.Generator(philox) if into is None else into


class _NoSeed(np.random.bit_generator.ISeedSequence):
    """Avoids NumPy's `SeedSequence`, which reads system entropy even if a key is given (15 us)."""

    _key = np.zeros(2, np.uint64)

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:  # noqa: ARG002
        return self._key


_NO_SEED: Any = _NoSeed()
_NO_COUNTER = np.zeros(4, np.uint64)  # NumPy takes half the time for an array as for an integer
