"""Runs batches ahead of their consumer: one scheduling thread, and a pool for the samples.

The threads hold no reference to the pipeline. They end when it is closed, dropped, or when the
interpreter exits.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Generic, TypeVar

import torch

from videoloader.errors import ArgumentError

__all__ = ["Prefetcher"]

Batch = TypeVar("Batch")

_numbers = itertools.count()


class _State(Generic[Batch]):
    """What the scheduling thread and the consumer share; guarded by `changed`."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.results: deque[Batch | BaseException] = deque()
        self.asked = 0
        self.made = 0
        self.has_ended = False
        self.is_closed = False
        self.pool: Executor | None = None
        self.changed = threading.Condition()

    def should_make(self, is_ready: Callable[[], bool]) -> bool:
        if self.has_ended or len(self.results) >= self.depth:
            return False
        return self.made < self.asked or is_ready()


class Prefetcher(Generic[Batch]):
    """Makes batches 0, 1, ... in a thread of its own, at most `depth` ahead.

    An error takes the place of its batch: `next` raises it once, and goes on with the next batch.
    StopIteration pauses it until `resume`.

    Args:
        make: makes a batch, given its number and the pool.
        is_ready: whether a batch can be made before anybody waits for it.
        depth: how many batches to make ahead.
        num_threads: size of the pool.
    """

    def __init__(
        self,
        make: Callable[[int, Executor], Batch],
        is_ready: Callable[[], bool],
        *,
        depth: int,
        num_threads: int,
    ) -> None:
        self._state: _State[Batch] = _State(depth)
        name = f"videoloader-{next(_numbers)}"
        thread = threading.Thread(
            target=_schedule,
            args=(self._state, make, is_ready, num_threads, name),
            name=name,
            daemon=True,  # the finalizer below ends it, after the threads of all pools have ended
        )
        self._end = weakref.finalize(self, _close, self._state, thread, name)
        thread.start()

    def next(self) -> Batch:
        """The next batch, or its error."""
        state = self._state
        with state.changed:
            state.asked = max(state.asked, state.made - len(state.results) + 1)
            state.changed.notify_all()
            state.changed.wait_for(lambda: state.results or state.has_ended or state.is_closed)
            if not state.results:
                if state.is_closed:
                    raise ArgumentError("the pipeline is closed")
                raise StopIteration("no more data; reset() begins the next epoch")
            result = state.results.popleft()
            state.changed.notify_all()
        if isinstance(result, BaseException):
            raise result
        return result

    def wake(self) -> None:
        """Look again at whether a batch can be made."""
        with self._state.changed:
            self._state.changed.notify_all()

    def resume(self, before: Callable[[], None]) -> None:
        """Go on after StopIteration, when `before` has run; nothing otherwise."""
        with self._state.changed:
            if self._state.has_ended and not self._state.results:
                before()
                self._state.has_ended = False
                self._state.changed.notify_all()

    def close(self) -> None:
        """End the threads; a batch in the making is given up after its running samples."""
        self._end()


def _schedule(
    state: _State[Batch],
    make: Callable[[int, Executor], Batch],
    is_ready: Callable[[], bool],
    num_threads: int,
    name: str,
) -> None:
    with ThreadPoolExecutor(num_threads, f"{name}-worker") as pool:
        _start(pool, num_threads)
        state.pool = pool
        while True:
            with state.changed:
                state.changed.wait_for(lambda: state.is_closed or state.should_make(is_ready))
                if state.is_closed:
                    return
                number = state.made
            result: Batch | BaseException | None = None
            try:
                result = make(number, pool)
            except BaseException as error:  # noqa: BLE001  (it is raised in the consumer)
                result = error
            with state.changed:
                if isinstance(result, StopIteration):
                    state.has_ended = True
                else:
                    state.results.append(result)
                    state.made += 1
                state.changed.notify_all()
            result = None  # the consumer's alone from here on


def _start(pool: Executor, num_threads: int) -> None:
    """Start all workers, and keep torch from starting threads of its own inside each."""
    intra = torch.get_num_threads()
    everybody = threading.Barrier(num_threads)

    def settle() -> None:
        torch.get_num_threads()  # the first call in a thread takes over the number of the process
        torch.set_num_threads(1)
        everybody.wait()

    for worker in [pool.submit(settle) for _ in range(num_threads)]:
        worker.result()
    torch.set_num_threads(intra)  # of threads that others start from here on


def _close(state: _State[Batch], thread: threading.Thread, name: str) -> None:
    with state.changed:
        state.is_closed = True
        state.results.clear()
        state.changed.notify_all()
    if state.pool is not None:
        state.pool.shutdown(wait=False, cancel_futures=True)
    # The garbage collector may run this in one of the threads that are to end.
    if not threading.current_thread().name.startswith(name):
        thread.join()
