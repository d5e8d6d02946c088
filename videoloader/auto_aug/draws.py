"""The random numbers of automatic augmentation: several for each sample, from one operator."""

from __future__ import annotations

from typing import Any

from videoloader import fn, math
from videoloader.pipeline.graph.nodes import DataNode
from videoloader.types import DataType

__all__ = ["Draws"]


class Draws:
    """Independent random numbers of the samples.

    One operator draws all of them: several with the same seed would give the same numbers.

    Args:
        count: of numbers for each sample.
        seed: as that of `fn.random.uniform`.
    """

    def __init__(self, count: int, seed: int | None) -> None:
        self._numbers: Any = fn.random.uniform(
            range=(0, 1), shape=(count,), dtype=DataType.FLOAT64, seed=seed
        )
        self._taken = 0

    def number(self) -> Any:
        """The next number of each sample, from 0 to below 1."""
        self._taken += 1
        return self._numbers[self._taken - 1]

    def choice(self, count: int) -> DataNode:
        """For each sample one of the integers below `count`."""
        return fn.cast(math.floor(self.number() * count), dtype=DataType.INT32)  # type: ignore[no-any-return]

    def sign(self) -> DataNode:
        """For each sample 0 or 1."""
        return self.choice(2)
