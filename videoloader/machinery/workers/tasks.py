"""Runs many small tasks: one function, called once per task, in processes here or on Ray."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from videoloader.machinery.system.checks import whole_number
from videoloader.machinery.workers.on_ray import run_on_ray
from videoloader.machinery.workers.processors import usable_processors
from videoloader.machinery.workers.task_workers import Job, TaskWorkers

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
    threads: int = 1,
    group: int = 1,
    finish: str | None = None,
    ray: bool | str = False,
    gpus: int = 0,
) -> Iterator[tuple[Any, Any]]:
    """Call a function on each task; yields (task, result) in order of completion.

    A task whose worker dies, or exceeds the time limit, is not retried, unless it was one of a
    group: its result is a `TaskFailure`, and another worker continues with the rest. If the
    function raises an error, the result is a `TaskFailure` too.

    Args:
        function: see `Job`, as for `time_limit` to `memory_limit`, `threads`, `group` and
            `finish`.
        tasks: picklable values.
        workers: number of processes; 0 runs in this process, without protection; None means
            `usable_processors`.
        time_limit: of a task.
        arguments: of every call.
        memory_limit: of a worker.
        ahead: tasks queued in a worker, the current one included; few where they take long, so that
            no worker is idle while others have some left.
        threads: of a worker.
        group: tasks of a message.
        finish: called on each result.
        ray: run on this Ray cluster, see `connect`, in a process for each of its processors, or
            GPUs, instead of `workers`.
        gpus: that a worker needs; for Ray, which hides those from it that it does not ask for.

    Raises:
        ArgumentError: the number of workers is negative.
        ResourceError: the machine lacks what a task needs, or no worker process can be started.
        UnsupportedError: Ray is not installed.
    """
    job = Job(function, arguments or {}, time_limit, memory_limit, threads, group, finish)
    if ray:
        yield from run_on_ray(job, tasks, ray=ray, gpus=gpus, ahead=ahead)
        return
    workers = usable_processors() if workers is None else whole_number("workers", workers)
    if workers == 0:
        done = 0
        while done < len(tasks):
            for result in job.call(tasks[done : done + _AHEAD]):
                yield tasks[done], result
                done += 1
        return
    team = TaskWorkers(job, workers=workers, ahead=ahead)
    try:
        for number, result in team.run(job, tasks):
            yield tasks[number], result
    finally:
        team.close()
