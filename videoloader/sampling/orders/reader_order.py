"""`ReaderOrder`: the sample number at each place of a reader's stream. Arithmetic only.

The samples are permuted before they are divided into shards, by a `SampleOrder` that is the same
for all shards, so shards stay disjoint even if their seeds differ. The seed then permutes
the samples within a shard. Both are keyed permutations, so an order takes constant memory and any
place can be computed.

Neighbouring clips may be kept close, so that they can be decoded together. Groups of neighbours are
then permuted whole, the shard is divided into windows, and the clips within each window are
permuted. The clips of a group are in one window or in two consecutive ones. A reader that decodes
the group at its first clip has to keep the others for at most two windows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.sampling.orders.permutation import GROUPS, Permutation
from videoloader.sampling.orders.reader_epochs import Epochs, Left, Place
from videoloader.sampling.orders.sample_order import SampleOrder
from videoloader.sampling.random import generator

COMMON_SEED = 0x5EED
"""Seed of the order of samples, which all shards share."""

_BLOCK, _BLOCKS = 1024, 8  # positions that are computed at once, and blocks that are cached


@dataclass(frozen=True, slots=True)
class ReaderOrder:
    """The order of the samples of one shard.

    Args:
        epochs: the places of each batch.
        samples: the samples of an epoch, the same for all shards.
        later: the samples of every epoch but the first, if their order differs.
        seed: of the order inside a shard, which is permuted if `samples` are.
        stage: random stream of that order; the number of the reader in its pipeline.
        window: samples that are permuted together if `samples` have groups.

    >>> order = ReaderOrder(Epochs(size=4, batch_size=2), SampleOrder(4, shuffle=False))
    >>> [number for _, number in order.batch(1)]
    [2, 3]
    """

    epochs: Epochs
    samples: SampleOrder
    later: SampleOrder | None = None
    seed: int = 0
    stage: int = 0
    window: int = 1
    _blocks: dict[tuple[int, int], list[int]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not 1 <= self.samples.group <= self.window:
            raise ArgumentError(
                f"a window holds at least one group, got {self.window} for groups of "
                f"{self.samples.group}"
            )

    @property
    def depends_on_seed(self) -> bool:
        """Whether another seed would give another order."""
        return self.samples.shuffle

    def batch(self, iteration: int) -> list[tuple[Place, int]]:
        """The places of a batch, and the number in the data set of the sample at each."""
        places = self.epochs.batch(iteration)
        return list(zip(places, self.numbers(places), strict=True))

    def number(self, place: Place) -> int:
        """The number in the data set of the sample at a place."""
        return self.numbers([place])[0]

    def numbers(self, places: Sequence[Place]) -> list[int]:
        """The numbers of the samples at several places; takes little longer than for one."""
        numbers: list[int] = []
        last, known = (-1, -1), numbers
        for epoch, position in places:
            block = epoch, position // _BLOCK
            if block != last:
                last, known = block, self._block(*block)
            numbers.append(known[position % _BLOCK])
        return numbers

    def behind(self, place: Place) -> Iterator[Place]:
        """The other places of its shard, from the next one to the last, then from the first."""
        epoch, position = place
        count = len(self.epochs.shard(epoch))
        return (Place(epoch, (position + step) % count) for step in range(1, count))

    def mates(self, place: Place) -> list[Place]:
        """The later places of its window with samples of the same group, in order.

        Empty in an epoch that earlier shards had begun, since their windows were cut there.
        """
        epoch, position = place
        if self.samples.group == 1 or epoch < self.epochs.whole_from:
            return []
        shard = self.epochs.shard(epoch)
        first, moved = self._window((shard.start + position) // self.window, shard, epoch)
        groups = self.samples.groups_at(first + moved, epoch)
        own = shard.start + position - first
        later = np.flatnonzero(groups[own + 1 :] == groups[own]) + own + 1 + first - shard.start
        return [Place(epoch, other) for other in later.tolist()]

    def _block(self, epoch: int, block: int) -> list[int]:
        """The numbers at `_BLOCK` positions of an epoch."""
        known = self._blocks.get((epoch, block))
        if known is None:
            first, end = block * _BLOCK, len(self.epochs.shard(epoch))
            # A shard without samples is padded too.
            positions = np.arange(first, max(min(first + _BLOCK, end), 1))
            known = self._at(epoch, positions).tolist()
            if len(self._blocks) >= _BLOCKS:
                self._blocks.clear()
            self._blocks[epoch, block] = known
        return known

    def _at(self, epoch: int, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        shard, left = self.epochs.shard(epoch), self.epochs.left
        if left is not None and epoch < left.whole_from:
            line = np.minimum(shard.start + positions, left.length(epoch) - 1)
            return self._left_over(left, epoch, line)
        samples = self.samples if self.later is None or not epoch else self.later
        return samples.at(self._places(epoch, positions, shard), epoch)

    def _left_over(self, left: Left, epoch: int, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sample numbers at positions in the unread rest of an epoch, shard after shard."""
        numbers = np.empty_like(positions)
        shards, places = left.places(epoch, positions)
        for shard in set(shards.tolist()):
            before = replace(self, epochs=left.shards[shard])
            numbers[shards == shard] = before._at(epoch, places[shards == shard])
        return numbers

    def _places(self, epoch: int, positions: NDArray[np.int64], shard: range) -> NDArray[np.int64]:
        """Convert positions in a shard to places of the epoch."""
        if not self.samples.shuffle:
            return shard.start + positions
        if self.samples.group == 1:
            return shard.start + Permutation(len(shard), self.seed, self.stage, epoch)[positions]
        places = shard.start + positions
        windows = places // self.window
        for window in np.unique(windows).tolist():
            inside = windows == window
            first, moved = self._window(window, shard, epoch)
            places[inside] = first + moved[places[inside] - first]
        return places

    def _window(self, window: int, shard: range, epoch: int) -> tuple[int, NDArray[np.int64]]:
        """The first place of a window, and the permutation within it."""
        first = max(window * self.window, shard.start)
        count = min((window + 1) * self.window, shard.stop) - first
        if not self.samples.shuffle:
            return first, np.arange(count)
        return first, _permuted_window(count, self.seed, self.stage, window, epoch)


@lru_cache(maxsize=16)
def _permuted_window(
    count: int, seed: int, stage: int, window: int, epoch: int
) -> NDArray[np.int64]:
    rng = generator(seed, stage=stage, sample=window, epoch=epoch, draw=GROUPS)
    return rng.permutation(count)
