"""Random numbers of dynamic mode: `RNG`, and the operators that draw, such as `uniform`.

A call takes its numbers from `rng=`, or from the generator that `set_seed` or `get_default_rng`
made for this thread. Without either it is seeded as other eager calls: see `videoloader.dali.seed`.
"""

from __future__ import annotations

import secrets
import threading
from operator import index
from typing import Any

from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.sampling import generator

_STAGE = 1 << 33
"""Larger than the numbers of operators in pipelines and of eager calls."""

_WORD = (1 << 64) - 1


class RNG:
    """A random number generator; each call of an operator that draws takes two of its numbers.

    Args:
        seed: of 64 bits; by default one that nobody knows.
        state: that of another generator, to go on where it stands.

    >>> rng = RNG(seed=7)
    >>> first = rng(); other = rng.clone()
    >>> rng() == other(), rng() == first, str(rng.state)
    (True, False, 'RNG:7:3')
    """

    def __init__(self, seed: int | None = None, state: Any = None) -> None:
        if seed is not None and state is not None:
            raise ArgumentError("RNG takes a seed or a state, not both")
        self._seed, self._draws = secrets.randbits(64) if seed is None else seed & _WORD, 0
        if state is not None:
            self.set_state(state)

    def __call__(self) -> int:
        """The next number of 32 bits."""
        drawn = generator(self._seed, stage=_STAGE, sample=self._draws)
        self._draws += 1
        return int(drawn.integers(1 << 32))

    def advance(self, count: int) -> None:
        """Skip numbers."""
        if index(count) < 0:
            raise ArgumentError(f"a generator advances by 0 numbers or more, got {count}")
        self._draws += index(count)

    def clone(self) -> RNG:
        """A generator that gives the same numbers from here on."""
        return RNG(state=self.state)

    @property
    def seed(self) -> int:
        """The seed, which can only be set; that begins again."""
        raise AttributeError("the seed can be set; use state to read where the generator stands")

    @seed.setter
    def seed(self, value: int) -> None:
        self._seed, self._draws = value & _WORD, 0

    @property
    def state(self) -> str:
        """Position of the generator; `RNG(state=...)` continues from it."""
        return f"RNG:{self._seed}:{self._draws}"

    @state.setter
    def state(self, value: Any) -> None:
        self.set_state(value)

    def get_state(self, *, cuda_stream: Any = None) -> str:  # noqa: ARG002  as of a reader
        """The same as `state`."""
        return self.state

    def set_state(self, value: Any) -> None:
        """Go on where another generator stood."""
        kind, *numbers = str(value).split(":")
        if kind != "RNG" or len(numbers) != 2 or not all(map(str.isdecimal, numbers)):
            raise ArgumentError(f"{value!r} is no state of an RNG")
        self._seed, self._draws = int(numbers[0]) & _WORD, int(numbers[1])

    def __repr__(self) -> str:
        return f"RNG(state={self.state!r})"


_local = threading.local()


def get_default_rng() -> RNG:
    """The generator of this thread, which is made by the first call.

    >>> from videoloader.dali.experimental import dynamic as ndd
    >>> ndd.random.set_seed(7)
    >>> ndd.random.uniform(shape=[2], rng=get_default_rng()).shape
    (2,)
    """
    if not hasattr(_local, "rng"):
        _local.rng = RNG()
    found: RNG = _local.rng
    return found


def set_seed(seed: int) -> None:
    """Seed the generator of this thread.

    >>> from videoloader.dali.experimental import dynamic as ndd
    >>> ndd.random.set_seed(7); first = ndd.random.uniform(shape=[3])
    >>> ndd.random.set_seed(7); bool((ndd.random.uniform(shape=[3]).torch() == first.torch()).all())
    True
    """
    get_default_rng().seed = seed


def seed_of_call(rng: RNG | None) -> int | None:
    """The seed of one call of an operator; None where nobody chose a generator."""
    if rng is None:
        rng = getattr(_local, "rng", None)
        if rng is None:
            return None
    if not isinstance(rng, RNG):
        raise ArgumentTypeError(f"rng is a random.RNG, got {rng!r}")
    return (rng() << 31) | (rng() >> 1)  # 63 bits, as int64 arguments hold them
