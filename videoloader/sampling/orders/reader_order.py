"""Which sample of a data set a reader gives at each place of its stream: arithmetic only.

The samples are permuted before they are cut into shards, by a permutation that all shards agree
on: one keyed by the epoch alone, so that shards stay disjoint even where each has a seed of its
own. The seed then permutes the samples of a shard. Both are keyed permutations, so an order takes
constant memory and any place of it can be asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from videoloader.sampling.orders.grouping import GroupedOrder
from videoloader.sampling.orders.permutation import Permutation
from videoloader.sampling.orders.reader_epochs import Epochs, Left, Place
from videoloader.sampling.orders.weighted import WeightedDraws

__all__ = ["Order", "Shuffle"]

_COMMON_SEED = 0x5EED  # of what all shards agree on
_BLOCK, _BLOCKS = 1024, 8  # positions that are worked out at a time, and how often they are kept


@dataclass(frozen=True, slots=True)
class Shuffle:
    """How the samples of an epoch are permuted.

    Attributes:
        is_random: permute all samples in every epoch.
        after_epoch: permute all samples, or the files in `Order.files`, in every epoch but the
            first.
        after_epoch_seed: of that permutation; the same for all shards.
    """

    is_random: bool = False
    after_epoch: bool = False
    after_epoch_seed: int = _COMMON_SEED


@dataclass(frozen=True, slots=True)
class Order:
    """The order of the samples of one shard.

    Args:
        epochs: which places make up the batches.
        shuffle: how samples are permuted.
        seed: of the order inside a shard.
        stage: of the reader in its pipeline.
        files: where each file ends among the samples; `shuffle.after_epoch` then permutes whole
            files, and keeps the samples of a file together and in order.
        group: neighbours that are to stay near each other, see `GroupedOrder`; 1 for no groups.
        window: samples among which those of a group are spread.
        draws: what is drawn at each place of an epoch instead of every sample once.

    >>> order = Order(Epochs(size=4, batch_size=2))
    >>> [number for _, number in order.batch(1)]
    [2, 3]
    """

    epochs: Epochs
    shuffle: Shuffle = Shuffle()
    seed: int = 0
    stage: int = 0
    files: NDArray[np.int64] | None = field(default=None, compare=False)
    group: int = 1
    window: int = 1
    draws: WeightedDraws | None = field(default=None, compare=False)
    _blocks: dict[tuple[int, int], NDArray[np.int64]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def depends_on_seed(self) -> bool:
        """Whether shards with other seeds would have another order."""
        return self.shuffle.is_random

    def batch(self, iteration: int) -> list[tuple[Place, int]]:
        """The places of a batch, and the number in the data set of the sample at each."""
        places = self.epochs.batch(iteration)
        return list(zip(places, self.numbers(places), strict=True))

    def number(self, place: Place) -> int:
        """The number in the data set of the sample at a place."""
        return self.numbers([place])[0]

    def numbers(self, places: Sequence[Place]) -> list[int]:
        """The same for several places, which takes little longer than for one."""
        found = np.empty(len(places), dtype=np.int64)
        epochs = np.array([place.epoch for place in places])
        positions = np.array([place.position for place in places])
        for epoch in set(epochs.tolist()):
            found[epochs == epoch] = self._numbers(epoch, positions[epochs == epoch])
        numbers: list[int] = found.tolist()
        return numbers

    def _numbers(self, epoch: int, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers at some positions, of which many are worked out at a time."""
        blocks = positions // _BLOCK
        found = np.empty(len(positions), dtype=np.int64)
        for block in set(blocks.tolist()):
            inside = blocks == block
            found[inside] = self._block(epoch, block)[positions[inside] - block * _BLOCK]
        return found

    def _block(self, epoch: int, block: int) -> NDArray[np.int64]:
        known = self._blocks.get((epoch, block))
        if known is None:
            first, end = block * _BLOCK, len(self.epochs.shard(epoch))
            # A shard without samples is padded too.
            known = self._worked_out(epoch, np.arange(first, max(min(first + _BLOCK, end), 1)))
            if len(self._blocks) >= _BLOCKS:
                self._blocks.clear()
            self._blocks[epoch, block] = known
        return known

    def _worked_out(self, epoch: int, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        numbers = self._ordered(epoch, positions)
        if self.draws is None:
            return numbers
        return self.draws.numbers(numbers, seed=_COMMON_SEED, stage=self.stage, epoch=epoch)

    def mates(self, place: Place) -> list[Place]:
        """The later places of its window that have samples of the same group, in order.

        None in an epoch that other shards have begun: their windows are cut where they stopped.
        """
        if self.group == 1 or place.epoch < self.epochs.whole_from:
            return []
        shard = self.epochs.shard(place.epoch)
        later = self._grouped().mates(place.position, shard, epoch=place.epoch)
        return [Place(place.epoch, position) for position in later]

    def _grouped(self) -> GroupedOrder:
        return GroupedOrder(
            self.epochs.size,
            self.group,
            self.window,
            _COMMON_SEED,
            self.seed,
            self.stage,
            self.shuffle.is_random,
        )

    def _ordered(self, epoch: int, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        shard, left = self.epochs.shard(epoch), self.epochs.left
        if left is not None and epoch < left.whole_from:
            line = np.minimum(shard.start + positions, left.length(epoch) - 1)
            return self._left_over(left, epoch, line)
        if self.group > 1:
            return self._grouped().numbers(positions, shard, epoch=epoch)
        if self.shuffle.is_random:
            positions = _permutation(len(shard), self.seed, self.stage, epoch)[positions]
        numbers = shard.start + positions
        if self.shuffle.after_epoch and epoch:
            return self._after_epoch(numbers, epoch)
        if self.shuffle.is_random:
            return _permutation(self.epochs.size, _COMMON_SEED, self.stage, epoch)[numbers]
        return numbers

    def _left_over(self, left: Left, epoch: int, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers at some positions of what other shards have left of an epoch, in their order."""
        numbers = np.empty_like(positions)
        shards, places = left.places(epoch, positions)
        for shard in set(shards.tolist()):
            before = replace(self, epochs=replace(left.before, shard_id=shard))
            numbers[shards == shard] = before._ordered(epoch, places[shards == shard])
        return numbers

    def _after_epoch(self, numbers: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        seed = self.shuffle.after_epoch_seed
        if self.files is None:
            return _permutation(self.epochs.size, seed, self.stage, epoch)[numbers]
        first, ends = _file_order(tuple(self.files.tolist()), seed, self.stage, epoch)
        file = np.searchsorted(ends, numbers, side="right")
        before = np.concatenate([[0], ends])[file]
        moved: NDArray[np.int64] = first[file] + numbers - before
        return moved


@lru_cache(maxsize=64)
def _permutation(size: int, seed: int, stage: int, epoch: int) -> Permutation:
    return Permutation(size, seed=seed, stage=stage, epoch=epoch)


@lru_cache(maxsize=4)
def _file_order(
    ends: tuple[int, ...], seed: int, stage: int, epoch: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For files in the order of an epoch: the first sample of each, and where it ends."""
    files = _permutation(len(ends), seed, stage, epoch)[np.arange(len(ends))]
    starts = np.concatenate([[0], np.array(ends[:-1], dtype=np.int64)])
    counts = np.array(ends) - starts
    return starts[files], np.cumsum(counts[files])
