"""Runs many small tasks in worker processes: one function, called once per task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from videoloader.errors import ArgumentError, ResourceError, VideoError
from videoloader.sources.faults import raise_shortage
from videoloader.workers.process import Parcel, Shared
from videoloader.workers.processors import usable_processors
from videoloader.workers.protocol import Worker, load
from videoloader.workers.supervisor import Supervisor, TaskFailure

__all__ = ["Job", "TaskFailure", "load_libraries", "run_tasks"]

_AHEAD = 128  # short tasks queued in a worker, so that it never waits for more
_ROUNDS = 4  # tasks of a group for each thread, so that a slow one delays few others


def run_tasks(
    function: str,
    tasks: Sequence[Any],
    *,
    workers: int | None,
    time_limit: float,
    arguments: dict[str, Any] | None = None,
    memory_limit: int | None = None,
    ahead: int = _AHEAD,
    threads: int = 1,
) -> Iterator[tuple[Any, Any]]:
    """Call a function on each task; yields (task, result) in order of completion.

    A task whose worker dies, or exceeds the time limit, is not retried: its result is a
    `TaskFailure`, and another worker continues with the rest. If the function raises an error, the
    result is a `TaskFailure` too.

    With several threads a worker gets tasks in groups. If it dies, or exceeds the time limit, the
    tasks of its group run again, one at a time.

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
        threads: concurrent calls in a worker, for tasks that wait for a server.

    Raises:
        ArgumentError: the number of workers is negative.
        ResourceError: the machine lacks what a task needs, or no worker process can be started.
    """
    if workers is None:
        workers = usable_processors()
    if workers < 0:
        raise ArgumentError(f"workers must be at least 0, got {workers}")
    job = Job(function, arguments or {}, threads)
    size = 1 if threads == 1 else threads * _ROUNDS
    groups = [tasks[start : start + size] for start in range(0, len(tasks), size)]
    if workers == 0:
        for group in groups:
            yield from zip(group, job.call(group, load(function)), strict=True)
        return
    order = Shared(0, job)
    while groups:
        most = max(map(len, groups))
        supervisor: Supervisor[Any] = Supervisor(
            lambda group: Parcel(_Calls(group, order.value), values=[order]),
            workers=min(workers, len(groups)),
            time_limit=time_limit * -(-most // threads),
            memory_limit=memory_limit,
            prepare=f"{__name__}:load_libraries",
            preparation={"function": function, "decodes": memory_limit is not None},
            ahead=max(ahead // most, min(ahead, 2)),
            tries=lambda group: 1,  # noqa: ARG005
        )
        alone: list[Sequence[Any]] = []
        try:
            for number, results, failure, loss in supervisor.run(groups):
                group = groups[number]
                if isinstance(failure, ResourceError):
                    raise failure
                if failure is not None and loss is None:
                    loss = TaskFailure(str(failure), type(failure).__name__)
                if loss is None:
                    yield from zip(group, results, strict=True)
                elif len(group) == 1:
                    yield group[0], loss
                else:
                    alone += [[task] for task in group]
        finally:
            supervisor.close()
        groups = alone


class Job(NamedTuple):
    """The function that worker processes call on each task, its arguments, and concurrent calls."""

    function: str
    arguments: dict[str, Any]
    threads: int = 1

    def call(self, tasks: Sequence[Any], function: Callable[..., Any]) -> Iterator[Any]:
        """The result of each task, in their order."""
        call = partial(function, **self.arguments)
        if len(tasks) < 2:
            yield from map(call, tasks)
            return
        with ThreadPoolExecutor(min(self.threads, len(tasks))) as pool:
            yield from pool.map(call, tasks)


class _Calls(NamedTuple):
    """An order to call the function of a job on some tasks."""

    tasks: Sequence[Any]
    job: Job

    def perform(self, worker: Worker) -> list[Any]:  # noqa: ARG002
        """Call the function; its errors fail the task, not the job."""
        return list(self.job.call(self.tasks, partial(_result, load(self.job.function))))


def _result(function: Callable[..., Any], task: Any, **arguments: Any) -> Any:
    try:
        return function(task, **arguments)
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
