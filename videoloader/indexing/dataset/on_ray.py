"""The same tasks on a Ray cluster (extra `ray`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from videoloader.errors import UnsupportedError
from videoloader.indexing.dataset.workers import Failure
from videoloader.indexing.processes import load

__all__ = ["run_on_ray"]

_BATCH = 64  # tasks in one call


def run_on_ray(
    function: str, tasks: Sequence[Any], *, arguments: dict[str, Any], in_flight: int = 1024
) -> Iterator[tuple[Any, Any]]:
    """What `run_tasks` does, on the cluster that Ray is connected to, or a local one.

    Every node needs this package, and the videos under the same names. A call whose process dies
    is tried again by Ray; if that does not help, its tasks are done one by one, so that only those
    that kill their process fail.

    Args:
        function: as for `run_tasks`.
        tasks: as for `run_tasks`.
        arguments: as for `run_tasks`.
        in_flight: calls that are waited for at a time.

    Raises:
        UnsupportedError: Ray is not installed.
    """
    try:
        import ray
    except ImportError as error:
        raise UnsupportedError(
            "jobs on Ray need it installed; pip install videoloader[ray]"
        ) from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    call = ray.remote(_call)
    waiting = deque(list(tasks[start : start + _BATCH]) for start in range(0, len(tasks), _BATCH))
    running: dict[Any, list[Any]] = {}
    while waiting or running:
        while waiting and len(running) < in_flight:
            batch = waiting.popleft()
            running[call.remote(function, batch, arguments)] = batch
        (ready,), _ = ray.wait(list(running), num_returns=1)
        batch = running.pop(ready)
        try:
            results = ray.get(ready)
        except ray.exceptions.RayError as error:
            if len(batch) > 1:
                waiting.extend([task] for task in batch)
            else:
                yield batch[0], Failure(f"its process on Ray died ({type(error).__name__})")
            continue
        yield from zip(batch, results, strict=True)


def _call(function: str, tasks: list[Any], arguments: dict[str, Any]) -> list[Any]:
    run = load(function)
    return [run(task, **arguments) for task in tasks]
