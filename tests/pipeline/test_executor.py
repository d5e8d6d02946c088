import concurrent.futures.thread
import gc
import threading
import time

import pytest
import torch

from videoloader.errors import ArgumentError
from videoloader.pipeline.executor import Prefetcher

pytest_plugins = ["fake_videos"]
pytestmark = [pytest.mark.usefixtures("no_threads_left"), pytest.mark.timeout(30)]


def prefetcher(make=lambda number, pool: number, *, is_ready=lambda: True, num_threads=2):
    return Prefetcher(make, is_ready, depth=2, num_threads=num_threads)


def threads_elsewhere():
    """The number of threads that torch takes in a thread that asks for the first time."""
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return seen[0]


@pytest.fixture
def three_torch_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def refuse_threads(monkeypatch):
    """Let no thread start whose name ends like this."""
    start = threading.Thread.start

    def refuse(ending):
        def start_or_fail(thread):
            if thread.name.endswith(ending):
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", start_or_fail)

    return refuse


@pytest.mark.usefixtures("three_torch_threads")
@pytest.mark.parametrize("refused", ["-worker_0", "-worker_1", "-worker_7"])
def test_a_worker_that_cannot_start_is_an_error_for_the_consumer(refuse_threads, refused):
    refuse_threads(refused)
    batches = prefetcher(num_threads=8)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="can't start new thread"):
            batches.next()
    batches.resume(lambda: None)
    assert threads_elsewhere() == 3
    batches.close()
    with pytest.raises(ArgumentError, match="closed"):
        batches.next()


def test_a_scheduling_thread_that_cannot_start_is_an_error_at_once(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            prefetcher()


def test_a_worker_that_cannot_be_set_up_is_an_error_for_the_consumer(monkeypatch):
    calls = []

    def fail_once(number):
        calls.append(number)
        if len(calls) == 3:
            raise MemoryError("no memory for a worker")

    monkeypatch.setattr(torch, "set_num_threads", fail_once)
    batches = prefetcher(num_threads=4)
    with pytest.raises(RuntimeError, match="MemoryError: no memory for a worker") as caught:
        batches.next()
    assert isinstance(caught.value.__cause__, MemoryError)
    batches.close()


def test_whatever_ends_the_scheduling_thread_reaches_the_consumer():
    def is_ready():
        raise SystemExit("strange")

    batches = prefetcher(is_ready=is_ready)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="has ended: SystemExit: strange"):
            [batches.next() for _ in range(2)]  # one batch, if it was asked for early enough
    batches.close()


@pytest.mark.usefixtures("three_torch_threads")
def test_workers_have_one_torch_thread_and_others_as_before_when_many_start_at_once():
    def threads(number, pool):
        return [pool.submit(torch.get_num_threads).result() for _ in range(8)]

    for _ in range(5):
        many = [prefetcher(threads, num_threads=8) for _ in range(4)]
        assert [batches.next() for batches in many] == [[1] * 8] * 4
        assert threads_elsewhere() == 3
        for batches in many:
            batches.close()
    assert torch.get_num_threads() == 3


class Holder:
    """Holds a lock in a thread of its own, as user code does when it is interrupted."""

    def __init__(self, lock):
        self._release, held = threading.Event(), threading.Event()

        def hold():
            with lock:
                held.set()
                self._release.wait(10)  # for a finalizer that does wait

        self._thread = threading.Thread(target=hold)
        self._thread.start()
        held.wait()

    def release(self):
        self._release.set()
        self._thread.join()


LOCKS = {
    "all pools": lambda state: concurrent.futures.thread._global_shutdown_lock,
    "its pool": lambda state: state.pool._shutdown_lock,
    "its state": lambda state: state.changed,
    "all threads": lambda state: threading._active_limbo_lock,
}


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("is_busy", [False, True])
def test_a_finalizer_waits_for_no_lock(lock, is_busy):
    entered, go_on = threading.Event(), threading.Event()

    def make(number, pool):
        if is_busy:
            entered.set()
            go_on.wait()
        return list(pool.map(str, range(8)))

    batches = prefetcher(make)
    if is_busy:
        entered.wait()
    else:
        batches.next()
    holder = Holder(LOCKS[lock](batches._state))
    go_on.set()
    time.sleep(0.05)  # until the thread submits, if it can
    state = batches._state
    begin = time.monotonic()
    del batches
    seconds = time.monotonic() - begin
    assert state.is_closed
    holder.release()
    assert seconds < 5


def test_pipelines_are_dropped_while_another_submits():
    """The collector runs anywhere, also inside `submit`, which holds the lock of all pools."""

    def fail(number, pool):
        list(pool.map(str, range(20)))
        raise ValueError(number)

    threshold = gc.get_threshold()
    gc.set_threshold(20, 2, 2)
    try:
        for number in range(300):
            failed = prefetcher(fail, num_threads=1 + number % 3)
            with pytest.raises(ValueError, match="0") as caught:
                failed.next()
            failed.itself = failed, caught.value  # garbage for the collector alone
            del failed, caught
            running = prefetcher(lambda number, pool: list(pool.map(str, range(20))))
            for _ in range(3):
                assert len(running.next()) == 20
            if number % 2:
                running.close()
            del running
    finally:
        gc.set_threshold(*threshold)


def test_what_is_left_of_a_batch_is_not_made_for_nobody():
    started, made = threading.Semaphore(0), []

    def sample(number):
        started.release()
        time.sleep(0.05)
        made.append(number)

    batches = prefetcher(lambda number, pool: list(pool.map(sample, range(1000))))
    started.acquire()
    del batches
    gc.collect()
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("videoloader")]
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)
    assert len(made) < 20
