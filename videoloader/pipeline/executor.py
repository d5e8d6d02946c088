"""Runs batches ahead of their consumer: one scheduling thread, and a pool for the samples.

The threads hold no reference to the pipeline. They end when it is closed, soon after it is dropped,
or when the interpreter exits.

The garbage collector runs a finalizer in any thread and at any line, also where that thread holds a
lock which the threads of the pipeline need to go on: `submit` of any pool holds one of all pools.
So a finalizer takes no lock and waits for nothing. It leaves a mark and rings a bell.
"""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

import torch

from videoloader.errors import ArgumentError

__all__ = ["Prefetcher"]

Batch = TypeVar("Batch")

_numbers = itertools.count()
_starting = threading.Lock()
"""Held while workers start: the number of torch's threads is then not that of the process."""


class _State(Generic[Batch]):
    """What the scheduling thread and the consumer share; guarded by `changed`.

    The consumer waits for `changed`, the scheduling thread for the bell.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.results: deque[Batch | BaseException] = deque()
        self.asked = 0
        self.made = 0
        self.has_ended = False
        self.is_closed = False
        self.failure: BaseException | None = None
        self.pool: Executor | None = None
        self.changed = threading.Condition()
        self._bell = threading.Lock()
        self._bell.acquire()

    def notify(self) -> None:
        """Something has changed; called with `changed` held."""
        self.changed.notify_all()
        self.ring()

    def ring(self) -> None:
        """Let the scheduling thread look again; takes no lock."""
        try:
            self._bell.release()
        except RuntimeError:  # it rings already
            return

    def wait_for_bell(self) -> None:
        """Return when it rings, or has rung since the last call."""
        self._bell.acquire()

    def drop(self) -> None:
        """Let the threads end; takes no lock."""
        self.is_closed = True
        self.ring()

    def is_over(self) -> bool:
        return self.has_ended or self.is_closed or self.failure is not None

    def is_settled(self, is_ready: Callable[[], bool]) -> bool:
        """Whether it is known if there is a next batch; if not, the thread is finding out."""
        return bool(self.results) or self.is_over() or not self.should_make(is_ready)

    def should_make(self, is_ready: Callable[[], bool]) -> bool:
        if self.has_ended or len(self.results) >= self.depth:
            return False
        return self.made < self.asked or is_ready()


class Prefetcher(Generic[Batch]):
    """Makes batches 0, 1, ... in a thread of its own, at most `depth` ahead.

    An error takes the place of its batch: `next` raises it once, and goes on with the next batch.
    StopIteration pauses it until `resume`. An error of the thread itself, which could not start
    its pool for example, is the end: `next` raises a RuntimeError from it from then on.

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
        self._is_ready = is_ready
        name = f"videoloader-{next(_numbers)}"
        thread = threading.Thread(
            target=_schedule,
            args=(self._state, make, is_ready, num_threads, name),
            name=name,
            daemon=True,  # `_close_all` ends it, after the threads of all pools have ended
        )
        self._thread = thread
        self._dropped = weakref.finalize(self, self._state.drop)
        self._dropped.atexit = False
        _living[name] = self._state, thread
        try:
            thread.start()
        except BaseException:
            del _living[name]
            raise

    def next(self) -> Batch:
        """The next batch, or its error."""
        state = self._state
        with state.changed:
            state.asked = max(state.asked, state.made - len(state.results) + 1)
            state.notify()
            state.changed.wait_for(lambda: state.results or state.is_over())
            if not state.results:
                if state.is_closed:
                    raise ArgumentError("the pipeline is closed")
                if state.failure is not None:
                    # Raised itself, and kept here, it would keep the frames of the consumer.
                    raise RuntimeError(
                        "the thread of the pipeline has ended: "
                        f"{type(state.failure).__name__}: {state.failure}"
                    ) from state.failure
                raise StopIteration("no more data; reset() begins the next epoch")
            result = state.results.popleft()
            state.notify()
        if isinstance(result, BaseException):
            raise result
        return result

    def wake(self) -> None:
        """Look again at whether a batch can be made."""
        with self._state.changed:
            self._state.notify()

    def resume(self, before: Callable[[], None]) -> bool:
        """Go on after StopIteration, when `before` has run; nothing and False otherwise.

        Waits for a batch in the making, for it may turn out to be the end.
        """
        state = self._state
        with state.changed:
            state.changed.wait_for(lambda: state.is_settled(self._is_ready))
            if not state.has_ended or state.results:
                return False
            before()
            state.has_ended = False
            state.notify()
            return True

    def close(self) -> None:
        """End the threads; a batch in the making is given up after its running samples."""
        self._dropped.detach()
        _close(self._state, self._thread)


def _schedule(
    state: _State[Batch],
    make: Callable[[int, Executor], Batch],
    is_ready: Callable[[], bool],
    num_threads: int,
    name: str,
) -> None:
    """What the scheduling thread runs; nothing that goes wrong here is lost."""
    try:
        with ThreadPoolExecutor(num_threads, f"{name}-worker") as pool:
            _start(pool, num_threads)
            state.pool = pool
            _make_batches(state, make, is_ready, _Samples(state, pool))
    except BaseException as error:  # noqa: BLE001  (it is raised in the consumer)
        with state.changed:
            state.failure = error
            state.changed.notify_all()
    finally:
        _living.pop(name, None)


class _Samples(Executor):
    """The pool, in which nothing begins once the pipeline is closed or dropped."""

    def __init__(self, state: _State[Any], pool: Executor) -> None:
        self._state = state
        self._pool = pool

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._pool.submit(self._call, fn, *args, **kwargs)

    def _call(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if self._state.is_closed:
            raise CancelledError("the pipeline was closed or dropped")
        return fn(*args, **kwargs)


def _make_batches(
    state: _State[Batch],
    make: Callable[[int, Executor], Batch],
    is_ready: Callable[[], bool],
    pool: Executor,
) -> None:
    while True:
        with state.changed:
            if state.is_closed:
                return
            should_make, number = state.should_make(is_ready), state.made
        if not should_make:
            state.wait_for_bell()
            continue
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
    """Start all workers, and keep torch from starting threads of its own inside each.

    If one of them fails, which happens at the end of the interpreter too, none is left waiting.
    """
    everybody = threading.Barrier(num_threads)

    def settle() -> None:
        try:
            torch.get_num_threads()  # the first call in a thread takes over that of the process
            torch.set_num_threads(1)
            everybody.wait()
        except BaseException:
            everybody.abort()
            raise

    with _starting:
        intra = torch.get_num_threads()
        try:
            workers = [pool.submit(settle) for _ in range(num_threads)]
            failures = [error for worker in workers if (error := worker.exception())]
            if failures:  # of those that only waited for the one that failed, none says why
                raise min(failures, key=lambda e: isinstance(e, threading.BrokenBarrierError))
        except BaseException:
            everybody.abort()
            pool.shutdown(cancel_futures=True)  # none may set the number after this
            raise
        finally:
            torch.set_num_threads(intra)  # of threads that others start from here on


def _close(state: _State[Any], thread: threading.Thread) -> None:
    """End the threads and wait for it."""
    with state.changed:
        state.is_closed = True
        state.results.clear()
        state.notify()
    if state.pool is not None:
        state.pool.shutdown(wait=False, cancel_futures=True)
    # An operator may close its own pipeline, in one of the threads that are to end.
    if thread.is_alive() and not threading.current_thread().name.startswith(thread.name):
        thread.join()


_living: dict[str, tuple[_State[Any], threading.Thread]] = {}
"""What the scheduling threads that run share with their consumers, by name."""


@atexit.register
def _close_all() -> None:
    for state, thread in list(_living.values()):
        _close(state, thread)


os.register_at_fork(after_in_child=_living.clear)  # the threads are the parent's
