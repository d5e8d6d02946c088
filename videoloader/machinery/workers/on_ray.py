"""Runs tasks on a Ray cluster (extra `ray`).

A *call* takes some tasks to a Ray worker, which hands them to a process of its own
(`TaskWorkers`), as a job on one machine does. So a task that crashes, hangs or takes too much
memory costs that process, and is a `TaskFailure` with the same text as on one machine. What Ray
itself loses is a node or a Ray worker: it repeats the call up to three times. If all fail, the
tasks of the call are tried one by one.

The job is stored once in the cluster, and each Ray worker fetches it once. Results are small; the
driver takes each as it is done, and few calls are in flight.
"""

from __future__ import annotations

import pickle
import socket
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from videoloader.errors import ResourceError, UnsupportedError, VideoError
from videoloader.machinery.system.callers import warn_user
from videoloader.machinery.workers.supervisor import TaskFailure
from videoloader.machinery.workers.task_workers import Job, TaskWorkers

_MOST_TASKS = 64  # of a call, so that progress shows and little is repeated
_SHARE = 4  # calls for each place at least, so that all places end at about the same time
_IN_FLIGHT = 2  # calls for each place of the cluster: one runs, one waits
_LEAST = 4  # calls in flight, also in a cluster that has no place yet and grows on demand
IDLE = 30.0  # seconds without a call until the process of a Ray worker ends


def run_on_ray(
    job: Job, tasks: Sequence[Any], *, ray: bool | str, gpus: int, ahead: int
) -> Iterator[tuple[Any, Any]]:
    """`run_tasks` on a cluster.

    Args:
        job: what to do with each task.
        tasks: picklable values.
        ray: the cluster, see `connect`.
        gpus: that a call needs.
        ahead: most tasks of a call.

    Raises:
        UnsupportedError: Ray is not installed.
        ResourceError: there is no such cluster, or a node lacks what a task needs.
    """
    module = connect(ray)
    warn_of_missing_gpus(module, gpus)
    stored = module.put(pickle.dumps(job))
    call = module.remote(num_gpus=gpus, max_calls=0)(_call)  # 0: Ray workers are kept, GPU or not
    size = min(ahead, _MOST_TASKS, max(1, len(tasks) // (_SHARE * max(1, _places(module, gpus)))))
    waiting = deque(list(tasks[start : start + size]) for start in range(0, len(tasks), size))
    running: dict[Any, list[Any]] = {}
    try:
        while waiting or running:
            room = max(_LEAST, _IN_FLIGHT * _places(module, gpus)) - len(running)
            for _ in range(min(room, len(waiting))):
                given = waiting.popleft()
                running[call.remote([stored], given)] = given
            (ready,), _ = module.wait(list(running), num_returns=1)
            given = running.pop(ready)
            try:
                results = module.get(ready)
            except module.exceptions.RayTaskError as error:
                raise error.cause from error
            except module.exceptions.RayError as error:
                if len(given) > 1:
                    waiting.extend([task] for task in given)
                    continue
                results = [TaskFailure(f"its process on Ray died ({type(error).__name__})")]
            yield from zip(given, results, strict=True)
    finally:
        for each in running:  # of a job that was stopped
            module.cancel(each)


def connect(ray: bool | str) -> Any:
    """The module `ray`, connected to a cluster; a connection that there is stays.

    Args:
        ray: address of the cluster as `ray.init` takes it: `auto` for the one that this machine is
            part of, `local` for a new one on this machine, `host:port`, `ray://host:port`. True for
            what `ray.init()` finds: RAY_ADDRESS, the cluster of this machine, or a new one.

    Raises:
        UnsupportedError: Ray is not installed.
        ResourceError: there is no cluster at the address.
    """
    try:
        import ray as module
    except ImportError as error:
        raise UnsupportedError(
            'jobs on Ray need it installed; pip install "videoloader[ray]"'
        ) from error
    if not module.is_initialized():
        try:
            module.init(address=None if ray is True else ray, log_to_driver=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ResourceError(
                f"no Ray cluster at {ray!r} ({error}); `ray start --head` starts one, "
                "and `local` in place of an address one on this machine alone"
            ) from error
    return module


def warn_of_missing_gpus(module: Any, gpus: float) -> None:
    """Give a `RuntimeWarning` if no node has enough GPUs: Ray waits for one without an error."""
    nodes = (node["Resources"] for node in module.nodes() if node["Alive"])
    most = max((node.get("GPU", 0.0) for node in nodes), default=0.0)
    if most < gpus:
        warn_user(
            f"each decoder needs {gpus:g} GPU on one node, and the Ray cluster has none with more "
            f'than {most:g}; Ray waits until such a node joins. device="cpu" decodes without GPUs',
            RuntimeWarning,
        )


def _places(module: Any, gpus: int) -> int:
    """Calls that the cluster can run at once, as it is now."""
    resources = module.cluster_resources()
    return int(resources.get("GPU", 0) // gpus if gpus else resources.get("CPU", 0))


def _call(stored: list[Any], tasks: list[Any]) -> list[Any]:
    """Run tasks of a job on a node; the reference is in a list, so that Ray does not fetch it."""
    try:
        return _process.run(stored[0], tasks)
    except VideoError as error:  # ends the job
        error.args = (f"{error} (on the Ray node {socket.gethostname()})",)
        raise


class _Process:
    """The process of this Ray worker, kept from call to call, also for the next job.

    It ends after some seconds without a call: then no memory of a GPU is held for a job that is
    over, while Ray keeps the worker for later ones.
    """

    def __init__(self) -> None:
        self._stored = ""  # where the last job is stored
        self._job: Job | None = None
        self._workers: TaskWorkers | None = None
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def run(self, stored: Any, tasks: list[Any]) -> list[Any]:
        """The result of each task."""
        import ray

        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            try:
                if self._job is None or self._stored != stored.hex():
                    self._job, self._stored = pickle.loads(ray.get(stored)), stored.hex()
                if self._workers is None or not self._workers.fits(self._job):
                    self._close()
                    self._workers = TaskWorkers(self._job, workers=1, ahead=_MOST_TASKS)
                found = dict(self._workers.run(self._job, tasks))
                return [found[number] for number in range(len(tasks))]
            finally:
                self._timer = timer = threading.Timer(IDLE, lambda: self._end(timer))
                timer.daemon = True
                timer.start()

    def _end(self, timer: threading.Timer) -> None:
        with self._lock:
            if timer is self._timer:  # no call came in the last moment
                self._close()
                self._job = None

    def _close(self) -> None:
        if self._workers is not None:
            self._workers.close()
        self._workers = None


_process = _Process()
