"""Worker processes that call one function once for each task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """

    function: str
    arguments: dict[str, Any]
    time_limit: float
    memory_limit: int | None = None


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
            lambda task: Parcel(_Call(task, self._shared.value), values=[self._shared]),
            workers=workers,
            time_limit=job.time_limit,
            memory_limit=job.memory_limit,
            prepare=f"{__name__}:load_libraries",
            preparation={"function": job.function, "decodes": job.memory_limit is not None},
            ahead=ahead,
            tries=lambda task: 1,  # noqa: ARG005
        )

    def fits(self, job: Job) -> bool:
        """Whether the processes have the limits of a job."""
        first: Job = self._shared.value
        return (job.time_limit, job.memory_limit) == (first.time_limit, first.memory_limit)

    def run(self, job: Job, tasks: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """(task, result) in order of completion, which is that of the tasks for one worker."""
        if job is not self._shared.value:
            self._shared = Shared(self._shared.number + 1, job)
        for number, result, failure, loss in self._supervisor.run(tasks):
            if isinstance(failure, ResourceError):
                raise failure
            if failure is not None and loss is None:
                loss = TaskFailure(str(failure), type(failure).__name__)
            yield tasks[number], loss or result

    def close(self) -> None:
        """End the processes."""
        self._supervisor.close()


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
