"""The queues between stages: bounded, in order, closed for all threads at once."""

from __future__ import annotations

import queue
import threading
from typing import Any

_CLOSED: Any = object()


class QueueClosedError(Exception):
    """A queue was closed."""


class Queue:
    """First in, first out. `reserve` room before `put`. Threads may share it."""

    def __init__(self, room: int) -> None:
        self.room = room
        """Items that it holds at most."""
        self._items: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._room: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(room):
            self._room.put(None)

    def __len__(self) -> int:
        """Items in it; another thread may be about to take or to put one."""
        return min(self._items.qsize(), self.room)

    def reserve(self) -> None:
        """Wait until there is room for one more item."""
        _take(self._room)

    def put(self, item: Any) -> None:
        """Put an item in."""
        self._items.put(item)

    def take(self) -> Any:
        """Wait for an item, and keep its room until `free`."""
        return _take(self._items)

    def free(self) -> None:
        """Give back the room of an item that was taken, or will not be put in."""
        self._room.put(None)

    def get(self) -> Any:
        """Wait for an item, and give its room back."""
        item = self.take()
        self.free()
        return item

    def close(self) -> None:
        """Raise `QueueClosedError` in all threads that wait now or later."""
        self._room.put(_CLOSED)
        self._items.put(_CLOSED)


def _take(items: queue.SimpleQueue[Any]) -> Any:
    item = items.get()
    if item is _CLOSED:
        items.put(_CLOSED)  # for the next who waits
        raise QueueClosedError
    return item


class InOrder:
    """Keeps the items of a stage in order, however many threads work on them."""

    def __init__(self, before: Any, behind: Queue) -> None:
        self.behind = behind
        self._before = before
        self._taking = threading.Lock()
        self._giving = threading.Lock()
        self.taken = 0
        """Items that threads of the stage have taken."""
        self._given = 0
        self._put = 0
        self._early: dict[int, Any] = {}

    def take(self) -> tuple[int, Any]:
        """The next item, and its place."""
        with self._taking:
            item = self._before.take()
            self.taken += 1
            return self.taken - 1, item

    def begin(self) -> None:
        """Wait for room in the next queue, then give back the room of the item that was taken."""
        self.behind.reserve()
        self._before.free()

    def give(self, place: int, item: Any) -> None:
        """Hand on an item once all earlier ones are handed on; does not wait for them."""
        with self._giving:
            self._early[place] = item
            while self._given in self._early:
                self.put(self._early.pop(self._given))
                self._given += 1

    def put(self, item: Any) -> None:
        """Hand on an item directly; room for it is reserved."""
        self.behind.put(item)
        self._put += 1

    def pass_by(self) -> None:
        """Skip the item that was begun; only for stages with one thread."""
        self._given += 1
        self.behind.free()

    def is_idle_behind(self, order: InOrder) -> bool:
        """Whether the threads of an order are done with all that was handed on to them here."""
        return order._given == self._put


class Numbers:
    """Numbers for the first stage, from `first` on, as far as they are allowed."""

    def __init__(self, first: int, *, on_demand: bool) -> None:
        self._allowed: queue.SimpleQueue[Any] | None = queue.SimpleQueue() if on_demand else None
        self._given = self._next = first

    def take(self) -> int:
        """The next number, when it is allowed."""
        if self._allowed is not None:
            _take(self._allowed)
        self._next += 1
        return self._next - 1

    @property
    def next(self) -> int:
        """The number that is given next."""
        return self._next

    def free(self) -> None:
        """Numbers take no room."""

    def is_idle(self, number: int) -> bool:
        """Whether `number` is the next one, and waits to be allowed."""
        return self._allowed is not None and self._given == self._next == number

    def pass_by(self) -> int:
        """Take the next number in another thread, while the thread of the first stage is idle."""
        self._given += 1
        self._next += 1
        return self._next - 1

    def again(self) -> None:
        """Give the last number again, once it is allowed again. Only its taker may call this."""
        self._next -= 1

    def withdraw(self) -> None:
        """Take back the permission for a number that will be given again."""
        self._given -= 1

    def allow(self, count: int) -> None:
        """Let numbers below `count` be given."""
        while self._allowed is not None and self._given < count:
            self._given += 1
            self._allowed.put(None)

    def is_allowed(self, number: int) -> bool:
        """Whether a number may be given."""
        return self._allowed is None or number < self._given

    def close(self) -> None:
        """Raise `QueueClosedError` in all threads that wait now or later."""
        if self._allowed is not None:
            self._allowed.put(_CLOSED)
