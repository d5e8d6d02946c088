"""As much of Ray as jobs use, in this process; the real one is in `test_on_ray`.

Calls run when they are waited for. What real Ray does only now and then can be told to happen.
"""

import types


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause):
        self.cause = cause


class WorkerCrashedError(RayError):
    pass


class Stored:
    """A reference to a value in the cluster."""

    def __init__(self, value):
        self.value = value

    def hex(self):
        return f"{id(self):x}"


class _Call:
    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments
        self.tasks = arguments[1]


def make(*, dies_on=(), cpus=2, has_cluster=True):
    """A module to stand for `ray`; Ray loses calls that have one of some tasks.

    Attributes of it: `calls`, the numbers of tasks in the calls that were made; `cancelled`, calls.
    """
    ray = types.ModuleType("ray")
    ray.exceptions = types.SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
    ray.calls, ray.cancelled = [], []

    def remote(**options):
        def wrap(function):
            return types.SimpleNamespace(remote=lambda *arguments: _Call(function, arguments))

        return wrap

    def get(wanted):
        if isinstance(wanted, Stored):
            return wanted.value
        ray.calls.append(len(wanted.tasks))
        if set(wanted.tasks) & set(dies_on):
            raise WorkerCrashedError
        try:
            return wanted.function(*wanted.arguments)
        except Exception as error:
            raise RayTaskError(error) from error

    def init(address, **options):
        raise ConnectionError("nobody listens")

    ray.init = init
    ray.is_initialized = lambda: has_cluster
    ray.put = Stored
    ray.remote = remote
    ray.get = get
    ray.wait = lambda calls, num_returns: (calls[-1:], calls[:-1])
    ray.cancel = ray.cancelled.append
    ray.cluster_resources = lambda: {"CPU": cpus}
    ray.nodes = lambda: [{"Alive": True, "Resources": {"CPU": cpus}}]
    return ray
