"""The batches of a program, made ahead in stages: scheduled, waited for and taken."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from videoloader.dali.pipeline.run.checkpoint import Checkpoint
from videoloader.dali.pipeline.run.program import Program
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError
from videoloader.machinery.runtime.run_stats import RunStats
from videoloader.machinery.runtime.stages import StageRunner


class StagedRun:
    """Runs a program from some batch on, ahead of the consumer.

    Its threads start with the first batch. One thread at a time calls it; `feed`, `feed_all` and
    `close` may be called meanwhile.

    Args:
        program: what makes the batches.
        at_first: batches that the first `schedule` begins.
        state: where to go on; None: at the beginning.
    """

    def __init__(self, program: Program, *, at_first: int, state: Checkpoint | None) -> None:
        self.program = program
        self._at_first = at_first
        self._first = self._epoch = self._epoch_start = 0
        if state is not None:
            program.go_on(state)
            self._first, self._epoch, self._epoch_start = (
                state.batches,
                state.epoch,
                state.epoch_start,
            )
        self._runner: StageRunner | None = None
        self._is_closed = False
        self._may_begin = not program.sources.is_blocking
        self._scheduled: int | None = None  # None: nothing was, in this epoch
        self._setup_ended = False
        self._places: Sequence[int] | None = None  # of the samples of the last batch

    @property
    def next_batch(self) -> int:
        """Number of the batch that `take` gives next."""
        return self._first if self._runner is None else self._runner.taken

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return self.program.num_outputs

    def reader_metas(self) -> dict[str, dict[str, Any]]:
        """Size and sharding of each reader, by its name."""
        return self.program.sources.metas()

    def feed(self, name: str, data: Any, layout: str | None, stream: Any) -> None:
        """Queue a batch for an external source; see `Pipeline.feed_input`."""
        self.program.sources.fed_source(name).feed(data, layout, stream)
        self._allow_fed()

    def feed_all(self, batches: Mapping[str, Any]) -> None:
        """Queue a batch for each of several sources, or for none if one refuses its own."""
        self.program.sources.feed(batches)
        self._allow_fed()

    def schedule(self, setup: Callable[[], None]) -> None:
        """Begin one more batch without waiting for it; the first time, as many as queues hold.

        Args:
            setup: called before each; StopIteration ends the epoch.
        """
        count = self._at_first if self._scheduled is None else 1
        self._scheduled = self._scheduled or 0
        for _ in range(count):
            if self._setup_ended:
                break
            try:
                setup()
            except StopIteration:
                self._setup_ended = True
                break
            self._scheduled += 1
        if self._scheduled:
            runner = self._runner or self._started()
            if runner.begins_when_asked:
                runner.ask(self._scheduled)

    def take(self) -> tuple[TensorList, ...]:
        """The next batch that was scheduled, safe to use on the current stream.

        Raises:
            StopIteration: none is, or the source has ended.
        """
        if not self._scheduled:
            raise StopIteration
        self._scheduled -= 1
        runner = self._runner or self._started()
        made = runner.next(may_begin=self._may_begin)
        try:
            if runner.begins_when_asked:
                runner.ask(self._scheduled)  # what was scheduled beyond the depth of the queue
        except BaseException:  # Ctrl-C in a source; the next call gives the batch
            runner.give_back(made)
            self._scheduled += 1
            raise
        outputs: tuple[TensorList, ...] = made.deliver()
        self._places = made.places
        return outputs

    def num_samples(self, count: int) -> int:
        """Samples of the last batch that are among the first `count` that it was to have."""
        return count if self._places is None else bisect_left(self._places, count)

    def is_empty(self) -> bool:
        """Whether no batch that was scheduled is left to take; waits for the next one."""
        return not self._scheduled or self._started().has_ended()

    def reset(self) -> bool:
        """Begin the next epoch of external sources that have ended; whether they had."""
        has_ended = self._setup_ended and not self._scheduled
        runner, sources = self._runner, self.program.sources
        if runner is not None and sources.may_end:
            has_ended = runner.resume(sources.reset) or has_ended
        if has_ended:
            self._scheduled, self._setup_ended = None, False
            if runner is not None:
                self._epoch, self._epoch_start = self._epoch + 1, runner.taken
        return has_ended

    def checkpoint(self, seed: int, *, has_seed: bool) -> Checkpoint:
        """The state after the last batch that was taken."""
        self.program.sources.check_has_no_state()
        divisions = tuple(epochs.division for epochs in self.program.epochs.values())
        place = self.next_batch, self._epoch, self._epoch_start
        return Checkpoint(seed, self.program.options.batch_size, *place, divisions, has_seed)

    def stats(self) -> RunStats:
        """Where the time of the stages went."""
        return RunStats() if self._runner is None else self._runner.stats()

    def stop(self) -> None:
        """End the threads and drop the batches made ahead; the program can run again."""
        self._is_closed = True
        if self._runner is not None:
            self._runner.close()

    def close(self) -> None:
        """End the threads, and the worker processes of sources."""
        self.stop()
        self.program.close()

    def _allow_fed(self) -> None:
        """Let the stages begin the batches that all sources were fed."""
        if self._runner is not None:
            self._runner.allow(self.program.sources.num_fed or 0)

    def _started(self) -> StageRunner:
        if self._runner is None:
            if self._is_closed:
                raise ArgumentError("the pipeline is closed")
            program, options = self.program, self.program.options
            fed = program.sources.num_fed
            is_lazy = program.has_effects and (options.depth == 1 or not options.is_async)
            self._runner = StageRunner(
                program.stages(),
                depth=options.depth,
                on_demand=fed is not None or is_lazy,
                first=self._first,
                close_with=program.sources.parallel,
                here=program.here,
            )
            self._allow_fed()  # what was fed meanwhile too
        return self._runner
