import concurrent.futures.thread
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from contextlib import contextmanager

import pytest
import torch

from videoloader.dali.pipeline.run.pool import sample_pool
from videoloader.errors import ArgumentError
from videoloader.machinery.runtime import stage_thread
from videoloader.machinery.runtime.stage_thread import Stage
from videoloader.machinery.runtime.stages import StageRunner

pytestmark = [pytest.mark.timeout(30), pytest.mark.usefixtures("no_threads_left")]


def count_to(end):
    def work(number, _):
        if number >= end:
            raise StopIteration
        return number

    return Stage("count", work)


def stage(name, function):
    return Stage(name, lambda item, _: function(item))


def take(runner, count):
    return [runner.next() for _ in range(count)]


def wait_until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_items_pass_all_stages_in_order():
    stages = [count_to(100), stage("double", lambda x: 2 * x), stage("text", str)]
    runner = StageRunner(stages, depth=3)
    assert take(runner, 100) == [str(2 * n) for n in range(100)]
    for _ in range(2):
        with pytest.raises(StopIteration):
            runner.next()
    runner.close()


def test_stages_work_at_the_same_time():
    meet = threading.Barrier(3)

    def arrive(at):
        def work(item):
            if item == at:  # returns when each stage is at work on an item of its own
                meet.wait(timeout=10)
            return item

        return stage(f"meets at {at}", work)

    runner = StageRunner([arrive(2), arrive(1), arrive(0)], depth=1)
    assert take(runner, 3) == [0, 1, 2]
    runner.close()


def test_several_threads_of_a_stage_keep_the_order():
    meet = threading.Barrier(3)

    def work(item):
        if item < 3:  # returns when three threads are at work
            meet.wait(timeout=10)
            time.sleep(0.03 * (2 - item))  # the last is done first
        return item

    slow = Stage("slow", lambda item, _: work(item), threads=3)
    runner = StageRunner([count_to(50), slow, stage("pass", lambda x: x)], depth=2)
    assert take(runner, 50) == list(range(50))
    with pytest.raises(StopIteration):
        runner.next()
    assert runner.stats().stages[1].items >= 50
    runner.close()


def test_no_item_is_begun_without_room_for_what_becomes_of_it():
    begun = []

    def begin(number):
        begun.append(number)
        return number

    runner = StageRunner([stage("a", begin), stage("b", lambda x: x)], depth=2)
    wait_until(lambda: len(begun) == 3)  # two wait for the consumer, one for the second stage
    time.sleep(0.05)
    assert begun == [0, 1, 2]
    assert runner.next() == 0
    wait_until(lambda: len(begun) == 4)
    time.sleep(0.05)
    assert len(begun) == 4
    runner.close()


def little(name, function, is_little):
    return Stage(name, lambda item, _: function(item), is_little=is_little)


def test_little_work_is_done_by_the_thread_in_front_within_the_same_room():
    begun, threads = [], set()

    def begin(number):
        begun.append(number)
        threads.add(threading.current_thread())
        return number

    def work(item):
        threads.add(threading.current_thread())
        return item

    runner = StageRunner([stage("a", begin), little("b", work, lambda: True)], depth=2)
    wait_until(lambda: len(begun) == 3)
    time.sleep(0.05)
    assert begun == [0, 1, 2]
    assert take(runner, 20) == list(range(20))
    assert len(threads) == 1
    assert [each.items for each in runner.stats().stages][1] >= 20
    runner.close()


@pytest.mark.parametrize("depth", [1, 3])
def test_items_stay_in_order_where_work_is_little_at_times(depth):
    seen = set()

    def work(item):
        seen.add(threading.current_thread())
        time.sleep(0.002 if item % 7 == 0 else 0)
        if item == 40:
            raise ValueError("forty")
        return item

    asked = iter(range(10**9))
    some = little("some", work, lambda: next(asked) % 3 != 1)
    runner = StageRunner([stage("a", lambda n: n), some], depth=depth)
    assert take(runner, 40) == list(range(40))
    with pytest.raises(ValueError, match="forty"):
        runner.next()
    assert take(runner, 40) == list(range(41, 81))
    assert len(seen) == 2  # of the stage and of the one in front
    runner.close()


def test_an_item_belongs_to_whoever_took_it():
    class Item:
        pass

    runner = StageRunner([stage("make", lambda _: Item()), stage("pass", lambda x: x)], depth=1)
    held = weakref.ref(runner.next())
    gc.collect()
    assert held() is None
    runner.close()


@pytest.mark.parametrize("failing", ["count", "middle", "last"])
def test_an_error_takes_the_place_of_its_item(failing):
    def fail_at_three(name):
        def work(item):
            if name == failing and item == 3:
                raise ValueError(f"{name} fails")
            return item

        return stage(name, work)

    runner = StageRunner([fail_at_three(name) for name in ("count", "middle", "last")], depth=2)
    assert take(runner, 3) == [0, 1, 2]
    with pytest.raises(ValueError, match=f"{failing} fails"):
        runner.next()
    assert take(runner, 3) == [4, 5, 6]
    runner.close()


def test_an_epoch_that_has_ended_goes_on_with_the_same_number():
    ends = [3]
    seen = []

    def work(number, _):
        seen.append(number)
        if number == ends[0]:
            raise StopIteration
        return number

    runner = StageRunner([Stage("count", work), stage("pass", lambda x: x)], depth=5)
    assert not runner.resume(lambda: pytest.fail("not ended"))
    assert take(runner, 3) == [0, 1, 2]
    assert runner.resume(lambda: ends.__setitem__(0, 5))  # finds out by itself that it has ended
    assert take(runner, 2) == [3, 4]
    with pytest.raises(StopIteration):
        runner.next()
    assert runner.resume(lambda: ends.__setitem__(0, 6))
    assert take(runner, 1) == [5]
    wait_until(lambda: seen == [0, 1, 2, 3, 3, 4, 5, 5, 6])
    runner.close()


def test_on_demand_nothing_is_begun_before_it_is_asked_for():
    begun = []

    def begin(number):
        begun.append(number)
        return number

    runner = StageRunner([stage("a", begin)], depth=4, on_demand=True)
    time.sleep(0.05)
    assert begun == []
    assert not runner.resume(lambda: pytest.fail("not ended"))
    runner.allow(2)
    wait_until(lambda: begun == [0, 1])
    assert take(runner, 3) == [0, 1, 2]
    runner.close()


def noting(name, threads):
    def work(number, resource):
        threads.append((name, threading.current_thread() is threading.main_thread(), resource))
        return number

    return Stage(name, work)


def test_what_nobody_has_begun_may_be_made_in_the_thread_that_takes_it():
    threads, resources = [], iter(["mine", None, "mine"])
    stages = [noting("a", threads), noting("b", threads)]
    runner = StageRunner(stages, depth=2, on_demand=True, here=lambda: next(resources))
    assert take(runner, 3) == [0, 1, 2]
    assert threads == [
        (name, resource == "mine", resource)
        for resource in ("mine", None, "mine")
        for name in ("a", "b")
    ]
    stats = runner.stats()
    assert [stage.items for stage in stats.stages] == [3, 3]
    assert all(stage.busy >= 0 and stage.waiting_for_input >= 0 for stage in stats.stages)
    runner.close()


def test_what_has_been_begun_is_made_by_the_threads_of_the_stages():
    threads = []
    runner = StageRunner([noting("a", threads)], depth=2, on_demand=True, here=lambda: "mine")
    runner.allow(2)
    assert take(runner, 3) == [0, 1, 2]
    assert [is_here for _, is_here, _ in threads] == [False, False, True]
    runner.close()
    with pytest.raises(ArgumentError, match="closed"):
        runner.next()
    assert len(threads) == 3


def test_an_error_in_the_thread_that_takes_results_costs_one_item_and_an_end_none():
    ends = [2]

    def begin(number, _):
        if number in ends:
            raise StopIteration
        if number == 1:
            raise ValueError("one")
        return number

    stages = [Stage("a", begin), stage("b", lambda x: 10 * x)]
    runner = StageRunner(stages, depth=1, on_demand=True, here=lambda: "mine")
    assert runner.next() == 0
    with pytest.raises(ValueError, match="one"):
        runner.next()
    for _ in range(2):
        with pytest.raises(StopIteration):
            runner.next()
    assert runner.resume(ends.clear)
    assert take(runner, 2) == [20, 30]
    runner.close()


def test_what_a_stage_needs_is_entered_and_left_by_its_thread():
    events = []

    @contextmanager
    def scope():
        events.append(("enter", threading.current_thread().name))
        yield "resource"
        events.append(("leave", threading.current_thread().name))

    runner = StageRunner([Stage("a", lambda n, resource: (n, resource), scope)], depth=1)
    assert runner.next() == (0, "resource")
    runner.close()
    (entered, inside), (left, outside) = events
    assert (entered, left) == ("enter", "leave")
    assert inside == outside != threading.current_thread().name


def test_a_scope_that_cannot_be_entered_is_an_error_for_the_consumer():
    def scope():
        raise MemoryError("no room for a pool")

    runner = StageRunner([count_to(9), Stage("a", lambda n, _: n, scope)], depth=1)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="MemoryError: no room for a pool") as caught:
            runner.next()
        assert isinstance(caught.value.__cause__, MemoryError)
    runner.close()


def test_a_thread_that_cannot_start_is_an_error_at_once(monkeypatch):
    start = threading.Thread.start

    def refuse(thread):
        if thread.name.endswith("second"):
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            StageRunner([count_to(9), stage("second", str)], depth=1)


def test_a_dropped_runner_ends_its_threads():
    runner = StageRunner([count_to(1000), stage("pass", lambda x: x)], depth=1)
    runner.next()
    del runner
    gc.collect()  # the fixture waits for the threads


def test_what_nobody_took_goes_with_a_runner_that_is_closed():
    class Batch:
        pass

    batches = []

    def work(number, _):
        batch = Batch()
        batches.append(weakref.ref(batch))
        raise ValueError(batch)  # its traceback holds the frames of the thread

    runner = StageRunner([count_to(9), Stage("fail", work)], depth=2)
    while len(batches) < 2:
        time.sleep(0.01)
    runner.close()
    del runner
    gc.collect()
    assert [batch() for batch in batches] == [None] * len(batches)


def test_a_runner_may_be_dropped_wherever_the_garbage_collector_runs():
    """Also where a lock of the stage's is held, here by the thread that collects."""
    lock = threading.Lock()
    entered = threading.Event()

    def work(number, _):
        entered.set()
        with lock:
            return number

    runner = StageRunner([Stage("locked", work)], depth=1)
    with lock:
        entered.wait(10)
        del runner
        gc.collect()


def test_closing_in_the_middle_waits_for_the_item_and_says_so_afterwards():
    entered = threading.Event()
    done = []

    def slow(number):
        entered.set()
        time.sleep(0.1)
        done.append(number)
        return number

    runner = StageRunner([stage("slow", slow)], depth=1)
    entered.wait(10)
    runner.close()
    assert done == [0]
    with pytest.raises(ArgumentError, match="closed"):
        runner.next()
    runner.close()


def test_stats_say_who_waits_for_whom():
    runner = StageRunner(
        [stage("fast", lambda n: n), stage("slow", lambda n: time.sleep(0.02) or n)], depth=1
    )
    take(runner, 10)
    stats = runner.stats()
    fast, slow = stats.stages
    assert (fast.name, slow.name) == ("fast", "slow")
    assert slow.busy >= 10 * 0.02
    assert fast.waiting_for_room > 0.1
    assert slow.waiting_for_input < 0.1
    assert stats.waited > 0.1
    assert "for slow" in str(stats)
    runner.close()


def test_a_consumer_slower_than_the_stages_does_not_wait():
    runner = StageRunner([stage("quick", lambda n: time.sleep(0.002) or n)], depth=2)
    for _ in range(20):
        runner.next()
        time.sleep(0.01)
    assert runner.stats().waited < 0.02
    runner.close()


def test_a_forked_process_is_told_to_make_its_own():
    runner = StageRunner([count_to(100)], depth=1)
    runner.next()
    child = os.fork()
    if not child:
        code = 1
        try:
            runner.next()
        except ArgumentError as error:
            code = 0 if "forked" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert runner.next() == 1
    runner.close()


SCRIPT = """
import time
from videoloader.dali.pipeline.run.pool import sample_pool
from videoloader.machinery.runtime.stage_thread import Stage
from videoloader.machinery.runtime.stages import StageRunner

runner = StageRunner(
    [Stage("a", lambda n, _: time.sleep(0.01) or n), Stage("b", lambda n, _: n)], depth=2
)
runner.next()
{end}
"""


@pytest.mark.parametrize(("end", "code"), [("pass", 0), ("raise SystemExit(3)", 3)])
def test_an_interpreter_that_ends_beside_a_runner_ends_quietly(end, code):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(end=end)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


class Changing(weakref.WeakKeyDictionary):
    """Loses its last key while it is walked, as when a thread ends."""

    def __iter__(self):
        for key in super().__iter__():
            self.pop(next(reversed(self.data))(), None)
            yield key

    def values(self):
        return (self[key] for key in self)


def test_a_thread_that_ends_meanwhile_does_not_disturb_the_end(monkeypatch):
    threads = [threading.Thread() for _ in range(5)]
    monkeypatch.setattr(stage_thread, "_running", Changing(dict.fromkeys(threads, ())))
    stage_thread._end_all()


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


def pooled(job, count=20, threads=2):
    """A stage that runs a job for every sample of an item."""
    return Stage(
        "pooled",
        lambda item, pool: (pool.run(job, count), item)[1],
        lambda: sample_pool(threads, "videoloader-pooled"),
    )


@pytest.mark.parametrize("name", ["_global_shutdown_lock", "_active_limbo_lock"])
@pytest.mark.parametrize("is_busy", [False, True])
def test_a_finalizer_waits_for_no_lock(name, is_busy):
    module = threading if name == "_active_limbo_lock" else concurrent.futures.thread
    entered, go_on = threading.Event(), threading.Event()

    def job(at):
        if is_busy:
            entered.set()
            go_on.wait()

    runner = StageRunner([count_to(1000), pooled(job)], depth=1)
    if is_busy:
        entered.wait()
    else:
        runner.next()
    holder = Holder(getattr(module, name))
    go_on.set()
    time.sleep(0.05)  # until the thread submits, if it can
    begin = time.monotonic()
    del runner
    seconds = time.monotonic() - begin
    holder.release()
    assert seconds < 5


def test_runners_are_dropped_while_another_submits():
    """The collector runs anywhere, also inside `submit`, which holds the lock of all pools."""

    def fail(at):
        raise ValueError("always")

    threshold = gc.get_threshold()
    gc.set_threshold(20, 2, 2)
    try:
        for number in range(60):
            failed = StageRunner([count_to(99), pooled(fail, threads=1 + number % 3)], depth=1)
            with pytest.raises(ValueError, match="always") as caught:
                failed.next()
            failed.itself = failed, caught.value  # garbage for the collector alone
            del failed, caught
            running = StageRunner([count_to(99), pooled(str)], depth=1)
            assert take(running, 3) == [0, 1, 2]
            if number % 2:
                running.close()
            del running
    finally:
        gc.set_threshold(*threshold)


def test_what_is_left_of_a_batch_is_not_made_for_nobody():
    started, made = threading.Semaphore(0), []

    def job(at):
        started.release()
        time.sleep(0.05)
        made.append(at)

    others = threading.enumerate()  # those of other tests' pipelines too
    runner = StageRunner([count_to(9), pooled(job, count=1000)], depth=1)
    started.acquire()
    del runner
    gc.collect()
    for thread in {*threading.enumerate()}.difference(others):
        if thread.name.startswith("videoloader"):
            thread.join(10)
    assert len(made) < 20


@pytest.fixture
def three_torch_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def threads_elsewhere():
    """The number of threads that torch takes in a thread that asks for the first time."""
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return seen[0]


@pytest.mark.usefixtures("three_torch_threads")
@pytest.mark.parametrize("refused", ["_0", "_1", "_7"])
def test_a_worker_that_cannot_start_is_an_error_for_the_consumer(monkeypatch, refused):
    start = threading.Thread.start

    def start_or_fail(thread):
        if "pooled" in thread.name and thread.name.endswith(refused):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_or_fail)
    runner = StageRunner([count_to(9), pooled(str, threads=8)], depth=1)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="can't start new thread"):
            runner.next()
    assert threads_elsewhere() == 3
    runner.close()


@pytest.mark.usefixtures("three_torch_threads")
def test_workers_have_one_torch_thread_and_others_as_before_when_many_start_at_once():
    seen = []
    for _ in range(3):
        many = [
            StageRunner(
                [count_to(9), pooled(lambda at: seen.append(torch.get_num_threads()), threads=8)],
                depth=1,
            )
            for _ in range(4)
        ]
        assert [runner.next() for runner in many] == [0] * 4
        assert threads_elsewhere() == 3
        for runner in many:
            runner.close()
    assert set(seen) == {1}
    assert torch.get_num_threads() == 3
