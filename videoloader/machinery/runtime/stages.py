"""Runs items through stages that overlap: each has a thread, and a bounded queue after it.

The threads hold no reference to the runner, so that a runner that is dropped is collected. Its
finalizer closes the queues. It may run at any line of any thread, so it takes no lock and waits for
no thread: it only puts a marker into each `SimpleQueue`.
"""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from videoloader.errors import ArgumentError
from videoloader.machinery.runtime.queues import InOrder, Numbers, Queue, QueueClosedError
from videoloader.machinery.runtime.run_stats import RunStats, StageStats
from videoloader.machinery.runtime.stage_thread import (
    ClosedMark,
    FailedItem,
    Stage,
    StageThread,
    close_all,
)
from videoloader.machinery.system.forking import reset_after_fork, spare_torch_threads


class StageRunner:
    """Sends 0, 1, 2, ... through stages, some items ahead of the consumer.

    A stage begins an item only when there is room for what becomes of it: at most `depth` finished
    items wait for the consumer, and as many behind each other stage as it has threads. An error
    takes the place of its item: `next` raises it once, and goes on with the next item.
    StopIteration of the first stage, which has one thread, pauses it until `resume`, which goes on
    with the same number.

    Stages with `is_callers` run in the thread that takes the results: the first stage when `ask` or
    `next` is called, others when `next` is. They block it for as long as they work. A first stage
    of that kind never runs by itself: at most `depth` items that it began are not taken yet.

    One thread at a time takes the results. A forked process gets an error.

    Args:
        stages: at least one.
        depth: finished items that wait for the consumer, at least 1.
        on_demand: begin an item only when `next` or `allow` asks for it.
        first: number of the first item.
        close_with: objects to close with the queues, since stages wait for them; their `close`
            takes no lock.
        here: with `on_demand`, called when `next` begins an item and no other is on its way. If it
            returns a resource, all stages run with it in the thread of `next`; if it returns None,
            they run in their own threads.

    Attributes:
        taken: number of the item that `next` gives next.
        begins_when_asked: whether the first stage runs in the thread of the consumer, see `ask`.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        *,
        depth: int,
        on_demand: bool = False,
        first: int = 0,
        close_with: Sequence[Any] = (),
        here: Callable[[], Any] | None = None,
    ) -> None:
        spare_torch_threads()
        self._numbers = Numbers(first, on_demand=on_demand)
        self._here = here
        self._resumed = Queue(room=1)
        self._depth = depth
        least = depth if stages[0].is_callers else 1  # its caller never waits for room
        rooms = [*(max(least, stage.threads) for stage in stages[:-1])]
        rooms.append(max(depth, stages[-1].threads))
        queues = [Queue(room) for room in rooms]
        self._results = queues[-1]
        self._ahead: list[Any] = []
        self._first = self.taken = first
        self._has_ended = self._is_closed = False
        self._failures: list[BaseException] = []
        self._waited = self._first_at = self._last_at = 0.0
        self._is_in_fork = False
        reset_after_fork(self, StageRunner._note_fork)
        closed = self._closed = ClosedMark()
        closing = [closed, self._numbers, self._resumed, *queues, *close_with]
        failures = self._failures

        def fail(error: BaseException) -> None:
            failures.append(error)
            close_all(closing)

        is_asked = stages[0].is_callers
        head = stages[0] if is_asked else _first_stage(stages[0], self._numbers, self._resumed)
        befores = [self._numbers, *queues[:-1]]
        self._threads: list[StageThread] = []
        for stage, before, behind in zip([head, *stages[1:]], befores, queues, strict=True):
            order = InOrder(before, behind)
            threads = [StageThread(stage, order, fail, closed) for _ in range(stage.threads)]
            if len(threads) == 1 and self._threads and self._threads[-1].stage.threads == 1:
                self._threads[-1].following = threads[0]
            self._threads += threads
        self.begins_when_asked = is_asked
        self._asked = self._threads[0] if is_asked else None
        self._has_asked_all = False
        self._callers = [each for each in self._threads[is_asked:] if each.stage.is_callers]
        self._drawn = 0
        self._end = weakref.finalize(self, close_all, closing)
        self._end.atexit = False  # `stage_thread` does more then
        try:
            for thread in self._threads:
                if not thread.stage.is_callers:
                    thread.begin(closing)
        except BaseException:
            close_all(closing)
            raise

    def next(self, *, may_begin: bool = True) -> Any:
        """The next result.

        Args:
            may_begin: with `on_demand`, begin its item if it was not allowed yet; otherwise
                this waits until another thread does.

        Raises:
            StopIteration: the first stage has no more; see `resume`.
            ArgumentError: the runner is closed, or belongs to another process.
            RuntimeError: a thread could not start what it needs.
        """
        if self._has_ended:
            raise StopIteration
        begin = time.perf_counter()
        resource = self._resource_here() if may_begin else None
        if resource is not None:
            result = self._done_here(resource, begin)
        else:
            if may_begin:
                self.allow(self.taken + 1)
            result = self._take()
        self._last_at = time.perf_counter()
        is_failed = isinstance(result, FailedItem)
        if is_failed and isinstance(result.error, StopIteration):
            self._has_ended = True
            raise StopIteration from result.error
        if self.taken > self._first:
            self._waited += self._last_at - begin
        else:
            self._first_at = self._last_at
        self.taken += 1
        if is_failed:
            raise result.error
        return result

    def allow(self, count: int) -> None:
        """With `on_demand`: begin the first `count` items as soon as there is room."""
        self._numbers.allow(count)

    def ask(self, count: int) -> None:
        """Where the first stage runs in this thread: begin `count` items that are not taken yet.

        At most `depth`, and none that is not allowed; otherwise this does nothing.
        """
        if self._asked is None or self._closed.is_set or self._is_in_fork:
            return  # `next` raises the error
        numbers, stop = self._numbers, self.taken + min(count, self._depth)
        while numbers.next < stop and numbers.is_allowed(numbers.next) and not self._has_asked_all:
            self._ask_once(self._asked)

    def give_back(self, result: Any) -> None:
        """Return the last result again from the next `next`."""
        self._ahead.append(result)
        self.taken -= 1

    def has_ended(self) -> bool:
        """Whether `next` would raise StopIteration; waits for an item that is in the making."""
        is_begun = self._numbers.is_allowed(self.taken)
        if self._asked is not None:
            is_begun = self._has_asked_all or self._numbers.next > self.taken
        if not self._has_ended and is_begun and not self._ahead:
            self._ahead.append(self._take())
        if self._ahead and isinstance(self._ahead[0], FailedItem):
            self._has_ended = isinstance(self._ahead[0].error, StopIteration)
        return self._has_ended

    def resume(self, before: Callable[[], None]) -> bool:
        """Go on after StopIteration when `before` has run; otherwise nothing, and False.

        Waits for an item that is in the making, for it may turn out to be the end.
        """
        if not self.has_ended():
            return False
        self._ahead.clear()
        before()
        self._has_ended = self._has_asked_all = False
        self._numbers.withdraw()
        if self._asked is None:
            self._resumed.put(None)
        return True

    def stats(self) -> RunStats:
        """Statistics so far: batches, and the times of the consumer and of the stages."""
        groups = itertools.groupby(self._threads, key=lambda thread: thread.order)
        members = [(order.behind, list(threads)) for order, threads in groups]
        clocks = [
            (threads[0].stage.name, [thread.clock for thread in threads], behind)
            for behind, threads in members
        ]
        stages = tuple(
            StageStats(
                name,
                sum(clock.items for clock in several),
                sum(clock.busy for clock in several),
                sum(clock.waiting_for_input for clock in several),
                sum(clock.waiting_for_room for clock in several),
                0 if self._is_closed else len(behind),
                behind.room,
            )
            for name, several, behind in clocks
        )
        return RunStats(
            batches=self.taken - self._first,
            seconds=self._last_at - self._first_at,
            waited=self._waited,
            stages=stages,
        )

    def abandon(self) -> None:
        """End the threads, each after the item it works on, without waiting; takes no lock."""
        self._is_closed = True
        self._end()

    def close(self) -> None:
        """End the threads, each after the item it works on, and wait for them."""
        self._is_closed = True
        self._end()
        self._ahead.clear()
        if self._is_in_fork:
            return  # a fork does not have them
        for thread in self._threads:
            if thread.ident is not None and thread is not threading.current_thread():
                thread.join()
        self._results = Queue(room=1)  # drops results that were not taken
        self._results.close()

    def _note_fork(self) -> None:
        self._is_in_fork = True

    def _ask_once(self, thread: StageThread) -> None:
        """Do the next item of the first stage in this thread, when it is allowed.

        What ends a program, such as Ctrl-C, is raised, and the item is begun anew the next time.
        """
        numbers, begin = self._numbers, time.perf_counter()
        place, number = thread.order.take()
        thread.order.begin()
        try:
            item = thread.stage.work(number, None)
        except StopIteration as error:
            numbers.again()
            self._has_asked_all = True
            item = FailedItem(error)
        except Exception as error:  # noqa: BLE001  (it is raised in place of the item)
            item = FailedItem(error)
        except BaseException:
            numbers.again()
            numbers.withdraw()
            thread.order.pass_by()
            raise
        thread.clock.count_here(item, begin)
        thread.hand_on(place, item)

    def _resource_here(self) -> Any:
        """The resource with which this thread makes the next item; None if others make it."""
        if self._here is None or not self._numbers.is_idle(self.taken):
            return None
        if self._closed.is_set or self._is_in_fork:
            return None
        return self._here()

    def _done_here(self, resource: Any, begin: float) -> Any:
        """The next result, made in this thread since `begin`."""
        item: Any = self._numbers.pass_by()
        for thread in self._threads:
            item = thread.done(item, resource)
            begin = thread.clock.count_here(item, begin)
        return item

    def _take(self) -> Any:
        if self._is_in_fork:
            raise ArgumentError(
                "this pipeline or loader runs in the process that this one forked from; "
                "make one here"
            )
        if self._ahead:
            return self._ahead.pop()
        try:
            asked = self._asked
            if asked is not None and self._numbers.next <= self.taken and not self._has_asked_all:
                self._ask_once(asked)
            for thread in self._callers:
                while thread.order.taken <= self._drawn:
                    thread.step()
            result = self._results.get()
            self._drawn += 1
            return result
        except QueueClosedError:
            if self._is_closed:
                raise ArgumentError("the pipeline is closed") from None
            error = self._failures[0]
            # A new error: the old one is kept here, and would keep the frames of the consumer.
            raise RuntimeError(
                f"a thread of the pipeline has ended: {type(error).__name__}: {error}"
            ) from error


def _first_stage(stage: Stage, numbers: Numbers, resumed: Queue) -> Stage:
    """The stage, waiting after a StopIteration that was handed on until it is resumed."""
    has_ended = False

    def work(number: int, resource: Any) -> Any:
        nonlocal has_ended
        if has_ended:
            resumed.get()
            has_ended = False
        try:
            return stage.work(number, resource)
        except StopIteration:
            numbers.again()
            has_ended = True
            raise

    return Stage(stage.name, work, stage.scope, stage.threads)
