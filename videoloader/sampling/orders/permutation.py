"""Keyed permutations: random access to the order of an epoch in constant memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videoloader.errors import ArgumentError
from videoloader.sampling.random import generator

GROUPS = 2
"""Draw number of random keys of groups and windows; permutations and offsets have 0 and 1."""

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


@dataclass(frozen=True, slots=True)
class GroupPermutation:
    """A permutation of 0 to size - 1 that keeps groups of `group` neighbours together, in order.

    The remainder forms one smaller group, at a random place among the others.

    >>> GroupPermutation(8, group=3)[np.arange(8)]
    array([6, 7, 3, 4, 5, 0, 1, 2])
    """

    size: int
    group: int
    seed: int = 0
    stage: int = 0
    epoch: int = 0

    def groups(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The group at each position, counted in the permuted order; -1 is the smaller one."""
        begin, rest = self._smaller()
        is_smaller = (positions >= begin) & (positions < begin + rest)
        return np.where(is_smaller, -1, (positions - rest * (positions >= begin)) // self.group)

    def __getitem__(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The elements at some positions."""
        begin, rest = self._smaller()
        full, groups = self.size // self.group, self.groups(positions)
        order = Permutation(max(full, 1), self.seed, self.stage, self.epoch)[groups.clip(0)]
        member = (positions - rest * (positions >= begin)) % self.group
        smaller = full * self.group + positions - begin
        return np.where(groups < 0, smaller, order * self.group + member)

    def _smaller(self) -> tuple[int, int]:
        """Position of the smaller group, and its size."""
        full, rest = divmod(self.size, self.group)
        if not rest:
            return self.size, 0
        rng = generator(self.seed, stage=self.stage, epoch=self.epoch, draw=GROUPS)
        return int(rng.integers(full + 1)) * self.group, rest


def _feistel(
    values: NDArray[np.uint64], half: np.uint64, keys: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = values >> half, values & mask
    for key in keys:
        left, right = right, left ^ (mix(right + key) & mask)
    mixed: NDArray[np.uint64] = (left << half) | right
    return mixed


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014); arrays wrap around."""
    values = (values ^ (values >> np.uint64(30))) * _MULTIPLIERS[0]
    values = (values ^ (values >> np.uint64(27))) * _MULTIPLIERS[1]
    return values ^ (values >> np.uint64(31))
