"""Runs many small tasks in worker processes: one function, called once per task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from videoloader.errors import ArgumentError, ResourceError, VideoError
from videoloader.sources.faults import raise_shortage
from videoloader.workers.process import Parcel, Shared
from videoloader.workers.processors import usable_processors
from videoloader.workers.protocol import Worker, load
from videoloader.workers.supervisor import Supervisor, TaskFailure

__all__ = ["Job", "TaskFailure", "load_libraries", "run_tasks"]

_AHEAD = 128  # short tasks queued in a worker, so that it never waits for more


def run_tasks(
    function: str,
    tasks: Sequence[Any],
    *,
    workers: int | None,
    time_limit: float,
    arguments: dict[str, Any] | None = None,
    memory_limit: int | None = None,
    ahead: int = _AHEAD,
) -> Iterator[tuple[Any, Any]]:
    """Call a function on each task; yields (task, result) in order of completion.

    A task whose worker dies, or exceeds the time limit, is not retried: its result is a
    `TaskFailure`, and another worker continues with the rest. If the function raises an error, the
    result is a `TaskFailure` too.

    Args:
        function: `module:name` of the function, called as `name(task, **arguments)`.
        tasks: picklable values.
        workers: number of processes; 0 runs in this process, without protection; None means
            `usable_processors`.
        time_limit: seconds for one task.
        arguments: picklable arguments of every call.
        memory_limit: bytes that a worker may allocate.
        ahead: tasks queued in a worker, the current one included; few where they take long, so that
            no worker is idle while others have some left.

    Raises:
        ArgumentError: the number of workers is negative.
        ResourceError: the machine lacks what a task needs, or no worker process can be started.
    """
    arguments = arguments or {}
    if workers is None:
        workers = usable_processors()
    if workers < 0:
        raise ArgumentError(f"workers must be at least 0, got {workers}")
    if workers == 0:
        call = load(function)
        for task in tasks:
            yield task, call(task, **arguments)
        return
    job = Shared(0, Job(function, arguments))
    supervisor: Supervisor[Any] = Supervisor(
        lambda task: Parcel(_Call(task, job.value), values=[job]),
        workers=min(workers, len(tasks)),
        time_limit=time_limit,
        memory_limit=memory_limit,
        prepare=f"{__name__}:load_libraries",
        preparation={"function": function, "decodes": memory_limit is not None},
        ahead=ahead,
        tries=lambda task: 1,  # noqa: ARG005
    )
    try:
        for number, result, failure, loss in supervisor.run(tasks):
            if isinstance(failure, ResourceError):
                raise failure
            if failure is not None and loss is None:
                loss = TaskFailure(str(failure), type(failure).__name__)
            yield tasks[number], loss or result
    finally:
        supervisor.close()


class Job(NamedTuple):
    """The function that worker processes call on each task, and its arguments."""

    function: str
    arguments: dict[str, Any]


class _Call(NamedTuple):
    """An order to call the function of a job."""

    task: Any
    job: Job

    def perform(self, worker: Worker) -> Any:  # noqa: ARG002
        """Call the function; its errors fail the task, not the job."""
        try:
            return load(self.job.function)(self.task, **self.job.arguments)
        except Exception as error:  # noqa: BLE001  (a bug must not stop a job of millions)
            raise_shortage(error, "a worker process")
            kind = type(error).__name__
            return TaskFailure(
                str(error) if isinstance(error, VideoError) else f"{kind}: {error}", kind
            )


def load_libraries(function: str, *, decodes: bool) -> None:
    """Import the libraries of a worker, before its memory limit is set.

    Args:
        function: that the worker will call.
        decodes: also load FFmpeg.
    """
    load(function)
    if decodes:
        import av  # noqa: F401
