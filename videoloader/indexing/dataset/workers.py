"""Indexing in worker processes that may crash or hang without harm to the others' work."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from videoloader.errors import VideoError
from videoloader.indexing.dataset.rows import Row, make_row
from videoloader.indexing.dataset.sources import Item
from videoloader.indexing.source import Fingerprint

__all__ = ["index_items", "work"]

_BATCH = 64  # videos given to a worker at a time


def index_items(
    items: Sequence[Item], *, workers: int, headers: bool, time_limit: float
) -> Iterator[Row]:
    """A row for each video, in the order in which they are done.

    A worker that dies, or works on one video for longer than the limit, costs that video only:
    its row has the reason as its error, and another worker goes on with the rest.

    Args:
        items: the videos.
        workers: number of processes; 0 works in this one, without protection.
        headers: read packet headers too.
        time_limit: seconds for one video.
    """
    if workers == 0:
        for item in items:
            yield make_row(item, headers=headers)
        return
    waiting = deque(items)
    team = [_Worker(headers=headers) for _ in range(min(workers, len(items)))]
    try:
        while waiting or any(worker.given for worker in team):
            for worker in team:
                worker.give(waiting)
            ready = wait([w.connection for w in team if w.given], timeout=min(time_limit, 1.0))
            for worker in team:
                if worker.connection in ready:
                    yield from worker.take()
                elif worker.given and time.monotonic() - worker.since > time_limit:
                    yield worker.give_up(f"indexing took longer than {time_limit:g} s")
    finally:
        for worker in team:
            worker.stop()


class _Worker:
    """A process, the videos it was given, and when it began with the first of them."""

    def __init__(self, *, headers: bool) -> None:
        self._headers = headers
        self.given: deque[Item] = deque()
        self.since = 0.0
        self._start()

    def give(self, waiting: deque[Item]) -> None:
        """Hand over videos if few are left to do, so that the process never waits for more."""
        if len(self.given) >= _BATCH or not waiting:
            return
        more = [waiting.popleft() for _ in range(min(_BATCH, len(waiting)))]
        if not self.given:
            self.since = time.monotonic()
        self.given += more
        self._send(more)

    def take(self) -> Iterator[Row]:
        """The rows that have arrived; if the process has died, the row that says so."""
        try:
            while self.given and self.connection.poll():
                row: Row = self.connection.recv()
                self.given.popleft()
                self.since = time.monotonic()
                yield row
        except (EOFError, OSError):
            code = self._process.wait()
            yield self.give_up(f"the indexing process died (exit code {code})")

    def give_up(self, reason: str) -> Row:
        """Blame the video at hand, and begin again with the next."""
        self.stop()
        item = self.given.popleft()
        try:
            state: Fingerprint | None = item.state()
        except VideoError:
            state = None
        self._start()
        if self.given:
            self.since = time.monotonic()
            self._send(list(self.given))
        return Row(item, state, {}, error=f"{item.name}: {reason}")

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.connection.close()
        self._process.kill()
        self._process.wait()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            # A program of its own: not a fork, since this process may have threads, and not one
            # that begins by running the caller's script again.
            program = (
                f"import sys; sys.path[:] = {json.dumps(sys.path)}; "
                f"from {__name__} import work; "
                f"work({theirs.fileno()}, headers={self._headers})"
            )
            command = [sys.executable, "-c", program]
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
            )
        self.connection: Connection[Any, Any] = Connection(ours.detach())

    def _send(self, items: list[Item]) -> None:
        with suppress(OSError):  # if it has died already, `take` finds out
            self.connection.send(items)


def work(descriptor: int, *, headers: bool) -> None:
    """What a worker does: rows for the videos that come, until nobody is there to take them."""
    with Connection(descriptor) as connection:
        try:
            while True:
                for item in connection.recv():
                    connection.send(make_row(item, headers=headers))
        except (EOFError, OSError):
            return
