"""A Ray cluster of two nodes on this machine (needs the package `ray`), and tasks for it."""

import os
import sys
import time
import warnings
from contextlib import contextmanager

NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else each task warns that this will change
    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),  # nodes find what tests import
}


@contextmanager
def ray_cluster(**head):
    """Two nodes with a processor each; this process is connected to them."""
    before = os.environ.copy()
    os.environ.update(ENVIRONMENT)
    import ray.data
    from ray.cluster_utils import Cluster

    try:
        made = Cluster(
            initialize_head=True, head_node_args={**NODE, "include_dashboard": False, **head}
        )
        try:
            made.add_node(**NODE)
            ray.init(made.address, log_to_driver=False, logging_level="error")
            with warnings.catch_warnings():  # of its own deprecated settings
                warnings.simplefilter("ignore")
                context = ray.data.DataContext.get_current()
            context.enable_progress_bars = False
            yield made
        finally:
            ray.shutdown()
            made.shutdown()
    finally:
        os.environ.clear()
        os.environ.update(before)


def node_after(task):
    """What tells the node that this runs on; takes some time."""
    time.sleep(0.3)
    return os.environ["RAY_RAYLET_PID"]


def node_of(node):
    """What `node_after` gives on a node of a cluster."""
    return str(node.all_processes["raylet"][0].process.pid)


def misbehave(task):
    """Do what a task says."""
    if task == "die":
        os._exit(7)
    if task == "hang":
        time.sleep(60)
    if task == "fail":
        raise ValueError("no such thing")
    return task


def size_of(task, *, model):
    return len(model)


def lack(task):
    from videoloader.errors import ResourceError

    raise ResourceError("no room")
