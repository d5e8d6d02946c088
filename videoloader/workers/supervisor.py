"""Runs tasks in worker processes; a worker that crashes, hangs or runs out of memory costs a task.

Tasks are opaque here: `pack` turns each into an order that `program.work` executes. A worker has
tasks queued after the current one, so it never waits for the next, and nothing polls.
"""

from __future__ import annotations

import itertools
import logging
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any, Generic, TypeVar

from videoloader.errors import DecodeError, ResourceError
from videoloader.sources.faults import as_video_error, is_mistake
from videoloader.system.forking import reset_after_fork
from videoloader.workers.use import Use
from videoloader.workers.worker import Failure, Given, Parcel, Result, WorkerProcess

__all__ = ["Failure", "NoWorkerError", "Parcel", "Result", "Supervisor", "WorkerLostError"]

_STARTS = 3  # workers that may die before they begin a task
_log = logging.getLogger(__name__)

_Task = TypeVar("_Task")
_Known = TypeVar("_Known")


class WorkerLostError(DecodeError):
    """The worker process died during a task, or was ended at the time limit."""


class NoWorkerError(ResourceError, DecodeError):
    """No worker process can be started; the cause is the system's own error."""


class Supervisor(Generic[_Task, _Known]):
    """Worker processes and their tasks.

    Workers start when there is work, and are kept. A worker that dies, or exceeds the time limit
    for a task, is replaced. A task whose worker died may be retried once, alone in a fresh worker,
    since the worker may have been killed from outside; a second death counts as the task's
    failure. One thread at a time may use this, except for `close`. A fork gets its own workers.

    Args:
        pack: (task, state of its worker) -> order, new state. `str` of a task names it in messages.
        known: makes the state of a fresh worker.
        workers: number of processes.
        time_limit: seconds that a task may take.
        memory_limit: bytes that a worker may allocate, see `program.work`.
        prepare: `module:name` of a function that a worker calls first, to load its libraries.
        preparation: arguments of that call.
        ahead: tasks that are queued in a worker, the current one included.
        tries: number of workers that may die during a task; two by default.
    """

    def __init__(
        self,
        pack: Callable[[_Task, _Known], tuple[Parcel, _Known]],
        known: Callable[[], _Known],
        *,
        workers: int,
        time_limit: float,
        memory_limit: int | None,
        prepare: str | None = None,
        preparation: dict[str, Any] | None = None,
        ahead: int = 2,
        tries: Callable[[_Task], int] = lambda task: 2,  # noqa: ARG005
    ) -> None:
        self._pack = pack
        self._known = known
        self._workers = self._most = workers
        self._time_limit = time_limit
        self._program = {
            "prepare": prepare,
            "preparation": preparation or {},
            "memory_limit": memory_limit,
        }
        self._ahead = ahead
        self._tries = tries
        self._team: list[WorkerProcess[_Task, _Known]] = []
        self._use = Use("the decoder")
        self.replaced = 0
        """Number of workers that died or were ended at the time limit."""
        self._end = weakref.finalize(self, _stop, self._team)
        reset_after_fork(self, Supervisor._let_go)

    def __len__(self) -> int:
        return len(self._team)

    def run(self, tasks: Iterable[_Task]) -> Generator[Result, None, None]:
        """Run tasks; yields the result of each when it is done.

        A task is taken from the iterable when a worker has room for it. Programming errors in a
        worker (`TypeError` and the like) are raised here.

        Raises:
            ClosedError: `close` was called meanwhile.
            NoWorkerError: no worker can be started.
            ResourceError: there is no memory left to share with a worker.
        """
        with self._use:
            self._most = self._workers
            self._dismiss_busy()  # what an interrupt of the last `run` may have left
            try:
                yield from self._run(_Waiting(tasks))
            finally:
                self._dismiss_busy()

    def close(self) -> None:
        """End the workers immediately and permanently. Any thread may call this."""
        self._use.is_closed = True
        for worker in list(self._team):
            worker.kill()  # the thread that waits for it gets an end of file
        if self._use.wait():
            _stop(self._team)

    def _run(self, waiting: _Waiting[_Task]) -> Iterator[Result]:
        """Keep all workers busy until no task is left."""
        for worker in [worker for worker in self._team if not worker.is_alive]:
            self._dismiss(worker)
            self.replaced += 1
        while True:
            yield from self._give(waiting)
            self._use.check()
            busy = [worker for worker in self._team if worker.given]
            if not busy:
                return
            left = min(worker.deadline for worker in busy) - time.monotonic()
            ready = wait([worker.connection for worker in busy], timeout=max(left, 0))
            now = time.monotonic()  # before results are yielded, since the caller may be slow
            for worker in busy:
                if worker.connection in ready:
                    yield from self._take(worker, waiting)
                elif now > worker.deadline:
                    loss = Failure(f"it took longer than {self._time_limit:g} s", "TimeLimit")
                    yield _lost(self._lose(worker, waiting), loss)

    def _give(self, waiting: _Waiting[_Task]) -> Iterator[Result]:
        """Send tasks to workers, idle ones first; yields failures of tasks that cannot be sent."""
        full = len(self._team) >= self._most
        held = [len(worker.given) for worker in self._team if not worker.is_alone]
        for depth in range(min(held, default=0) + 1 if full else 1, self._ahead + 1):
            place = 0
            while place < self._most and waiting:
                if place == len(self._team) and not self._hire():
                    break
                worker = self._team[place]
                if worker.is_alone or worker.is_full or len(worker.given) >= depth:
                    place += 1
                else:
                    yield from self._hand(worker, waiting.take())

    def _hand(self, worker: WorkerProcess[_Task, _Known], given: Given[_Task]) -> Iterator[Result]:
        try:
            worker.give(given, self._pack)
        except Exception as error:
            if is_mistake(error):
                raise
            yield Result(given.number, None, as_video_error(error, given.task))

    def _hire(self) -> bool:
        """Start another worker; returns whether that succeeded. Fewer than wanted are accepted.

        Raises:
            NoWorkerError: there is no worker at all.
        """
        try:
            worker: WorkerProcess[_Task, _Known] = WorkerProcess(
                self._known(), self._time_limit, self._program
            )
        except (OSError, MemoryError, RuntimeError) as error:
            if not self._team:
                raise NoWorkerError(f"no worker process can be started ({error})") from error
            self._most = len(self._team)
            _log.warning("only %d worker processes: no other starts (%s)", len(self._team), error)
            return False
        self._team.append(worker)
        return True

    def _take(
        self, worker: WorkerProcess[_Task, _Known], waiting: _Waiting[_Task]
    ) -> Iterator[Result]:
        try:
            while True:
                result = worker.take()
                if result is not None:
                    yield result
                if not worker.given or not worker.connection.poll():
                    return
        except (EOFError, OSError):
            reason = worker.death()
        lost = self._lose(worker, waiting)
        self._use.check()
        if worker.found_memory_full:
            raise ResourceError(
                f"{lost.task}: {reason}: there is no memory left to share with it; enlarge "
                "/dev/shm or the memory limit of the container, or use smaller batches"
            )
        if worker.is_ready:
            lost = lost._replace(deaths=lost.deaths + 1)
        else:
            lost = lost._replace(starts=lost.starts + 1)
        if lost.deaths < self._tries(lost.task) and lost.starts < _STARTS and self._hire_for(lost):
            yield from self._hand(self._team[-1], lost)
            return
        if lost.deaths + lost.starts > 1:
            reason = f"{reason}, as another one did at this task before"
        yield _lost(lost, Failure(reason))

    def _hire_for(self, lost: Given[_Task]) -> bool:
        """Start a worker for a task whose worker died."""
        try:
            return self._hire()
        except NoWorkerError as error:
            _log.warning("%s: not tried again: %s", lost.task, error)
            return False

    def _lose(self, worker: WorkerProcess[_Task, _Known], waiting: _Waiting[_Task]) -> Given[_Task]:
        """Dismiss a worker; returns its current task, and requeues the tasks after it."""
        task, *rest = worker.given
        waiting.put_back(rest)
        self._dismiss(worker)
        self.replaced += 1
        return task

    def _dismiss_busy(self) -> None:
        """End workers whose results nobody waits for, and which write into memory of others.

        All are killed before any is waited for, which another interrupt may cut short.
        """
        busy = [worker for worker in self._team if worker.given or self._use.is_closed]
        for worker in busy:
            worker.kill()
        for worker in busy:
            self._dismiss(worker)

    def _dismiss(self, worker: WorkerProcess[_Task, _Known]) -> None:
        with suppress(ValueError):  # `close` may have removed it already
            self._team.remove(worker)
        worker.stop()

    def _let_go(self) -> None:
        """In a fork: forget the workers and their users, which belong to the parent."""
        _stop(self._team)
        self._use.forget()


class _Waiting(Generic[_Task]):
    """Tasks that no worker has; truthy while there are any."""

    def __init__(self, tasks: Iterable[_Task]) -> None:
        self._tasks = itertools.starmap(Given, enumerate(tasks))
        self._first: deque[Given[_Task]] = deque()

    def __bool__(self) -> bool:
        if not self._first:
            self._first.extend(itertools.islice(self._tasks, 1))
        return bool(self._first)

    def take(self) -> Given[_Task]:
        """The next task, if there is one."""
        return self._first.popleft()

    def put_back(self, tasks: Sequence[Given[_Task]]) -> None:
        """Put tasks at the front of the queue, in this order."""
        self._first.extendleft(reversed(tasks))


def _lost(given: Given[Any], loss: Failure) -> Result:
    return Result(given.number, None, WorkerLostError(f"{given.task}: {loss.reason}"), loss)


def _stop(team: list[WorkerProcess[Any, Any]]) -> None:
    """End workers; thread-safe, since each is removed from the list by one thread only."""
    while team:
        with suppress(IndexError):
            team.pop().stop()
