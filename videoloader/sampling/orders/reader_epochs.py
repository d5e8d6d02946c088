"""The batches of a reader: each epoch is divided into shards, as DALI does. Arithmetic only.

A reader gives an endless stream of samples, cut into batches. In each epoch it reads one shard; in
the next epoch it reads the next shard, or the same one if it sticks to it. Without padding a batch
may hold the end of one epoch and the beginning of the next. With padding the last sample is
repeated up to a number of batches that is the same for every shard.

A run may be resumed with another number of shards or another batch size. The samples that the
earlier shards have left of an epoch are then one line, shard after shard, which is divided into
shards again. Later epochs are divided as usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError

__all__ = ["Division", "Epochs", "Left", "Place"]


class Place(NamedTuple):
    """A sample in the stream: its epoch and its position within that epoch's shard."""

    epoch: int
    position: int


class Division(NamedTuple):
    """How the shards of a reader divide a data set, the same for all of them; see `Epochs`."""

    size: int
    num_shards: int
    batch_size: int
    stick_to_shard: bool = False
    pad_last_batch: bool = False
    ended: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Epochs:
    """The stream of one shard of `size` samples.

    Attributes:
        size: samples in the data set.
        batch_size: samples in a batch.
        num_shards: parts of the data set.
        shard_id: the part of the first epoch.
        stick_to_shard: read the same part in every epoch.
        pad_last_batch: repeat the last sample up to the end of an epoch.
        ended: earlier divisions that this one goes on from: number of shards, batch size, and the
            batch before which all of them stopped.

    >>> epochs = Epochs(size=7, batch_size=2)
    >>> epochs.batch(3)
    [Place(epoch=0, position=6), Place(epoch=1, position=0)]
    >>> Epochs(size=7, batch_size=2, pad_last_batch=True).batch(3)
    [Place(epoch=0, position=6), Place(epoch=0, position=6)]
    """

    size: int
    batch_size: int
    num_shards: int = 1
    shard_id: int = 0
    stick_to_shard: bool = False
    pad_last_batch: bool = False
    ended: tuple[tuple[int, int, int], ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.shard_id < self.num_shards:
            raise ArgumentError(
                f"shard_id must be at least 0 and below num_shards={self.num_shards}, "
                f"got {self.shard_id}"
            )
        if self.size < self.num_shards:
            raise ArgumentError(
                f"{self.size} samples are too few for {self.num_shards} shards; "
                "use fewer shards, or shorter clips to get more of them"
            )

    @property
    def left(self) -> Left | None:
        """The samples that earlier divisions have left to this one."""
        return _left(self.division) if self.ended else None

    @property
    def first(self) -> int:
        """Number of the first batch; those of earlier divisions are counted."""
        return self.ended[-1][2] if self.ended else 0

    @property
    def first_epoch(self) -> int:
        """The epoch that the stream begins in."""
        return 0 if (left := self.left) is None else left.epoch

    @property
    def whole_from(self) -> int:
        """The first epoch of which no sample was taken before."""
        return 0 if (left := self.left) is None else left.whole_from

    def length(self, epoch: int) -> int:
        """Samples of an epoch that the shards divide among them."""
        left = self.left
        return self.size if left is None or epoch >= left.whole_from else left.length(epoch)

    def shard(self, epoch: int) -> range:
        """Places of an epoch, or of what is left of it, that this shard reads."""
        shard = self.shard_id if self.stick_to_shard else self.shard_id + epoch
        shard %= self.num_shards
        length = self.length(epoch)
        return range(shard * length // self.num_shards, (shard + 1) * length // self.num_shards)

    def batches(self, epoch: int) -> int:
        """Batches that hold the largest shard of an epoch: its length if it is padded."""
        return -(-self.length(epoch) // (self.num_shards * self.batch_size))

    def end(self, epoch: int) -> int:
        """Samples in the stream up to the end of an epoch, padding included."""
        first = self.whole_from
        begun = sum(map(self._given, range(self.first_epoch, min(first, epoch + 1))))
        whole = max(epoch + 1 - first, 0)
        if self.pad_last_batch or self.stick_to_shard:
            return begun + whole * self._given(first)
        shard = self.shard_id + first
        return begun + self._before(shard + whole) - self._before(shard)

    def find(self, place: int) -> Place:
        """The epoch at a place of the stream, and the position in it; padding is counted on."""
        first = self.whole_from
        for begun in range(self.first_epoch, first):
            if place < (given := self._given(begun)):
                return Place(begun, place)
            place -= given
        if self.pad_last_batch or self.stick_to_shard:
            epochs, position = divmod(place, self._given(first))
            return Place(first + epochs, position)
        place += self._before(self.shard_id + first)
        shard = -(-(place + 1) * self.num_shards // self.size) - 1  # the one that holds the place
        return Place(shard - self.shard_id, place - self._before(shard))

    def batch(self, iteration: int) -> list[Place]:
        """The samples of a batch; padding is the last sample of the shard again."""
        first = (iteration - self.first) * self.batch_size
        places: list[Place] = []
        while missing := self.batch_size - len(places):
            epoch, begin = self.find(first + len(places))
            last = max(len(self.shard(epoch)) - 1, 0)
            end = min(begin + missing, self._given(epoch))
            places += [Place(epoch, min(position, last)) for position in range(begin, end)]
        return places

    def _given(self, epoch: int) -> int:
        """Samples of an epoch in the stream."""
        if self.pad_last_batch:
            return self.batches(epoch) * self.batch_size
        return len(self.shard(epoch))

    def _before(self, shard: int) -> int:
        """Samples in front of a shard; shards count on in the next round through the data set."""
        return shard * self.size // self.num_shards

    @property
    def division(self) -> Division:
        """What `resumed` needs to know beside the number of the next batch."""
        return Division(
            self.size,
            self.num_shards,
            self.batch_size,
            self.stick_to_shard,
            self.pad_last_batch,
            self.ended,
        )

    def divides_anew(self, before: Division) -> bool:
        """Whether the number of shards or the batch size is another one than before."""
        return (self.num_shards, self.batch_size) != (before.num_shards, before.batch_size)

    def resumed(self, before: Division, batch: int) -> Epochs:
        """This shard where a run of the same or of other shards goes on.

        Args:
            before: how that run divided the samples.
            batch: number of the next batch.

        Raises:
            ArgumentError: the data set has another size, or epochs end in another way.
        """
        for name in ("size", "stick_to_shard", "pad_last_batch"):
            if getattr(before, name) != getattr(self, name):
                raise ArgumentError(
                    f"the state is of a reader with {name}={getattr(before, name)}, "
                    f"this one has {name}={getattr(self, name)}"
                )
        ended = before.ended
        if self.divides_anew(before):
            ended = (*ended, (before.num_shards, before.batch_size, batch))
        for num_shards, *_ in ended:
            replace(self, num_shards=num_shards, shard_id=0)  # fails if there are too many
        return replace(self, ended=ended)

    def meta(self) -> dict[str, Any]:
        """What `Pipeline.reader_meta` tells, with DALI's keys."""
        largest = -(-self.size // self.num_shards)
        return {
            "epoch_size": self.size,
            "epoch_size_padded": largest * self.num_shards,
            "number_of_shards": self.num_shards,
            "shard_id": self.shard_id,
            "pad_last_batch": self.pad_last_batch,
            "stick_to_shard": self.stick_to_shard,
        }


@dataclass(frozen=True, eq=False)
class Left:
    """What shards have left of each epoch where all of them stopped before the same batch.

    Attributes:
        shards: all of them.
        stop: number of the batch.

    >>> left = Left([Epochs(7, 1, num_shards=2, shard_id=shard) for shard in (0, 1)], stop=2)
    >>> left.length(0)  # shard 0 had 3 samples, shard 1 has 4
    3
    >>> left.places(0, np.arange(3))
    (array([0, 1, 1]), array([2, 2, 3]))
    """

    shards: Sequence[Epochs]
    stop: int

    @cached_property
    def epoch(self) -> int:
        """The first epoch of which something is left."""
        return min(place.epoch for place in self._reached)

    @cached_property
    def whole_from(self) -> int:
        """The first epoch of which nothing was taken, by these shards or by earlier ones."""
        begun = (place.epoch + (place.position > 0) for place in self._reached)
        return max(*begun, self.shards[0].whole_from)

    def length(self, epoch: int) -> int:
        """Samples that are left of an epoch."""
        return int(_rest(self, epoch)[1][-1])

    def places(
        self, epoch: int, positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For positions in what is left of an epoch: numbers of shards, and positions in them."""
        done, ends = _rest(self, epoch)
        shards = np.searchsorted(ends, positions, side="right")
        starts = np.concatenate([[0], ends])[shards]
        return shards, done[shards] + positions - starts

    @cached_property
    def _reached(self) -> list[Place]:
        """Where each shard has stopped."""
        return [shard.find((self.stop - shard.first) * shard.batch_size) for shard in self.shards]


@lru_cache(maxsize=64)
def _rest(left: Left, epoch: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each shard: its samples of an epoch that are done, and where the rest of them ends."""
    lengths = np.array([len(shard.shard(epoch)) for shard in left.shards])
    positions = [
        place.position if place.epoch == epoch else length * (place.epoch > epoch)
        for place, length in zip(left._reached, lengths.tolist(), strict=True)
    ]
    done = np.minimum(positions, lengths)
    return done, np.cumsum(lengths - done)


@lru_cache(maxsize=64)
def _left(division: Division) -> Left:
    """What a division goes on from."""
    size, _, _, stick, pad, ended = division
    *earlier, (shards, batch_size, stop) = ended
    first = Epochs(size, batch_size, shards, 0, stick, pad, tuple(earlier))
    return Left([replace(first, shard_id=shard) for shard in range(shards)], stop)
