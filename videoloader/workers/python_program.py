"""The program of a worker process that runs Python code for parallel sources.

What an order makes is written into shared memory that the other side has chosen. Where there is
too little, the worker asks for more and keeps what it made until it comes.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from videoloader.eager_calls import eager
from videoloader.workers.python_jobs import Column, Job
from videoloader.workers.shared_memory import MappedSegments, Place

__all__ = ["Done", "Failed", "Layout", "Needed", "Order", "Ready", "Room", "views", "work"]

_ALIGNMENT = 64

Array: TypeAlias = tuple[int, tuple[int, ...], str]
"""Offset, shape and element type of an array in a slot."""

Layout: TypeAlias = "list[Array | list[Array]]"
"""For each output an array (N, ...), or the array of each sample where they differ in shape."""


class Room(NamedTuple):
    """Shared memory for what an order makes.

    Attributes:
        place: of the memory.
        is_new: whether the open file of its segment follows.
        gone: segments that will not come again.
    """

    place: Place
    is_new: bool
    gone: tuple[int, ...]


class Order(NamedTuple):
    """Do a piece of work for a source, by its number; `ticket` names it in the answer."""

    ticket: int
    source: int
    work: Any
    room: Room


class Ready(NamedTuple):
    """The worker has loaded the callables. `error` is why it could not."""

    error: str = ""


class Done(NamedTuple):
    """What an order made lies in its memory, as `layout` says."""

    ticket: int
    layout: Layout


class Needed(NamedTuple):
    """What an order made needs so many bytes of memory; a `Room` is waited for."""

    ticket: int
    size: int


class Failed(NamedTuple):
    """An order failed: the pickled error (empty if it does not pickle), its text, its traceback."""

    ticket: int
    error: bytes
    text: str
    trace: str


def work(
    connection: Connection[Any, Any],
    jobs: Any,
    loads: Callable[[Any], Sequence[Job]] | None,
    parent: int,
) -> None:
    """Carry out orders until the parent closes the connection or ends.

    Args:
        connection: orders come, answers go.
        jobs: of each source by number.
        loads: makes them of `jobs` where those are bytes, which they are not in a fork.
        parent: process that ends this one with it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends the workers
    gc.freeze()  # what a fork inherited is the parent's to free
    _use_one_thread()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        loaded = jobs if loads is None else loads(jobs)
    except BaseException:  # noqa: BLE001  (it is told)
        connection.send(Ready(traceback.format_exc()))
        return
    connection.send(Ready())
    worker = _Worker(connection, loaded)
    with suppress(EOFError, ConnectionError), eager():
        while True:
            worker.carry_out(worker.next_order())


class _Worker:
    def __init__(self, connection: Connection[Any, Any], jobs: Sequence[Job]) -> None:
        self._connection = connection
        self._jobs = jobs
        self._memory = MappedSegments()
        self._orders: deque[Order] = deque()

    def next_order(self) -> Order:
        """The oldest order that is not carried out."""
        while not self._orders:
            self._receive()
        return self._orders.popleft()

    def carry_out(self, order: Order) -> None:
        """Do the work, and answer."""
        job = self._jobs[order.source]
        try:
            columns = job.perform(order.work)
            size, layout = _arrange(columns)
            place: Place | None = order.room.place
            if size > order.room.place.shape[0]:
                self._connection.send(Needed(order.ticket, size))
                place = self._receive()
                while place is None:
                    place = self._receive()
            assert place is not None
            _write(self._memory.array(place), columns, layout)
        except (EOFError, ConnectionError):
            raise
        except BaseException as error:  # noqa: BLE001  (it is raised where the order came from)
            self._connection.send(_failed(order.ticket, error))
        else:
            self._connection.send(Done(order.ticket, layout))

    def _receive(self) -> Place | None:
        """Take a message: an order, which waits for its turn, or memory that was asked for."""
        message: Order | Room = self._connection.recv()
        room = message.room if isinstance(message, Order) else message
        self._memory.drop(room.gone)
        if room.is_new:
            self._memory.add(room.place.segment, recv_handle(self._connection))
        if isinstance(message, Order):
            self._orders.append(message)
            return None
        return room.place


def views(slot: NDArray[Any], layout: Layout) -> list[Column]:
    """The arrays in a slot; they keep its memory alive."""
    return [
        [_view(slot, array) for array in part] if isinstance(part, list) else _view(slot, part)
        for part in layout
    ]


def _view(slot: NDArray[Any], array: Array) -> NDArray[Any]:
    offset, shape, dtype = array
    kind = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    return slot[offset : offset + size].view(kind).reshape(shape)


def _arrange(columns: Sequence[Column]) -> tuple[int, Layout]:
    """Where the arrays will lie, and the bytes that they need."""
    size = 0

    def place(array: NDArray[Any]) -> Array:
        nonlocal size
        offset, size = size, size + -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        return offset, array.shape, array.dtype.newbyteorder("=").str

    def place_all(arrays: list[NDArray[Any]]) -> Array | list[Array]:
        first = arrays[0] if arrays else None
        if first is None or any(
            array.shape != first.shape or array.dtype != first.dtype for array in arrays
        ):
            return [place(array) for array in arrays]
        nonlocal size
        offset, size = size, size + -(-first.nbytes * len(arrays) // _ALIGNMENT) * _ALIGNMENT
        return offset, (len(arrays), *first.shape), first.dtype.newbyteorder("=").str

    layout: Layout = [
        place_all(column) if isinstance(column, list) else place(column) for column in columns
    ]
    return size, layout


def _write(slot: NDArray[Any], columns: Sequence[Column], layout: Layout) -> None:
    for column, targets in zip(columns, views(slot, layout), strict=True):
        if isinstance(targets, list):
            for array, target in zip(column, targets, strict=True):
                target[...] = array
        elif isinstance(column, list):
            np.stack(column, out=targets, casting="equiv")
        else:
            np.copyto(targets, column)


def _failed(ticket: int, error: BaseException) -> Failed:
    text = "".join(traceback.format_exception_only(error)).strip()
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:  # noqa: BLE001  (an error of somebody's own that does not travel)
        data = b""
    return Failed(ticket, data, text, "".join(traceback.format_exception(error)))


def _use_one_thread() -> None:
    """Keep libraries from waiting for threads of theirs, none of which came along in a fork."""
    for module, function in (("torch", "set_num_threads"), ("cv2", "setNumThreads")):
        if module in sys.modules:
            getattr(sys.modules[module], function)(1)


def _end_with(parent: int) -> None:
    """End this process when the parent ends, even amid a task."""
    try:
        descriptor = os.pidfd_open(parent)
    except OSError:  # gone already, or a system without it: the connection is closed in the end
        if os.getppid() != parent:
            os._exit(0)
        return
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    poller.poll()
    os._exit(0)
