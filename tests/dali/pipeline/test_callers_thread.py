# ruff: noqa: NPY002  (the global generator is what users share with sources)
"""Python code of the user's runs in the thread that runs the pipeline, where DALI calls it."""

import itertools
import threading

import numpy as np
import pytest
import torch

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.plugin.pytorch import GenericIterator
from videoloader.errors import OperatorError
from videoloader.machinery.cuda.streams import torch_is_plain

pytestmark = [pytest.mark.usefixtures("no_threads_left"), pytest.mark.timeout(60)]

BATCH = 2


def of(source, *, more=lambda data: data, **arguments):
    """A pipeline of one source, and of operators behind it."""
    given = {name: arguments.pop(name) for name in ("cycle", "batch_info") if name in arguments}

    @pipeline_def(**{"batch_size": BATCH, "num_threads": 2, "prefetch_queue_depth": 2, **arguments})
    def graph():
        return more(fn.external_source(source, **given))

    return graph()


def number(batch):
    return int(batch[0].as_tensor().flatten()[0])


class Counting:
    """A source of batches 0, 1, 2, ... that notes when it was called, and by which thread."""

    def __init__(self, length=10**9):
        self.calls, self.threads, self.length = [], set(), length

    def __call__(self, iteration):
        self.threads.add(threading.get_ident())
        if iteration == self.length:
            raise StopIteration
        self.calls.append(iteration)
        return np.full((BATCH, 2), iteration, np.int32)


GRAPHS = {
    "nothing behind": lambda data: data,
    "an operator": lambda data: fn.cast(data, dtype=types.INT64),
    "draws beside": lambda data: data + 0 * fn.cast(fn.random.uniform(), dtype=types.INT32),
    "a function": lambda data: fn.python_function(data, function=lambda x: x),
}


@pytest.mark.parametrize("more", GRAPHS)
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_source_is_asked_in_the_callers_thread_by_the_depth_of_the_queue_ahead(more, depth):
    source = Counting()
    with of(source, more=GRAPHS[more], prefetch_queue_depth=depth) as pipe:
        pipe.build()
        assert source.calls == []
        for taken in range(6):
            assert number(pipe.run()) == taken
            assert source.calls == [*range(taken + depth)]
    assert source.threads == {threading.get_ident()}


def test_without_pipelining_it_is_asked_for_the_batch_at_hand():
    source = Counting()
    with of(source, exec_pipelined=False, exec_async=False) as pipe:
        for taken in range(4):
            assert number(pipe.run()) == taken
            assert source.calls == [*range(taken + 1)]


def test_what_is_scheduled_beyond_the_depth_is_asked_for_when_there_is_room():
    source = Counting()
    with of(source) as pipe:
        for _ in range(4):  # 2 the first time, then 1 each
            pipe.schedule_run()
        assert source.calls == [0, 1]
        for taken in range(5):
            assert number(pipe.outputs()) == taken
            assert source.calls == [*range(min(taken + 3, 5))]
        with pytest.raises(StopIteration):
            pipe.outputs()


def test_a_source_and_its_caller_may_share_the_global_generator_of_numpy():
    def drawn():
        np.random.seed(7)
        with of(lambda: np.random.randint(0, 1000, (BATCH, 3)), more=GRAPHS["an operator"]) as pipe:
            return [
                value
                for _ in range(5)
                for value in (*pipe.run()[0].as_tensor().flatten().tolist(), np.random.randint(99))
            ]

    np.random.seed(7)
    expected, queue = [], []
    for taken in range(5):
        while len(queue) < taken + 2:
            queue.append(np.random.randint(0, 1000, (BATCH, 3)).flatten().tolist())
        expected += [*queue[taken], np.random.randint(99)]
    assert drawn() == drawn() == expected


def test_sources_with_a_reader_or_fed_data_beside_are_asked_in_the_callers_thread(tmp_path):
    for name in "abc":
        (tmp_path / name).write_bytes(name.encode())
    source = Counting()

    @pipeline_def(batch_size=BATCH, num_threads=2)
    def graph():
        content, _ = fn.readers.file(files=[str(tmp_path / name) for name in "abc"])
        return fn.external_source(source), fn.external_source(name="fed"), content

    with graph() as pipe:
        for taken in range(4):
            made = pipe.run(fed=np.full((BATCH, 1), 10 * taken, np.int32))
            assert (number(made[:1]), number(made[1:2])) == (taken, 10 * taken)
            assert [each.numpy().tobytes() for each in made[2]] == [
                bytes([97 + (2 * taken + at) % 3]) for at in range(BATCH)
            ]
    assert source.threads == {threading.get_ident()}


def test_a_source_waits_for_data_that_another_thread_feeds():
    source = Counting()

    @pipeline_def(batch_size=BATCH, num_threads=1)
    def graph():
        return fn.external_source(source), fn.external_source(name="fed", blocking=True)

    with graph() as pipe:
        pipe.build()
        feeder = threading.Timer(
            0.05, lambda: pipe.feed_input("fed", np.ones((BATCH, 1), np.int32))
        )
        feeder.start()
        assert number(pipe.run()) == 0
        feeder.join()
    assert source.threads == {threading.get_ident()}


@pytest.mark.parametrize("more", GRAPHS)
def test_an_end_and_an_error_come_at_the_place_of_their_batch(more):
    def source(iteration):
        if iteration == 2:
            raise ValueError("two")
        if iteration == 4:
            raise StopIteration
        return np.full((BATCH, 2), iteration, np.int32)

    with of(source, more=GRAPHS[more], prefetch_queue_depth=3) as pipe:
        for _ in range(2):
            assert [number(pipe.run()) for _ in range(2)] == [0, 1]
            with pytest.raises(OperatorError, match="two"):
                pipe.run()
            assert number(pipe.run()) == 3
            for _ in range(2):
                with pytest.raises(StopIteration):
                    pipe.run()
            pipe.reset()


def test_reset_before_the_end_asks_for_nothing():
    source = Counting()
    with of(source, exec_pipelined=False) as pipe:
        pipe.run()
        assert not pipe.reset()
        assert source.calls == [0]


def test_an_interrupt_in_a_source_is_raised_at_once_and_costs_no_batch():
    pending = [KeyboardInterrupt]

    def source(iteration):
        if iteration == 1 and pending:
            raise pending.pop()
        return np.full((BATCH, 2), iteration, np.int32)

    with of(source) as pipe:
        with pytest.raises(KeyboardInterrupt):
            pipe.run()
        assert [number(pipe.run()) for _ in range(4)] == [0, 1, 2, 3]


def test_an_interrupt_leaves_several_sources_in_step():
    pending = [KeyboardInterrupt]

    def second():
        if pending:
            raise pending.pop()
        return np.full((BATCH, 1), next(counter), np.int32)

    counter = itertools.count()

    @pipeline_def(batch_size=BATCH, num_threads=1)
    def graph():
        given = [np.full((BATCH, 1), number, np.int32) for number in range(9)]
        return fn.external_source(Counting()), fn.external_source(second), fn.external_source(given)

    with graph() as pipe:
        with pytest.raises(KeyboardInterrupt):
            pipe.run()
        for taken in range(4):
            assert [number([each]) for each in pipe.run()] == [taken] * 3


def test_an_interrupt_ahead_of_an_iterator_costs_no_batch():
    pending = [KeyboardInterrupt]

    def source(iteration):
        if iteration == 4 and pending:
            raise pending.pop()
        return np.full((BATCH, 2), iteration, np.int32)

    with GenericIterator(of(source), ["x"], size=BATCH * 9) as batches:
        taken = [int(next(batches)[0]["x"][0, 0]) for _ in range(2)]
        with pytest.raises(KeyboardInterrupt):
            next(batches)
        assert [*taken, *(int(batch["x"][0, 0]) for (batch,) in batches)] == [*range(9)]


@pytest.mark.parametrize("is_prepared", [False, True])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_source_that_ends_with_the_size_begins_again_with_the_next_epoch(depth, is_prepared):
    source = [np.full((BATCH, 1), number) for number in range(3)]
    pipe = of(source, cycle="raise", prefetch_queue_depth=depth)
    arguments = {"size": 3 * BATCH, "prepare_first_batch": is_prepared}
    with GenericIterator(pipe, ["x"], **arguments) as batches:
        for _ in range(3):
            assert [int(batch["x"][0, 0]) for (batch,) in batches] == [0, 1, 2]
            batches.reset()


@pytest.mark.parametrize("more", GRAPHS)
def test_modes_of_torch_around_a_run_change_nothing_of_its_batches(more):
    with of(Counting(), more=GRAPHS[more]) as pipe:
        with torch.inference_mode():
            assert not torch_is_plain()
            (inside,) = pipe.run()
        (ahead,) = pipe.run()
        with torch.device("meta"):
            (elsewhere,) = pipe.run()
    assert not inside.as_tensor().is_inference()
    assert not ahead.as_tensor().is_inference()
    assert elsewhere.as_tensor().device.type == "cpu"


def test_iterators_ask_sources_as_they_are_made_and_as_batches_are_taken():
    source = Counting(length=4)
    pipe = of(source)
    with GenericIterator(pipe, ["x"], auto_reset=True) as batches:
        assert source.calls == [0, 1]  # prepare_first_batch
        for taken, (batch,) in enumerate(batches):
            assert int(batch["x"][0, 0]) == taken
            assert source.calls == [*range(min(taken + 3, 4))]
        assert source.calls == [0, 1, 2, 3, 0, 1]  # and the reset
        assert [int(batch["x"][0, 0]) for (batch,) in batches] == [0, 1, 2, 3]
    assert source.threads == {threading.get_ident()}


@pytest.mark.parametrize("at", range(5))
def test_checkpoints_are_exact_whatever_was_asked_ahead(at):
    def source(info):
        return np.full((BATCH, 2), 10 * info.epoch_idx + info.iteration, np.int32)

    def made(**more):
        return of(
            source, batch_info=True, prefetch_queue_depth=3, enable_checkpointing=True, **more
        )

    with made() as pipe:
        state = pipe.checkpoint()
        for taken in range(at):
            assert number(pipe.run()) == taken
            state = pipe.checkpoint()
        with made(checkpoint=state) as resumed:
            assert number(resumed.run()) == number(pipe.run()) == at
        pipe.restore(state)
        assert number(pipe.run()) == at


def test_a_parallel_source_beside_ends_with_the_others():
    source = Counting()

    def short(info):
        if info.iteration == 2:
            raise StopIteration
        return np.full((2,), info.iteration, np.int32)

    @pipeline_def(batch_size=BATCH, num_threads=1, py_num_workers=1)
    def graph():
        return fn.external_source(source), fn.external_source(short, batch=False, parallel=True)

    with graph() as pipe:
        for _ in range(2):
            for taken in range(2):
                assert [number([each]) for each in pipe.run()] == [taken, taken]
            with pytest.raises(StopIteration):
                pipe.run()
            pipe.reset()
    assert source.calls == [0, 1, 2] * 2


def test_functions_run_in_the_callers_thread_where_nothing_is_asynchronous():
    threads = set()

    def function(*inputs):
        threads.add(threading.get_ident())
        return inputs[0] + 1 if inputs else np.int32([5])

    def graph():
        data = fn.external_source(Counting())
        data = fn.python_function(fn.cast(data, dtype=types.INT64), function=function)
        data = fn.python_function(fn.cast(data, dtype=types.INT32), function=function)
        return fn.cast(data, dtype=types.FLOAT), fn.python_function(function=function)

    for depth in (1, 2):
        pipe = pipeline_def(graph)(
            batch_size=BATCH,
            num_threads=2,
            exec_async=False,
            exec_pipelined=False,
            prefetch_queue_depth=depth,
        )
        with pipe:
            for taken in range(4):
                made = pipe.run()
                assert (number(made[:1]), number(made[1:])) == (taken + 2, 5)
    assert threads == {threading.get_ident()}


def test_no_function_runs_in_the_thread_that_plans():
    threads = []

    def function():
        threads.append(threading.current_thread().name)
        return np.int32([5])

    graph = pipeline_def(lambda: fn.python_function(function=function))
    with graph(batch_size=1, num_threads=1) as pipe:
        assert number(pipe.run()) == 5
    assert threads
    assert not any("plan" in name for name in threads)


def test_an_error_of_a_function_in_the_callers_thread_costs_its_batch():
    counter = itertools.count()

    def function():
        at = next(counter)
        if at == 1:
            raise ValueError("one")
        return np.int32([at])

    graph = pipeline_def(lambda: fn.python_function(function=function))
    pipe = graph(batch_size=1, num_threads=1, exec_async=False, exec_pipelined=False)
    with pipe:
        assert number(pipe.run()) == 0
        with pytest.raises(OperatorError, match="one"):
            pipe.run()
        assert number(pipe.run()) == 2
