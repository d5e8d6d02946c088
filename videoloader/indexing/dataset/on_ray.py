"""Runs indexing tasks on a Ray cluster (extra `ray`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from videoloader.errors import UnsupportedError
from videoloader.workers.protocol import load
from videoloader.workers.tasks import TaskFailure

__all__ = ["run_on_ray"]

_PENDING = 1024  # calls


def run_on_ray(
    function: str,
    tasks: Sequence[Any],
    *,
    arguments: dict[str, Any],
    batch: int = 64,
) -> Iterator[tuple[Any, Any]]:
    """`run_tasks` on the cluster that Ray is connected to, or a local one.

    Every node needs this package, and the videos under the same paths. Ray retries a call whose
    process dies; if that fails too, its tasks run one by one, so that only those that kill their
    process fail.

    Each call has `batch` tasks.

    Raises:
        UnsupportedError: Ray is not installed.
    """
    try:
        import ray
    except ImportError as error:
        raise UnsupportedError(
            'jobs on Ray need it installed; pip install "videoloader[ray]"'
        ) from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    call = ray.remote(_call)
    waiting = deque(list(tasks[start : start + batch]) for start in range(0, len(tasks), batch))
    running: dict[Any, list[Any]] = {}
    while waiting or running:
        while waiting and len(running) < _PENDING:
            given = waiting.popleft()
            running[call.remote(function, given, arguments)] = given
        (ready,), _ = ray.wait(list(running), num_returns=1)
        given = running.pop(ready)
        try:
            results = ray.get(ready)
        except ray.exceptions.RayError as error:
            if len(given) > 1:
                waiting.extend([task] for task in given)
            else:
                yield given[0], TaskFailure(f"its process on Ray died ({type(error).__name__})")
            continue
        yield from zip(given, results, strict=True)


def _call(function: str, tasks: list[Any], arguments: dict[str, Any]) -> list[Any]:
    run = load(function)
    return [run(task, **arguments) for task in tasks]
