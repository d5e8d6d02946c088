"""The batches of a reader: each epoch is divided into shards, as DALI does. Arithmetic only.

A reader gives an endless stream of samples, cut into batches. In each epoch it reads one shard; in
the next epoch it reads the next shard, or the same one if it sticks to it. Without padding a batch
may hold the end of one epoch and the beginning of the next. With padding the last sample is
repeated, so that every shard has the same number of batches.

A run may be resumed with another number of shards or another batch size. The samples of an epoch
that the earlier shards did not read are then concatenated, shard after shard, and divided among
the new shards. Later epochs are divided as usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError


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
        num_shards: number of parts of the data set.
        shard_id: number of the part to read in the first epoch.
        stick_to_shard: read the same part in every epoch.
        pad_last_batch: repeat the last sample up to the end of an epoch.
        ended: earlier divisions of a resumed run: number of shards, batch size, and number of the
            batch before which all shards stopped.

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
        """The samples that earlier shards did not read; None if the run was not redivided."""
        return _left(self.division) if self.ended else None

    @property
    def first(self) -> int:
        """Number of the first batch; batches of earlier divisions count too."""
        return self.ended[-1][2] if self.ended else 0

    @property
    def first_epoch(self) -> int:
        """The epoch in which the stream begins."""
        return 0 if (left := self.left) is None else left.epoch

    @property
    def whole_from(self) -> int:
        """The first epoch that earlier shards had not begun."""
        return 0 if (left := self.left) is None else left.whole_from

    def length(self, epoch: int) -> int:
        """Number of samples of an epoch that the shards divide."""
        left = self.left
        return self.size if left is None or epoch >= left.whole_from else left.length(epoch)

    def shard(self, epoch: int) -> range:
        """The positions that this shard reads, in the epoch or in the unread rest of it."""
        shard = self.shard_id if self.stick_to_shard else self.shard_id + epoch
        shard %= self.num_shards
        length = self.length(epoch)
        return range(shard * length // self.num_shards, (shard + 1) * length // self.num_shards)

    def batches(self, epoch: int) -> int:
        """Number of batches for the largest shard; with padding, for every shard."""
        return -(-self.length(epoch) // (self.num_shards * self.batch_size))

    def end(self, epoch: int) -> int:
        """Number of samples in the stream up to the end of an epoch, padding included."""
        first = self.whole_from
        begun = sum(map(self._given, range(self.first_epoch, min(first, epoch + 1))))
        whole = max(epoch + 1 - first, 0)
        if self.pad_last_batch or self.stick_to_shard:
            return begun + whole * self._given(first)
        shard = self.shard_id + first
        return begun + self._before(shard + whole) - self._before(shard)

    def find(self, place: int) -> Place:
        """Epoch and position of a sample of the stream; padding has positions past the shard."""
        first = self.whole_from
        for begun in range(self.first_epoch, first):
            if place < (given := self._given(begun)):
                return Place(begun, place)
            place -= given
        if self.pad_last_batch or self.stick_to_shard:
            epochs, position = divmod(place, self._given(first))
            return Place(first + epochs, position)
        place += self._before(self.shard_id + first)
        shard = -(-(place + 1) * self.num_shards // self.size) - 1  # the shard that holds it
        return Place(shard - self.shard_id, place - self._before(shard))

    def batch(self, iteration: int) -> list[Place]:
        """The samples of a batch; padding repeats the last sample of the shard."""
        first = (iteration - self.first) * self.batch_size
        places: list[Place] = []
        while missing := self.batch_size - len(places):
            epoch, begin = self.find(first + len(places))
            last = max(len(self.shard(epoch)) - 1, 0)
            end = min(begin + missing, self._given(epoch))
            places += [Place(epoch, min(position, last)) for position in range(begin, end)]
        return places

    def _given(self, epoch: int) -> int:
        """Number of samples of an epoch in the stream, padding included."""
        if self.pad_last_batch:
            return self.batches(epoch) * self.batch_size
        return len(self.shard(epoch))

    def _before(self, shard: int) -> int:
        """Number of samples before a shard; shard numbers go on in the next pass over the data."""
        return shard * self.size // self.num_shards

    @property
    def division(self) -> Division:
        """The argument of `resumed` for a run that continues from this one."""
        return Division(
            self.size,
            self.num_shards,
            self.batch_size,
            self.stick_to_shard,
            self.pad_last_batch,
            self.ended,
        )

    def divides_anew(self, before: Division) -> bool:
        """Whether the number of shards or the batch size differs from the earlier run."""
        return (self.num_shards, self.batch_size) != (before.num_shards, before.batch_size)

    def resumed(self, before: Division, batch: int) -> Epochs:
        """This shard, continuing a run with the same or other shards.

        Args:
            before: how that run divided the samples.
            batch: number of the next batch.

        Raises:
            ArgumentError: the size of the data set, `stick_to_shard` or `pad_last_batch` differs.
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
        """The result of `Pipeline.reader_meta`, with DALI's keys.

        `epoch_size_padded` counts the copies that shards are filled up with.
        """
        largest = -(-self.size // self.num_shards)
        return {
            "epoch_size": self.size,
            "epoch_size_padded": largest * self.num_shards if self.pad_last_batch else self.size,
            "number_of_shards": self.num_shards,
            "shard_id": self.shard_id,
            "pad_last_batch": int(self.pad_last_batch),
            "stick_to_shard": int(self.stick_to_shard),
        }


@dataclass(frozen=True, eq=False)
class Left:
    """The samples of each epoch that were not read when all shards stopped before the same batch.

    Attributes:
        shards: all shards of the run that stopped.
        stop: number of the first batch that they did not read.

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
        """The first epoch with unread samples."""
        return min(place.epoch for place in self._reached)

    @cached_property
    def whole_from(self) -> int:
        """The first epoch that neither these shards nor earlier ones had begun."""
        begun = (place.epoch + (place.position > 0) for place in self._reached)
        return max(*begun, self.shards[0].whole_from)

    def length(self, epoch: int) -> int:
        """Number of unread samples of an epoch."""
        return int(_rest(self, epoch)[1][-1])

    def places(
        self, epoch: int, positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Shard number, and position in that shard, of unread samples of an epoch."""
        done, ends = _rest(self, epoch)
        shards = np.searchsorted(ends, positions, side="right")
        starts = np.concatenate([[0], ends])[shards]
        return shards, done[shards] + positions - starts

    @cached_property
    def _reached(self) -> list[Place]:
        """The next sample of each shard."""
        return [shard.find((self.stop - shard.first) * shard.batch_size) for shard in self.shards]


@lru_cache(maxsize=64)
def _rest(left: Left, epoch: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each shard: samples read of an epoch, and the end of its unread ones in `Left`."""
    lengths = np.array([len(shard.shard(epoch)) for shard in left.shards])
    positions = [
        place.position if place.epoch == epoch else length * (place.epoch > epoch)
        for place, length in zip(left._reached, lengths.tolist(), strict=True)
    ]
    done = np.minimum(positions, lengths)
    return done, np.cumsum(lengths - done)


@lru_cache(maxsize=64)
def _left(division: Division) -> Left:
    """The unread samples of the last of the earlier divisions."""
    size, _, _, stick, pad, ended = division
    *earlier, (shards, batch_size, stop) = ended
    first = Epochs(size, batch_size, shards, 0, stick, pad, tuple(earlier))
    return Left([replace(first, shard_id=shard) for shard in range(shards)], stop)
