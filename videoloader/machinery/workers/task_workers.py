"""Worker processes that call one function once for each task."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from videoloader.errors import ResourceError, VideoError
from videoloader.machinery.system.faults import raise_shortage
from videoloader.machinery.workers.process import Parcel, Shared
from videoloader.machinery.workers.protocol import Worker, load
from videoloader.machinery.workers.supervisor import Supervisor, TaskFailure

_LONG = 0.1  # seconds after which no more tasks of a group are begun
_SHARE = 4  # groups for each worker at least, so that all end at about the same time


class Job(NamedTuple):
    """The function that worker processes call for each task.

    Attributes:
        function: `module:name` of the function, called as `name(task, **arguments)`.
        arguments: picklable arguments of every call.
        time_limit: seconds for one task.
        memory_limit: bytes that a worker may allocate.
        threads: concurrent calls in a worker, for tasks that wait for a server. They come in groups
            of as many.
        group: short tasks that travel together, since a message takes longer than some of them. A
            task may be called twice: if the worker of a group is lost, its tasks are tried alone.
        finish: `module:name` of a function that makes results of what `function` returns, for a
            group at once. Short tasks in two parts are faster: code stays in the processor's cache.
    """

    function: str
    arguments: dict[str, Any]
    time_limit: float
    memory_limit: int | None = None
    threads: int = 1
    group: int = 1
    finish: str | None = None

    @property
    def together(self) -> int:
        """Most tasks of a message."""
        return self.group if self.threads == 1 else self.threads

    def call(self, tasks: Sequence[Any], *, is_guarded: bool = False) -> Iterator[Any]:
        """The results of the first tasks, in their order; of all, unless they take long.

        After 0.1 s no more tasks are begun. So tasks of a group that turn out to take long are
        divided among workers, and none is late because of those before it.

        Args:
            tasks: at least one.
            is_guarded: whether an error fails its task, not the job.
        """
        begin: Callable[[Any], Any] = partial(load(self.function), **self.arguments)
        finish: Callable[[Any], Any] | None = load(self.finish) if self.finish else None
        if is_guarded:
            begin, finish = partial(_result, begin), finish and partial(_result, finish)
        if self.threads > 1 and len(tasks) > 1:
            with ThreadPoolExecutor(self.threads) as pool:
                results = pool.map(begin, tasks)
                yield from results if finish is None else map(finish, results)
            return
        begun = map(begin, _first(tasks, seconds=_LONG))
        yield from begun if finish is None else map(finish, [*begun])


def _first(tasks: Sequence[Any], *, seconds: float) -> Iterator[Any]:
    """Tasks until so many seconds have passed."""
    end = time.monotonic() + seconds
    for task in tasks:
        yield task
        if time.monotonic() > end:
            return


class TaskWorkers:
    """Worker processes that are kept between runs, for jobs with the same limits.

    Args:
        job: the first; its libraries are loaded as the processes start.
        workers: number of processes.
        ahead: tasks queued in each, see `run_tasks`.
    """

    def __init__(self, job: Job, *, workers: int, ahead: int) -> None:
        self._shared = Shared(0, job)
        self._workers = workers
        self._supervisor: Supervisor[Any] = Supervisor(
            lambda tasks: Parcel(_Calls(tasks, self._shared.value), values=[self._shared]),
            workers=workers,
            time_limit=job.time_limit,
            memory_limit=job.memory_limit,
            prepare=f"{load.__module__}:{load.__name__}",
            preparation={"function": job.function},
            ahead=max(ahead // job.together, min(ahead, 2)),
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
        size = job.together
        if job.threads == 1:  # of few tasks, each worker gets some
            size = max(1, min(size, len(tasks) // (_SHARE * self._workers)))
        groups = _Groups(tasks, size)
        for at, results, failure, loss in self._supervisor.run(groups):
            group = groups.given[at]
            if isinstance(failure, ResourceError):
                raise failure
            if failure is not None and loss is None:
                loss = TaskFailure(str(failure), type(failure).__name__)
            if loss is None:
                done, rest = group[: len(results)], group[len(results) :]
                groups.add(rest, size=len(done))
                yield from zip(done, results, strict=True)
            elif len(group) == 1:
                yield group[0], loss
            else:
                groups.add(group, size=1)

    def close(self) -> None:
        """End the processes."""
        self._supervisor.close()


class _Groups:
    """Gives groups of tasks to workers; more of them may be added after the last was given.

    Attributes:
        given: numbers of the tasks of each group, in the order in which they were given.
    """

    def __init__(self, tasks: Sequence[Any], size: int) -> None:
        self._tasks = tasks
        self._waiting: deque[range] = deque()
        self.given: list[range] = []
        self.add(range(len(tasks)), size=size)

    def add(self, numbers: range, *, size: int) -> None:
        """Add tasks in groups of `size`; the last group may be smaller."""
        self._waiting += (numbers[at : at + size] for at in range(0, len(numbers), size))

    def __iter__(self) -> Iterator[list[Any]]:
        return self

    def __next__(self) -> list[Any]:
        if not self._waiting:
            raise StopIteration
        group = self._waiting.popleft()
        self.given.append(group)
        return [self._tasks[number] for number in group]


class _Calls(NamedTuple):
    """An order to call the function of a job on some tasks."""

    tasks: Sequence[Any]
    job: Job

    def perform(self, worker: Worker) -> list[Any]:  # noqa: ARG002
        """The results of the first tasks, see `Job.call`."""
        return list(self.job.call(self.tasks, is_guarded=True))


def _result(function: Callable[[Any], Any], task: Any) -> Any:
    if isinstance(task, TaskFailure):  # in its first part
        return task
    try:
        return function(task)
    except Exception as error:  # noqa: BLE001  (a bug must not stop a job of millions)
        raise_shortage(error, "a worker process")
        kind = type(error).__name__
        return TaskFailure(
            str(error) if isinstance(error, VideoError) else f"{kind}: {error}", kind
        )
