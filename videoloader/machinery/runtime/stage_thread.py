"""A thread of a stage, which takes items from one queue and puts results into the next.

A stage that runs in the thread of the consumer has one of these too, which is never started: the
consumer has it do one item after the other.

The threads hold no reference to whoever runs them. When the interpreter exits, it ends those that
still run, and waits for them.
"""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from videoloader.machinery.runtime.queues import InOrder, QueueClosedError

_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the way of every item.

    Args:
        name: for `stats` and the names of threads.
        work: makes the next stage's item of an item and of what `scope` gave.
        scope: entered by each thread of the stage around all its work, such as a CUDA stream.
        threads: that work on items at the same time; what becomes of them is put in order again.
        is_little: whether the next item is so little work that handing it over costs as much. If
            no other item is on its way, the thread of the stage before does it then, with None as
            the resource. By default never.
        is_callers: whether the thread that takes the results does the work, one item at a time; see
            `StageRunner`.
    """

    name: str
    work: Callable[[Any, Any], Any]
    scope: Callable[[], AbstractContextManager[Any]] = nullcontext
    threads: int = 1
    is_little: Callable[[], bool] | None = None
    is_callers: bool = False


@dataclass(frozen=True, slots=True)
class FailedItem:
    """Takes the place of an item; later stages pass it on."""

    error: BaseException


class _Clock:
    """Counts of one stage. Written by its thread, read by others."""

    def __init__(self) -> None:
        self.items = 0
        self.busy = self.waiting_for_input = self.waiting_for_room = 0.0
        self._last = time.perf_counter()

    def count(self, item: Any) -> None:
        """Count an item that was made: no failure, and no mark of the end."""
        self.items += not isinstance(item, FailedItem)

    def count_here(self, item: Any, begin: float) -> float:
        """Count an item that another thread has made since `begin`; the time now."""
        now = time.perf_counter()
        self.count(item)
        self.busy += now - begin
        self.waiting_for_input += begin - self._last
        self._last = now
        return now

    def lap(self) -> float:
        """Seconds since the last lap."""
        now = time.perf_counter()
        last, self._last = self._last, now
        return now - last


class ClosedMark:
    """Set once, when a runner is closed or dropped."""

    is_set = False

    def close(self) -> None:
        """Set it."""
        self.is_set = True


class StageThread(threading.Thread):
    """Runs a stage until one of its queues is closed."""

    def __init__(
        self,
        stage: Stage,
        order: InOrder,
        fail: Callable[[BaseException], None],
        closed: ClosedMark,
    ) -> None:
        super().__init__(name=f"videoloader-{next(_numbers)}-{stage.name}", daemon=True)
        self.stage = stage
        self.clock = _Clock()
        self.closed = closed
        self.order = order
        self.following: StageThread | None = None
        """The next stage, whose small items this thread may do."""
        self._fail = fail

    def begin(self, closing: Sequence[Any]) -> None:
        """Start; `closing` are closed to end the thread if the interpreter exits."""
        _running[self] = closing
        self.start()

    def run(self) -> None:
        """Work until a queue is closed; `begin` has it called."""
        try:
            with self.stage.scope() as resource, suppress(QueueClosedError):
                self._work(resource)
        except BaseException as error:  # noqa: BLE001  (it is raised in the consumer)
            self._fail(error)
        finally:
            # The queues may hold an error whose frames hold this thread: the entry would stay.
            _running.pop(self, None)

    def _work(self, resource: Any) -> None:
        clock, order = self.clock, self.order
        clock.lap()
        while True:
            place, item = order.take()
            clock.waiting_for_input += clock.lap()
            order.begin()
            clock.waiting_for_room += clock.lap()
            item = self.done(item, resource)
            clock.count(item)
            clock.busy += clock.lap()
            self.hand_on(place, item)
            clock.lap()
            item = None  # so that only the next stage refers to it

    def step(self) -> None:
        """Do one item in the thread that calls this, when it is there."""
        place, item = self.order.take()
        self.order.begin()
        begin = time.perf_counter()
        with self.stage.scope() as resource:
            item = self.done(item, resource)
        self.clock.count_here(item, begin)
        self.hand_on(place, item)

    def hand_on(self, place: int, item: Any) -> None:
        """Hand on an item, after doing the work of following stages that is little enough."""
        last = self
        while (following := last.following) is not None and last._may_do(following):
            following.order.behind.reserve()
            begin = time.perf_counter()
            item = following.done(item, None)
            following.clock.count_here(item, begin)
            if last is self:
                self.order.pass_by()
            else:
                last.order.behind.free()
            last = following
        if last is self:
            self.order.give(place, item)
        else:
            last.order.put(item)

    def done(self, item: Any, resource: Any) -> Any:
        """The result of the stage for an item; a failure if it or an earlier stage fails."""
        if isinstance(item, FailedItem):
            return item
        try:
            return self.stage.work(item, resource)
        except BaseException as error:  # noqa: BLE001  (it is raised in the consumer)
            return FailedItem(error)

    def _may_do(self, following: StageThread) -> bool:
        is_little = following.stage.is_little
        if is_little is None or not self.order.is_idle_behind(following.order):
            return False
        return is_little()


def is_wanted() -> Callable[[], bool]:
    """Called in the thread of a stage: a function that says whether the runner is still open."""
    thread = threading.current_thread()
    if not isinstance(thread, StageThread):
        return lambda: True
    closed = thread.closed
    return lambda: not closed.is_set


def close_all(queues: Sequence[Any]) -> None:
    """Close what has `close`, such as queues."""
    for each in queues:
        each.close()


_running: weakref.WeakKeyDictionary[threading.Thread, Sequence[Any]] = weakref.WeakKeyDictionary()


@atexit.register
def _end_all() -> None:
    """End threads that were not closed: one in native code must not outlive the interpreter."""
    # `keyrefs` copies at once; threads that end take themselves out meanwhile.
    threads = [thread for ref in _running.keyrefs() if (thread := ref()) is not None]
    for thread in threads:
        close_all(_running.get(thread, ()))
    for thread in threads:
        if thread.ident is not None and thread is not threading.current_thread():
            thread.join()


os.register_at_fork(after_in_child=_running.clear)
