"""`EpochPlanner`: the batches of an epoch of an iterator over pipelines; `EpochLength` makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from videoloader.dali.pipeline import Pipeline
from videoloader.errors import ArgumentError
from videoloader.sampling.orders.reader_epochs import Epochs


class LastBatchPolicy(Enum):
    """Treatment of a last batch that the epoch does not fill.

    >>> from videoloader.dali import fn, pipeline_def
    >>> from videoloader.dali.plugin.pytorch import GenericIterator
    >>> @pipeline_def(batch_size=3, num_threads=1)
    ... def labels():  # of 4 files
    ...     return fn.readers.file(file_root="videos/", file_filters=["*.mp4"], name="Reader")[1]
    >>> for policy in LastBatchPolicy:
    ...     arguments = {"reader_name": "Reader", "last_batch_policy": policy}
    ...     batches = GenericIterator(labels(), ["label"], **arguments)
    ...     print(policy, [len(batch["label"]) for (batch,) in batches])
    LastBatchPolicy.FILL [3, 3]
    LastBatchPolicy.DROP [3]
    LastBatchPolicy.PARTIAL [3, 1]
    """

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
        first: number of its first batch.
        start: number of the next batch; larger than `first` if the epoch was interrupted.
        stop: end of the batches that the iterator returns.
        end: end of the batches that the pipelines make for the epoch.
        own: for PARTIAL, the number of samples of the epoch in each pipeline; else None.
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
        """The number of samples of a pipeline's batch that belong to the epoch."""
        if self.own is None:
            return batch_size
        given = (batch - self.first) * batch_size
        return min(max(self.own[pipeline] - given, 0), batch_size)


@dataclass(frozen=True, slots=True)
class EpochPlanner:
    """Epochs of pipelines that run in step.

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

    Pipelines without shards of a reader take the batches of one stream in turn. A batch of that
    stream is then one of every pipeline.

    Args:
        stream: of the first shard.
        policy: for the last batch.
        num_pipelines: that take batches in turn, if `shards` is None.
        shards: the shard of a reader that each pipeline begins with.
    """

    stream: Epochs
    policy: LastBatchPolicy
    num_pipelines: int = 1
    shards: tuple[int, ...] | None = None

    def begin(self) -> EpochPlan:
        """The first epoch, or the rest of it."""
        return self.plan(self.stream.first_epoch, self.stream.first)

    def plan(self, epoch: int, first: int) -> EpochPlan:
        """The epoch that begins with batch `first`; a later one if all of it was read ahead."""
        stream = self.stream
        end = first + stream.batches(epoch)
        match self.policy:
            case LastBatchPolicy.FILL if not stream.pad_last_batch:
                while (end := self._given(epoch)) <= first:
                    epoch += 1
                return EpochPlan(epoch, first, first, end, end)
            case LastBatchPolicy.FILL:
                return EpochPlan(epoch, first, first, end, end)
            case LastBatchPolicy.PARTIAL:
                return EpochPlan(epoch, first, first, end, end, self._own(epoch))
            case LastBatchPolicy.DROP:
                smallest = stream.length(epoch) // stream.num_shards
                stop = first + smallest // stream.batch_size
                if not stream.pad_last_batch:
                    end = first - (-smallest // stream.batch_size)
                return EpochPlan(epoch, first, first, stop, end)

    @property
    def follows_reader(self) -> bool:
        """Whether an epoch of the iterator has the samples of an epoch of its readers."""
        return self.stream.pad_last_batch or self.policy is LastBatchPolicy.FILL

    def size(self, plan: EpochPlan) -> int:
        """Samples in an epoch, as DALI counts them: see `BatchIterator.size`.

        Those of the smallest shard (DROP), of the largest one (padded), else of the batches; all
        samples where pipelines take turns.
        """
        stream = self.stream
        if self.shards is None:
            return stream.size
        if self.policy is LastBatchPolicy.DROP:
            return stream.size // stream.num_shards
        if stream.pad_last_batch:
            return -(-stream.size // stream.num_shards)
        return (plan.stop - plan.first) * stream.batch_size

    def _given(self, epoch: int) -> int:
        """The batch by which every shard has given its samples of an epoch."""
        stream = self.stream
        last = max(self._shard(shard).end(epoch) for shard in range(stream.num_shards))
        return stream.first - (-last // stream.batch_size)

    def _own(self, epoch: int) -> tuple[int, ...]:
        """Samples of an epoch in each pipeline."""
        if self.shards is not None:
            return tuple(len(self._shard(shard).shard(epoch)) for shard in self.shards)
        batch_size = self.stream.batch_size // self.num_pipelines
        whole, rest = divmod(self.stream.size, self.stream.batch_size)
        rests = (rest - number * batch_size for number in range(self.num_pipelines))
        return tuple(whole * batch_size + min(max(left, 0), batch_size) for left in rests)

    def _shard(self, shard: int) -> Epochs:
        return replace(self.stream, shard_id=shard)


@dataclass(frozen=True, slots=True)
class EpochLength:
    """The arguments `size`, `reader_name` and `last_batch_padded` of iterators."""

    size: int
    reader_name: str | None
    padded: bool

    @property
    def has_reader(self) -> bool:
        """Whether a reader says it."""
        return self.reader_name is not None

    def check(self, num_pipelines: int) -> None:
        """Fail for arguments that contradict each other, or do not suffice."""
        size = self.size
        if self.has_reader:
            if size != -1 or self.padded:
                raise ArgumentError("reader_name excludes size and last_batch_padded")
            return
        if size == 0 or size < -1:
            raise ArgumentError(f"size must be at least 1, or -1, got {size}")
        if size == -1 and num_pipelines > 1:
            raise ArgumentError(
                f"{num_pipelines} pipelines need reader_name or size: their sources may end apart"
            )

    def planner(
        self, pipelines: Sequence[Pipeline], policy: LastBatchPolicy
    ) -> EpochPlanner | None:
        """Plans the epochs of pipelines that are built; None where no length is known."""
        if self.reader_name is not None:
            return _reader_planner(self.reader_name, pipelines, policy)
        if self.size == -1:
            return None
        num_pipelines = len(pipelines)
        batch_size = pipelines[0].batch_size * num_pipelines
        stream = Epochs(self.size, batch_size, pad_last_batch=self.padded)
        return EpochPlanner(stream, policy, num_pipelines)


def _reader_planner(
    name: str, pipelines: Sequence[Pipeline], policy: LastBatchPolicy
) -> EpochPlanner:
    metas = [pipeline.reader_meta(name) for pipeline in pipelines]
    keys = ("epoch_size", "number_of_shards", "stick_to_shard", "pad_last_batch")
    alike = {tuple(meta[key] for key in keys) for meta in metas}
    if len(alike) > 1:
        raise ArgumentError(f"the readers {name!r} differ in ({', '.join(keys)}): {sorted(alike)}")
    stream = replace(pipelines[0].reader_epochs(name), shard_id=0)
    shards = tuple(meta["shard_id"] for meta in metas)
    return EpochPlanner(stream, policy, shards=shards)
