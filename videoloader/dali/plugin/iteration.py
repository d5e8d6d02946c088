"""Iterators over pipelines, for any framework: epochs, last-batch policies, several in step."""

from __future__ import annotations

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from videoloader.dali.pipeline import Pipeline
from videoloader.dali.pipeline.run.checkpoint import Checkpoint
from videoloader.dali.plugin.epoch_plan import EpochLength, EpochPlan, LastBatchPolicy
from videoloader.dali.plugin.iterator_state import PLAN, check_state
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, VideoError
from videoloader.machinery.runtime.run_stats import RunStats
from videoloader.machinery.system.callers import warn_deprecated
from videoloader.machinery.system.closing import Closing
from videoloader.machinery.system.forking import ForkSafeLock, in_turn

if TYPE_CHECKING:
    from videoloader.decoding.failures import SampleFailure

Item = TypeVar("Item")


class BatchIterator(Closing, ABC, Generic[Item]):
    """Iterates over pipelines that run in step, epoch by epoch, for any framework.

    Threads may share an iterator: they take turns, and each batch goes to one of them.

    A framework says in `_item` what becomes of the outputs of the pipelines. The arguments are
    those of `GenericIterator`.
    """

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[str | tuple[str, int]],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,  # noqa: ARG002
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        self.output_map = self._named(output_map)
        self._turn = ForkSafeLock()
        self._pipelines = [pipelines] if isinstance(pipelines, Pipeline) else list(pipelines)
        self._policy = _policy(last_batch_policy, fill_last_batch)
        self._auto_reset = _auto_reset(auto_reset)
        self.batch_size = self._common_batch_size()
        self._length = EpochLength(int(size), reader_name, last_batch_padded)
        self._length.check(len(self._pipelines))
        for pipeline in self._pipelines:
            pipeline.build()
        self._check_names()
        self._planner = self._length.planner(self._pipelines, self._policy)
        self._taken = self._resumed_at()
        self._has_begun = False
        self._has_stopped = False
        self._layouts: dict[str, str] = {}
        self._plan = self._plan_at(self._taken)
        if (state := self._state_in_checkpoints()) is not None:
            self._stand_at(state)
        if self._plan is not None and self._plan.first == self._plan.stop:
            raise ArgumentError(
                f"no epoch has a whole batch of {self.batch_size} samples, and "
                "last_batch_policy=DROP leaves out every other; use smaller batches or PARTIAL"
            )
        self._is_prepared = False
        if prepare_first_batch:
            self._prepare()

    def _named(self, output_map: Sequence[Any]) -> list[str]:
        """The names of the outputs, before anything else is done with the arguments."""
        return list(output_map)

    @abstractmethod
    def _item(self, batches: Sequence[tuple[Sequence[TensorList], int]]) -> Item:
        """The item of a step.

        Args:
            batches: for each pipeline its outputs, and the number of samples to take from each of
                them, the first ones.
        """

    @in_turn
    def __iter__(self) -> Self:
        """The iterator itself; where the epoch is at its end, the next one begins."""
        if self._is_at_end() or self._has_source_ended():
            self._next_epoch()
        return self

    @in_turn
    def __next__(self) -> Item:
        if self._is_at_end():
            self._stop()
            raise StopIteration
        number, plan = self._taken, self._plan
        try:
            batches = self._run()
        except StopIteration:
            self._stop()
            raise
        self._layouts = {
            name: output.layout() for name, output in zip(self.output_map, batches[0], strict=True)
        }
        size = self.batch_size
        kept = [
            pipeline.num_samples(size if plan is None else plan.kept(number, size, place))
            for place, pipeline in enumerate(self._pipelines)
        ]
        return self._item(list(zip(batches, kept, strict=True)))

    def next(self) -> Item:
        """The next batch: `next(iterator)` under another of DALI's names."""
        return self.__next__()

    def __len__(self) -> int:
        """Batches in this epoch; 0 without `size` and `reader_name`, where it is not known."""
        return 0 if self._plan is None else len(self._plan)

    @property
    def size(self) -> int:
        """Samples of this epoch, as DALI counts them; -1 if unknown.

        With `size` that number, over all pipelines. With `reader_name` those of one pipeline: the
        smallest shard for DROP, the largest one where the reader pads, else what the batches of
        the epoch hold.
        """
        if self._planner is None or self._plan is None:
            return -1
        return self._planner.size(self._plan)

    @property
    def layouts(self) -> dict[str, str]:
        """For each output the layout of a sample in the last batch, such as "FCHW"; or ""."""
        return dict(self._layouts)

    @in_turn
    def reset(self) -> None:
        """Begin the next epoch, after the end of one; before it, this warns and does nothing."""
        if self._is_at_end() or self._has_source_ended():
            self._next_epoch()
        elif self._has_begun:
            warnings.warn(
                "reset() before the end of the epoch does nothing", RuntimeWarning, stacklevel=2
            )

    def stats(self) -> RunStats:
        """The statistics of all pipelines together so far, see `Pipeline.stats`.

        Where there are several, names of stages and operators begin with the number of theirs.
        """
        return RunStats.merged([pipeline.stats() for pipeline in self._pipelines])

    @property
    def failures(self) -> list[SampleFailure]:
        """Failures in the readers of the pipelines so far, see `Pipeline.failures`."""
        return [failure for pipeline in self._pipelines for failure in pipeline.failures]

    @in_turn
    def checkpoints(self) -> list[bytes]:
        """The state of each pipeline, to be given to it as `checkpoint`.

        An iterator over pipelines that go on from these stands where this one does: within its
        epoch, or at the end of it.
        """
        states = map(Checkpoint.read, self._pipeline_states())
        return [replace(state, iterator=self._place()).write() for state in states]

    @in_turn
    def state_dict(self) -> dict[str, Any]:
        """Where the iterator stands after the last batch that it gave: text and integers.

        The pipelines need `enable_checkpointing=True`.
        """
        return {"pipelines": self._pipeline_states(), **self._place()}

    def _pipeline_states(self) -> list[str]:
        return [pipeline.checkpoint().decode() for pipeline in self._pipelines]

    def _place(self) -> dict[str, Any]:
        """Where the iterator stands in its epoch: `state_dict` without the pipelines."""
        plan = self._plan
        return {
            "taken": self._taken,
            "has_begun": self._has_begun,
            "has_stopped": self._has_stopped,
            "plan": None if plan is None else [getattr(plan, name) for name in PLAN],
            "samples": self._num_samples(),
            "has_reader": self._length.has_reader,
        }

    @in_turn
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with the batch after the one that an iterator gave before `state_dict()`.

        The pipelines are restored in place. After the last batch of an epoch the next loop is the
        next epoch. `len()` stays that of the whole epoch.

        With `reader_name` the state may be of another number of shards, or of another batch size:
        what is left of the epoch is divided anew, and `len()` is that of the rest. All processes
        then load the state of one of them.

        Raises:
            ArgumentError: the state is of pipelines with other seeds or samples, the number of
                shards cannot be another one here, or it is no state. The iterator then stands where
                it stood.
        """
        check_state(state)
        states = state["pipelines"]
        if not self._has_such_epochs(state) or not self._fits(states):
            raise ArgumentError(
                f"the state is of an iterator over {len(states)} pipelines, this one has "
                f"{len(self._pipelines)}; size and reader_name must be the same too"
            )
        if state["samples"] != self._num_samples():
            raise ArgumentError(
                f"the state is of epochs of {state['samples']} samples, this one has "
                f"{self._num_samples()}; the data set, or size, must be the same"
            )
        if any(pipeline.divides_anew(states[0]) for pipeline in self._pipelines):
            self._divide_anew(state)
            return
        self._is_prepared = False
        for pipeline, each in zip(self._pipelines, states, strict=True):
            pipeline.restore(each)
        self._planner = self._length.planner(self._pipelines, self._policy)
        self._stand_at(state)

    def _stand_at(self, state: Mapping[str, Any]) -> None:
        """Take the place in an epoch that `_place` gave; the pipelines are there already."""
        self._taken, self._has_begun = state["taken"], state["has_begun"]
        self._has_stopped = state["has_stopped"]
        if self._planner is not None:
            epoch, first, start = state["plan"][:3]
            self._plan = replace(self._planner.plan(epoch, first), start=start)

    def _state_in_checkpoints(self) -> Mapping[str, Any] | None:
        """The state of the iterator that made the checkpoints of the pipelines.

        None if there is none, or if they were made by an iterator with other epochs.
        """
        states = [pipeline.restored_from for pipeline in self._pipelines]
        written = [state.write() for state in states if state is not None]
        told = {json.dumps(state.iterator) for state in states if state is not None}
        if len(written) < len(states) or len(told) != 1 or told == {"null"}:
            return None
        state = {"pipelines": written, **json.loads(told.pop())}
        check_state(state)
        each = zip(self._pipelines, written, strict=True)
        is_alike = state["samples"] == self._num_samples() and self._has_such_epochs(state)
        if not is_alike or any(pipeline.divides_anew(own) for pipeline, own in each):
            return None
        return state

    def _has_such_epochs(self, state: Mapping[str, Any]) -> bool:
        """Whether epochs here end by the same thing: a reader, `size` or a source."""
        has_reader = state["has_reader"] == self._length.has_reader
        return has_reader and (state["plan"] is None) == (self._planner is None)

    def _fits(self, states: Sequence[str]) -> bool:
        """Whether there are as many pipelines; with a reader there may be more or fewer."""
        return len(states) == len(self._pipelines) or self._length.has_reader

    def _divide_anew(self, state: Mapping[str, Any]) -> None:
        """Continue with the samples that other shards have left."""
        planner = self._planner
        if planner is None or not self._length.has_reader:
            raise ArgumentError(
                "the state is of another number of shards, or of another batch size; to go on "
                "from there an iterator needs reader_name"
            )
        if not planner.follows_reader:
            raise ArgumentError(
                "the state is of another number of shards, or of another batch size; to go on from "
                f"there with last_batch_policy={planner.policy!r} readers need "
                "pad_last_batch=True: without it batches that the iterator leaves out hold samples "
                "of the next epoch"
            )
        if len(set(state["pipelines"])) > 1:
            raise ArgumentError(
                "the state is of pipelines that differ, in their seeds or their readers; to go on "
                "with another number of shards they must be alike"
            )
        _, _, _, stop, end = state["plan"]
        taken = state["taken"]
        at = Checkpoint.read(state["pipelines"][0])
        if taken >= stop:  # what the policy leaves out of this epoch is left out
            at = replace(at, batches=at.batches + end - taken)
        self._is_prepared = False
        for pipeline in self._pipelines:
            pipeline.restore(at.write())
        self._taken = at.batches
        self._has_begun = self._has_stopped = False
        self._planner = self._length.planner(self._pipelines, self._policy)
        self._plan = self._plan_at(self._taken)

    def close(self) -> None:
        """Close the pipelines."""
        for pipeline in self._pipelines:
            pipeline.close()

    def _num_samples(self) -> int | None:
        """Samples of the reader, or `size`."""
        return None if self._planner is None else self._planner.stream.size

    def _resumed_at(self) -> int:
        """Where the pipelines are, if they go on from a checkpoint."""
        firsts = {pipeline.resumed_at for pipeline in self._pipelines}
        if len(firsts) > 1:
            raise ArgumentError(
                f"the checkpoints of the pipelines are not of one moment: batches {sorted(firsts)}"
            )
        return firsts.pop()

    def _plan_at(self, batch: int) -> EpochPlan | None:
        """The rest of the epoch that a batch belongs to, or that it begins."""
        if self._planner is None:
            return None
        plan = self._planner.begin()
        while plan.first < plan.end <= batch:
            plan = self._planner.plan(plan.epoch + 1, plan.end)
        return replace(plan, start=max(plan.start, batch))

    def _is_at_end(self) -> bool:
        return self._has_stopped or (self._plan is not None and self._taken >= self._plan.stop)

    def _has_source_ended(self) -> bool:
        """Whether the last batch that was taken is the last one of a source.

        Only where no reader says how long an epoch is. Waits for the next batch.
        """
        if self._length.has_reader or not self._taken:
            return False
        self._prepare()
        return any(pipeline.empty() for pipeline in self._pipelines)

    def _run(self) -> list[tuple[TensorList, ...]]:
        """A batch of every pipeline; they stay in step when one of them fails.

        All begin before one is waited for, so that several GPUs work at the same time.
        """
        batches, failure = [], None
        self._prepare()
        for pipeline in self._pipelines:  # one more, as DALI's iterators do
            pipeline.schedule_run()
        for pipeline in self._pipelines:
            try:
                batches.append(pipeline.outputs())
            except (VideoError, StopIteration) as error:
                failure = failure or error
        self._has_begun = True
        if not isinstance(failure, StopIteration):  # the batch is still to come
            self._taken += 1
        if failure is not None:
            raise failure
        return batches

    def _prepare(self) -> None:
        """Let the pipelines begin, if they have not."""
        if not self._is_prepared:
            for pipeline in self._pipelines:
                pipeline.schedule_run()
            self._is_prepared = True

    def _stop(self) -> None:
        self._has_stopped = True
        if self._auto_reset:
            self._next_epoch()

    def _next_epoch(self) -> None:
        self._skip_rest()
        begin_again = [pipeline.reset() for pipeline in self._pipelines]
        for pipeline, begins in zip(self._pipelines, begin_again, strict=True):
            if begins:
                pipeline.schedule_run()
        self._skip_rest()  # again, where a source ended among those batches
        self._has_stopped = self._has_begun = False
        if self._planner is None or self._plan is None:
            return
        if any(begin_again) and not self._length.has_reader:
            self._taken = 0
            self._plan = self._planner.begin()
        elif self._taken < self._plan.stop:
            # A reader beside a source that ended too early goes on with the rest of its epoch.
            self._plan = replace(self._plan, start=self._taken)
        else:
            self._plan = self._planner.plan(self._plan.epoch + 1, self._taken)

    def _skip_rest(self) -> None:
        """Take the batches of the epoch that the policy leaves out, as far as there are any."""
        try:
            while self._plan is not None and self._plan.stop <= self._taken < self._plan.end:
                self._run()
        except StopIteration:
            pass

    def _common_batch_size(self) -> int:
        if not self._pipelines:
            raise ArgumentError("an iterator needs at least one pipeline")
        sizes = {pipeline.batch_size for pipeline in self._pipelines}
        if len(sizes) > 1:
            raise ArgumentError(f"the pipelines have different batch sizes: {sorted(sizes)}")
        return sizes.pop()

    def _check_names(self) -> None:
        names = self.output_map
        if len(set(names)) != len(names):
            raise ArgumentError(f"output_map names an output twice: {names}")
        for pipeline in self._pipelines:
            if pipeline.num_outputs != len(names):
                raise ArgumentError(
                    f"output_map has {len(names)} names ({', '.join(names)}) for a "
                    f"pipeline with {pipeline.num_outputs} outputs"
                )

    def __repr__(self) -> str:
        length: Any = "?" if self._plan is None else len(self._plan)
        return (
            f"{type(self).__name__}({len(self._pipelines)} x batches of {self.batch_size}: "
            f"{', '.join(self.output_map)}; {length} in this epoch)"
        )


def _policy(policy: object, fill_last_batch: bool | None) -> LastBatchPolicy:
    if fill_last_batch is not None:
        policy = LastBatchPolicy.FILL if fill_last_batch else LastBatchPolicy.PARTIAL
        warn_deprecated(f"fill_last_batch is deprecated: pass last_batch_policy={policy!r}")
    if not isinstance(policy, LastBatchPolicy):
        raise ArgumentError(
            "last_batch_policy must be LastBatchPolicy.FILL, .DROP or .PARTIAL, "
            f"got {type(policy).__name__}: {policy!r}"
        )
    return policy


def _auto_reset(value: object) -> bool:
    if value in (None, False, "no"):
        return False
    if value in (True, "yes", "True"):  # DALI documents the string "True" too
        return True
    raise ArgumentError(f'auto_reset must be "yes", "no", True, False or None, got {value!r}')
