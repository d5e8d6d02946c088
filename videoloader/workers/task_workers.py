"""Worker processes that call one function once for each task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from videoloader.errors import ResourceError, VideoError
from videoloader.sources.faults import raise_shortage
from videoloader.workers.process import Parcel, Shared
from videoloader.workers.protocol import Worker, load
from videoloader.workers.supervisor import Supervisor, TaskFailure

__all__ = ["Job", "TaskWorkers", "load_libraries"]


class Job(NamedTuple):
    """What worker processes do with each task.

    Attributes:
        function: `module:name` of the function, called as `name(task, **arguments)`.
        arguments: picklable arguments of every call.
        time_limit: seconds for one task.
        memory_limit: bytes that a worker may allocate.
        threads: concurrent calls in a worker, for tasks that wait for a server. They come in groups
            of as many.
    """

    function: str
    arguments: dict[str, Any]
    time_limit: float
    memory_limit: int | None = None
    threads: int = 1

    def call(self, tasks: Sequence[Any], function: Callable[..., Any]) -> Iterator[Any]:
        """The result of a function for each task, in their order."""
        call = partial(function, **self.arguments)
        if self.threads == 1 or len(tasks) < 2:
            yield from map(call, tasks)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            yield from pool.map(call, tasks)


class TaskWorkers:
    """Worker processes that are kept between runs, for jobs with the same limits.

    Args:
        job: the first; its libraries are loaded as the processes start.
        workers: number of processes.
        ahead: tasks queued in each, see `run_tasks`.
    """

    def __init__(self, job: Job, *, workers: int, ahead: int) -> None:
        self._shared = Shared(0, job)
        self._supervisor: Supervisor[Any] = Supervisor(
            lambda tasks: Parcel(_Calls(tasks, self._shared.value), values=[self._shared]),
            workers=workers,
            time_limit=job.time_limit,
            memory_limit=job.memory_limit,
            prepare=f"{__name__}:load_libraries",
            preparation={"function": job.function, "decodes": job.memory_limit is not None},
            ahead=max(ahead // job.threads, min(ahead, 2)),
            tries=lambda tasks: 1,  # noqa: ARG005
        )

    def fits(self, job: Job) -> bool:
        """Whether the processes have the limits of a job."""
        first: Job = self._shared.value
        return (job.time_limit, job.memory_limit) == (first.time_limit, first.memory_limit)

    def run(self, job: Job, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """(number of the task, result) in order of completion.

        If the worker of a group dies, or exceeds the time limit, its tasks run again one by one.
        """
        if job is not self._shared.value:
            self._shared = Shared(self._shared.number + 1, job)
        starts = range(0, len(tasks), job.threads)
        groups = [range(start, min(start + job.threads, len(tasks))) for start in starts]
        while groups:
            alone: list[range] = []
            given = [[tasks[number] for number in group] for group in groups]
            for at, results, failure, loss in self._supervisor.run(given):
                group = groups[at]
                if isinstance(failure, ResourceError):
                    raise failure
                if failure is not None and loss is None:
                    loss = TaskFailure(str(failure), type(failure).__name__)
                if loss is None:
                    yield from zip(group, results, strict=True)
                elif len(group) == 1:
                    yield group[0], loss
                else:
                    alone += [range(number, number + 1) for number in group]
            groups = alone

    def close(self) -> None:
        """End the processes."""
        self._supervisor.close()


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
