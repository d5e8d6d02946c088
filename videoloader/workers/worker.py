"""The supervisor's handle of a worker process: its tasks, results and deadline."""

from __future__ import annotations

import os
import pickle
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Generic, NamedTuple, TypeVar

from videoloader.sources.faults import is_mistake
from videoloader.workers.processes import Helper
from videoloader.workers.program import Order
from videoloader.workers.shared_memory import memory_file

__all__ = ["Failure", "Given", "Parcel", "Result", "WorkerProcess"]

_START_LIMIT = 120.0  # seconds until a worker is ready
# Limits in bytes for one message and for all queued messages: if the socket were full, sending
# would block on a worker that hangs, or that waits until its results are read.
_ROOM, _ROOM_AHEAD = 1 << 14, 1 << 16

_Task = TypeVar("_Task")
_Known = TypeVar("_Known")


class Failure(NamedTuple):
    """Why there is no result: a text, and a kind for grouping."""

    reason: str
    kind: str = "WorkerDied"


class Parcel(NamedTuple):
    """A task as it is sent: the order, and its open files."""

    order: Order
    files: Sequence[int] = ()


class Result(NamedTuple):
    """The result of a task: its number, and its value or error.

    `loss` is set if the task failed because its worker was lost.
    """

    number: int
    value: Any
    failure: Exception | None
    loss: Failure | None = None


class Given(NamedTuple, Generic[_Task]):
    """A task in a worker, and how many workers died during it or while starting for it."""

    number: int
    task: _Task
    deaths: int = 0
    starts: int = 0


class WorkerProcess(Generic[_Task, _Known]):
    """A worker process, its queued tasks, and the state that it is known to have."""

    def __init__(self, known: _Known, time_limit: float, program: dict[str, Any]) -> None:
        ours, theirs = socket.socketpair()
        try:
            arguments = {"files": theirs.fileno(), **program}
            self._helper = Helper(
                f"{Order.__module__}:work", arguments, pass_fds=(theirs.fileno(),)
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._files = ours
        self._known = known
        self.connection: Connection[Any, Any] = self._helper.connection
        self.given: deque[Given[_Task]] = deque()
        self._sizes: deque[int] = deque()  # bytes of the messages of queued tasks
        self._sent = 0  # sum of `_sizes`
        self._time_limit = time_limit
        self.deadline = time.monotonic() + _START_LIMIT
        self.is_ready = False  # it has loaded its libraries

    @property
    def is_alive(self) -> bool:
        """Whether the process is not known to have ended."""
        return self._helper.is_alive

    @property
    def is_full(self) -> bool:
        """Whether sending another message might block."""
        return self._sent > _ROOM_AHEAD - _ROOM

    @property
    def is_alone(self) -> bool:
        """Whether its task is a retry, which must not share a worker with other tasks."""
        return bool(self.given) and self.given[0].deaths + self.given[0].starts > 0

    def give(
        self,
        given: Given[_Task],
        pack: Callable[[_Task, _Known], tuple[Parcel, _Known]],
    ) -> None:
        """Send a task."""
        parcel, known = pack(given.task, self._known)
        data = pickle.dumps((parcel.order, len(parcel.files)))
        file = memory_file(data) if len(data) > _ROOM else None
        if not self.given and self.is_ready:
            self.deadline = time.monotonic() + self._time_limit
        # Before it is sent: of an interrupt in between, the worker must count as busy.
        self.given.append(given)
        self._sizes.append(min(len(data), _ROOM))
        self._sent += self._sizes[-1]
        self._known = known
        try:
            with suppress(OSError):  # if it has died, the supervisor notices when it reads results
                if file is not None:
                    self._send_file(file)
                for descriptor in parcel.files:
                    self._send_file(descriptor)
                self.connection.send_bytes(b"" if file is not None else data)
        finally:
            if file is not None:
                os.close(file)

    def take(self) -> Result | None:
        """Receive a message: a result, or None if the worker reports that it is ready."""
        message: tuple[Any, Exception | None] | None = self.connection.recv()
        self.deadline = time.monotonic() + self._time_limit
        if message is None:
            self.is_ready = True
            return None
        number = self.given.popleft().number
        self._sent -= self._sizes.popleft()
        value, failure = message
        if failure is not None and is_mistake(failure):
            raise failure
        return Result(number, value, failure)

    def death(self) -> str:
        """How the process died."""
        return self._helper.death()

    @property
    def found_memory_full(self) -> bool:
        """Whether it died since there was no room left for shared memory; after `death`."""
        return self._helper.found_memory_full

    def kill(self) -> None:
        """Kill the process without waiting; the thread that waits for it cleans up."""
        self._helper.kill()

    def stop(self) -> None:
        """Kill the process and wait for its end."""
        self._files.close()
        self._helper.stop()

    def _send_file(self, descriptor: int) -> None:
        socket.send_fds(self._files, [b"\0"], [descriptor])
