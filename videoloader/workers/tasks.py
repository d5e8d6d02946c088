"""Work on videos in processes that may crash or hang without harm to the others' work."""

from __future__ import annotations

import os
import pickle
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from videoloader.workers.processes import Helper, limit_memory, load

__all__ = ["Failure", "run_tasks", "work"]

_BATCH = 128  # tasks that a worker is given ahead, so that it never waits for more
_START_LIMIT = 120.0  # seconds until a process is there
_ROOM = 1 << 16  # bytes of them; a socket that is full makes both sides wait for each other


class Failure(NamedTuple):
    """In place of a result: why there is none, in words and as a kind to group by."""

    reason: str
    kind: str = "WorkerDied"


def run_tasks(
    function: str,
    tasks: Sequence[Any],
    *,
    workers: int | None,
    time_limit: float,
    arguments: dict[str, Any] | None = None,
    memory_limit: int | None = None,
) -> Iterator[tuple[Any, Any]]:
    """Call a function on each task; give task and result in the order in which they are done.

    A worker that dies, or works on one task for longer than the limit, costs that task only: its
    result is a `Failure`, and another worker goes on with the rest.

    Args:
        function: `module:name` of what is called as `name(task, **arguments)`.
        tasks: anything that pickles.
        workers: number of processes; 0 works in this one, without protection, and None stands
            for as many as this process may use processors.
        time_limit: seconds for one task.
        arguments: for every call; anything that JSON holds.
        memory_limit: bytes that a worker may allocate.
    """
    arguments = arguments or {}
    if workers is None:
        workers = len(os.sched_getaffinity(0))
    if workers == 0:
        call = load(function)
        for task in tasks:
            yield task, call(task, **arguments)
        return
    waiting = deque(tasks)
    team: list[_Worker] = []
    try:
        for _ in range(min(workers, len(tasks))):
            try:
                team.append(_Worker(function, arguments, memory_limit))
            except OSError:
                if not team:
                    raise
                break  # fewer do as well
        while waiting or any(worker.given for worker in team):
            for worker in team:
                worker.give(waiting)
            ready = wait([w.connection for w in team if w.given], timeout=min(time_limit, 1.0))
            for worker in team:
                if worker.connection in ready:
                    yield from worker.take()
                elif worker.given and worker.seconds > time_limit:
                    yield worker.give_up(f"it took longer than {time_limit:g} s", "TimeLimit")
    finally:
        for worker in team:
            worker.stop()


class _Worker:
    """A process, the tasks it was given, and when it began with the first of them.

    The clock begins when the process is there, however long the machine takes to start it.
    """

    def __init__(self, function: str, arguments: dict[str, Any], memory_limit: int | None) -> None:
        self._arguments = {
            "function": function,
            "arguments": arguments,
            "memory_limit": memory_limit,
        }
        self.given: deque[Any] = deque()
        self._sizes: deque[int] = deque()
        self._since = 0.0
        self._is_ready = False
        self._start()

    @property
    def seconds(self) -> float:
        """How long it has been at the first task."""
        return time.monotonic() - self._since

    def give(self, waiting: deque[Any]) -> None:
        """Hand over tasks as long as few are left to do."""
        while waiting and len(self.given) < _BATCH:
            data = pickle.dumps(waiting[0])
            if self.given and sum(self._sizes) + len(data) > _ROOM:
                return
            if not self.given:
                self._since = max(self._since, time.monotonic())
            self._add(waiting.popleft(), data)

    def _add(self, task: Any, data: bytes) -> None:
        self.given.append(task)
        self._sizes.append(len(data))
        with suppress(OSError):  # if it has died already, `take` finds out
            self.connection.send_bytes(data)

    def take(self) -> Iterator[tuple[Any, Any]]:
        """The results that have arrived; if the process has died, the one that says so."""
        try:
            while self.given and self.connection.poll():
                result = self.connection.recv()
                self._since = time.monotonic()
                if self._is_ready:
                    self._sizes.popleft()
                    yield self.given.popleft(), result
                self._is_ready = True
        except (EOFError, OSError):
            yield self.give_up(self._helper.death())

    def give_up(self, reason: str, kind: str = "WorkerDied") -> tuple[Any, Failure]:
        """Blame the task at hand, and begin again with the next."""
        self.stop()
        task, *rest = self.given
        self.given.clear()
        self._sizes.clear()
        self._start()
        for other in rest:
            self._add(other, pickle.dumps(other))
        return task, Failure(reason, kind)

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._helper.stop()

    def _start(self) -> None:
        self._helper = Helper(f"{__name__}:work", self._arguments)
        self.connection = self._helper.connection
        self._is_ready = False  # its first message says that it is
        self._since = time.monotonic() + _START_LIMIT


def work(
    descriptor: int, *, function: str, arguments: dict[str, Any], memory_limit: int | None
) -> None:
    """What a worker does: results for the tasks that come, until nobody is there to take them."""
    call = load(function)
    if memory_limit is not None:
        import av  # noqa: F401  (is not counted)

        limit_memory(memory_limit)
    with Connection(descriptor) as connection:
        try:
            connection.send("ready")
            while True:
                connection.send(call(connection.recv(), **arguments))
        except (EOFError, OSError):
            return
