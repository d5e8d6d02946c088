"""The protocol between this process and its worker processes, and the loop of a worker.

*Start.* A `WorkerProcess` makes a socket pair and starts a process with the other end: a fresh
interpreter that runs a program of ours (`start_program`), or a process of `multiprocessing` with
the user's callables (`PythonPool`). Both run `work`: it prepares (imports, callables, memory
limit) and sends an `Answer`, with a `Fault` if that failed; the process then ends.

*Orders and answers.* The parent sends a `WorkerCommand` at a time, and the next before the answers
arrive, so a worker never waits for work. The worker executes them in turn and sends an `Answer`
to each, in that order. During an order it may ask a `Question`; the parent sends a `Reply`, which
overtakes queued orders. No other messages exist. A message that the socket might not hold travels
as an open file: sending never waits for a worker.

*Memory.* The parent owns all shared memory (`SharedMemory`): it allocates before it sends an
order, and the worker writes. An array in it travels as its place. The open files of segments that
are new to a worker follow the message that uses them, with the numbers of segments that it may
unmap. The parent reuses a segment when its arrays are garbage, so it ends a worker whose order it
abandons.

*Values.* What many orders refer to, such as the index of a video, travels to a worker once, by a
number; bytes travel as an open file that the worker maps. The parent says which to forget.

*Errors.* An exception of an order travels as a `Fault`, with its traceback as text; the worker goes
on. An error while a message is received ends the worker.

*Deaths.* A worker ends itself, even during an order, when the parent ends or closes the connection.
The parent notices a death by the end of the connection or by the pidfd, reads what arrived before,
and applies the policy: a `Supervisor` replaces the worker and may retry its order; a `PythonPool`,
whose callables have state, answers all orders with an error. A fork of the parent kills no worker:
a `Supervisor` closes its copies of the connections there and starts workers of its own; a
`PythonPool` is not for use in a fork.
"""

from __future__ import annotations

import importlib
import io
import os
import pickle
import resource
import select
import socket
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from mmap import mmap
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Protocol, TypeVar

from numpy.typing import NDArray

from videoloader.machinery.system.faults import as_video_error, is_mistake
from videoloader.machinery.workers.shared_memory import MappedSegments, Place

_FILES = 250  # open files of one system call; Linux allows 253

_Kept = TypeVar("_Kept")

# What the messages to this process refer to, if it is a worker.
_memory = MappedSegments()
_values: dict[int, Any] = {}


class WorkerCommand(Protocol):
    """A picklable command for a worker."""

    def perform(self, worker: Worker) -> Any:
        """Execute the order; its result or exception is sent back."""


class Header(NamedTuple):
    """Part before an order or a reply: values that the worker gets and forgets before it.

    Attributes:
        segments: new ones, whose open files follow.
        values: new ones, by number.
        mapped: numbers of new ones whose open files follow those of segments.
        gone_segments: that will not be used again.
        gone_values: numbers.
    """

    segments: tuple[int, ...] = ()
    values: dict[int, Any] = {}  # noqa: RUF012
    mapped: tuple[int, ...] = ()
    gone_segments: tuple[int, ...] = ()
    gone_values: tuple[int, ...] = ()


class Reply(NamedTuple):
    """The parent's answer to a question."""

    value: Any


class Question(NamedTuple):
    """Something that the current order needs; the worker waits for the reply."""

    value: Any


class Fault(NamedTuple):
    """An exception on its way to the parent.

    Attributes:
        error: the exception pickled, empty if that is not possible.
        text: its type and message.
        trace: its traceback.
        is_mistake: whether it is about the program, see `is_mistake`.
    """

    error: bytes
    text: str
    trace: str
    is_mistake: bool

    @classmethod
    def of(cls, error: BaseException) -> Fault:
        """Pack an exception."""
        try:
            data = pickle.dumps(error)
            pickle.loads(data)
        except Exception:  # noqa: BLE001  (a user-defined exception that does not pickle)
            data = b""
        text = "".join(traceback.format_exception_only(error)).strip()
        trace = "".join(traceback.format_exception(error))
        return cls(data, text, trace, is_mistake(error))

    def restored(self, where: str = "") -> Exception:
        """The exception, or one with its text if its class cannot be imported here.

        Args:
            where: the kind of worker, for a note with the traceback; no note by default.
        """
        error: Exception = (AssertionError if self.is_mistake else RuntimeError)(self.text)
        if self.error:
            with suppress(Exception):
                error = pickle.loads(self.error)
        if where:
            error.add_note(f"in {where}:\n{self.trace}")
        return error


class Answer(NamedTuple):
    """The result of an order, or why there is none; the first one is about the preparation."""

    value: Any = None
    fault: Fault | None = None


class Worker:
    """State of a worker process that orders share: one object of each type."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection = connection
        self._orders: deque[WorkerCommand] = deque()
        self._kept: dict[type[Any], Any] = {}

    def kept(self, kind: type[_Kept]) -> _Kept:
        """The object of type `kind`, created on first use."""
        value = self._kept.get(kind)
        if value is None:
            value = self._kept[kind] = kind()
        return value

    def ask(self, value: Any) -> Any:
        """Ask the parent; returns the value of its reply. Orders that arrive before it wait."""
        self._send(Question(value))
        while not isinstance(message := self._receive(), Reply):
            self._orders.append(message)
        return message.value

    def execute_orders(self, blame: str | None) -> None:
        """Execute orders until the connection is closed; see `work`."""
        self._send(Answer())
        while True:
            order = self._orders.popleft() if self._orders else self._receive()
            assert not isinstance(order, Reply)
            try:
                answer = Answer(order.perform(self))
            except Exception as error:  # noqa: BLE001  (it is raised again by the parent)
                if blame is not None and not is_mistake(error):
                    error = as_video_error(error, blame)
                answer = Answer(fault=Fault.of(error))
            self._send(answer)

    def _send(self, message: Answer | Question) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # `_end_with` ends this process
            self._connection.send(message)

    def _receive(self) -> WorkerCommand | Reply:
        """Receive a message and first the values it refers to. An error here ends the worker."""
        try:
            data = self._connection.recv_bytes()
            if not data:
                with open(_receive_files(self._connection, 1)[0], "rb") as file:
                    data = file.read()
            stream = io.BytesIO(data)
            header = Header(*pickle.load(stream))
            new, mapped = header.segments, header.mapped
            files = _receive_files(self._connection, len(new) + len(mapped))
        except (EOFError, ConnectionResetError):
            os._exit(0)
        _memory.drop(header.gone_segments)
        for segment, descriptor in zip(new, files, strict=False):
            _memory.add(segment, descriptor)
        for number in header.gone_values:
            del _values[number]
        _values.update(header.values)
        for number, descriptor in zip(mapped, files[len(new) :], strict=True):
            _values[number] = mmap(descriptor, 0)
            os.close(descriptor)
        message: WorkerCommand | Reply = pickle.load(stream)
        return message


def shared_array(*place: Any) -> NDArray[Any]:
    """In a worker: the array that a message refers to."""
    return _memory.array(Place(*place))


def shared_value(number: int) -> Any:
    """In a worker: the value that a message refers to."""
    return _values[number]


def work(
    connection: Connection[Any, Any],
    parent: int,
    prepare: Callable[[Worker], None],
    *,
    blame: str | None = None,
) -> None:
    """Execute orders until the connection is closed or the parent ends.

    Args:
        connection: delivers orders and open files, and takes answers.
        parent: process id of the parent.
        prepare: called first.
        blame: an error of an order that is no mistake of the program becomes a `VideoError` of
            this name; None leaves errors as they are.
    """
    watch = threading.Thread(target=_end_with, args=(connection.fileno(), parent), daemon=True)
    watch.start()
    worker = Worker(connection)
    try:
        prepare(worker)
    except BaseException as error:  # noqa: BLE001  (sent to the parent)
        connection.send(Answer(fault=Fault.of(error)))
        sys.exit(1)
    worker.execute_orders(blame)


def run_program(
    descriptor: int,
    *,
    parent: int,
    prepare: str | None,
    preparation: dict[str, Any],
    memory_limit: int | None,
) -> None:
    """The program of a worker whose orders are code of ours.

    Args:
        descriptor: of the connection.
        parent: process id of the parent.
        prepare: `module:name` of a function to call first. It loads libraries, which
            `memory_limit` then does not count.
        preparation: arguments of that call.
        memory_limit: bytes that may be allocated after that call. It bounds the data segment
            (RLIMIT_DATA), not the address space: mapped files and shared memory are not counted.
    """

    def prepared(worker: Worker) -> None:  # noqa: ARG001
        if prepare is not None:
            load(prepare)(**preparation)
        if memory_limit is not None:
            _limit_memory(memory_limit)

    work(Connection(descriptor), parent, prepared, blame="a worker process")


def load(function: str) -> Any:
    """Import the object `module:name`."""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)


def send_files(connection: Connection[Any, Any], files: Sequence[int]) -> None:
    """Send open files; they follow the message that was sent last."""
    with socket.socket(fileno=os.dup(connection.fileno())) as channel:
        for begin in range(0, len(files), _FILES):
            socket.send_fds(channel, [b"\0"], files[begin : begin + _FILES])


def _receive_files(connection: Connection[Any, Any], count: int) -> list[int]:
    files: list[int] = []
    if count:
        with socket.socket(fileno=os.dup(connection.fileno())) as channel:
            while len(files) < count:
                _, descriptors, _, _ = socket.recv_fds(channel, 1, _FILES)
                if not descriptors:
                    raise EOFError
                files += descriptors
    return files


def _limit_memory(size: int) -> None:
    """Limit this process to `size` bytes more than it has allocated now (RLIMIT_DATA)."""
    with open("/proc/self/status") as status:
        used = next(int(line.split()[1]) for line in status if line.startswith("VmData:"))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = used * 1024 + size
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


def _end_with(descriptor: int, parent: int) -> None:
    """End this process when the parent closes its end of a connection, or ends.

    A fork holds a copy of the parent's end, so both are watched.
    """
    poller = select.poll()
    poller.register(descriptor, 0)
    try:
        poller.register(os.pidfd_open(parent), select.POLLIN)
    except ProcessLookupError:
        os._exit(0)
    except OSError:  # no pidfd on this system
        pass
    poller.poll()
    os._exit(0)
