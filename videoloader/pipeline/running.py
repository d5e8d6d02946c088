"""The batches of a pipeline: scheduled, waited for and taken, epoch by epoch."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from videoloader.pipeline.feeding import Feeding
from videoloader.pipeline.inspection import Inspection
from videoloader.runtime.stages import StageRunner
from videoloader.system.forking import ForkSafeLock, in_turn
from videoloader.tensors import TensorList

if TYPE_CHECKING:
    from videoloader.pipeline.run.checkpoint import Checkpoint
    from videoloader.pipeline.run.program import Program

__all__ = ["Running"]


class Running(Feeding, Inspection):
    """The methods of a pipeline that give batches."""

    _turn: ForkSafeLock
    _state: Checkpoint | None
    _scheduled: int | None
    _setup_ended: bool
    _places: Sequence[int] | None
    _epoch: int
    _epoch_start: int

    def _built(self) -> Program:
        raise NotImplementedError

    @in_turn
    def run(self, cuda_stream: Any = None, /, **inputs: Any) -> tuple[TensorList, ...]:
        """The next batch, one `TensorList` for each output; the caller owns its memory.

        Threads may call this: they take turns, and each batch goes to one of them.

        Args:
            cuda_stream: a `torch.cuda.Stream` on which the outputs are used; by default the
                current one.
            **inputs: a batch for each external source of that name; see `feed_input`.

        Raises:
            OperatorError: an operator failed on a sample of this batch, which is lost; the next
                call gives the next batch.
            StopIteration: an external source has ended; `reset` begins its next epoch.
        """
        for name, data in inputs.items():
            self.feed_input(name, data)
        self.schedule_run()
        return self.outputs(cuda_stream)

    @in_turn
    def schedule_run(self) -> None:
        """Begin one more batch without waiting for it; the first time, as many as queues hold.

        `outputs` or `share_outputs` gives it.
        """
        first = self.prefetch_queue_depth if self.exec_pipelined else 1
        count = first if self._scheduled is None else 1
        self._scheduled = self._scheduled or 0
        self._built()
        for _ in range(count):
            if self._setup_ended:
                break
            try:
                self.iter_setup()
            except StopIteration:
                self._setup_ended = True
                break
            self._scheduled += 1
        if self._scheduled:
            self._started().ask(self._scheduled)

    @in_turn
    def outputs(self, cuda_stream: Any = None) -> tuple[TensorList, ...]:
        """The next batch that was scheduled.

        Args:
            cuda_stream: a `torch.cuda.Stream` on which the outputs are used; by default the
                current one.

        Raises:
            StopIteration: none is, or the source has ended.
        """
        if not self._scheduled:
            raise StopIteration
        self._scheduled -= 1
        if cuda_stream is None:
            outputs = self._next_outputs()
        else:
            with torch.cuda.stream(cuda_stream):
                outputs = self._next_outputs()
        self._expected.check(outputs)
        self._monitor.take(self, len(outputs[0]))
        return outputs

    def _next_outputs(self) -> tuple[TensorList, ...]:
        """The next batch, for what is queued on the current stream from here on."""
        runner = self._started()
        made = runner.next(may_begin=not self._built().sources.is_blocking)
        try:
            runner.ask(self._scheduled or 0)  # what was scheduled beyond the depth of the queue
        except BaseException:  # Ctrl-C in a source; the next call gives the batch
            runner.give_back(made)
            self._scheduled = (self._scheduled or 0) + 1
            raise
        outputs: tuple[TensorList, ...] = made.deliver()
        self._places = made.places
        return outputs

    def num_samples(self, count: int) -> int:
        """Samples of the last batch that are among the first `count` that it was to have.

        As many, unless `on_error="skip"` left some out.
        """
        return count if self._places is None else bisect_left(self._places, count)

    share_outputs = outputs

    def release_outputs(self) -> None:
        """Nothing to do: a batch belongs to whoever took it."""

    @in_turn
    def empty(self) -> bool:
        """Whether no batch that was scheduled is left to take.

        Waits for the next one, for it may turn out to be the end.
        """
        return not self._scheduled or self._started().has_ended()

    def iter_setup(self) -> None:
        """Called before each batch begins; subclasses feed sources here.

        StopIteration ends the epoch.
        """

    @property
    def resumed_at(self) -> int:
        """Number of the first batch: 0, or by the checkpoint."""
        return 0 if self._state is None else self._state.batches

    @property
    def next_batch(self) -> int:
        """Number of the batch that `run` gives next."""
        return self.resumed_at if self._runner is None else self._runner.taken

    @in_turn
    def reset(self) -> bool:
        """Begin the next epoch of external sources that have ended; otherwise do nothing.

        They have ended when no batch is left to take; where the next one is still in the making,
        this waits for it.

        Returns:
            Whether they had ended.
        """
        has_ended = self._setup_ended and not self._scheduled
        if self._runner is not None and self._program is not None and self._program.sources.may_end:
            has_ended = self._runner.resume(self._program.sources.reset) or has_ended
        if has_ended:
            self._scheduled, self._setup_ended = None, False
            if self._runner is not None:
                self._epoch, self._epoch_start = self._epoch + 1, self._runner.taken
        return has_ended

    def _started(self) -> StageRunner:
        program = self._built()
        if self._runner is None:
            is_lazy = program.has_effects and (
                self.prefetch_queue_depth == 1 or not self.exec_async
            )
            self._runner = StageRunner(
                program.stages(),
                depth=self.prefetch_queue_depth,
                on_demand=program.sources.num_fed is not None or is_lazy,
                first=self.resumed_at,
                close_with=program.sources.parallel,
                here=program.here,
            )
            # Read only now: what another thread fed meanwhile has found no runner.
            self._runner.allow(program.sources.num_fed or 0)
        return self._runner
