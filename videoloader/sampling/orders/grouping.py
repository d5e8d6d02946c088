"""A random order that keeps neighbouring clips close, so that they can be decoded together.

The clips of an epoch are divided into groups of neighbours, and the groups are permuted. The
resulting sequence is divided into windows, and the clips within each window are permuted. So the
clips of a group are in one window or in two consecutive ones. A reader that decodes the group at
its first clip has to keep the others for at most two windows. Every position is computed
independently, from a few random keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.sampling.orders.permutation import Permutation
from videoloader.sampling.random import generator

__all__ = ["GroupedOrder"]

_DRAW = 2  # draw number of the keys of windows and of the last group; orders and offsets have 0, 1


@dataclass(frozen=True, slots=True)
class GroupedOrder:
    """The order of the samples of an epoch, for readers of parts of it.

    Args:
        size: number of samples.
        group: samples in a group; the remainder forms one smaller group.
        window: samples in a window.
        common_seed: of the permutation of groups, the same for all parts.
        seed: of the order inside windows.
        stage: of the reader in its pipeline.
        is_random: whether anything is permuted.

    >>> order = GroupedOrder(size=8, group=2, window=4)
    >>> order.numbers(np.arange(8), range(8), epoch=0)
    array([5, 2, 4, 3, 6, 0, 7, 1])
    """

    size: int
    group: int
    window: int
    common_seed: int = 0
    seed: int = 0
    stage: int = 0
    is_random: bool = True

    def __post_init__(self) -> None:
        if self.group < 1 or self.window < self.group:
            raise ArgumentError(
                f"a window holds at least one group, got {self.window} for groups of {self.group}"
            )

    def numbers(
        self, positions: NDArray[np.int64], part: range, *, epoch: int
    ) -> NDArray[np.int64]:
        """Samples at some positions of a part of the epoch.

        Args:
            positions: within the part.
            part: range of positions of the epoch that this reader reads.
            epoch: number of the pass over the data set.
        """
        places = part.start + positions
        if self.is_random:
            places = self._permuted(places, part, epoch)
        return self._at(places, epoch)

    def mates(self, position: int, part: range, *, epoch: int) -> list[int]:
        """The later positions of its window that have samples of the same group, ascending."""
        first, moved = self._window((part.start + position) // self.window, part, epoch)
        slots = self._slots(first + moved, epoch)
        own = part.start + position - first
        later = np.flatnonzero(slots[own + 1 :] == slots[own]) + own + 1
        mates: list[int] = (first - part.start + later).tolist()
        return mates

    def _permuted(self, places: NDArray[np.int64], part: range, epoch: int) -> NDArray[np.int64]:
        windows = places // self.window
        permuted = np.empty_like(places)
        for window in np.unique(windows).tolist():
            inside = windows == window
            first, moved = self._window(window, part, epoch)
            permuted[inside] = first + moved[places[inside] - first]
        return permuted

    def _window(self, window: int, part: range, epoch: int) -> tuple[int, NDArray[np.int64]]:
        """The first position of a window, and the permutation within it."""
        first = max(window * self.window, part.start)
        count = min((window + 1) * self.window, part.stop) - first
        if not self.is_random:
            return first, np.arange(count)
        return first, _shuffled(count, self.seed, self.stage, window, epoch)

    def _tail(self, epoch: int) -> tuple[int, int]:
        """Position of the smaller group, and its size."""
        groups, rest = divmod(self.size, self.group)
        if not self.is_random or not rest:
            return groups * self.group, rest
        return _drawn(groups + 1, self.common_seed, self.stage, epoch) * self.group, rest

    def _slots(self, places: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        """Number of the group, in the order of the epoch, at each position; -1: the smaller one."""
        tail, rest = self._tail(epoch)
        behind = np.where(places < tail, places, places - rest) // self.group
        return np.where((places >= tail) & (places < tail + rest), -1, behind)

    def _at(self, places: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        if not self.is_random:
            return places
        tail, rest = self._tail(epoch)
        slots = self._slots(places, epoch)
        full = self.size // self.group
        groups = np.full(len(places), full)
        if full:
            order = Permutation(full, seed=self.common_seed, stage=self.stage, epoch=epoch)
            groups[slots >= 0] = order[slots[slots >= 0]]
        shifted = np.where(places < tail, places, places - rest)
        member = np.where(slots < 0, places - tail, shifted % self.group)
        return groups * self.group + member


@lru_cache(maxsize=16)
def _shuffled(count: int, seed: int, stage: int, window: int, epoch: int) -> NDArray[np.int64]:
    rng = generator(seed, stage=stage, sample=window, epoch=epoch, draw=_DRAW)
    return rng.permutation(count)


@lru_cache(maxsize=16)
def _drawn(count: int, seed: int, stage: int, epoch: int) -> int:
    """A random number below `count`: the position of the smaller group among the others."""
    return int(generator(seed, stage=stage, epoch=epoch, draw=_DRAW).integers(count))
