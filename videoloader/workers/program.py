"""The program of a worker process: it carries out orders, one after another."""

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
    """What a worker is told to do. It pickles."""

    def accept(self, worker: Worker, files: list[int]) -> None:
        """Take over the open files that came along; an error here ends the worker."""

    def perform(self, worker: Worker) -> Any:
        """Do it; what it gives, or raises, travels back."""


class Worker:
    """What orders leave in a worker process for those that follow: one value of each kind."""

    def __init__(self) -> None:
        self._kept: dict[type[Any], Any] = {}

    def kept(self, kind: type[_Kept]) -> _Kept:
        """The value of a kind, made when it is first asked for."""
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
    """Carry out orders as they come, until nobody is there to send them.

    Args:
        descriptor: a connection; orders come, results go.
        files: a socket by which open files come.
        prepare: `module:name` of what is called first: it loads libraries, which `memory_limit`
            does not count.
        preparation: arguments of that call.
        memory_limit: bytes that may be allocated from here on. It bounds the data segment
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
    """What an order gives, or why it fails: an error of ours, or a mistake of a program."""
    try:
        return order.perform(worker), None
    except Exception as error:  # noqa: BLE001  (it is raised where the order came from)
        if not is_mistake(error):
            return None, as_video_error(error, "a worker process")
        text = f"in a worker process: {traceback.format_exc()}"
        try:
            error.add_note(text)
            pickle.loads(pickle.dumps(error))
        except Exception:  # noqa: BLE001  (an error of somebody's own that does not travel)
            return None, AssertionError(text)
        return None, error


def _send(connection: Connection[Any, Any], message: Any) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # `_end_with` ends this process
        connection.send(message)


def _receive(connection: Connection[Any, Any], channel: socket.socket) -> tuple[Order, list[int]]:
    """An order and its open files."""
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
    """End this process when the other end of a connection is closed, even amid a task."""
    poller = select.poll()
    poller.register(descriptor, 0)
    poller.poll()
    os._exit(0)
