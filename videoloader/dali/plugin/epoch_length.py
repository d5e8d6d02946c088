"""`EpochLength`: what says how many samples an epoch of an iterator over pipelines has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from videoloader.dali.pipeline import Pipeline
from videoloader.dali.plugin.epoch_plan import EpochPlanner, LastBatchPolicy
from videoloader.errors import ArgumentError
from videoloader.sampling.orders.reader_epochs import Epochs


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
