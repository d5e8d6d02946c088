"""The arguments of a pipeline that choose between DALI's executors, and checks of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from videoloader.errors import ArgumentError, UnsupportedError

__all__ = ["ExecutorOptions", "at_least_one", "check_others", "start_method"]

_HARMLESS: Mapping[str, tuple[Any, ...]] = {
    "debug": (False,),
}
"""DALI's other arguments, with the values (besides None) that say what happens here anyway."""

_START_METHODS = ("fork", "spawn", "forkserver")


def at_least_one(name: str, value: Any) -> int:
    """The value as an int; an error if it is none, or less than 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ArgumentError(f"{name} of a pipeline must be an int, at least 1, got {value!r}")
    return int(value)


def check_others(others: Mapping[str, Any]) -> None:
    """Fail for arguments that no pipeline has, or that ask for what is not there."""
    for name, value in others.items():
        if name not in _HARMLESS:
            raise ArgumentError(f"a pipeline has no argument {name!r}")
        if value is not None and value not in _HARMLESS[name]:
            raise UnsupportedError(f"{name} of a pipeline is not supported yet, got {value!r}")


def start_method(value: Any) -> str:
    """The value, if it is a way to start a process."""
    if value not in _START_METHODS:
        raise ArgumentError(f"py_start_method is one of {', '.join(_START_METHODS)}, got {value!r}")
    return str(value)


@dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """How DALI would run a pipeline, as given; here only the depth of queues has an effect."""

    exec_pipelined: bool
    exec_async: bool
    exec_dynamic: bool | None
    prefetch_queue_depth: int | Mapping[str, int]
    bytes_per_sample: int
    max_streams: int | None
    default_cuda_stream_priority: int | None
    stream_policy: Any
    concurrency: Any

    @property
    def is_separated(self) -> bool:
        """Whether two depths of queues were given."""
        return isinstance(self.prefetch_queue_depth, Mapping)

    @property
    def is_dynamic(self) -> bool:
        """As given; by default whether DALI would choose the dynamic executor."""
        if self.exec_dynamic is None:
            return self.exec_pipelined and self.exec_async and not self.is_separated
        return bool(self.exec_dynamic)

    def queue_depth(self) -> int:
        """The depth of queues; the larger, if there are two."""
        given = self.prefetch_queue_depth
        if not isinstance(given, Mapping):
            return at_least_one("prefetch_queue_depth", given)
        if not self.exec_async:
            raise ArgumentError("two depths of queues need exec_async=True")
        return at_least_one("prefetch_queue_depth", max(given.values()))

    def queue_size(self, name: str) -> int:
        """One of the two depths, `cpu_size` or `gpu_size`, as given."""
        given = self.prefetch_queue_depth
        return int(given.get(name, self.queue_depth()) if isinstance(given, Mapping) else given)
