"""Batches that are made before anybody asks for them."""

import threading
import time

import numpy as np
import pytest

from videoloader.dali import fn, pipeline_def

SECONDS = 20


class Gated:
    """A function of batches 0, 1, 2, ... that waits with batch `open_until` for its gate."""

    def __init__(self, open_until):
        self.open_until, self.made = open_until, 0
        self.is_full, self.gate = threading.Event(), threading.Event()

    def __call__(self, values):
        iteration = int(values[0][0])
        if iteration >= self.open_until:
            assert self.gate.wait(SECONDS)
        self.made = iteration + 1
        if self.made == self.open_until:
            self.is_full.set()
        return values


def pipeline(function, **arguments):
    @pipeline_def(batch_size=2, num_threads=1)
    def graph():
        numbers = fn.external_source(lambda iteration: np.full((2, 1), iteration))
        return fn.python_function(numbers, function=function, batch_processing=True)

    return graph(**arguments)


@pytest.mark.parametrize(
    ("depth", "arguments"),
    [(2, {}), (5, {"prefetch_queue_depth": 5})],
)
def test_a_pause_of_a_function_is_hidden_by_the_batches_in_the_queue(depth, arguments):
    source = Gated(open_until=depth)
    with pipeline(source, **arguments) as pipe:
        assert pipe.prefetch_queue_depth == depth
        pipe.schedule_run()
        assert source.is_full.wait(SECONDS)
        got = []
        for _ in range(depth):
            got.append(int(pipe.outputs()[0].at(0)[0]))
            pipe.schedule_run()
        assert got == list(range(depth))
        assert source.made == depth
        source.gate.set()
        assert int(pipe.outputs()[0].at(0)[0]) == depth


@pytest.mark.parametrize("depth", [1, 2, 6])
def test_a_consumer_that_pauses_stops_the_function(depth):
    source = Gated(open_until=1000)
    with pipeline(source, prefetch_queue_depth=depth) as pipe:
        pipe.run()
        settled, made = 0.0, -1
        while settled < 0.3:  # until the source stands still
            settled = settled + 0.05 if source.made == made else 0.0
            made = source.made
            time.sleep(0.05)
    assert depth <= made <= depth + 4  # the queue, and a batch on its way in each stage
