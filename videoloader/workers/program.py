"""The main loop of a worker process: executes orders one after another."""

from __future__ import annotations

import os
import pickle
import select
import socket
import threading
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeVar

from videoloader.sources.faults import as_video_error, is_mistake
from videoloader.workers.processes import limit_memory, load

__all__ = ["Order", "Worker", "work"]

_Kept = TypeVar("_Kept")


class Order(Protocol):
    """A picklable command for a worker."""

    def accept(self, worker: Worker, files: list[int]) -> None:
        """Take ownership of the open files sent with the order; an error here ends the worker."""

    def perform(self, worker: Worker) -> Any:
        """Execute the order; its result or exception is sent back."""


class Worker:
    """State of a worker process that orders share: one value of each type."""

    def __init__(self) -> None:
        self._kept: dict[type[Any], Any] = {}

    def kept(self, kind: type[_Kept]) -> _Kept:
        """The value of type `kind`, created on first use."""
        value = self._kept.get(kind)
        if value is None:
            value = self._kept[kind] = kind()
        return value


def work(
    descriptor: int,
    *,
    files: int,
    prepare: str | None,
    preparation: dict[str, Any],
    memory_limit: int | None,
) -> None:
    """Execute orders until the connection is closed.

    Args:
        descriptor: connection that delivers orders and takes results.
        files: socket that delivers open files.
        prepare: `module:name` of a function to call first. It loads libraries, which
            `memory_limit` then does not count.
        preparation: arguments of that call.
        memory_limit: bytes that may be allocated after that call. It bounds the data segment
            (RLIMIT_DATA), not the address space: mapped files and shared memory are not counted.
    """
    if prepare is not None:
        load(prepare)(**preparation)
    if memory_limit is not None:
        limit_memory(memory_limit)
    connection: Connection[Any, Any] = Connection(descriptor)
    threading.Thread(target=_end_with, args=(descriptor,), daemon=True).start()
    worker = Worker()
    with socket.socket(fileno=files) as channel:
        _send(connection, None)
        while True:
            order, received = _receive(connection, channel)
            order.accept(worker, received)
            _send(connection, _attempt(order, worker))


def _attempt(order: Order, worker: Worker) -> tuple[Any, Exception | None]:
    """The result of an order, or its exception."""
    try:
        return order.perform(worker), None
    except Exception as error:  # noqa: BLE001  (it is raised again by the parent)
        if not is_mistake(error):
            return None, as_video_error(error, "a worker process")
        text = f"in a worker process: {traceback.format_exc()}"
        try:
            error.add_note(text)
            pickle.loads(pickle.dumps(error))
        except Exception:  # noqa: BLE001  (a user-defined exception that does not pickle)
            return None, AssertionError(text)
        return None, error


def _send(connection: Connection[Any, Any], message: Any) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # `_end_with` ends this process
        connection.send(message)


def _receive(connection: Connection[Any, Any], channel: socket.socket) -> tuple[Order, list[int]]:
    """Receive an order and its open files."""
    try:
        data = connection.recv_bytes()
        if not data:
            with open(_receive_file(channel), "rb") as file:
                data = file.read()
        order, count = pickle.loads(data)
        return order, [_receive_file(channel) for _ in range(count)]
    except (EOFError, ConnectionResetError):
        os._exit(0)


def _receive_file(channel: socket.socket) -> int:
    _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    if not descriptors:
        raise EOFError
    return descriptors[0]


def _end_with(descriptor: int) -> None:
    """End this process when the other end of a connection is closed, even during a task."""
    poller = select.poll()
    poller.register(descriptor, 0)
    poller.poll()
    os._exit(0)
