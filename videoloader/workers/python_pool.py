"""Worker processes that run the Python code of parallel sources."""

from __future__ import annotations

import logging
import multiprocessing
import os
import queue
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from videoloader.errors import ArgumentError
from videoloader.system.pickling import CallbackPickler
from videoloader.workers.python_jobs import Job
from videoloader.workers.python_program import Ready, work
from videoloader.workers.python_team import (
    Answer,
    Given,
    PythonWorkerError,
    Team,
    TeamWorker,
    end_of,
    observe,
)

__all__ = ["Answer", "PythonPool", "PythonWorkerError"]

_log = logging.getLogger(__name__)


class _Observer:
    """A thread that reads the answers of workers, and detects their death."""

    def __init__(self, team: Team) -> None:
        # The thread refers to the team, not to the pool, so that a dropped pool is collected and
        # its finalizer ends the team.
        self.thread = threading.Thread(
            target=observe, args=(team,), name="videoloader-python-workers", daemon=True
        )
        self.thread.start()


class _Processes:
    """The processes of a pool, and the thread that reads their answers."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._observer = _Observer(team)

    def pids(self) -> list[int]:
        """Process ids."""
        return [worker.process.pid for worker in self._team.workers]

    def close(self) -> None:
        """End the processes and wait for them."""
        self._team.end()
        if os.getpid() == self._team.owner:
            self._observer.thread.join()


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
        self._team = Team(self._names)
        self.pool: _Processes | None = None
        """The processes, once they have started."""

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
            self._team.end()
            raise
        self.pool = _Processes(self._team)
        self._end = weakref.finalize(self, self._team.end)

    def submit(
        self,
        source: int,
        work: Any,
        *,
        size: int,
        answers: queue.SimpleQueue[Answer | None],
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
        self._team.give(Given(self._tickets, source, work, size, answers), worker)
        return self._tickets

    def pids(self) -> list[int]:
        """Process ids, empty before the workers have started."""
        return [] if self.pool is None else self.pool.pids()

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
        """End the workers, even during a task."""
        if self.pool is not None:
            self.pool.close()

    def _start(self, method: str) -> str:
        """Start workers; returns the traceback if the first cannot load the jobs, else ""."""
        context = multiprocessing.get_context(method)
        loads = None if method == "fork" else self._pickler.loader()
        jobs = self._jobs if loads is None else self._packed()
        for number in range(self._count):
            ours, theirs = context.Pipe()
            process = context.Process(  # type: ignore[attr-defined]
                target=work,
                args=(theirs, jobs, loads, os.getpid()),
                name=f"videoloader-python-{number}",
                daemon=True,
            )
            with _without_threads_of_opencv() if method == "fork" else nullcontext():
                process.start()
            theirs.close()
            worker = TeamWorker(number, process, ours, end_of(process.pid))
            self._team.workers.append(worker)
            if number == 0 and (problem := _problem(worker)):
                process.join()
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


def _problem(worker: TeamWorker) -> str:
    """The error of the first worker while loading its jobs, "" if there is none."""
    try:
        ready: Ready = worker.connection.recv()
    except (EOFError, OSError):
        return f"it ended as it started ({worker.death()})"
    return ready.error
