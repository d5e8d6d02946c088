"""Keyed permutations: random access to the order of an epoch in constant memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.errors import ArgumentError
from videoloader.sampling.random import generator

__all__ = ["Permutation"]

_ROUNDS = 8
_MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True, slots=True)
class Permutation:
    """A permutation of 0 to size - 1 that depends only on (seed, stage, epoch).

    A Feistel network over the next power of four, with cycle walking: outputs beyond `size` are
    permuted again (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002, section 4.2).
    Positions are mapped independently, so ten million samples take no more memory than ten.

    >>> Permutation(6, seed=1)[[0, 1, 2, 3, 4, 5]]
    array([3, 4, 1, 5, 2, 0])
    """

    size: int
    seed: int = 0
    stage: int = 0
    epoch: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ArgumentError(f"a permutation has at least 1 element, got {self.size}")

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, positions: ArrayLike) -> NDArray[np.int64]:
        """The elements at some positions, same shape; IndexError outside 0 to size - 1."""
        places = np.asarray(positions, dtype=np.int64)
        if places.size and not (places.min() >= 0 and places.max() < self.size):
            raise IndexError(f"a position outside a permutation of {self.size} elements")
        half = np.uint64(max(1, ((self.size - 1).bit_length() + 1) // 2))
        keys = generator(self.seed, stage=self.stage, epoch=self.epoch).integers(
            1 << 64, size=_ROUNDS, dtype=np.uint64
        )
        values = _feistel(places.astype(np.uint64).reshape(-1), half, keys)
        while (outside := np.flatnonzero(values >= self.size)).size:
            values[outside] = _feistel(values[outside], half, keys)
        return values.astype(np.int64).reshape(places.shape)


def _feistel(
    values: NDArray[np.uint64], half: np.uint64, keys: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = values >> half, values & mask
    for key in keys:
        left, right = right, left ^ (_mix(right + key) & mask)
    mixed: NDArray[np.uint64] = (left << half) | right
    return mixed


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014); arrays wrap around."""
    values = (values ^ (values >> np.uint64(30))) * _MULTIPLIERS[0]
    values = (values ^ (values >> np.uint64(27))) * _MULTIPLIERS[1]
    return values ^ (values >> np.uint64(31))
