"""A worker process as its parent sees it; `protocol` describes both ends."""

from __future__ import annotations

import copyreg
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from numpy.typing import NDArray

from videoloader.machinery.workers.protocol import (
    Answer,
    Header,
    Question,
    Reply,
    WorkerCommand,
    run_program,
    send_files,
    shared_array,
    shared_value,
)
from videoloader.machinery.workers.shared_memory import SharedMemory, memory_file

_START_LIMIT = 120.0  # seconds until a worker is ready
# Limits in bytes for one message and for all queued messages: if the socket were full, sending
# would block on a worker that hangs, or that waits until its results are read.
_ROOM, _ROOM_AHEAD = 1 << 14, 1 << 16

_MOST_VALUES = 64  # that a worker keeps
_NO_HEADER = pickle.dumps(())

_Task = TypeVar("_Task")

_Worker = TypeVar("_Worker", bound="WorkerProcess[Any]")

Start: TypeAlias = "Callable[[Connection[Any, Any]], subprocess.Popen[bytes] | BaseProcess]"
"""Starts a process that runs `protocol.work` with an end of a connection."""


class Shared(NamedTuple):
    """A value that travels to a worker once.

    Attributes:
        number: of all values that are equal.
        value: what messages refer to; of a type that `pickle` lets others reduce, so no `bytes`.
        file: open file that is mapped in the worker instead of the value; -1 for none.
    """

    number: int
    value: Any
    file: int = -1


class Parcel(NamedTuple):
    """A message, the arrays in shared memory that it refers to, and the values."""

    message: WorkerCommand | Reply
    arrays: Sequence[NDArray[Any]] = ()
    values: Sequence[Shared] = ()


class _Known(NamedTuple):
    """Contents of a worker: segments of shared memory and numbers of values, last used last."""

    segments: frozenset[int] = frozenset()
    values: tuple[int, ...] = ()


class StartError(EOFError):
    """A worker process could not prepare; the text is the traceback."""


class WorkerProcess(Generic[_Task]):
    """A worker process and its queued tasks. Not thread-safe, except `kill` and `join`.

    Args:
        start: starts the process.
        memory: shared memory that its orders use.
        time_limit: seconds that a task may take.

    Attributes:
        signs: what to wait for: messages, and the end of the process.
        given: tasks that were sent and are not answered, oldest first.
        deadline: when the current task has taken too long, as of `time.monotonic`.
        is_ready: whether it has prepared.
    """

    def __init__(
        self, start: Start, memory: SharedMemory | None = None, time_limit: float = float("inf")
    ) -> None:
        ours, theirs = Pipe()
        with ExitStack() as failed, theirs:
            failed.callback(ours.close)
            self._process = start(theirs)
            failed.pop_all()
        self._owner = os.getpid()
        self._memory = memory
        self._known = _Known()
        self.connection: Connection[Any, Any] = ours
        self._end = -1  # pidfd
        with suppress(OSError):  # not on this system, or no descriptor is left
            self._end = os.pidfd_open(self.pid)
        self.signs: list[Any] = [ours, *([self._end] if self._end >= 0 else [])]
        self.given: deque[_Task] = deque()
        self._sizes: deque[int] = deque()  # bytes of the messages of queued tasks
        self._sent = 0  # sum of `_sizes`
        self._time_limit = time_limit
        self.deadline = time.monotonic() + _START_LIMIT
        self.is_ready = False

    @property
    def pid(self) -> int:
        """The number of the process."""
        pid = self._process.pid
        assert pid is not None, "it has started"
        return pid

    @property
    def is_alive(self) -> bool:
        """Whether the process is not known to have ended."""
        if isinstance(self._process, subprocess.Popen):
            return self._process.poll() is None
        return self._process.is_alive()

    @property
    def is_full(self) -> bool:
        """Whether sending another message might block."""
        return self._sent > _ROOM_AHEAD - _ROOM

    @property
    def is_stopped(self) -> bool:
        """Whether a signal such as SIGSTOP keeps the process from running; False if unknown."""
        try:
            with open(f"/proc/{self.pid}/stat", encoding="utf-8", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[0] == "T"
        except (OSError, IndexError):  # it has ended, or a system without this
            return False

    def give(self, task: _Task, parcel: Parcel) -> None:
        """Send the order of a task."""
        data, files, known = self._packed(parcel)
        file = memory_file(data) if len(data) > _ROOM else None
        if not self.given and self.is_ready:
            self.deadline = time.monotonic() + self._time_limit
        # Before it is sent: of an interrupt in between, the worker must count as busy.
        self.given.append(task)
        self._sizes.append(min(len(data), _ROOM))
        self._sent += self._sizes[-1]
        self._known = known
        try:
            with suppress(OSError):  # it has died, which `read` tells
                self.connection.send_bytes(data if file is None else b"")
                if file is not None:
                    send_files(self.connection, [file])
                if files:
                    send_files(self.connection, files)
        finally:
            if file is not None:
                os.close(file)

    def reply(self, parcel: Parcel) -> None:
        """Send the reply to a question."""
        data, files, self._known = self._packed(parcel)
        with suppress(OSError):
            self.connection.send_bytes(data)
            if files:
                send_files(self.connection, files)

    def read(self, ready: Sequence[Any]) -> Iterator[Answer | Question]:
        """The messages that have arrived, but for the answer that it is ready.

        Args:
            ready: those of `signs` that are, as `wait` returns them.

        Raises:
            EOFError, OSError: the process has ended.
        """
        has_message = self.connection in ready or self.connection.poll()
        while has_message:
            message: Answer | Question = self.connection.recv()
            self.deadline = time.monotonic() + self._time_limit
            if self.is_ready:
                yield message
            elif isinstance(message, Answer) and message.fault is not None:
                raise StartError(message.fault.trace)
            self.is_ready = True
            has_message = self.connection.poll()
        if self._end in ready:
            raise EOFError

    def finish(self) -> _Task:
        """The oldest task, which is answered."""
        self._sent -= self._sizes.popleft()
        return self.given.popleft()

    def death(self) -> str:
        """How the process died; waits for its end."""
        code = self.join()
        if code is None or code >= 0:
            return f"exit code {code}"
        with suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
        return f"signal {-code}"

    def kill(self) -> None:
        """Kill the process without waiting for it. Takes no lock."""
        if os.getpid() == self._owner:
            self._process.kill()

    def join(self, limit: float | None = None) -> int | None:
        """Wait for the end of the process; returns its exit code, None at the time limit."""
        if isinstance(self._process, subprocess.Popen):
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(limit)
            return self._process.returncode
        self._process.join(limit)
        return self._process.exitcode

    def stop(self, limit: float | None = None) -> None:
        """Kill the process, wait for its end, at most `limit` seconds, and close the connection.

        A fork of the owner only closes its copies.
        """
        self.connection.close()
        end, self._end = self._end, -1
        if end >= 0:
            os.close(end)
        if os.getpid() == self._owner:
            self._process.kill()
            self.join(limit)
        elif isinstance(self._process, subprocess.Popen):
            self._process.returncode = 0  # so that nobody waits for it

    def _packed(self, parcel: Parcel) -> tuple[bytes, list[int], _Known]:
        """The bytes of a message, the files that follow, and the worker's contents after it."""
        segments, values = self._known
        references: dict[int, tuple[Any, ...]] = {}  # by `id` of an array or a value: how to get it
        new: tuple[int, ...] = ()
        gone: tuple[int, ...] = ()
        files: list[int] = []
        if self._memory is not None:
            used = set()
            for array in parcel.arrays:
                place = self._memory.locate(array)
                used.add(place.segment)
                references[id(array)] = shared_array, tuple(place)
            new = tuple(used - segments)
            gone = tuple(filter(self._memory.gone, segments))
            files += map(self._memory.descriptor, new)
            if new or gone:
                segments = (segments | used).difference(gone)
        unknown = []
        for shared in parcel.values:
            references[id(shared.value)] = shared_value, (shared.number,)
            if shared.number not in values:
                unknown.append(shared)
            if values[-1:] != (shared.number,):
                values = (*(each for each in values if each != shared.number), shared.number)
        forgotten, values = values[:-_MOST_VALUES], values[-_MOST_VALUES:]
        files += [shared.file for shared in unknown if shared.file >= 0]
        stream = io.BytesIO()
        if new or gone or unknown:
            header = Header(
                new,
                {shared.number: shared.value for shared in unknown if shared.file < 0},
                tuple(shared.number for shared in unknown if shared.file >= 0),
                gone,
                forgotten,
            )
            pickle.dump(tuple(header), stream)
        else:
            stream.write(_NO_HEADER)

        def refer(value: Any) -> Any:
            return references.get(id(value)) or value.__reduce_ex__(pickle.DEFAULT_PROTOCOL)

        # By type, since a `persistent_id` would be called for every object of the message.
        types = map(type, [*parcel.arrays, *(shared.value for shared in parcel.values)])
        pickler = pickle.Pickler(stream)
        pickler.dispatch_table = {**copyreg.dispatch_table, **dict.fromkeys(types, refer)}
        pickler.dump(parcel.message)
        return stream.getvalue(), files, _Known(segments, values)


def start_program(
    connection: Connection[Any, Any],
    *,
    prepare: str | None = None,
    preparation: dict[str, Any] | None = None,
    memory_limit: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start a fresh interpreter for orders of ours, see `protocol.run_program`.

    Not a fork, since this process may have threads, and without importing the caller's main script
    as `multiprocessing` does.
    """
    arguments = {
        "parent": os.getpid(),
        "prepare": prepare,
        "preparation": preparation or {},
        "memory_limit": memory_limit,
    }
    program = (
        f"import sys; sys.path[:] = {json.dumps(sys.path)}; "
        f"from {run_program.__module__} import {run_program.__name__} as run; "
        f"run({connection.fileno()}, **{arguments!r})"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program],
        pass_fds=[connection.fileno()],
        stdin=subprocess.DEVNULL,
        process_group=0,  # only the parent handles Ctrl-C; it then ends the workers
    )


def vacant(
    team: Sequence[_Worker],
    ahead: int,
    takes: Callable[[_Worker], bool],
    hire: Callable[[], bool] | None = None,
) -> Iterator[_Worker]:
    """Workers to give a task each, idle ones first, until each has enough.

    Args:
        team: the workers.
        ahead: tasks that a worker may have at a time, the current one included.
        takes: whether there is a task that the worker may take.
        hire: adds a worker to the team; returns whether it did.
    """
    held = 0 if hire else min((len(worker.given) for worker in team), default=0)
    for depth in range(held + 1, ahead + 1):
        place = 0
        while place < len(team) or (hire is not None and hire()):
            if len(team[place].given) < depth and takes(team[place]):
                yield team[place]
            else:
                place += 1
