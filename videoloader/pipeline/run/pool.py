"""The threads that work on the samples of a batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager

import torch

from videoloader.pipeline.run.affinity import pin_thread
from videoloader.runtime.stage_thread import is_wanted

__all__ = ["SamplePool", "sample_pool", "work_alone"]

_starting = threading.Lock()
"""Held while workers start: the number of torch's threads is then not that of the process."""

_here = threading.local()


class SamplePool:
    """Runs a job for every part of a batch.

    Args:
        threads: that run them.
        is_pinned: whether they are bound to processors; then no job runs in another thread.
    """

    def __init__(self, threads: ThreadPoolExecutor, *, is_pinned: bool = False) -> None:
        self._threads = threads
        self._is_pinned = is_pinned

    def run(self, job: Callable[[int], None], count: int) -> None:
        """Run the job for parts 0 to count - 1; the error of the first that failed, if any.

        In the thread of a stage that nobody waits for any more, the rest is not run. A single part
        is not worth waking another thread.
        """
        if count == 1 and not self._is_pinned:
            return job(0)
        wanted = is_wanted()

        def run_if_wanted(at: int) -> None:
            if not wanted():
                raise CancelledError
            job(at)

        futures: list[Future[None]] = [
            self._threads.submit(run_if_wanted, at) for at in range(count)
        ]
        failure: BaseException | None = None
        for future in futures:
            try:
                future.result()
            except BaseException as error:  # noqa: BLE001  (raised when no sample runs any more)
                failure = failure or error
                for other in futures:
                    other.cancel()
        if failure is not None:
            raise failure
        return None


@contextmanager
def sample_pool(num_threads: int, name: str, cpus: Sequence[int] = ()) -> Iterator[SamplePool]:
    """Threads for samples, in which torch takes no threads of its own.

    It takes none in the thread of a stage that calls this either: it may do the work by itself.

    Args:
        num_threads: as many.
        name: that the names of the threads begin with.
        cpus: a processor for each thread; none: they run anywhere.
    """
    with ThreadPoolExecutor(num_threads, name) as threads:
        _start(threads, num_threads, cpus)
        yield SamplePool(threads, is_pinned=bool(cpus))


def work_alone() -> None:
    """Have torch take no threads of its own in this thread, from here on."""
    if getattr(_here, "is_alone", False):
        return
    with _starting:
        _restore(torch.get_num_threads())
    _here.is_alone = True


def _restore(number: int) -> None:
    """The number of torch's threads in threads that others start from here on.

    It is the one that was set last, in any thread. That of a stage keeps none of its own.
    """
    if threading.current_thread() is threading.main_thread():
        torch.set_num_threads(number)
        return
    torch.set_num_threads(1)
    other = threading.Thread(target=torch.set_num_threads, args=(number,))
    try:
        other.start()
    except RuntimeError:  # at the end of the interpreter
        torch.set_num_threads(number)
    else:
        other.join()


def _start(pool: ThreadPoolExecutor, num_threads: int, cpus: Sequence[int]) -> None:
    """Start all workers, and keep torch from starting threads of its own inside each.

    If one of them fails, which happens at the end of the interpreter too, none is left waiting.
    """
    everybody = threading.Barrier(num_threads)

    def settle(number: int) -> None:
        try:
            if cpus:
                pin_thread(cpus[number])
            torch.get_num_threads()  # the first call in a thread takes over that of the process
            torch.set_num_threads(1)
            everybody.wait()
        except BaseException:
            everybody.abort()
            raise

    with _starting:
        intra = torch.get_num_threads()
        try:
            workers = [pool.submit(settle, number) for number in range(num_threads)]
            failures = [error for worker in workers if (error := worker.exception())]
            if failures:  # of those that only waited for the one that failed, none says why
                raise min(failures, key=lambda e: isinstance(e, threading.BrokenBarrierError))
        except BaseException:
            everybody.abort()
            pool.shutdown(cancel_futures=True)  # none may set the number after this
            raise
        finally:
            _restore(intra)
