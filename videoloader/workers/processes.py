"""Starts helper processes, which end with this process."""

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
"""Bytes that an indexing process may allocate; far above the bounds of `index_video`."""


class Helper:
    """A process that runs a function with one end of a connection.

    It is a fresh interpreter: not a fork, since this process may have threads, and without
    importing the caller's main script as `multiprocessing` does.

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
                # Only the parent handles Ctrl-C; it then ends the helpers.
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
        """Whether the process is not known to have ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill the process without waiting for it. Any thread may call this."""
        if os.getpid() == self._owner:
            self._process.kill()

    def death(self) -> str:
        """How the process died; call this after its end of the connection is closed."""
        code = self._process.wait()
        if code >= 0:
            return f"the worker process died (exit code {code})"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = str(-code)
        return f"the worker process died (signal {name})"

    @property
    def found_memory_full(self) -> bool:
        """Whether the process died since there was no room left for shared memory; after `death`.

        It maps no other files, so SIGBUS has no other reason.
        """
        return self._process.returncode == -signal.SIGBUS

    def stop(self) -> None:
        """Kill the process and wait for its end."""
        self.connection.close()
        if os.getpid() == self._owner:
            self._process.kill()
            self._process.wait()
        else:  # a fork of the owner must neither kill the process nor wait for it
            self._process.returncode = 0


def load(function: str) -> Any:
    """Import the object `module:name`."""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)


def limit_memory(size: int) -> None:
    """Limit this process to `size` bytes more than it has allocated now (RLIMIT_DATA)."""
    with open("/proc/self/status") as status:
        used = next(int(line.split()[1]) for line in status if line.startswith("VmData:"))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = used * 1024 + size
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
