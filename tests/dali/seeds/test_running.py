"""Two ways to run a pipeline: `run`, and batches scheduled, shared and released."""

import threading

import numpy as np
import pytest

from videoloader.dali import Pipeline, fn, pipeline_def


def counting(**arguments):
    @pipeline_def(batch_size=2, num_threads=1, device_id=0)
    def graph(device="cpu"):
        numbers = fn.external_source(lambda iteration: np.full((2, 3), iteration))
        return numbers.gpu() if device == "gpu" else numbers

    return graph(**arguments)


def value(outputs):
    (numbers,) = outputs
    assert numbers.shape() == [(3,), (3,)]
    return int(numbers.as_cpu().as_array()[0, 0])


def test_run_gives_a_batch_at_a_time(device):
    with counting(device=device) as pipe:
        assert [value(pipe.run()) for _ in range(6)] == list(range(6))


def test_batches_are_scheduled_shared_and_released(device):
    with counting(device=device) as pipe:
        got = []
        pipe.schedule_run()
        for _ in range(6):
            output = pipe.share_outputs()
            pipe.schedule_run()  # the next batch is made while this one is used
            got.append(value(output))
            pipe.release_outputs()
        assert got == list(range(6))


def test_scheduling_returns_at_once_and_sharing_waits():
    asked, go_on = threading.Event(), threading.Event()

    def slow(value):
        asked.set()
        assert go_on.wait(20)
        return value

    @pipeline_def(batch_size=2, num_threads=1)
    def graph():
        numbers = fn.external_source(lambda iteration: np.full((2, 3), iteration))
        return fn.python_function(numbers, function=slow)

    with graph() as pipe:
        pipe.schedule_run()  # would wait for ever if it waited for the batch
        assert asked.wait(20)
        assert not go_on.is_set()
        timer = threading.Timer(0.2, go_on.set)
        timer.start()
        try:
            assert value(pipe.share_outputs()) == 0
            assert go_on.is_set()
        finally:
            go_on.set()
            timer.join()


def test_a_batch_keeps_its_values_while_others_are_made():
    with counting() as pipe:
        batches = [pipe.run() for _ in range(8)]
        assert [value(outputs) for outputs in batches] == list(range(8))


class Fed(Pipeline):
    """Counts the batches that it feeds."""

    fed = 0

    def define_graph(self):
        self.numbers = fn.external_source()
        return self.numbers

    def iter_setup(self):
        self.feed_input(self.numbers, np.full((2, 3), self.fed))
        self.fed += 1


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_the_first_run_begins_the_batches_of_the_queue_and_later_ones_one_more_each(depth):
    with Fed(2, 1, prefetch_queue_depth=depth) as pipe:
        for batch in range(5):
            assert value(pipe.run()) == batch
            assert pipe.fed == depth + batch
