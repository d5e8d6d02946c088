"""What a graph costs beside its operators."""

import sys
import time
import weakref

import numpy as np
import pytest
import torch
from processor_time import MILLION, seconds_of_a_step

from videoloader.dali import fn
from videoloader.dali.fn.function import Function
from videoloader.dali.operators.operator import OPERATORS, declare
from videoloader.dali.pipeline import pipeline_def

pytestmark = pytest.mark.usefixtures("no_threads_left")

BATCH = 16


@pytest.fixture
def calls():
    """An operator that notes how many samples it got and in which number of torch's threads."""
    seen = []

    @declare("note", inputs=("values",), devices=("cpu",))
    def note(context, values):
        """Note what flows; work as many milliseconds as the values say, or sleep if negative."""
        milliseconds = float(values[0])
        time.sleep(max(0.0, -milliseconds / 1e3))
        end = time.thread_time() + milliseconds / 1e3
        while time.thread_time() < end:
            pass
        seen.append((context.count, torch.get_num_threads()))
        return values

    before = torch.get_num_threads()
    torch.set_num_threads(3)  # more than the one that a thread of a pipeline uses
    yield seen
    torch.set_num_threads(before)
    del OPERATORS["note"]


def run(milliseconds, count, is_enough=lambda: False):
    """Run batches whose parts take some milliseconds each, until it is enough."""

    @pipeline_def(batch_size=BATCH, num_threads=2, prefetch_queue_depth=1)
    def graph():
        values = fn.constant(fdata=[milliseconds], shape=[])
        return Function("note")(values), fn.random.uniform()

    with graph() as pipe:
        for _ in range(count):
            pipe.run()
            if is_enough():
                return


def test_a_batch_of_little_work_is_not_divided(calls):
    # On a busy machine a part of a batch waits for a processor now and then, which looks like work.
    run(0, 2_000, is_enough=lambda: calls[-1][0] == BATCH)
    counts = [count for count, _ in calls]
    assert counts[:4] == [4] * 4  # of the first batch it is not known yet
    assert counts[-1] == BATCH
    assert {threads for _, threads in calls} == {1}


@pytest.mark.parametrize("milliseconds", [2, -5], ids=["works", "waits"])
def test_a_batch_that_takes_long_is_divided(calls, milliseconds):
    run(milliseconds, 3)
    assert {count for count, _ in calls} == {4}


def test_how_a_batch_is_divided_changes_nothing():
    def outputs(size):
        @pipeline_def(batch_size=size, num_threads=2, seed=5)
        def graph():
            images = fn.external_source(
                lambda i: np.full((size, 6, 6, 3), i, np.uint8), layout="HWC"
            )
            return fn.crop(images, crop=(3, 3)), fn.random.uniform()

        with graph() as pipe:
            return [[each.as_tensor().clone() for each in pipe.run()] for _ in range(4)]

    for images, draws in outputs(BATCH):
        assert images.shape == (BATCH, 3, 3, 3)
        assert len(set(draws.tolist())) == BATCH
    assert [int(images.max()) for images, _ in outputs(BATCH)] == [0, 1, 2, 3]


def test_a_graph_of_a_hundred_operators_is_built_at_once():
    @pipeline_def(batch_size=8, num_threads=2)
    def graph():
        images = fn.external_source(lambda: np.zeros((8, 8, 8, 3), np.uint8), layout="HWC")
        for _ in range(100):
            images = fn.flip(images, horizontal=0)
        return images

    seconds = []
    for _ in range(5):
        begin = time.process_time()
        pipe = graph()
        pipe.build()
        seconds.append(time.process_time() - begin)
        pipe.close()
    assert min(seconds) < 10 * MILLION * seconds_of_a_step()


def python_calls(size, count, monkeypatch):
    """Calls of Python functions that a batch takes which `count` operators leave as it is."""
    monkeypatch.setattr("videoloader.dali.pipeline.run.pool.WORTH_A_PART", 1e9)
    images = np.zeros((size, 8, 8, 3), np.uint8)

    @pipeline_def(batch_size=size, num_threads=1)
    def graph():
        data = fn.external_source(lambda: images, layout="HWC")
        for _ in range(count):
            data = fn.flip(data, horizontal=0)
        return data

    seen = []
    with graph() as pipe:
        pipe.build()
        stages = pipe._run.program.stages()
        for batch in range(5):
            if batch == 4:
                sys.setprofile(lambda frame, event, argument: seen.append(event))
            item = batch
            for stage in stages:
                item = stage.work(item, None)
            sys.setprofile(None)
    return seen.count("call")


def test_python_work_of_a_batch_is_little_and_does_not_grow_with_its_samples(monkeypatch):
    one, many = (python_calls(size, 5, monkeypatch) for size in (1, 64))
    assert many == one
    assert one - python_calls(1, 1, monkeypatch) <= 4 * 25


@pytest.fixture
def lives():
    """An operator that copies, and notes which of its earlier copies there are still."""
    copies, seen = [], []

    @declare("copied", inputs=("values",), devices=("cpu",))
    def copied(context, values):
        """Copy what flows."""
        seen.append([copy() is not None for copy in copies[-2:]])
        made = values.each(torch.clone)
        copies.append(weakref.ref(made.block))
        return made

    yield seen
    del OPERATORS["copied"]


@pytest.mark.parametrize("size", [1, 4], ids=["whole", "in parts"])
def test_memory_of_a_value_goes_after_its_last_use(lives, size):
    @pipeline_def(batch_size=size, num_threads=1, prefetch_queue_depth=1)
    def graph():
        data = fn.external_source(lambda: np.zeros((size, 2)))
        for _ in range(4):
            data = Function("copied")(data)
        return data

    with graph() as pipe:
        pipe.run()
    assert lives[2:4] == [[False, True]] * 2
