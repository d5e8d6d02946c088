"""Runs tasks in worker processes; a worker that crashes, hangs or runs out of memory costs a task.

One of the two policies of `protocol`: a worker that is lost is replaced, and its task retried.
Tasks are opaque here: `pack` turns each into an order.
"""

from __future__ import annotations

import itertools
import logging
import signal
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import wait
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from videoloader.errors import DecodeError, ResourceError
from videoloader.machinery.system.faults import as_video_error, is_mistake
from videoloader.machinery.system.forking import Use, reset_after_fork
from videoloader.machinery.workers.process import (
    Parcel,
    StartError,
    WorkerProcess,
    start_program,
    vacant,
)
from videoloader.machinery.workers.protocol import Question
from videoloader.machinery.workers.shared_memory import SharedMemory

_STARTS = 3  # workers that may die before they begin a task
_log = logging.getLogger(__name__)

_Task = TypeVar("_Task")


class TaskFailure(NamedTuple):
    """Why there is no result: a text, and a kind for grouping."""

    reason: str
    kind: str = "WorkerDied"


class Result(NamedTuple):
    """The result of a task: its number, and its value or error.

    `loss` is set if the task failed because its worker was lost.
    """

    number: int
    value: Any
    failure: Exception | None
    loss: TaskFailure | None = None


class _Assigned(NamedTuple, Generic[_Task]):
    """A task in a worker, and how many workers died during it or while starting for it."""

    number: int
    task: _Task
    deaths: int = 0
    starts: int = 0


_Member: TypeAlias = WorkerProcess[_Assigned[_Task]]


class WorkerLostError(DecodeError):
    """The worker process died during a task, or was ended at the time limit."""


class NoWorkerError(ResourceError, DecodeError):
    """No worker process can be started; the cause is the system's own error."""


class Supervisor(Generic[_Task]):
    """Worker processes and their tasks.

    Workers start when there is work, and are kept. A worker that dies, or exceeds the time limit
    for a task, is replaced. A task whose worker died may be retried once, alone in a fresh worker,
    since the worker may have been killed from outside; a second death counts as the task's
    failure. One thread at a time may use this, except for `close`. A fork gets its own workers.

    Args:
        pack: makes the order of a task. `str` of a task names it in messages.
        memory: shared memory that orders use.
        workers: number of processes.
        time_limit: seconds that a task may take.
        memory_limit: bytes that a worker may allocate, see `protocol.run_program`.
        prepare: `module:name` of a function that a worker calls first, to load its libraries.
        preparation: arguments of that call.
        ahead: tasks that are queued in a worker, the current one included.
        tries: number of workers that may die during a task; two by default.
    """

    def __init__(
        self,
        pack: Callable[[_Task], Parcel],
        *,
        workers: int,
        time_limit: float,
        memory_limit: int | None,
        memory: SharedMemory | None = None,
        prepare: str | None = None,
        preparation: dict[str, Any] | None = None,
        ahead: int = 2,
        tries: Callable[[_Task], int] = lambda task: 2,  # noqa: ARG005
    ) -> None:
        self._pack = pack
        self._workers = self._most = workers
        self._time_limit = time_limit
        self._memory = memory
        self._start = partial(
            start_program, prepare=prepare, preparation=preparation, memory_limit=memory_limit
        )
        self._ahead = ahead
        self._tries = tries
        self._team: list[_Member[_Task]] = []
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
            signs = [sign for worker in busy for sign in worker.signs]
            ready = wait(signs, timeout=max(left, 0))
            now = time.monotonic()  # before results are yielded, since the caller may be slow
            for worker in busy:
                if any(sign in ready for sign in worker.signs):
                    yield from self._take(worker, ready, waiting)
                elif now > worker.deadline:
                    loss = TaskFailure(f"it took longer than {self._time_limit:g} s", "TimeLimit")
                    yield _lost(self._lose(worker, waiting), loss)

    def _give(self, waiting: _Waiting[_Task]) -> Iterator[Result]:
        """Send tasks to workers, idle ones first; yields failures of tasks that cannot be sent."""
        vacancies = vacant(
            self._team,
            self._ahead,
            lambda worker: not (worker.is_full or _is_alone(worker)),
            self._hire if len(self._team) < self._most else None,
        )
        while waiting and (worker := next(vacancies, None)) is not None:
            yield from self._hand(worker, waiting.take())

    def _hand(self, worker: _Member[_Task], given: _Assigned[_Task]) -> Iterator[Result]:
        try:
            worker.give(given, self._pack(given.task))
        except Exception as error:
            if is_mistake(error):
                raise
            yield Result(given.number, None, as_video_error(error, given.task))

    def _hire(self) -> bool:
        """Start another worker; returns whether that succeeded. Fewer than wanted are accepted.

        Raises:
            NoWorkerError: there is no worker at all.
        """
        if len(self._team) >= self._most:
            return False
        try:
            worker: _Member[_Task] = WorkerProcess(self._start, self._memory, self._time_limit)
        except (OSError, MemoryError, RuntimeError) as error:
            if not self._team:
                raise NoWorkerError(f"no worker process can be started ({error})") from error
            self._most = len(self._team)
            _log.warning("only %d worker processes: no other starts (%s)", len(self._team), error)
            return False
        self._team.append(worker)
        return True

    def _take(
        self, worker: _Member[_Task], ready: Sequence[Any], waiting: _Waiting[_Task]
    ) -> Iterator[Result]:
        try:
            for answer in worker.read(ready):
                assert not isinstance(answer, Question)
                number = worker.finish().number
                fault = answer.fault
                if fault is not None and fault.is_mistake:
                    raise fault.restored("a worker process")
                yield Result(number, answer.value, None if fault is None else fault.restored())
                if not worker.given:
                    return
            return
        except StartError as error:
            _log.warning("a worker process could not load what it needs:\n%s", error)
        except (EOFError, OSError):
            pass
        reason = f"the worker process died ({worker.death()})"
        lost = self._lose(worker, waiting)
        self._use.check()
        if worker.join() == -signal.SIGBUS:  # it maps nothing but shared memory
            raise ResourceError(
                f"{lost.task}: {reason}: there is no memory left to share with it; raise "
                "the memory limit of the container, or use smaller batches"
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
        yield _lost(lost, TaskFailure(reason))

    def _hire_for(self, lost: _Assigned[_Task]) -> bool:
        """Start a worker for a task whose worker died."""
        try:
            return self._hire()
        except NoWorkerError as error:
            _log.warning("%s: not tried again: %s", lost.task, error)
            return False

    def _lose(self, worker: _Member[_Task], waiting: _Waiting[_Task]) -> _Assigned[_Task]:
        """Dismiss a worker; returns its current task, and requeues the tasks after it."""
        task, *rest = worker.given
        waiting.put_back(rest)
        self._dismiss(worker)
        self.replaced += 1
        return task

    def _dismiss_busy(self) -> None:
        """Stop workers with abandoned tasks: they still write to shared buffers.

        All are killed before any is waited for: another interrupt may end the waiting.
        """
        busy = [worker for worker in self._team if worker.given or self._use.is_closed]
        for worker in busy:
            worker.kill()
        for worker in busy:
            self._dismiss(worker)

    def _dismiss(self, worker: _Member[_Task]) -> None:
        worker.stop()  # first: if an interrupt cuts it short, the next `run` stops the worker
        with suppress(ValueError):  # `close` may have removed it already
            self._team.remove(worker)

    def _let_go(self) -> None:
        """In a fork: forget the workers and their users, which belong to the parent."""
        _stop(self._team)
        self._use.forget()


class _Waiting(Generic[_Task]):
    """Tasks that no worker has; truthy while there are any."""

    def __init__(self, tasks: Iterable[_Task]) -> None:
        self._tasks = itertools.starmap(_Assigned, enumerate(tasks))
        self._first: deque[_Assigned[_Task]] = deque()

    def __bool__(self) -> bool:
        if not self._first:
            self._first.extend(itertools.islice(self._tasks, 1))
        return bool(self._first)

    def take(self) -> _Assigned[_Task]:
        """The next task, if there is one."""
        return self._first.popleft()

    def put_back(self, tasks: Sequence[_Assigned[_Task]]) -> None:
        """Put tasks at the front of the queue, in this order."""
        self._first.extendleft(reversed(tasks))


def _is_alone(worker: WorkerProcess[_Assigned[Any]]) -> bool:
    """Whether its task is a retry, which must not share a worker with other tasks."""
    return bool(worker.given) and worker.given[0].deaths + worker.given[0].starts > 0


def _lost(given: _Assigned[Any], loss: TaskFailure) -> Result:
    return Result(given.number, None, WorkerLostError(f"{given.task}: {loss.reason}"), loss)


def _stop(team: list[WorkerProcess[Any]]) -> None:
    """End workers; thread-safe, since each is removed from the list by one thread only."""
    while team:
        with suppress(IndexError):
            team.pop().stop()
