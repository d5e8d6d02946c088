"""The iterations of a loader: one at a time, and where they stand in their epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from videoloader.errors import ClosedError, TooManyFailuresError
from videoloader.machinery.runtime.run_stats import RunStats
from videoloader.machinery.runtime.stages import StageRunner
from videoloader.machinery.system.forking import ForkSafeLock
from videoloader.sampling.orders.batch_order import BatchOrder
from videoloader.training.batch_content import Batch


class Run(NamedTuple):
    """An iteration: its number, its start within the epoch, and the runner of its stages."""

    number: int
    start: int
    runner: StageRunner


class Iterations:
    """The iterations of a loader; one that begins ends the one that is under way.

    Attributes:
        epoch: that runs, or ran last.
        next_epoch: of the next iteration.
    """

    def __init__(self, order: BatchOrder) -> None:
        self._order = order
        self.epoch = self.next_epoch = 0
        self._done = 0  # samples of the epoch, or batches of the plan, that all ranks have taken
        self._is_resumed = False  # the next iteration begins behind these
        self._has_ended = False  # the last iteration gave all that it had
        self._begun = 0  # iterations
        self._beginning = ForkSafeLock()
        self._runner: StageRunner | None = None
        self._abandoned: list[StageRunner] = []
        self._last_stats = RunStats()

    @property
    def position(self) -> tuple[int, int]:
        """Epoch and position at which a run that resumes from here begins."""
        if self._has_ended or self._order.is_over(self._done, self.epoch):
            return self.next_epoch, 0
        return self.epoch, self._done

    @property
    def stats(self) -> RunStats:
        """Statistics of the iteration that is under way, or of the last one."""
        return self._last_stats if self._runner is None else self._runner.stats()

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next iteration is; one that was resumed goes on where it stood."""
        if self._is_resumed and epoch == self.next_epoch:
            return
        self.next_epoch, self._is_resumed = epoch, False
        if self._runner is None:
            self.epoch, self._done, self._has_ended = epoch, 0, False

    def resume(self, epoch: int, done: int) -> None:
        """End the iteration that is under way; the next one begins at a position."""
        self.end()
        self.epoch = self.next_epoch = epoch
        self._done, self._is_resumed, self._has_ended = done, bool(done), False

    def begin(self, make: Callable[[int, int], StageRunner]) -> Run:
        """Begin the next iteration; `make` gives the runner of an epoch, from a position on."""
        with self._beginning:
            self._begun += 1  # first, so that the iteration which ends knows why
            self.end()
            start = self._done if self._is_resumed else 0
            epoch, self.epoch = self.next_epoch, self.next_epoch
            self.next_epoch, self._done = epoch + 1, start
            self._is_resumed = self._has_ended = False
            self._runner = make(epoch, start)
            return Run(self._begun, start, self._runner)

    def next(self, run: Run, describe: Callable[[], str]) -> Any:
        """The next batch of an iteration; `describe` names the loader in messages.

        Raises:
            StopIteration: there is none.
            ClosedError: another iteration has begun since.
        """
        runner = run.runner
        try:
            if self._runner is not runner:
                raise StopIteration
            try:
                return runner.next()
            finally:
                if self._runner is runner:  # of an error, too: who goes on gets the next batch
                    self._done = self._order.position(runner.taken, run.start, self.epoch)
        except Exception as error:
            if self._begun != run.number:
                raise ClosedError(
                    f"another iteration of {describe()} has begun, which ended this one; a loader "
                    "has one at a time: share its iterator, or make a second loader"
                ) from None
            if self._runner is not runner:  # closed, perhaps by another thread
                raise StopIteration from None
            if isinstance(error, StopIteration):
                self._has_ended = True
            if isinstance(error, StopIteration | TooManyFailuresError):
                self.end()
            raise

    def end(self, run: Run | None = None) -> None:
        """End the iteration that is under way, or this one."""
        if run is not None and self._runner is not run.runner:
            run.runner.close()
            return
        while self._abandoned:
            self._abandoned.pop().close()
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.close()
            self._last_stats = runner.stats()

    def abandon(self, run: Run) -> None:
        """End an iteration, if it is still under way, without waiting for its threads."""
        if self._runner is run.runner:
            self._runner = None
            self._last_stats = run.runner.stats()
            self._abandoned.append(run.runner)  # `end` and the next iteration wait for its threads
        run.runner.abandon()


class LoaderIterator(Iterator[Batch]):
    """The batches of one epoch of a `Loader`, as an iterator.

    The epoch begins with the first `next`. After an error of a batch `next` gives the batch behind
    it. An iteration ends with its last batch, with `close`, with that of its loader, and with
    `load_state_dict`. Where another one of the loader begins, `next` raises `ClosedError`.

    Threads may share it: each batch goes to one of them.
    """

    def __init__(
        self,
        iterations: Iterations,
        make: Callable[[int, int], StageRunner],
        deliver: Callable[[Any], Batch],
        describe: Callable[[], str],
    ) -> None:
        self._iterations = iterations
        self._make, self._deliver, self._describe = make, deliver, describe
        self._run: Run | None = None
        self._is_over = False
        self._lock = ForkSafeLock()

    def __iter__(self) -> LoaderIterator:
        return self

    def __next__(self) -> Batch:
        with self._lock:
            if self._is_over:
                raise StopIteration
            if self._run is None:
                self._run = self._iterations.begin(self._make)
            try:
                return self._deliver(self._iterations.next(self._run, self._describe))
            except (StopIteration, TooManyFailuresError):
                self._is_over = True
                raise

    def close(self) -> None:
        """End the iteration, and drop the batches made ahead."""
        self._is_over = True
        if self._run is not None:
            self._iterations.end(self._run)

    def __del__(self) -> None:
        # May run at any line of any thread, even one that holds the decoder: do not wait here.
        if self._run is not None:
            self._iterations.abandon(self._run)
