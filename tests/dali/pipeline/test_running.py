"""How batches are asked for, and what the constructor of a pipeline takes."""

import numpy as np
import pytest
import torch

from videoloader.dali import fn, pipeline, types
from videoloader.dali.pipeline import OperatorConcurrency, Pipeline, StreamPolicy, pipeline_def
from videoloader.errors import ArgumentError, ArgumentTypeError, OperatorError

pytestmark = pytest.mark.usefixtures("no_threads_left")


def counting(count=3, **arguments):
    """A pipeline whose source counts, and ends after `count` batches."""

    def source(iteration):
        if iteration >= count:
            raise StopIteration
        return np.full((2, 1), iteration)

    def graph():
        return fn.external_source(source)

    return pipeline_def(graph)(**{"batch_size": 2, "num_threads": 1, **arguments})


def first(outputs):
    return outputs[0][0].item()


@pytest.mark.parametrize(
    "arguments",
    [{}, {"prefetch_queue_depth": 1}, {"prefetch_queue_depth": 5}, {"exec_pipelined": False}],
    ids=str,
)
def test_batches_may_be_scheduled_shared_and_released_until_none_is_left(arguments):
    pipe = counting(**arguments)
    assert pipe.empty()
    for _ in range(2):
        got = []
        pipe.schedule_run()
        while not pipe.empty():
            got.append(first(pipe.share_outputs()))
            pipe.release_outputs()
            pipe.schedule_run()
        assert got == [0, 1, 2]
        with pytest.raises(StopIteration):
            pipe.outputs()
        assert pipe.reset()
        assert not pipe.reset()
    pipe.close()


def test_the_first_call_schedules_as_many_batches_as_the_queue_holds():
    pipe = counting(count=9, prefetch_queue_depth=3)
    with pytest.raises(StopIteration):
        pipe.outputs()
    pipe.schedule_run()
    assert [first(pipe.outputs()) for _ in range(3)] == [0, 1, 2]
    assert pipe.empty()
    with pytest.raises(StopIteration):
        pipe.outputs()
    pipe.schedule_run()
    assert first(pipe.outputs()) == 3
    pipe.close()


def test_run_ends_and_begins_again():
    with counting() as pipe:
        for _ in range(2):
            assert [first(pipe.run()) for _ in range(3)] == [0, 1, 2]
            for _ in range(2):
                with pytest.raises(StopIteration):
                    pipe.run()
            assert pipe.empty()
            pipe.reset()


class Fed(Pipeline):
    """Feeds its source by itself, as old programs do."""

    def __init__(self, count, **arguments):
        super().__init__(2, 1, **arguments)
        self.at, self.count = 0, count

    def define_graph(self):
        self.numbers = fn.external_source()
        return self.numbers, fn.cast(self.numbers, dtype=types.FLOAT)

    def iter_setup(self):
        if self.at == self.count:
            raise StopIteration
        self.feed_input(self.numbers, np.full((2, 1), self.at))
        self.at += 1


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_subclass_defines_its_graph_and_feeds_every_batch(depth):
    with Fed(3, prefetch_queue_depth=depth) as pipe:
        for _ in range(2):
            assert [first(pipe.run()) for _ in range(3)] == [0, 1, 2]
            with pytest.raises(StopIteration):
                pipe.run()
            pipe.at = 0
            assert pipe.reset()


def test_a_source_may_give_fewer_samples_than_the_batch_size():
    @pipeline_def(batch_size=4, num_threads=2, seed=1)
    def graph():
        numbers = fn.external_source(lambda i: np.full((1 + i % 4, 1), i))
        return numbers, fn.random.uniform(), fn.constant(idata=[7])

    with graph() as pipe:
        for iteration in range(8):
            assert [len(each) for each in pipe.run()] == [1 + iteration % 4] * 3


def test_the_arguments_of_dali_come_in_its_order_and_are_properties():
    given = (4, 2, None, 7, False, 3, False, 10, True, 5, 1)
    pipe = Pipeline(*given)
    assert (pipe.batch_size, pipe.max_batch_size, pipe.num_threads) == (4, 4, 2)
    assert (pipe.device_id, pipe.seed) == (None, 7)
    assert (pipe.exec_pipelined, pipe.exec_async, pipe.exec_dynamic) == (False, False, False)
    assert (pipe.prefetch_queue_depth, pipe.bytes_per_sample, pipe.set_affinity) == (3, 10, True)
    assert (pipe.max_streams, pipe.default_cuda_stream_priority) == (5, 1)
    plain = Pipeline(1)
    assert plain.exec_dynamic
    assert (plain.stream_policy, plain.concurrency) == (None, None)
    assert (plain.py_num_workers, plain.py_start_method) == (1, "fork")
    assert (plain.max_streams, plain.default_cuda_stream_priority) == (-1, 0)
    assert not plain.enable_memory_stats
    assert not plain.is_restored_from_checkpoint
    both = Pipeline(1, prefetch_queue_depth={"cpu_size": 3, "gpu_size": 2})
    assert both.exec_separated
    assert (both.cpu_queue_size, both.gpu_queue_size, both.prefetch_queue_depth) == (3, 2, 3)
    assert not both.exec_dynamic
    assert Pipeline(1, seed=-5).seed >= 0
    policy = Pipeline(1, stream_policy=StreamPolicy.SINGLE, concurrency=OperatorConcurrency.FULL)
    assert policy.stream_policy is StreamPolicy.SINGLE
    assert policy.concurrency is OperatorConcurrency.FULL
    with pytest.raises(ArgumentTypeError, match=r"concurrency .* OperatorConcurrency.FULL"):
        Pipeline(1, concurrency=StreamPolicy.SINGLE)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"batch_size": 0}, ArgumentError),
        ({"batch_size": None}, ArgumentError),
        ({"num_threads": 0}, ArgumentError),
        ({"prefetch_queue_depth": 0}, ArgumentError),
        ({"prefetch_queue_depth": "two"}, ArgumentError),
        ({"prefetch_queue_depth": {"cpu_size": 2, "gpu_size": 2}, "exec_async": False}, ValueError),
        ({"nothing": 1}, ArgumentError),
        ({"output_dtype": "int"}, ArgumentTypeError),
        ({"output_dtype": [types.UINT8, 3]}, ArgumentTypeError),
        ({"output_dtype": types.NO_TYPE}, ArgumentError),
        ({"output_ndim": "1"}, ArgumentTypeError),
        ({"output_ndim": [1, -1]}, ArgumentError),
        ({"output_layout": 3}, ArgumentTypeError),
    ],
    ids=str,
)
def test_arguments_without_a_meaning_are_refused(arguments, error):
    with pytest.raises(error):
        Pipeline(**{"batch_size": 1, **arguments})


def images_and_numbers(**arguments):
    def graph():
        images = fn.external_source(lambda: torch.zeros(2, 4, 4, 3), layout="HWC")
        return images, fn.constant(idata=[3])

    return pipeline_def(graph)(batch_size=2, num_threads=1, **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"output_dtype": [types.FLOAT, types.INT32], "output_ndim": [3, 1]},
        {"output_dtype": [None, types.INT32], "output_layout": ["HWC", None]},
        {"output_ndim": (None, 1), "output_layout": ("HWC", "")},
    ],
    ids=str,
)
def test_outputs_that_are_as_they_were_announced_pass(arguments):
    with images_and_numbers(**arguments) as pipe:
        pipe.run()
        wanted = list(arguments.get("output_dtype", [None, None]))
        assert pipe.output_dtype() == wanted
        assert pipe.output_ndim() == list(arguments.get("output_ndim", [None, None]))
        assert pipe.num_outputs == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output_dtype": types.FLOAT}, "output 1 .* output_dtype is .*FLOAT, .* has .*INT32"),
        ({"output_ndim": 3}, "output 1 .* output_ndim is 3, the batch has 1"),
        ({"output_layout": ["CHW", None]}, "output 0 .* is 'CHW', the batch has 'HWC'"),
    ],
    ids=str,
)
def test_outputs_that_are_not_as_they_were_announced_fail(arguments, message):
    with images_and_numbers(**arguments) as pipe, pytest.raises(OperatorError, match=message):
        pipe.run()


def test_what_is_said_of_the_outputs_counts_them():
    with pytest.raises(ArgumentError, match="output_ndim has 1 values for 2 outputs"):
        images_and_numbers(output_ndim=[3]).build()


def test_a_definition_may_be_a_method_and_take_arguments_by_position():
    class Maker:
        @pipeline_def(batch_size=1, num_threads=1)
        def of(self, number, *more, last=4):
            return (number, *more, last)

        @staticmethod
        @pipeline_def(batch_size=1)
        def plain(number=3):
            return number

    def numbers(pipe):
        with pipe:
            return [each[0].item() for each in pipe.run()]

    assert numbers(Maker().of(1, 2, 3)) == [1, 2, 3, 4]
    assert numbers(Maker().of(1, last=5, seed=3)) == [1, 5]
    assert numbers(Maker.plain()) == [3]
    with pytest.raises(TypeError, match="number"):
        Maker().of()


def test_a_definition_may_have_the_experimental_decorator():
    @pipeline.experimental.pipeline_def(batch_size=1, debug=False)
    def graph():
        return 3

    with graph(num_threads=1) as pipe:
        assert pipe.run()[0][0].item() == 3


def test_a_definition_may_make_another_pipeline():
    inner = pipeline_def(lambda: fn.constant(idata=[1]))

    @pipeline_def(batch_size=2)
    def outer():
        with inner(batch_size=1) as pipe:
            value = pipe.run()[0][0].item()
        assert Pipeline.current().batch_size == 2
        return fn.constant(idata=[value + 1])

    with outer() as pipe:
        assert pipe.run()[0].as_tensor().tolist() == [[2], [2]]
