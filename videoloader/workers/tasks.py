"""Jobs of many small tasks, by a function that is called on each in worker processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from videoloader.errors import ResourceError, VideoError
from videoloader.sources.faults import raise_shortage
from videoloader.workers.processes import load
from videoloader.workers.processors import usable_processors
from videoloader.workers.program import Worker
from videoloader.workers.supervisor import Failure, Parcel, Supervisor

__all__ = ["Failure", "Job", "load_libraries", "run_tasks"]

_AHEAD = 128  # tasks that a worker is given ahead, so that it never waits for more


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

    A task whose worker dies, or works on it for longer than the limit, is not tried again: its
    result is a `Failure`, and another worker goes on with the rest. So is that of a task for which
    the function raises an error.

    Args:
        function: `module:name` of what is called as `name(task, **arguments)`.
        tasks: anything that pickles.
        workers: number of processes; 0 works in this one, without protection, and None stands
            for `usable_processors`.
        time_limit: seconds for one task.
        arguments: for every call; anything that pickles.
        memory_limit: bytes that a worker may allocate.

    Raises:
        ResourceError: the machine lacks what a task needs, or no worker process can be started.
    """
    arguments = arguments or {}
    if workers is None:
        workers = usable_processors()
    if workers == 0:
        call = load(function)
        for task in tasks:
            yield task, call(task, **arguments)
        return
    job = Job(function, arguments)
    supervisor: Supervisor[Any, bool] = Supervisor(
        lambda task, has_job: (Parcel(_Call(task, None if has_job else job)), True),
        bool,
        workers=min(workers, len(tasks)),
        time_limit=time_limit,
        memory_limit=memory_limit,
        prepare=f"{__name__}:load_libraries",
        preparation={"function": function, "decodes": memory_limit is not None},
        ahead=_AHEAD,
        tries=lambda task: 1,  # noqa: ARG005
    )
    try:
        for number, result, failure, loss in supervisor.run(tasks):
            if isinstance(failure, ResourceError):
                raise failure
            if failure is not None and loss is None:
                loss = Failure(str(failure), type(failure).__name__)
            yield tasks[number], loss or result
    finally:
        supervisor.close()


class Job(NamedTuple):
    """What the worker processes of a job call on each task, and with which arguments."""

    function: str
    arguments: dict[str, Any]


class _Call(NamedTuple):
    """An order to call the function of a job; the first that a worker gets says which that is."""

    task: Any
    job: Job | None

    def accept(self, worker: Worker, files: list[int]) -> None:  # noqa: ARG002
        """Learn the job."""
        if self.job is not None:
            worker.kept(_Function).set(self.job)

    def perform(self, worker: Worker) -> Any:
        """Call the function; an error of its own is the task's, not the job's."""
        try:
            return worker.kept(_Function)(self.task)
        except Exception as error:  # noqa: BLE001  (a bug must not stop a job of millions)
            raise_shortage(error, "a worker process")
            kind = type(error).__name__
            return Failure(
                str(error) if isinstance(error, VideoError) else f"{kind}: {error}", kind
            )


class _Function:
    """The function of a job in a worker process."""

    def set(self, job: Job) -> None:
        self._call, self._arguments = load(job.function), job.arguments

    def __call__(self, task: Any) -> Any:
        return self._call(task, **self._arguments)


def load_libraries(function: str, *, decodes: bool) -> None:
    """Load what a worker of a job needs, which its memory limit does not count.

    Args:
        function: that it will call.
        decodes: also load FFmpeg.
    """
    load(function)
    if decodes:
        import av  # noqa: F401
