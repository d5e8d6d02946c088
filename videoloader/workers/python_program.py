"""The main loop of a worker process that runs Python code for parallel sources.

The worker writes the outputs of an order to shared memory that the parent has allocated. If that
is too small, the worker requests more, and keeps the outputs until it arrives.
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

from videoloader.system.eager_calls import eager
from videoloader.workers.python_jobs import Column, Job
from videoloader.workers.shared_memory import MappedSegments, Place

__all__ = ["Done", "Failed", "Layout", "Needed", "Order", "Ready", "Room", "views", "work"]

_ALIGNMENT = 64

Array: TypeAlias = tuple[int, tuple[int, ...], str]
"""Offset, shape and element type of an array in a slot."""

Layout: TypeAlias = "list[Array | list[Array]]"
"""For each output an array (N, ...), or a list of arrays if samples differ in shape."""


class Room(NamedTuple):
    """Shared memory for the outputs of an order.

    Attributes:
        place: location of the memory.
        is_new: whether the open file of its segment follows.
        gone: segments that will not be used again.
    """

    place: Place
    is_new: bool
    gone: tuple[int, ...]


class Order(NamedTuple):
    """Do work for the source with a number; the answer has the same `ticket`."""

    ticket: int
    source: int
    work: Any
    room: Room


class Ready(NamedTuple):
    """The worker has loaded the callables, or failed to with `error`."""

    error: str = ""


class Done(NamedTuple):
    """The outputs of an order are in its memory; `layout` locates them."""

    ticket: int
    layout: Layout


class Needed(NamedTuple):
    """The outputs of an order need `size` bytes of memory; the worker waits for a `Room`."""

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
    """Execute orders until the parent closes the connection or ends.

    Args:
        connection: delivers orders and takes answers.
        jobs: job of each source, by number; pickled unless this process is a fork.
        loads: unpickles `jobs`; None in a fork.
        parent: process id of the parent; this process ends with it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends workers
    gc.freeze()  # never collect objects inherited from the parent
    _use_one_thread()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        loaded = jobs if loads is None else loads(jobs)
    except BaseException:  # noqa: BLE001  (sent to the parent)
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
        """The oldest order that is not executed yet."""
        while not self._orders:
            self._receive()
        return self._orders.popleft()

    def carry_out(self, order: Order) -> None:
        """Execute an order, and send the answer."""
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
        """Receive a message: an order, which is queued, or requested memory, which is returned."""
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
    """The total bytes and the layout of the arrays."""
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
    except Exception:  # noqa: BLE001  (a user-defined exception that does not pickle)
        data = b""
    return Failed(ticket, data, text, "".join(traceback.format_exception(error)))


def _use_one_thread() -> None:
    """Make libraries single-threaded: a fork lacks their threads, and they would wait for them."""
    for module, function in (("torch", "set_num_threads"), ("cv2", "setNumThreads")):
        if module in sys.modules:
            getattr(sys.modules[module], function)(1)


def _end_with(parent: int) -> None:
    """End this process when the parent ends, even during a task."""
    try:
        descriptor = os.pidfd_open(parent)
    except OSError:  # already ended, or no pidfd: the closed connection ends `work`
        if os.getppid() != parent:
            os._exit(0)
        return
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    poller.poll()
    os._exit(0)
