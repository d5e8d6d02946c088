"""Which sample of a data set stands where in the stream of a shard: arithmetic only.

A reader gives an endless stream of samples, cut into batches. Epoch after epoch it reads one
shard, and the next one in the epoch after it unless it sticks to its own. Without padding a batch
may hold the end of one epoch and the beginning of the next; with padding the last sample is
repeated up to a number of batches that is the same for every shard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from videoloader.errors import ArgumentError

__all__ = ["Epochs", "Place"]


class Place(NamedTuple):
    """A sample in the stream: its epoch and its position within that epoch's shard."""

    epoch: int
    position: int


@dataclass(frozen=True, slots=True)
class Epochs:
    """The stream of one shard of `size` samples.

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

    def shard(self, epoch: int) -> range:
        """Samples of the data set that an epoch reads."""
        shard = self.shard_id if self.stick_to_shard else self.shard_id + epoch
        shard %= self.num_shards
        return range(self._bound(shard), self._bound(shard + 1))

    @property
    def padded_batches(self) -> int:
        """Batches that hold the largest shard: the length of a padded epoch."""
        return -(-self.size // (self.num_shards * self.batch_size))

    def end(self, epoch: int) -> int:
        """Samples in the stream up to the end of an epoch, padding included."""
        if self.pad_last_batch:
            return (epoch + 1) * self.padded_batches * self.batch_size
        if self.stick_to_shard:
            return (epoch + 1) * len(self.shard(epoch))
        return self._bound(self.shard_id + epoch + 1) - self._bound(self.shard_id)

    def locate(self, place: int) -> Place:
        """The sample at a place in the stream."""
        if self.pad_last_batch:
            epoch = place // (self.padded_batches * self.batch_size)
        elif self.stick_to_shard:
            epoch = place // len(self.shard(0))
        else:
            # The first shard whose bound lies behind the place, all counted from the first round.
            behind = place + self._bound(self.shard_id) + 1
            epoch = -(-behind * self.num_shards // self.size) - self.shard_id - 1
        position = place - (self.end(epoch - 1) if epoch else 0)
        return Place(epoch, min(position, len(self.shard(epoch)) - 1))

    def _bound(self, shard: int) -> int:
        """Samples in front of a shard; shards count on in the next round through the data set."""
        return shard * self.size // self.num_shards

    def batch(self, iteration: int) -> list[Place]:
        """The samples of a batch."""
        first = iteration * self.batch_size
        return [self.locate(place) for place in range(first, first + self.batch_size)]

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
