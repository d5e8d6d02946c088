"""Threads may share a pipeline and an iterator: each batch goes to one of them."""

import itertools
import threading

import numpy as np
import pytest

from videoloader.dali import fn, pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator

pytestmark = [pytest.mark.usefixtures("no_threads_left"), pytest.mark.timeout(60)]

COUNT, THREADS = 60, 4


def numbers(iteration):
    if iteration == COUNT:
        raise StopIteration
    return np.full((2, 1), iteration, np.int32)


def of(source=numbers, **arguments):
    def graph():
        return fn.cast(fn.external_source(source, name="x"), dtype="int64")

    return pipeline_def(lambda: graph() + 1 - 1)(batch_size=2, num_threads=1, **arguments)


def taken_by_threads(take):
    """What each thread took until the end."""
    taken, begin = [[] for _ in range(THREADS)], threading.Barrier(THREADS)

    def work(into):
        begin.wait()
        while True:
            try:
                into.append(take())
            except StopIteration:
                return

    threads = [threading.Thread(target=work, args=(into,)) for into in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def first_of(batch):
    return int(batch.as_tensor()[0, 0])


def test_batches_of_a_pipeline_go_to_one_thread_each_and_in_order():
    with of() as pipe:
        taken = taken_by_threads(lambda: first_of(pipe.run()[0]))
    assert sorted(itertools.chain(*taken)) == [*range(COUNT)]
    assert all(each == sorted(each) for each in taken)


def test_each_thread_gets_what_it_fed_to_its_run():
    own = threading.local()

    with of(None) as pipe:

        def take():
            own.count = getattr(own, "count", 0) + 1
            if own.count > 10:
                raise StopIteration
            value = threading.get_ident() % 10**6 * 100 + own.count
            return first_of(pipe.run(x=np.full((2, 1), value, np.int64))[0]) - value

        assert taken_by_threads(take) == [[0] * 10] * THREADS


def test_batches_of_an_iterator_go_to_one_thread_each():
    with GenericIterator(of(), ["x"]) as batches:
        for _ in range(2):
            taken = taken_by_threads(lambda: int(next(batches)[0]["x"][0, 0]))
            assert sorted(itertools.chain(*taken)) == [*range(COUNT)]
            batches.reset()


def test_a_state_that_is_taken_meanwhile_is_of_a_moment_between_two_batches():
    pipe = of(enable_checkpointing=True)
    states = []
    with GenericIterator(pipe, ["x"]) as batches:

        def take():
            states.append(batches.state_dict())
            return next(batches)

        taken_by_threads(take)
    # A thread may ask when another one has been told that the epoch is over, which needs a reset.
    states = [state for state in states if not state["has_stopped"]]
    last = max(states, key=lambda state: state["taken"])
    assert last["taken"] == COUNT
    for state in [*states[:: len(states) // 6], last]:
        with GenericIterator(of(enable_checkpointing=True), ["x"]) as again:
            again.load_state_dict(state)
            left = [int(batch["x"][0, 0]) for (batch,) in again]
            # A loop that begins at the end of an epoch gives the next one.
            assert left == [*range(state["taken"] % COUNT, COUNT)]


def test_feeding_and_closing_wait_for_no_run():
    pipe = pipeline_def(lambda: fn.external_source(name="x", blocking=True))(batch_size=2)
    pipe.build()
    got, waits = [], threading.Event()

    def work():
        got.append(first_of(pipe.run()[0]))
        waits.set()
        with pytest.raises(Exception, match="closed"):
            pipe.run()
        got.append("closed")

    thread = threading.Thread(target=work)
    thread.start()
    pipe.feed_input("x", np.full((2, 1), 5))
    assert waits.wait(30)
    pipe.close()
    thread.join()
    assert got == [5, "closed"]
