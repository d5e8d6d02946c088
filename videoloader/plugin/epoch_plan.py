"""Which batches make up an epoch, and how much of each belongs to it: arithmetic only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from videoloader.sampling.orders.reader_epochs import Epochs, Left

__all__ = ["EpochPlan", "LastBatchPolicy", "Planner", "ReaderPlanner", "SizePlanner"]


class LastBatchPolicy(Enum):
    """What to do with a last batch that the epoch does not fill."""

    FILL = "as the reader gives it: with copies of the last sample, or the next epoch's first"
    DROP = "leave it out"
    PARTIAL = "cut it to the samples of the epoch"

    def __repr__(self) -> str:
        return f"LastBatchPolicy.{self.name}"


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """One epoch of an iterator over pipelines that run in step.

    Batch numbers count from the first run of the pipelines. Batches from `stop` up to `end` are
    made by the pipelines and thrown away.

    Attributes:
        epoch: its number.
        first: its first batch.
        start: the first batch to come; after `first` where the epoch was interrupted.
        stop: the end of the batches that it gives.
        end: the end of the batches that it takes from the pipelines.
        own: for PARTIAL, the number of its samples in each pipeline; else None.
    """

    epoch: int
    first: int
    start: int
    stop: int
    end: int
    own: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return max(self.stop - self.start, 0)

    def kept(self, batch: int, batch_size: int, pipeline: int) -> int:
        """How many samples of a batch of a pipeline belong to the epoch."""
        if self.own is None:
            return batch_size
        given = (batch - self.first) * batch_size
        return min(max(self.own[pipeline] - given, 0), batch_size)


class Planner(Protocol):
    """Says which batches make up an epoch: arithmetic only."""

    @property
    def samples(self) -> int:
        """Samples in the data set, or in an epoch where that is said by `size`."""

    def begin(self) -> EpochPlan:
        """The first epoch."""

    def plan(self, epoch: int, first: int) -> EpochPlan:
        """An epoch that begins with batch `first`."""

    def size(self, plan: EpochPlan) -> int:
        """Samples in an epoch, as DALI counts them: see `BatchIterator.size`."""


@dataclass(frozen=True, slots=True)
class ReaderPlanner:
    """Epochs of pipelines that read shards of one data set.

    Every length follows from all shards of the data set, not only from those that are read here,
    so processes that read different shards take the same number of batches.

    With padding an epoch has as many batches as the largest shard needs. Without it a batch may
    hold the end of one shard and the beginning of the next:

    - FILL: an epoch lasts until the samples of every shard were given. The next one begins where
      it ended, so it is shorter by what was read ahead; one that was wholly read ahead is skipped.
    - PARTIAL: each pipeline gives as many samples as its shard of the epoch holds. What follows in
      the last batch is thrown away.
    - DROP: every pipeline gives as many whole batches as the smallest shard fills. What is left of
      that shard costs one more batch, which is thrown away.

    Args:
        samples: number of samples in the data set.
        batch_size: samples in a batch of each pipeline.
        num_shards: parts of the data set.
        shards: the part that each pipeline begins with.
        stick_to_shard: whether a pipeline reads the same part in every epoch.
        pad_last_batch: whether the readers repeat their last sample up to the end of an epoch.
        policy: for the last batch.
        left: what other shards have left to these, if they go on from there.
    """

    samples: int
    batch_size: int
    num_shards: int
    shards: tuple[int, ...]
    stick_to_shard: bool
    pad_last_batch: bool
    policy: LastBatchPolicy
    left: Left | None = None

    def begin(self) -> EpochPlan:
        """The first epoch, or the rest of it."""
        stream = self._stream(0)
        return self.plan(stream.first_epoch, stream.first)

    def plan(self, epoch: int, first: int) -> EpochPlan:
        """An epoch that begins with batch `first`; a later one where it was wholly read ahead."""
        longest = self._stream(0).batches(epoch)
        match self.policy:
            case LastBatchPolicy.FILL if self.pad_last_batch:
                return EpochPlan(epoch, first, first, first + longest, first + longest)
            case LastBatchPolicy.FILL:
                return self._filled(epoch, first)
            case LastBatchPolicy.PARTIAL:
                own = tuple(len(self._stream(shard).shard(epoch)) for shard in self.shards)
                return EpochPlan(epoch, first, first, first + longest, first + longest, own)
            case LastBatchPolicy.DROP:
                smallest = self._stream(0).length(epoch) // self.num_shards
                stop = first + smallest // self.batch_size
                end = first + (longest if self.pad_last_batch else -(-smallest // self.batch_size))
                return EpochPlan(epoch, first, first, stop, end)

    @property
    def follows_reader(self) -> bool:
        """Whether an epoch of the iterator has the samples of an epoch of its readers."""
        return self.pad_last_batch or self.policy is LastBatchPolicy.FILL

    def size(self, plan: EpochPlan) -> int:
        """Samples in the smallest shard (DROP), the largest one (padded), else in the batches."""
        if self.policy is LastBatchPolicy.DROP:
            return self.samples // self.num_shards
        if self.pad_last_batch:
            return -(-self.samples // self.num_shards)
        return (plan.stop - plan.first) * self.batch_size

    def _filled(self, epoch: int, first: int) -> EpochPlan:
        while True:
            last = max(self._stream(shard).end(epoch) for shard in range(self.num_shards))
            end = self._stream(0).first - (-last // self.batch_size)
            if end > first:
                return EpochPlan(epoch, first, first, end, end)
            epoch += 1

    def _stream(self, shard: int) -> Epochs:
        return Epochs(
            self.samples,
            self.batch_size,
            self.num_shards,
            shard,
            self.stick_to_shard,
            self.pad_last_batch,
            self.left,
        )


@dataclass(frozen=True, slots=True)
class SizePlanner:
    """Epochs of `samples` samples, taken from the pipelines in turn, a batch from each.

    FILL without padding goes on where it ended: an epoch is shorter by what was given ahead. All
    other epochs have the same length.
    """

    samples: int
    batch_size: int
    num_pipelines: int
    last_batch_padded: bool
    policy: LastBatchPolicy

    def begin(self) -> EpochPlan:
        """The first epoch."""
        return self.plan(0, 0)

    def plan(self, epoch: int, first: int) -> EpochPlan:
        """An epoch that begins with batch `first`."""
        step = self.batch_size * self.num_pipelines
        samples = self.samples
        if self.policy is LastBatchPolicy.FILL and not self.last_batch_padded:
            samples -= first * step % self.samples
        whole, rest = divmod(samples, step)
        end = stop = first + whole + (rest > 0)
        own = None
        if self.policy is LastBatchPolicy.DROP:
            stop = first + whole
        if self.policy is LastBatchPolicy.PARTIAL:
            rests = (rest - number * self.batch_size for number in range(self.num_pipelines))
            own = tuple(
                whole * self.batch_size + min(max(left, 0), self.batch_size) for left in rests
            )
        return EpochPlan(epoch, first, first, stop, end, own)

    def size(self, plan: EpochPlan) -> int:  # noqa: ARG002
        """As given."""
        return self.samples
