"""External sources without a source of their own: data is fed or given to `run`."""

import threading
import time

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.tensors import Tensor, TensorList
from videoloader.errors import ArgumentError, OperatorError

pytestmark = pytest.mark.usefixtures("no_threads_left")


def pipe_of(batch_size=2, depth=2, **arguments):
    arguments = {"name": "in", **arguments}
    definition = pipeline_def(lambda: fn.external_source(**arguments))
    return definition(batch_size=batch_size, prefetch_queue_depth=depth)


def lists(batch):
    return [sample.tolist() for sample in batch]


class ByArrayInterface:
    """Knows one protocol only."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


class ByArray:
    """Knows another."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


PAIR = np.array([[1, 2, 3], [4, 5, 6]], np.int16)


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        torch.tensor,
        Tensor,
        TensorList,
        ByArrayInterface,
        ByArray,
        torch.utils.dlpack.to_dlpack,
        list,
        tuple,
        lambda data: [torch.tensor(row) for row in data],
        lambda data: [Tensor(row) for row in data],
        lambda data: [ByArray(row) for row in data],
        lambda data: [torch.utils.dlpack.to_dlpack(torch.tensor(row)) for row in data],
    ],
)
def test_batches_have_many_forms(form):
    data = torch.tensor(PAIR) if form is torch.utils.dlpack.to_dlpack else PAIR
    with pipe_of() as pipe:
        pipe.feed_input("in", form(data))
        (out,) = pipe.run()
    assert out.dtype is types.INT16
    assert lists(out) == PAIR.tolist()


def test_inputs_may_be_given_to_run():
    @pipeline_def(batch_size=3, prefetch_queue_depth=1)
    def definition():
        return fn.external_source(name="one"), fn.external_source(name="two", layout="X")

    with definition() as pipe:
        for count in (3, 1, 2):
            one, two = pipe.run(one=np.zeros((count, 2)), two=[np.ones(at) for at in range(count)])
            assert one.shape() == [(2,)] * count
            assert two.shape() == [(at,) for at in range(count)]
            assert two.layout() == "X"
        with pytest.raises(ArgumentError, match="no external source named 'three'"):
            pipe.run(three=np.zeros((3, 1)))


def test_data_is_copied_as_it_is_fed():
    buffer = np.zeros((2, 1))
    with pipe_of(depth=3) as pipe:
        for value in range(pipe.input_feed_count("in")):
            buffer[:] = value
            pipe.feed_input("in", buffer)
        assert [lists(pipe.run()[0]) for _ in range(3)] == [[[at], [at]] for at in range(3)]


def test_a_source_may_use_its_memory_again():
    buffer = np.zeros((2, 1))

    def source(number):
        buffer[:] = number
        return buffer

    with pipe_of(source=source, name=None) as pipe:
        taken = [pipe.run()[0] for _ in range(4)]
    assert [lists(batch) for batch in taken] == [[[at], [at]] for at in range(4)]


def test_layouts_come_with_the_data_or_the_source():
    with pipe_of() as pipe:
        pipe.feed_input("in", PAIR, layout="X")
        pipe.feed_input("in", TensorList(PAIR, "X"))
        pipe.feed_input("in", [Tensor(row, "X") for row in PAIR])
        assert [pipe.run()[0].layout() for _ in range(3)] == ["X"] * 3
    with pipe_of(layout="Y") as pipe:
        pipe.feed_input("in", PAIR)
        assert pipe.run()[0].layout() == "Y"
        with pytest.raises(ArgumentError, match="expected data with layout 'Y', got 'X'"):
            pipe.feed_input("in", PAIR, layout="X")
    with pipe_of(source=lambda: TensorList(PAIR, "X"), layout="Y", name=None) as pipe:
        assert pipe.run()[0].layout() == "Y"


@pytest.mark.parametrize(
    ("arguments", "data", "message"),
    [
        ({}, np.zeros((3, 1)), "3 samples for a batch of 2"),
        ({}, [], "at least one sample"),
        ({}, 3, "got int; for one sample at a time use batch=False"),
        ({}, {1: 2}, "got dict"),
        ({}, "text", "got str"),
        ({}, [np.zeros(1), np.zeros((1, 1))], "one number of dimensions"),
        ({}, [np.zeros(1), np.zeros(1, np.uint8)], "one element type"),
        ({"dtype": types.UINT8}, np.zeros((2, 1)), "expected data of type UINT8, got FLOAT64"),
        ({"ndim": 2}, np.zeros((2, 1)), "expected data with 2 dimensions, got 1"),
        ({"layout": "HW"}, np.zeros((2, 1)), "layout 'HW' does not fit data with 1 dimensions"),
    ],
)
def test_data_is_checked_as_it_is_fed(arguments, data, message):
    with pipe_of(**arguments) as pipe, pytest.raises(ArgumentError, match=f"in: .*{message}"):
        pipe.feed_input("in", data)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (PAIR.astype(np.int8), "element type of the data has changed from torch.int16"),
        (PAIR[..., None], "number of dimensions of the data has changed from 1 to 2"),
        (TensorList(PAIR, "X"), "layout of the data has changed from  to X"),
    ],
)
def test_data_stays_alike_from_batch_to_batch(second, message):
    with pipe_of() as pipe:
        pipe.feed_input("in", PAIR)
        with pytest.raises(ArgumentError, match=message):
            pipe.feed_input("in", second)


def test_a_list_has_a_type_layout_and_dimensions_for_each_output():
    def source():
        return PAIR, np.zeros((2, 1, 1)), np.zeros((2,), bool)

    @pipeline_def(batch_size=2)
    def definition(**arguments):
        return tuple(fn.external_source(source, 3, **arguments))

    plain = pipeline_def(
        lambda: fn.external_source(
            source, 3, layout=["A", "BC"], dtype=[types.INT16, types.NO_TYPE], ndim=[1, 2]
        )
    )
    with plain(batch_size=2) as pipe:
        assert [out.layout() for out in pipe.run()] == ["A", "BC", ""]
    for arguments, message in (
        ({"dtype": [np.int16, np.float32]}, "type FLOAT, got FLOAT64"),
        ({"ndim": [1, 1, 1]}, "expected data with 1 dimensions, got 2"),
    ):
        pair = pipeline_def(lambda given=arguments: fn.external_source(source, 3, **given))
        with pair(batch_size=2) as pipe, pytest.raises(OperatorError, match=message):
            pipe.run()


def test_the_last_batch_comes_again_until_another_is_fed():
    with pipe_of(repeat_last=True) as pipe:
        with pytest.raises(OperatorError, match="no data"):
            pipe.run()
        pipe.feed_input("in", [1, 2])
        for _ in range(3):
            (out,) = pipe.run()
            assert lists(out) == [1, 2]
            out.as_tensor().zero_()  # the caller's
        pipe.feed_input("in", [3, 4])
        pipe.feed_input("in", [5, 6])
        assert [lists(pipe.run()[0]) for _ in range(3)] == [[3, 4], [5, 6], [5, 6]]


def test_one_source_may_repeat_while_another_is_fed():
    @pipeline_def(batch_size=1)
    def definition():
        return fn.external_source(name="new"), fn.external_source(name="old", repeat_last=True)

    with definition() as pipe:
        pipe.feed_input("old", [7])
        for number in range(3):
            pipe.feed_input("new", [number])
            new, old = pipe.run()
            assert (lists(new), lists(old)) == ([number], [7])


def test_a_run_may_wait_for_another_thread_to_feed():
    with pipe_of(blocking=True) as pipe:
        pipe.build()

        def feed():
            for number in range(3):
                time.sleep(0.02)
                pipe.feed_input("in", [number, number])

        feeder = threading.Thread(target=feed)
        feeder.start()
        try:
            assert [lists(pipe.run()[0]) for _ in range(3)] == [[at, at] for at in range(3)]
        finally:
            feeder.join()


def test_a_source_of_its_own_cannot_be_fed():
    with (
        pipe_of(source=[PAIR]) as pipe,
        pytest.raises(ArgumentError, match=r"source of its own .*iterable list"),
    ):
        pipe.feed_input("in", PAIR)


def test_dalis_arguments_for_gpus_are_taken():
    with pipe_of(cuda_stream=1, use_copy_kernel=True, no_copy=True, batch_info=False) as pipe:
        pipe.feed_input("in", PAIR, cuda_stream=0, use_copy_kernel=True)
        assert lists(pipe.run()[0]) == PAIR.tolist()


def test_an_error_of_a_source_names_its_line():
    def source(number):
        return 1 // number

    with pipe_of(source=source) as pipe, pytest.raises(OperatorError) as told:
        pipe.run()
    line = source.__code__.co_firstlineno + 1
    assert "ZeroDivisionError" in str(told.value)
    assert f"(test_external_feeding.py:{line} in source)" in str(told.value)
