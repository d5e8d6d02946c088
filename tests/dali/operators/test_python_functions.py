"""Functions of the user's in a pipeline: what they get, what they give, when they are called."""

import threading
import time

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.errors import ArgumentError, OperatorError

pytestmark = pytest.mark.usefixtures("no_threads_left")

COUNT = 4


def images(info):
    return np.full((2 + info.idx_in_batch % 2, 3, 3), info.idx_in_epoch, np.uint8)


def source(one=images):
    return fn.external_source(one, batch=False)


def pipe_of(definition, **arguments):
    return pipeline_def(definition)(batch_size=COUNT, **arguments)


def outputs(definition, **arguments):
    with pipe_of(definition, **arguments) as pipe:
        return pipe.run()


def test_a_function_is_called_on_each_sample():
    (out,) = outputs(lambda: fn.python_function(source(), function=lambda x: x[..., 0] / 2.0))
    assert out.dtype is types.FLOAT64
    assert out.layout() == ""
    assert [sample.tolist() for sample in out] == [
        (np.full((2 + at % 2, 3), at) / 2.0).tolist() for at in range(COUNT)
    ]


def test_a_function_may_take_and_give_several():
    def definition():
        first, second = source(), source()
        return fn.python_function(
            first, second, function=lambda a, b: (a + b, a > 1, a.mean()), num_outputs=3
        )

    added, larger, mean = outputs(definition)
    assert [int(sample.max()) for sample in added] == [0, 2, 4, 6]
    assert larger.dtype is types.BOOL
    assert mean.shape() == [()] * COUNT


def test_a_function_may_take_a_whole_batch():
    def double(batch):
        assert len(batch) == COUNT
        return [sample * 2 for sample in batch]

    def definition():
        return fn.python_function(source(), function=double, batch_processing=True)

    assert [int(sample.max()) for sample in outputs(definition)[0]] == [0, 2, 4, 6]


def test_a_function_without_inputs_fills_a_batch():
    (out,) = outputs(lambda: fn.python_function(function=lambda: np.float32(3)))
    assert out.as_array().tolist() == [3.0] * COUNT


def test_functions_get_torch_tensors_or_capsules():
    def definition():
        def of_torch(tensor):
            assert type(tensor) is torch.Tensor
            return tensor.flip(0)

        def of_capsules(capsules):
            return [torch.utils.dlpack.from_dlpack(capsule) + 1 for capsule in capsules]

        return (
            fn.torch_python_function(source(), function=of_torch),
            fn.dl_tensor_python_function(source(), function=of_capsules),
        )

    flipped, added = outputs(definition)
    assert [int(sample.max()) for sample in flipped] == [0, 1, 2, 3]
    assert [int(sample.max()) for sample in added] == [1, 2, 3, 4]


def test_layouts_are_as_given():
    def two(layouts):
        return fn.python_function(
            source(), function=lambda x: (x, x), num_outputs=2, output_layouts=layouts
        )

    def definition():
        return (*two("ABC"), *two(["ABC"]), *two(["ABC", "DEF"]))

    assert [out.layout() for out in outputs(definition)] == ["ABC", "ABC", "ABC", "", "ABC", "DEF"]
    with pytest.raises(ArgumentError, match="3 layouts, more than the 2 outputs"):
        pipe_of(lambda: two(["ABC", "ABC", "ABC"]))


def test_a_function_gets_copies_and_may_use_its_memory_again():
    buffer = np.zeros(3, np.int64)

    def spoil(x):
        buffer[:] = x.max()
        x[:] = 99
        return buffer

    def definition():
        data = source()
        return data, fn.python_function(data, function=spoil)

    data, spoiled = outputs(definition)
    assert [int(sample.max()) for sample in data] == [0, 1, 2, 3]
    assert [sample.tolist() for sample in spoiled] == [[at] * 3 for at in range(COUNT)]


def test_a_function_that_gives_nothing_runs_all_the_same():
    seen = []

    def definition():
        data = source()
        fn.python_function(data, function=lambda x: seen.append(int(x.max())), num_outputs=0)
        return data

    with pipe_of(definition, prefetch_queue_depth=1) as pipe:
        pipe.run()
        assert seen == [0, 1, 2, 3]
        pipe.run()
        assert seen == list(range(8))


def test_calls_are_in_order_one_at_a_time_and_once_a_sample():
    seen, at_once = [], []
    busy = threading.Lock()

    def follow(x, place):
        at_once.append(busy.acquire(blocking=False))
        time.sleep(0.001)
        seen.append((place, int(x.max())))
        if at_once[-1]:
            busy.release()
        return x

    def definition():
        first = fn.python_function(source(), function=lambda x: follow(x, "first"))
        return fn.python_function(fn.flip(first), function=lambda x: follow(x, "second"))

    with pipe_of(definition, num_threads=3) as pipe:
        for _ in range(5):
            pipe.run()
    assert all(at_once)
    for place in ("first", "second"):
        values = [value for where, value in seen if where == place]
        assert values[:20] == list(range(20))
        assert values == list(range(len(values)))


def test_with_a_queue_of_one_nothing_runs_ahead_of_the_caller():
    counter = []

    def count(x):
        counter.append(1)
        return x

    with pipe_of(
        lambda: fn.python_function(source(), function=count), prefetch_queue_depth=1
    ) as pipe:
        for number in range(1, 4):
            pipe.run()
            time.sleep(0.02)
            assert len(counter) == number * COUNT


def test_with_a_queue_of_one_the_next_epoch_begins_when_it_is_asked_for():
    counter = []

    def definition():
        data = fn.external_source([np.full((1, 1), 7), np.full((1, 1), 8)], cycle="raise")
        return fn.python_function(data, function=lambda x: counter.append(1) or x)

    with pipe_of(definition, prefetch_queue_depth=1) as pipe:
        for epoch in range(3):
            assert len(counter) == 2 * epoch
            assert [int(pipe.run()[0].as_tensor().sum()) for _ in range(2)] == [7, 8]
            with pytest.raises(StopIteration):
                pipe.run()
            assert pipe.reset()
            time.sleep(0.02)


def wrong(x):
    return x + missing  # noqa: F821


def test_an_error_names_the_operator_and_the_line_of_the_function():
    calls = []

    def definition():
        return fn.python_function(source(), function=lambda x: calls.append(1) or wrong(x))

    with (
        pipe_of(definition, prefetch_queue_depth=1) as pipe,
        pytest.raises(
            OperatorError, match=r"fn.python_function .*'missing' is not defined"
        ) as told,
    ):
        pipe.run()
    assert f"(test_python_functions.py:{wrong.__code__.co_firstlineno + 1} in wrong)" in str(
        told.value
    )
    assert isinstance(told.value.__cause__, NameError)
    assert len(calls) == 1  # it is not called again to find the sample


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (lambda x: [x, x], {"num_outputs": 2}, "gives a tuple, got list"),
        (lambda x: (x, x, x), {"num_outputs": 2}, "gave 3 outputs, expected num_outputs=2"),
        (lambda x: (x, x), {}, "gave 2 outputs, expected num_outputs=1"),
        (lambda x: None, {}, "gave None"),
        (lambda x: x[:1], {"batch_processing": True}, "gave 1 samples for a batch of 4"),
        (lambda x: x, {"output_layouts": "HW"}, "layout 'HW' does not fit"),
        (lambda x: x.astype(["f4", "f8"][int(x.max()) % 2]), {}, "one element type"),
    ],
)
def test_what_a_function_gives_is_checked(function, arguments, message):
    def definition():
        return fn.python_function(source(), function=function, **arguments)

    with pipe_of(definition) as pipe, pytest.raises(OperatorError, match=message):
        pipe.run()


def test_a_pipeline_is_dropped_while_a_function_runs():
    def slow(x):
        time.sleep(0.02)
        return x

    others = threading.enumerate()  # those of other tests' pipelines too
    for _ in range(3):
        pipe = pipe_of(lambda: fn.python_function(source(), function=slow))
        pipe.run()
        del pipe
    for thread in {*threading.enumerate()}.difference(others):
        if thread.name.startswith("videoloader-"):
            thread.join()


def test_dalis_other_names_are_the_same_operators():
    from videoloader.dali import ops
    from videoloader.dali.plugin.numba import NumbaFunction
    from videoloader.dali.plugin.numba.experimental import NumbaFunction as OldFunction
    from videoloader.dali.plugin.numba.fn.experimental import numba_function
    from videoloader.dali.plugin.pytorch import TorchPythonFunction
    from videoloader.dali.plugin.pytorch import fn as torch_fn

    assert torch_fn.torch_python_function is fn.torch_python_function
    assert numba_function is fn.numba_function
    assert NumbaFunction is OldFunction is ops.NumbaFunction
    assert TorchPythonFunction is ops.TorchPythonFunction

    def definition():
        pair = ops.PythonFunction(function=lambda x: (x, x + 1), num_outputs=2)
        with pytest.raises(TypeError, match="do not take sets of inputs"):
            pair([source(), source()])
        first, second = pair(source())
        ops.PythonFunction(function=lambda x: None, num_outputs=0)(first)
        return first, ops.DLTensorPythonFunction(function=lambda batch: batch)(second)

    first, second = outputs(definition)
    assert [int(sample.max()) for sample in first] == [0, 1, 2, 3]
    assert [int(sample.max()) for sample in second] == [1, 2, 3, 4]
