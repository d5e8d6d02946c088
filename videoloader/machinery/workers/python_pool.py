"""Worker processes that run the Python code of parallel sources.

One of the two policies of `protocol`: the callables have state, so a worker that dies, or that a
signal has stopped for long, takes the pool with it, and every order is answered by an error.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import queue
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.errors import ArgumentError, VideoError
from videoloader.machinery.system.pickling import CallbackPickler
from videoloader.machinery.workers.process import Parcel, StartError, WorkerProcess, vacant
from videoloader.machinery.workers.protocol import Answer, Question, Reply
from videoloader.machinery.workers.python_jobs import (
    Column,
    Job,
    JobCommand,
    views,
    work_for_sources,
)
from videoloader.machinery.workers.shared_memory import SharedMemory

_AHEAD = 2  # orders per worker at a time: it continues while the first answer is read
_SPARE = 4  # memory that was too small is replaced by 1/4 more than needed
_KILL_LIMIT = 1.0  # seconds to wait for the end of a killed process

_log = logging.getLogger(__name__)


class PythonWorkerError(VideoError, RuntimeError):
    """A worker process that runs Python code cannot start, or has died."""


class Outcome(NamedTuple):
    """The result of an order: its outputs or its error.

    `size` is the bytes of memory that it had.
    """

    ticket: int
    columns: list[Column] | None
    error: BaseException | None
    size: int


@dataclass(slots=True)
class _Assigned:
    """A pending order, and the memory for its outputs."""

    ticket: int
    source: int
    work: Any
    size: int
    answers: queue.SimpleQueue[Outcome | None]
    slot: NDArray[Any] | None = None

    def lose(self, reason: str) -> None:
        """Answer with an error of the pool."""
        self.answers.put(Outcome(self.ticket, None, PythonWorkerError(reason), self.size))


class _Team:
    """Workers and their orders. Shared by submitting threads and the thread that reads answers."""

    def __init__(self, names: Sequence[str]) -> None:
        self.workers: list[WorkerProcess[_Assigned]] = []
        self.memory = SharedMemory()
        self.is_closed = False
        self.owner = os.getpid()
        self._names = names
        self._lock = threading.Lock()
        self._shared: deque[_Assigned] = deque()
        self._own: dict[int, deque[_Assigned]] = {}  # orders that only one worker may execute
        self._failure = ""  # why no more orders are executed; not an exception, which holds frames

    def give(self, order: _Assigned, number: int | None) -> None:
        """Queue an order, for the worker with a number or for any."""
        with self._lock:
            if not self._failure:
                waiting = self._shared
                if number is not None:
                    waiting = self._own.setdefault(self.workers[number].pid, deque())
                waiting.append(order)
                self._send_all()
                return
        order.lose(self._failure)

    def observe(self) -> None:
        """Read answers until the workers are ended."""
        while not self.is_closed:
            ready = wait([sign for worker in self.workers for sign in worker.signs])
            for worker in self.workers:
                if self.is_closed or not any(sign in ready for sign in worker.signs):
                    continue
                try:
                    for message in worker.read(ready):
                        self._take(worker, message)
                except StartError as error:
                    self.fail(f"a Python worker cannot load the callables:\n{error}")
                    self.end()
                except (EOFError, OSError):
                    if not self.is_closed:
                        death = f"{self._name(worker)} died ({worker.death()})"
                        self.fail(f"{death}{self._at_work(worker)}")
                        self.end()
        self.fail("the Python workers of the pipeline were ended")
        for worker in self.workers:
            worker.stop(_KILL_LIMIT)
        self.memory.close()

    def fail(self, reason: str) -> None:
        """Answer every order with an error, now and later."""
        with self._lock:
            self._failure = self._failure or reason
            lost = [*self._shared, *(given for own in self._own.values() for given in own)]
            self._shared.clear()
            self._own.clear()
            for worker in self.workers:
                lost += [worker.finish() for _ in range(len(worker.given))]
        for given in lost:
            given.lose(self._failure)

    def stopped(self) -> set[int]:
        """Numbers of workers that have work and are stopped."""
        return {
            number
            for number, worker in enumerate(self.workers)
            if worker.given and worker.is_stopped
        }

    def give_up(self, number: int, seconds: float) -> None:
        """End the processes because one has been stopped for so long."""
        worker = self.workers[number]
        at_work = f"{self._at_work(worker)}," if worker.given else ""
        self.fail(
            f"{self._name(worker)}{at_work} has been stopped by a signal for {seconds:.0f} s; "
            "the workers are ended"
        )
        self.end()

    def end(self) -> None:
        """End the processes. Takes no lock, since finalizers call it, in any thread at any line."""
        self.is_closed = True
        if os.getpid() == self.owner:
            for worker in self.workers:
                worker.kill()
            for worker in self.workers:
                worker.join(_KILL_LIMIT)

    def _send_all(self) -> None:
        """Send queued orders to workers with room."""
        for worker in vacant(self.workers, _AHEAD, lambda worker: bool(self._waiting(worker))):
            given = self._waiting(worker).popleft()
            slot = given.slot = self.memory.allocate((given.size,), np.uint8)
            worker.give(given, Parcel(JobCommand(given.source, given.work, slot), [slot]))

    def _waiting(self, worker: WorkerProcess[_Assigned]) -> deque[_Assigned]:
        return self._own.get(worker.pid) or self._shared

    def _take(self, worker: WorkerProcess[_Assigned], message: Answer | Question) -> None:
        with self._lock:
            if not worker.given:  # another worker has died, and `fail` has answered this order
                return
            given = worker.given[0]
            if isinstance(message, Question):
                given.size = message.value + message.value // _SPARE  # outputs may grow further
                slot = given.slot = self.memory.allocate((given.size,), np.uint8)
                worker.reply(Parcel(Reply(slot), [slot]))
                return
            worker.finish()
            self._send_all()
        if message.fault is not None:
            error = message.fault.restored("a Python worker process")
            given.answers.put(Outcome(given.ticket, None, error, given.size))
        else:
            assert given.slot is not None
            columns = views(given.slot, message.value)
            given.answers.put(Outcome(given.ticket, columns, None, given.size))

    def _name(self, worker: WorkerProcess[_Assigned]) -> str:
        return f"Python worker {self.workers.index(worker)} (process {worker.pid})"

    def _at_work(self, worker: WorkerProcess[_Assigned]) -> str:
        return f", at work for {self._names[worker.given[0].source]}" if worker.given else ""


@dataclass(frozen=True, slots=True)
class _Observer:
    """The thread that reads the answers of workers, and detects their death."""

    thread: threading.Thread


@dataclass(frozen=True, slots=True)
class _Processes:
    """Processes of a pool under DALI's names, as DALI's tests look for remaining ones."""

    _observer: _Observer


class PythonPool:
    """Worker processes, each of which has all jobs; an order names its job.

    A worker that dies, or that `give_up` is called for, takes the pool with it: every order is then
    answered by an error that names the worker. Workers end with this process however it ends.

    Args:
        count: number of processes.
        method: start method: "fork", "spawn" or "forkserver".
        pickler: pickles the jobs, unless workers are forks.
    """

    def __init__(self, count: int, method: str, pickler: CallbackPickler) -> None:
        self._count = count
        self._method = method
        self._pickler = pickler
        self._jobs: list[Job] = []
        self._names: list[str] = []
        self._tickets = 0
        self._team = _Team(self._names)
        self.pool: _Processes | None = None
        """The running workers, once they have started."""

    def __len__(self) -> int:
        return self._count

    def add(self, job: Job, name: str) -> int:
        """Add a job before the workers start; returns its number. `name` is for messages."""
        self._jobs.append(job)
        self._names.append(name)
        return len(self._jobs) - 1

    def start(self, *, may_fork: bool) -> None:
        """Start the workers.

        Args:
            may_fork: whether forking this process is safe. If so, callables that a fresh
                interpreter cannot import, such as those of a notebook, run in forks.

        Raises:
            PythonWorkerError: method "fork" is not safe, or a worker cannot load the jobs.
        """
        if self._method == "fork" and not may_fork:
            raise PythonWorkerError(
                "Python workers cannot be forked from a process that uses CUDA already: start "
                'them first (Pipeline.start_py_workers), or use py_start_method="spawn"'
            )
        try:
            problem = self._start(self._method)
            if problem and may_fork:
                _log.warning(
                    "Python workers are forked: a fresh interpreter cannot load the callables (%s)",
                    problem.strip().rpartition("\n")[2],
                )
                problem = self._start("fork")
            if problem:
                raise PythonWorkerError(
                    "a Python worker cannot load the callables; define them in a module that can "
                    f"be imported, or pass py_callback_pickler:\n{problem}"
                )
        except BaseException:
            for worker in self._team.workers:
                worker.stop(_KILL_LIMIT)
            raise
        # It refers to the team, not to the pool, so that a dropped pool is collected and its
        # finalizer ends the team.
        thread = threading.Thread(
            target=self._team.observe, name="videoloader-python-workers", daemon=True
        )
        thread.start()
        self.pool = _Processes(_Observer(thread))
        self._end = weakref.finalize(self, self._team.end)

    def submit(
        self,
        source: int,
        work: Any,
        *,
        size: int,
        answers: queue.SimpleQueue[Outcome | None],
        worker: int | None = None,
    ) -> int:
        """Submit work; returns the ticket of its answer.

        Args:
            source: number of the job.
            work: argument of the job.
            size: bytes of shared memory to allocate first.
            answers: queue for the answer.
            worker: number of the worker that has to do it; None for any.
        """
        self._tickets += 1
        self._team.give(_Assigned(self._tickets, source, work, size, answers), worker)
        return self._tickets

    def pids(self) -> list[int]:
        """Process ids, empty before the workers have started."""
        return [worker.pid for worker in self._team.workers] if self.pool else []

    def stopped(self) -> set[int]:
        """Numbers of workers that have work, and that a signal keeps from running."""
        return self._team.stopped()

    def give_up(self, number: int, seconds: float) -> None:
        """Answer all orders with an error: a worker has been stopped for so long."""
        self._team.give_up(number, seconds)

    def end(self) -> None:
        """End the workers. Takes no lock: for finalisers."""
        self._team.end()

    def close(self) -> None:
        """End the workers, even during a task, and wait for them."""
        if self.pool is not None:
            self._team.end()
            if os.getpid() == self._team.owner:
                self.pool._observer.thread.join()

    def _start(self, method: str) -> str:
        """Start workers; returns the traceback if the first cannot load the jobs, else ""."""
        context = multiprocessing.get_context(method)
        loads = None if method == "fork" else self._pickler.loader()
        jobs = self._jobs if loads is None else self._packed()

        def start_process(connection: Connection[Any, Any]) -> BaseProcess:
            process: BaseProcess = context.Process(  # type: ignore[attr-defined]
                target=work_for_sources,
                args=(connection, os.getpid(), jobs, loads),
                name=f"videoloader-python-{len(self._team.workers)}",
                daemon=True,
            )
            with _without_threads_of_opencv() if method == "fork" else nullcontext():
                process.start()
            return process

        for number in range(self._count):
            worker: WorkerProcess[_Assigned] = WorkerProcess(start_process, self._team.memory)
            self._team.workers.append(worker)
            if number == 0 and (problem := _problem(worker)):
                self._team.workers.clear()
                return problem
        return ""

    def _packed(self) -> bytes:
        try:
            return self._pickler.pack(self._jobs)
        except Exception as error:
            raise ArgumentError(
                f"the source of a parallel external source ({', '.join(self._names)}) cannot be "
                f"pickled for worker processes ({type(error).__name__}: {error}); use a callable "
                "defined at the top of a module, py_callback_pickler, or "
                'py_start_method="fork"'
            ) from error


@contextmanager
def _without_threads_of_opencv() -> Iterator[None]:
    """Stop OpenCV's threads within this context: a fork lacks them and would wait for them."""
    cv2: Any = sys.modules.get("cv2")
    count = 1 if cv2 is None else cv2.getNumThreads()
    if count > 1:
        cv2.setNumThreads(1)
    try:
        yield
    finally:
        if count > 1:
            cv2.setNumThreads(count)


def _problem(worker: WorkerProcess[_Assigned]) -> str:
    """Why the first worker could not load its jobs, and was ended; "" if it could."""
    try:
        while not worker.is_ready:
            list(worker.read(wait(worker.signs)))
    except StartError as error:
        problem = str(error)
    except (EOFError, OSError):
        problem = f"it ended as it started ({worker.death()})"
    else:
        return ""
    worker.stop()
    return problem
