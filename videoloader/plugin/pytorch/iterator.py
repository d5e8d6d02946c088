"""`GenericIterator`: pipelines as an iterator over dicts of torch tensors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import torch

from videoloader.errors import ArgumentError, UnsupportedError, VideoError
from videoloader.pipeline import Pipeline
from videoloader.plugin.pytorch.schedule import EpochPlan, LastBatchPolicy, plan_epoch
from videoloader.readers.epochs import Epochs
from videoloader.tensors import TensorList

__all__ = ["DALIGenericIterator", "GenericIterator"]


class GenericIterator:
    """Iterates over pipelines that run in step, epoch by epoch.

    Each item is a list with one dict for each pipeline, from output name to a tensor (N, ...)
    that the caller owns.

    Args:
        pipelines: one pipeline, or several with the same batch size.
        output_map: a name for each output.
        size: samples in an epoch, over all pipelines; -1 goes on until a source ends. A source
            that ends before has shorter epochs; one that has ended begins again with the next
            epoch. Not together with `reader_name`.
        reader_name: the reader that says how long an epoch is. Use this where there is one.
        auto_reset: begin the next epoch by itself; otherwise call `reset` after each.
        last_batch_policy: what to do with a last batch that the epoch does not fill.
        last_batch_padded: with `size`, whether the pipelines pad the last batch; a reader says so
            itself.
        prepare_first_batch: let the pipelines begin right away.

    A pipeline without samples left, because its shard is smaller than another's, gives tensors
    with N = 0 for PARTIAL.
    """

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[str],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: bool | str = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        last_batch_padded: bool = False,
        prepare_first_batch: bool = True,
    ) -> None:
        self._pipelines = [pipelines] if isinstance(pipelines, Pipeline) else list(pipelines)
        self._names = list(output_map)
        self._policy = LastBatchPolicy(last_batch_policy)
        self._auto_reset = auto_reset in (True, "yes")
        self.batch_size = self._check_pipelines()
        for pipeline in self._pipelines:
            pipeline.build()
        self._has_reader = reader_name is not None
        self._streams = self._find_streams(size, reader_name, last_batch_padded)
        self._taken = self._resumed_at()
        self._has_ended = False
        self._plan = self._first_plan()
        if prepare_first_batch:
            for pipeline in self._pipelines:
                pipeline.schedule_run()

    def __iter__(self) -> GenericIterator:
        return self

    def __next__(self) -> list[dict[str, torch.Tensor]]:
        if self._has_ended:
            raise StopIteration
        if self._plan is not None and self._taken >= self._plan.stop:
            self._finish()
            raise StopIteration
        kept = [self.batch_size] * len(self._pipelines)
        if self._plan is not None:
            kept = self._plan.kept(self._taken, self.batch_size, self._policy)
        try:
            batches = self._run()
        except StopIteration:
            self._finish()
            raise
        return [self._named(batch, count) for batch, count in zip(batches, kept, strict=True)]

    def __len__(self) -> int:
        """Batches in this epoch."""
        if self._plan is None:
            raise TypeError("without size or reader_name the length of an epoch is not known")
        return len(self._plan)

    @property
    def size(self) -> int:
        """Samples in the data set of the reader, or `size` as given; -1 if nobody knows."""
        if not self._streams:
            return -1
        return self._streams[0].size

    def reset(self) -> None:
        """Begin the next epoch, after the end of one; before it, this warns and does nothing."""
        if not self._has_ended:
            if self._plan is None or self._taken > self._plan.start:
                warnings.warn(
                    "reset() before the end of the epoch does nothing", RuntimeWarning, stacklevel=2
                )
            return
        self._next_epoch()

    def checkpoints(self) -> list[bytes]:
        """The state of each pipeline, to be given to it as `checkpoint`.

        An iterator over pipelines that go on from these goes on with the rest of the epoch.
        """
        return [pipeline.checkpoint() for pipeline in self._pipelines]

    def close(self) -> None:
        """Close the pipelines."""
        for pipeline in self._pipelines:
            pipeline.close()

    def __enter__(self) -> GenericIterator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self) -> list[tuple[TensorList, ...]]:
        """A batch of every pipeline; they stay in step when one of them fails."""
        batches, failure = [], None
        for pipeline in self._pipelines:
            try:
                batches.append(pipeline.run())
            except (VideoError, StopIteration) as error:
                failure = failure or error
        if not isinstance(failure, StopIteration):  # the batch is still to come
            self._taken += 1
        if failure is not None:
            raise failure
        return batches

    def _check_pipelines(self) -> int:
        if not self._pipelines:
            raise ArgumentError("an iterator needs at least one pipeline")
        sizes = {pipeline.batch_size for pipeline in self._pipelines}
        if len(sizes) > 1:
            raise ArgumentError(f"the pipelines have different batch sizes: {sorted(sizes)}")
        if len(set(self._names)) != len(self._names):
            raise ArgumentError(f"output_map names an output twice: {self._names}")
        for pipeline in self._pipelines:
            if pipeline.num_outputs != len(self._names):
                raise ArgumentError(
                    f"output_map has {len(self._names)} names ({', '.join(self._names)}) for a "
                    f"pipeline with {pipeline.num_outputs} outputs"
                )
        return sizes.pop()

    def _find_streams(self, size: int, reader_name: str | None, padded: bool) -> list[Epochs]:
        if reader_name is None:
            if size == 0 or size < -1:
                raise ArgumentError(f"size must be at least 1, or -1, got {size}")
            if size == -1:
                return []
            parts = len(self._pipelines)
            return [
                Epochs(
                    size,
                    self.batch_size,
                    parts,
                    part,
                    stick_to_shard=True,
                    pad_last_batch=padded,
                )
                for part in range(parts)
            ]
        if size != -1 or padded:
            raise ArgumentError("reader_name excludes size and last_batch_padded")
        streams = []
        for pipeline in self._pipelines:
            meta = pipeline.reader_meta(reader_name)
            streams.append(
                Epochs(
                    meta["epoch_size"],
                    self.batch_size,
                    meta["number_of_shards"],
                    meta["shard_id"],
                    meta["stick_to_shard"],
                    meta["pad_last_batch"],
                )
            )
        alike = {
            (one.size, one.num_shards, one.stick_to_shard, one.pad_last_batch) for one in streams
        }
        if len(alike) > 1:
            raise ArgumentError(
                f"the readers {reader_name!r} differ in (epoch_size, number_of_shards, "
                f"stick_to_shard, pad_last_batch): {sorted(alike)}"
            )
        return streams

    def _first_plan(self) -> EpochPlan | None:
        return plan_epoch(self._streams, 0, self._taken, self._policy) if self._streams else None

    def _resumed_at(self) -> int:
        """Where the pipelines are, if they go on from a checkpoint."""
        firsts = {pipeline.resumed_at for pipeline in self._pipelines}
        if len(firsts) > 1:
            raise ArgumentError(
                f"the checkpoints of the pipelines are not of one moment: batches {sorted(firsts)}"
            )
        return firsts.pop()

    def _finish(self) -> None:
        self._has_ended = True
        if self._auto_reset:
            self._next_epoch()

    def _next_epoch(self) -> None:
        self._has_ended = False
        self._skip_rest()
        begin_again = [pipeline.reset() for pipeline in self._pipelines]
        if self._plan is None:
            return
        if any(begin_again) and not self._has_reader:
            self._taken = 0
            self._plan = self._first_plan()
            return
        # A reader beside a source that ended too early goes on with the rest of its epoch.
        epoch = self._plan.epoch + (self._taken >= self._plan.end)
        self._plan = plan_epoch(self._streams, epoch, self._taken, self._policy)

    def _skip_rest(self) -> None:
        """Take the batches of the epoch that the policy leaves out, as far as there are any."""
        try:
            while self._plan is not None and self._taken < self._plan.end:
                self._run()
        except StopIteration:
            pass

    def _named(self, batch: Sequence[TensorList], count: int) -> dict[str, torch.Tensor]:
        return {
            name: _dense(name, output, count)
            for name, output in zip(self._names, batch, strict=True)
        }

    def __repr__(self) -> str:
        length: Any = "?" if self._plan is None else len(self._plan)
        return (
            f"GenericIterator({len(self._pipelines)} x batches of {self.batch_size}: "
            f"{', '.join(self._names)}; {length} in this epoch)"
        )


def _dense(name: str, output: TensorList, count: int) -> torch.Tensor:
    if not output.is_dense_tensor():
        raise UnsupportedError(
            f"output {name!r} is ragged: {output!r}; give its samples one shape in the pipeline "
            "(fn.resize, fn.crop) to have it as one tensor"
        )
    tensor = output.as_tensor()
    return tensor if count >= len(tensor) else tensor[:count].clone()


DALIGenericIterator = GenericIterator
