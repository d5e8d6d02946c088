"""Programs of our own that work for this process, and end with it."""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["INDEXING_MEMORY", "Helper", "limit_memory", "load"]

INDEXING_MEMORY = 4 << 30
"""Bytes that a process that indexes may allocate; what `index_video` bounds stays far below."""


class Helper:
    """A process that runs a function with one end of a connection.

    It is a program of its own: not a fork, since this process may have threads, and not one that
    begins by running the caller's script again.

    Args:
        function: `module:name`, called as `name(descriptor, **arguments)`.
        arguments: anything whose `repr` is Python.
        pass_fds: open files to hand over under their numbers.

    Attributes:
        connection: our end.
    """

    def __init__(
        self, function: str, arguments: dict[str, Any], *, pass_fds: tuple[int, ...] = ()
    ) -> None:
        ours, theirs = socket.socketpair()
        with ExitStack() as failed, theirs:
            failed.callback(ours.close)
            program = (
                f"import sys; sys.path[:] = {json.dumps(sys.path)}; "
                f"from {__name__} import load; "
                f"load({function!r})({theirs.fileno()}, **{arguments!r})"
            )
            self._process = subprocess.Popen(
                [sys.executable, "-c", program],
                pass_fds=[theirs.fileno(), *pass_fds],
                stdin=subprocess.DEVNULL,
                # Ctrl-C is for this process, which then ends the others.
                process_group=0,
            )
            failed.pop_all()
        self._owner = os.getpid()
        self.connection: Connection[Any, Any] = Connection(ours.detach())

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended, as far as the system has told."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Have the process end, without waiting for it. From any thread."""
        if os.getpid() == self._owner:
            self._process.kill()

    def death(self) -> str:
        """How the process died, once its end of the connection is closed."""
        code = self._process.wait()
        if code >= 0:
            return f"the worker process died (exit code {code})"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = str(-code)
        return f"the worker process died (signal {name})"

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.connection.close()
        if os.getpid() == self._owner:
            self._process.kill()
            self._process.wait()
        else:  # a fork of that process has no say in it, and nothing to wait for
            self._process.returncode = 0


def load(function: str) -> Any:
    """What `module:name` names."""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)


def limit_memory(size: int) -> None:
    """Let this process allocate so many bytes more than it has (RLIMIT_DATA)."""
    with open("/proc/self/status") as status:
        used = next(int(line.split()[1]) for line in status if line.startswith("VmData:"))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = used * 1024 + size
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
