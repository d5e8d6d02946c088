"""Which sample of a data set stands where in the stream of a shard: arithmetic only.

A reader gives an endless stream of samples, cut into batches. Epoch after epoch it reads one
shard, and the next one in the epoch after it unless it sticks to its own. Without padding a batch
may hold the end of one epoch and the beginning of the next; with padding the last sample is
repeated up to a number of batches that is the same for every shard.

A run may go on with another number of shards or another batch size. What the shards before have
left of an epoch is then one line, in the order of those shards, and is cut into shards anew; later
epochs are as ever.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
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
    """How the shards of a reader divide a data set, the same for all of them.

    `ended` are divisions before this one: shards, batch size, and number of the batch before which
    they stopped.
    """

    size: int
    num_shards: int
    batch_size: int
    stick_to_shard: bool = False
    pad_last_batch: bool = False
    ended: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Epochs:
    """The stream of one shard of `size` samples.

    `left` is what another division of the data set has left to this one, if it goes on from there.

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
    left: Left | None = None

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
    def first(self) -> int:
        """Number of the first batch: batches of before that are counted too."""
        return 0 if self.left is None else self.left.stop

    @property
    def first_epoch(self) -> int:
        """The epoch that the stream begins in."""
        return 0 if self.left is None else self.left.epoch

    @property
    def whole_from(self) -> int:
        """The first epoch from which on all samples are still to come."""
        return 0 if self.left is None else self.left.whole_from

    def length(self, epoch: int) -> int:
        """Samples of an epoch that the shards divide among them."""
        if self.left is None or epoch >= self.whole_from:
            return self.size
        return self.left.length(epoch)

    def shard(self, epoch: int) -> range:
        """Samples that an epoch reads: of the data set, or of what is left of the epoch."""
        shard = self.shard_id if self.stick_to_shard else self.shard_id + epoch
        shard %= self.num_shards
        length = self.length(epoch)
        return range(shard * length // self.num_shards, (shard + 1) * length // self.num_shards)

    @property
    def padded_batches(self) -> int:
        """Batches that hold the largest shard: the length of a whole padded epoch."""
        return -(-self.size // (self.num_shards * self.batch_size))

    def batches(self, epoch: int) -> int:
        """The same of an epoch of which samples may be done."""
        return -(-self.length(epoch) // (self.num_shards * self.batch_size))

    def end(self, epoch: int) -> int:
        """Samples in the stream up to the end of an epoch, padding included."""
        begun = range(self.first_epoch, min(self.whole_from, epoch + 1))
        return sum(map(self._given, begun)) + self._given_whole(epoch + 1)

    def locate(self, place: int) -> Place:
        """The sample at a place in the stream."""
        epoch, position = self.find(place)
        return Place(epoch, min(position, max(len(self.shard(epoch)) - 1, 0)))

    def find(self, place: int) -> Place:
        """The same with padding as positions behind the shard."""
        first = 0
        if self.left is not None:
            first = self.left.whole_from
            for begun in range(self.left.epoch, first):
                given = self._given(begun)
                if place < given:
                    return Place(begun, place)
                place -= given
        if self.pad_last_batch:
            epoch = first + place // (self.padded_batches * self.batch_size)
        elif self.stick_to_shard:
            epoch = first + place // len(self.shard(first))
        else:
            # The first shard whose bound lies behind the place, all counted from the first round.
            behind = place + self._bound(self.shard_id + first) + 1
            epoch = -(-behind * self.num_shards // self.size) - self.shard_id - 1
        return Place(epoch, place - self._given_whole(epoch))

    def _given(self, epoch: int) -> int:
        """Samples of an epoch in the stream."""
        if self.pad_last_batch:
            return self.batches(epoch) * self.batch_size
        return len(self.shard(epoch))

    def _given_whole(self, stop: int) -> int:
        """Samples in the stream of the whole epochs before `stop`."""
        first = self.whole_from
        if stop <= first:
            return 0
        if self.pad_last_batch:
            return (stop - first) * self.padded_batches * self.batch_size
        if self.stick_to_shard:
            return (stop - first) * len(self.shard(first))
        return self._bound(self.shard_id + stop) - self._bound(self.shard_id + first)

    def _bound(self, shard: int) -> int:
        """Samples in front of a shard; shards count on in the next round through the data set."""
        return shard * self.size // self.num_shards

    def batch(self, iteration: int) -> list[Place]:
        """The samples of a batch."""
        first = (iteration - self.first) * self.batch_size
        (epoch, begin), last = self.find(first), self.find(first + self.batch_size - 1)
        if epoch == last.epoch:  # places count on inside an epoch
            top = max(len(self.shard(epoch)) - 1, 0)
            return [Place(epoch, min(at, top)) for at in range(begin, last.position + 1)]
        return [self.locate(place) for place in range(first, first + self.batch_size)]

    @property
    def division(self) -> Division:
        """What `resumed` needs to know beside the number of the next batch."""
        before = []
        left = self.left
        while left is not None:
            before.append((left.before.num_shards, left.before.batch_size, left.stop))
            left = left.before.left
        return Division(
            self.size,
            self.num_shards,
            self.batch_size,
            self.stick_to_shard,
            self.pad_last_batch,
            tuple(before[::-1]),
        )

    def divides_anew(self, before: Division) -> bool:
        """Whether these shards or batches are others than those of before."""
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
        ended = [*before.ended]
        if self.divides_anew(before):
            ended.append((before.num_shards, before.batch_size, batch))
        left = None
        for num_shards, batch_size, stop in ended:
            shard = replace(
                self, num_shards=num_shards, batch_size=batch_size, shard_id=0, left=left
            )
            left = Left(shard, stop)
        return replace(self, left=left)

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


@dataclass(frozen=True, slots=True)
class Left:
    """What shards have left of each epoch where all of them stopped before the same batch.

    Attributes:
        before: one of these shards; the others are like it.
        stop: number of the batch.

    >>> left = Left(Epochs(size=7, batch_size=1, num_shards=2), stop=2)
    >>> left.length(0)  # shard 0 had 3 samples, shard 1 has 4
    3
    >>> left.places(0, np.arange(3))
    (array([0, 1, 1]), array([2, 2, 3]))
    """

    before: Epochs
    stop: int

    @property
    def epoch(self) -> int:
        """The first epoch of which something is left."""
        return _begun(self)[0]

    @property
    def whole_from(self) -> int:
        """The first epoch from which on nothing was taken, by these shards or by earlier ones."""
        return _begun(self)[1]

    def length(self, epoch: int) -> int:
        """Samples that are left of an epoch."""
        return int(_rest(self, epoch)[1][-1])

    def places(
        self, epoch: int, positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For positions in what is left of an epoch: shards of before, and positions in them."""
        done, ends = _rest(self, epoch)
        shards = np.searchsorted(ends, positions, side="right")
        starts = np.concatenate([[0], ends])[shards]
        return shards, done[shards] + positions - starts


def _shards(left: Left) -> list[Epochs]:
    return [replace(left.before, shard_id=shard) for shard in range(left.before.num_shards)]


@lru_cache(maxsize=64)
def _reached(left: Left) -> list[Place]:
    """Where each shard has stopped."""
    place = (left.stop - left.before.first) * left.before.batch_size
    return [shard.find(place) for shard in _shards(left)]


@lru_cache(maxsize=64)
def _begun(left: Left) -> tuple[int, int]:
    """See `Left.epoch` and `Left.whole_from`."""
    reached = _reached(left)
    whole = max(place.epoch + (place.position > 0) for place in reached)
    return min(place.epoch for place in reached), max(whole, left.before.whole_from)


@lru_cache(maxsize=64)
def _rest(left: Left, epoch: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each shard: its samples of an epoch that are done, and where the rest of them ends."""
    lengths = np.array([len(shard.shard(epoch)) for shard in _shards(left)])
    done = np.array(
        [
            length if place.epoch > epoch else place.position if place.epoch == epoch else 0
            for length, place in zip(lengths.tolist(), _reached(left), strict=True)
        ]
    )
    done = np.minimum(done, lengths)
    return done, np.cumsum(lengths - done)
