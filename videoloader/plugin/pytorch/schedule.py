"""Which batches make up an epoch, and how much of each belongs to it: arithmetic only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from videoloader.readers.epochs import Epochs

__all__ = ["EpochPlan", "LastBatchPolicy", "plan_epoch"]


class LastBatchPolicy(Enum):
    """What to do with a last batch that the epoch does not fill."""

    FILL = "as the reader gives it: with copies of the last sample, or the next epoch's first"
    DROP = "leave it out"
    PARTIAL = "cut it to the samples of the epoch"

    def __repr__(self) -> str:
        return f"LastBatchPolicy.{self.name}"


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """One epoch of an iterator over some pipelines that run in step.

    Batch numbers count from the first run of the pipelines. Batches from `stop` up to `end` are
    made by the pipelines and thrown away.
    """

    epoch: int
    start: int
    stop: int
    end: int
    last: tuple[int, ...]
    """For each pipeline, the end of its own samples in its stream."""

    def __len__(self) -> int:
        return self.stop - self.start

    def kept(self, batch: int, batch_size: int, policy: LastBatchPolicy) -> list[int]:
        """For each pipeline, how many samples of a batch belong to the epoch."""
        if policy is not LastBatchPolicy.PARTIAL:
            return [batch_size] * len(self.last)
        return [min(max(last - batch * batch_size, 0), batch_size) for last in self.last]


def plan_epoch(
    streams: Sequence[Epochs], epoch: int, start: int, policy: LastBatchPolicy
) -> EpochPlan:
    """The epoch that begins with batch `start`.

    Without padding the first samples of an epoch may have come in the last batch of the one
    before. With FILL they were used there; with PARTIAL and DROP they are lost, and the epoch is
    shorter by them. An epoch that was wholly read ahead is skipped.

    Args:
        streams: what the reader of each pipeline gives; all with the same sizes.
        epoch: number of the epoch.
        start: first batch that was not taken yet.
        policy: for the last batch.
    """
    size = streams[0].batch_size
    while True:
        ends = [stream.end(epoch) for stream in streams]
        end = max(-(-last // size) for last in ends)
        if end > start:
            break
        epoch += 1
    last = tuple(
        stream.end(epoch - 1) + len(stream.shard(epoch))
        if stream.pad_last_batch
        else stream.end(epoch)
        for stream in streams
    )
    stop = end
    if policy is LastBatchPolicy.DROP:
        stop = max(start, min(own // size for own in last))
    return EpochPlan(epoch, start, stop, end, last)
