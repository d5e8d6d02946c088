"""The worker processes of a pool, their orders, and the thread that reads their answers."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import send_handle
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import VideoError
from videoloader.workers.python_jobs import Column
from videoloader.workers.python_program import Done, Failed, Needed, Order, Ready, Room, views
from videoloader.workers.shared_memory import SharedMemory

__all__ = ["Answer", "Given", "PythonWorkerError", "Team", "TeamWorker", "end_of", "observe"]

_AHEAD = 2  # orders per worker at a time: it continues while the first answer is read
_SPARE = 4  # memory that was too small is replaced by 1/4 more than needed
_KILL_LIMIT = 1.0  # seconds to wait for the end of a killed process


class PythonWorkerError(VideoError, RuntimeError):
    """A worker process that runs Python code cannot start, or has died."""


class Answer(NamedTuple):
    """The answer to an order: its outputs or its error.

    `size` is the bytes of memory that it had.
    """

    ticket: int
    columns: list[Column] | None
    error: BaseException | None
    size: int


@dataclass(slots=True)
class Given:
    """A pending order, and the memory for its outputs."""

    ticket: int
    source: int
    work: Any
    size: int
    answers: queue.SimpleQueue[Answer | None]
    slot: NDArray[Any] | None = None


@dataclass(slots=True, eq=False)
class TeamWorker:
    """A worker process and its pending orders, oldest first."""

    number: int
    process: Any
    connection: Connection[Any, Any]
    end: int
    """pidfd, which becomes readable when the process ends; -1 if the system has none."""
    given: deque[Given] = field(default_factory=deque)
    own: deque[Given] = field(default_factory=deque)
    """Queued orders that only this worker may execute."""
    known: set[int] = field(default_factory=set)
    """Segments of shared memory that it has mapped."""

    def is_stopped(self) -> bool:
        """Whether a signal such as SIGSTOP keeps the process from running; False if unknown."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="utf-8", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[0] == "T"
        except (OSError, IndexError):  # it has ended, or a system without this
            return False

    def death(self) -> str:
        """How the process ended."""
        self.process.join()
        code = self.process.exitcode
        if code is None or code >= 0:
            return f"exit code {code}"
        with suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
        return f"signal {-code}"


class Team:
    """Workers and their orders. Shared by submitting threads and the thread that reads answers."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.workers: list[TeamWorker] = []
        self.lock = threading.Lock()
        self.memory = SharedMemory()
        self.shared: deque[Given] = deque()
        self.failure = ""
        """Why no more orders are executed; text, as an exception's frames would hold the pool."""
        self.is_closed = False
        self.owner = os.getpid()

    def give(self, order: Given, worker: int | None) -> None:
        """Queue an order, for one worker or for any."""
        with self.lock:
            if not self.failure:
                (self.shared if worker is None else self.workers[worker].own).append(order)
                self._send_all()
                return
        order.answers.put(_lost(order, self.failure))

    def read(self, worker: TeamWorker) -> None:
        """Process the messages of a worker that have arrived.

        Raises:
            EOFError, OSError: it has closed the connection.
        """
        while worker.connection.poll():
            message = worker.connection.recv()
            if isinstance(message, Ready):
                if message.error:
                    self.fail(f"a Python worker cannot load the callables:\n{message.error}")
                continue
            with self.lock:
                if not worker.given:  # another worker has died, and `fail` has answered this order
                    continue
                given = worker.given[0]
                if isinstance(message, Needed):
                    given.size = message.size + message.size // _SPARE  # outputs may grow further
                    worker.connection.send(room := self._room(worker, given))
                    self._send_file(worker, room)
                    continue
                worker.given.popleft()
                self._send_all()
            given.answers.put(_answer(given, message))

    def fail(self, reason: str) -> None:
        """Answer every order with an error, now and later."""
        with self.lock:
            self.failure = self.failure or reason
            lost = [*self.shared]
            self.shared.clear()
            for worker in self.workers:
                lost += [*worker.given, *worker.own]
                worker.given.clear()
                worker.own.clear()
        for given in lost:
            given.answers.put(_lost(given, self.failure))

    def stopped(self) -> set[int]:
        """Numbers of workers that have work and are stopped."""
        return {worker.number for worker in self.workers if worker.given and worker.is_stopped()}

    def give_up(self, number: int, seconds: float) -> None:
        """End the processes because one has been stopped for so long."""
        worker = self.workers[number]
        at_work = f", at work for {self.names[worker.given[0].source]}," if worker.given else ""
        self.fail(
            f"Python worker {number} (process {worker.process.pid}){at_work} has been stopped by a "
            f"signal for {seconds:.0f} s; the workers are ended"
        )
        self.end()

    def end(self) -> None:
        """End the processes. Takes no lock, since finalizers call it, in any thread at any line."""
        self.is_closed = True
        if os.getpid() == self.owner:
            for worker in self.workers:
                worker.process.kill()
            for worker in self.workers:
                worker.process.join(_KILL_LIMIT)

    def _send_all(self) -> None:
        """Send queued orders to workers with room, idle workers first."""
        for depth in range(1, _AHEAD + 1):
            for worker in self.workers:
                waiting = worker.own or self.shared
                if waiting and len(worker.given) < depth:
                    self._send(worker, waiting.popleft())

    def _send(self, worker: TeamWorker, given: Given) -> None:
        room = self._room(worker, given)
        worker.given.append(given)
        with suppress(OSError):  # it has died; `observe` notices that
            worker.connection.send(Order(given.ticket, given.source, given.work, room))
            self._send_file(worker, room)

    def _room(self, worker: TeamWorker, given: Given) -> Room:
        given.slot = self.memory.allocate((given.size,), np.uint8)
        place = self.memory.locate(given.slot)
        gone = tuple(filter(self.memory.gone, worker.known))
        worker.known.difference_update(gone)
        is_new = place.segment not in worker.known
        worker.known.add(place.segment)
        return Room(place, is_new, gone)

    def _send_file(self, worker: TeamWorker, room: Room) -> None:
        if room.is_new:
            descriptor = self.memory.descriptor(room.place.segment)
            send_handle(worker.connection, descriptor, worker.process.pid)


def end_of(pid: int) -> int:
    """A pidfd, which becomes readable when a process ends; -1 if the system has none."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return -1


def observe(team: Team) -> None:
    """Read answers until the workers are ended."""
    watched: dict[Any, TeamWorker] = {}
    for worker in team.workers:
        watched[worker.connection] = worker
        if worker.end >= 0:
            watched[worker.end] = worker
    while not team.is_closed:
        for ready in wait(list(watched)):
            worker = watched[ready]
            try:
                team.read(worker)
                has_ended = ready == worker.end
            except (EOFError, OSError):
                has_ended = True
            if team.is_closed:
                break
            if has_ended:
                _report(team, worker)
                team.end()
    team.fail("the Python workers of the pipeline were ended")
    for worker in team.workers:
        worker.connection.close()
        if worker.end >= 0:
            os.close(worker.end)
    team.memory.close()


def _report(team: Team, worker: TeamWorker) -> None:
    at_work = f", at work for {team.names[worker.given[0].source]}" if worker.given else ""
    pid = worker.process.pid
    team.fail(f"Python worker {worker.number} (process {pid}) died ({worker.death()}){at_work}")


def _lost(given: Given, reason: str) -> Answer:
    return Answer(given.ticket, None, PythonWorkerError(reason), given.size)


def _answer(given: Given, message: Done | Failed) -> Answer:
    if isinstance(message, Done):
        assert given.slot is not None
        return Answer(given.ticket, views(given.slot, message.layout), None, given.size)
    return Answer(given.ticket, None, _raised(message), given.size)


def _raised(message: Failed) -> BaseException:
    """The error of a worker; its traceback there is a note."""
    error: BaseException = RuntimeError(message.text)
    if message.error:
        with suppress(Exception):  # its class cannot be imported here
            error = pickle.loads(message.error)
    if not isinstance(error, Exception):  # KeyboardInterrupt and SystemExit end the worker's task
        error = RuntimeError(message.text)
    error.add_note(f"in a Python worker process:\n{message.trace}")
    return error
