"""What a pipeline runs is what its outputs need, wherever it was written."""

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.fn.function import Function
from videoloader.dali.operators.operator import OPERATORS, declare
from videoloader.dali.pipeline import DataNode, Pipeline, pipeline_def
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, ArgumentTypeError

pytestmark = pytest.mark.usefixtures("no_threads_left")

BATCH = 3


def pixels(iteration):
    """A batch of images, all of one value."""
    return np.full((BATCH, 4, 4, 3), iteration, np.uint8)


def first(pipe):
    """The outputs of the first batch, as numpy arrays (BATCH, ...)."""
    with pipe:
        pipe.build()
        return [output.as_tensor().numpy() for output in pipe.run()]


def made(**arguments):
    return Pipeline(**{"batch_size": BATCH, "num_threads": 1, **arguments})


def test_nodes_made_before_any_pipeline_are_adopted():
    images = fn.external_source(pixels, layout="HWC")
    small = fn.resize(images, size=2)
    pipe = made()
    pipe.set_outputs(small, images[0])
    resized, rows = first(pipe)
    assert resized.shape == (BATCH, 2, 2, 3)
    assert rows.shape == (BATCH, 4, 3)


def test_nodes_of_all_places_make_one_graph():
    outside = fn.external_source(pixels, layout="HWC")

    class Mixed(Pipeline):
        def __init__(self):
            super().__init__(batch_size=BATCH, num_threads=1)
            self.kept = fn.flip(outside)

        def define_graph(self):
            return fn.cast(self.kept, dtype=types.FLOAT), fn.constant(idata=[7])

    flipped, sevens = first(Mixed())
    assert flipped.dtype == np.float32
    assert sevens.tolist() == [[7]] * BATCH


def test_a_with_block_defines_and_the_current_pipeline_is_known():
    assert Pipeline.current() is None
    outer, inner = made(), made(batch_size=1)
    with outer:
        assert Pipeline.current() is outer
        with inner:
            assert Pipeline.current() is inner
            inner.set_outputs(fn.constant(idata=[1]))
        assert Pipeline.current() is outer
        outer.set_outputs(fn.constant(idata=[2]))
    assert Pipeline.current() is None
    assert first(inner)[0].tolist() == [[1]]
    assert first(outer)[0].tolist() == [[2]] * BATCH


def test_the_current_pipeline_is_restored_when_a_definition_fails():
    with pytest.raises(ZeroDivisionError):
        pipeline_def(lambda: 1 // 0)(batch_size=1)
    assert Pipeline.current() is None
    Pipeline.push_current(pipe := made())
    assert Pipeline.current() is pipe
    Pipeline.pop_current()
    with pytest.raises(ArgumentError, match="pop_current without push_current"):
        Pipeline.pop_current()


def test_what_no_output_needs_does_not_run():
    calls = []

    def source(iteration):
        calls.append(iteration)
        return pixels(iteration)

    @pipeline_def(batch_size=BATCH, num_threads=1)
    def graph():
        fn.resize(fn.external_source(source, layout="HWC"), size=2)
        fn.random.uniform()
        return fn.random.uniform(range=(0, 1)), fn.external_source(pixels)

    pipe = graph()
    assert [node.operator.name for node in pipe._graph.nodes] == [
        "random.uniform",
        "external_source",
    ]
    first(pipe)
    assert calls == []


def test_pruned_operators_shift_neither_names_nor_draws():
    def graph(with_more):
        if with_more:
            fn.random.coin_flip(name="dropped")
        return fn.random.uniform(), fn.random.coin_flip()

    one, other = (pipeline_def(graph)(more, batch_size=8, seed=4) for more in (False, True))
    assert [node.name for node in one._graph.nodes] == [node.name for node in other._graph.nodes]
    for left, right in zip(first(one), first(other), strict=True):
        np.testing.assert_array_equal(left, right)


def test_stages_of_draws_count_in_the_order_of_calls_not_of_outputs():
    @pipeline_def(batch_size=8, seed=4)
    def graph(turned):
        one, two = fn.random.uniform(), fn.random.uniform()
        return (two, one) if turned else (one, two)

    straight, turned = first(graph(turned=False)), first(graph(turned=True))
    np.testing.assert_array_equal(straight[0], turned[1])
    np.testing.assert_array_equal(straight[1], turned[0])
    assert not (straight[0] == straight[1]).any()


@pytest.fixture
def noted():
    """An operator that notes that it ran, and the batches that it saw."""
    seen = []

    @declare("note", inputs=("values",), devices=("cpu",))
    def note(context, values):
        """Note what flows."""
        seen.append(values.samples)
        return values

    yield seen
    del OPERATORS["note"]


@pytest.mark.parametrize("how", ["preserve", "sink", "late sink"])
def test_an_operator_that_is_kept_runs_for_its_effects(noted, how):
    pipe = made()
    with pipe:
        images = fn.external_source(pixels)
        node = Function("note")(images, **({"preserve": True} if how == "preserve" else {}))
        if how == "sink":
            pipe.add_sink(node)
        pipe.set_outputs(fn.constant(idata=[1]))
    if how == "late sink":
        pipe.add_sink(node)
    first(pipe)
    assert sum(map(len, noted)) >= BATCH


def test_to_preserve_an_operator_takes_a_pipeline():
    with pytest.raises(ArgumentError, match=r"fn\.constant runs for its effects"):
        fn.constant(idata=[1], preserve=True)


def test_nodes_of_no_definition_may_be_in_several_pipelines():
    numbers = fn.external_source()
    both = Function("copy")(numbers), fn.constant(idata=[5])
    pipes = [made(), made()]
    for at, pipe in enumerate(pipes):
        with pipe:
            pipe.set_outputs(*both, fn.cast(both[0], dtype=types.FLOAT), fn.constant(idata=[at]))
    names = [[node.name for node in pipe._graph.nodes] for pipe in pipes]
    assert names[0] == names[1]
    for at, pipe in enumerate(pipes):
        pipe.feed_input(numbers, np.full((BATCH, 1), 10 + at))
    for at, pipe in reversed(list(enumerate(pipes))):
        assert [each[0].item() for each in first(pipe)] == [10 + at, 5, 10 + at, at]


def test_a_node_of_a_definition_belongs_to_its_pipeline():
    with made() as pipe:
        node = fn.constant(idata=[1])
        pipe.set_outputs(node)
    with pytest.raises(ArgumentError, match=r"constant_0.*test_graph\.py.*belongs to another"):
        made().set_outputs(fn.cast(node, dtype=types.FLOAT))


def test_a_node_that_was_refused_is_free():
    node = fn.constant(idata=[1], name="same")
    with pytest.raises(ArgumentError, match="two operators are named 'same'"):
        made().set_outputs(node, fn.constant(idata=[2], name="same"))
    pipe = made()
    pipe.set_outputs(node)
    assert first(pipe)[0].tolist() == [[1]] * BATCH


def test_a_given_name_is_never_given_again():
    @pipeline_def(batch_size=1)
    def graph():
        return fn.constant(idata=[1], name="constant_1"), fn.constant(idata=[2])

    assert [node.name for node in graph()._graph.nodes] == ["constant_1", "constant_1_"]


CONSTANTS = [
    (1, np.int32, ()),
    (2.5, np.float32, ()),
    (True, np.bool_, ()),
    ([1, 2, 3], np.int32, (3,)),
    ((1.0, 2), np.float32, (2,)),
    ([True, False], np.bool_, (2,)),
    (np.float64(3), np.float32, ()),
    (np.uint8(3), np.uint8, ()),
    (np.array([[1, 2], [3, 4]]), np.int32, (2, 2)),
    (np.ones(2), np.float32, (2,)),
    (np.ones((2, 0), np.int16), np.int16, (2, 0)),
    (torch.tensor([1, 2]), np.int32, (2,)),
    (torch.tensor([0.5, 1.5], dtype=torch.float16), np.float16, (2,)),
    (types.Constant(3), np.int32, ()),
    (types.Constant(3).uint8(), np.uint8, ()),
    (types.Constant(0.1, types.FLOAT64), np.float64, ()),
    (types.Constant([1, 2], shape=(2, 1), layout="HW"), np.int32, (2, 1)),
    (types.Constant(5, shape=(2, 2), dtype=types.INT64), np.int64, (2, 2)),
]


@pytest.mark.parametrize(("value", "dtype", "shape"), CONSTANTS, ids=lambda each: repr(each)[:40])
@pytest.mark.parametrize("place", ["output", "input"])
def test_a_value_stands_where_a_data_node_may(value, dtype, shape, place):
    def graph():
        return (value,) if place == "output" else Function("copy")(value)

    with pipeline_def(graph)(batch_size=BATCH, num_threads=2) as pipe:
        (output,) = pipe.run()
    raw = getattr(value, "array", getattr(value, "value", value))
    expected = np.broadcast_to(np.asarray(raw).astype(dtype), (BATCH, *shape))
    assert output.as_tensor().numpy().dtype == dtype
    np.testing.assert_array_equal(output.as_tensor().numpy(), expected)
    assert output.layout() == (value.layout if isinstance(value, types.ArrayConstant) else "")


@pytest.mark.parametrize("value", ["text", None, object(), [1, "a"], {"a": 1}, b"bytes"])
def test_what_is_no_constant_is_refused_by_its_type(value):
    with pytest.raises(ArgumentTypeError, match="takes data nodes, and numbers"):
        made().set_outputs(value)


def test_nested_outputs_are_refused():
    node = fn.constant(idata=[1])
    for nested in ([node], (node, node), [1, [node]]):
        with pytest.raises(ArgumentTypeError, match=r"output 1 takes one data node.*unpacks"):
            made().set_outputs(node, nested)
    with pytest.raises(ArgumentTypeError, match="output 0"):
        pipeline_def(lambda: [node, node])(batch_size=1)


def test_one_node_may_be_given_out_twice_each_with_memory_of_its_own():
    pipe = made()
    node = fn.constant(idata=[1, 2])
    pipe.set_outputs(node, node)
    with pipe:
        one, other = (output.as_tensor() for output in pipe.run())
    one += 1
    assert other.tolist() == [[1, 2]] * BATCH


def test_a_constant_is_not_changed_by_who_takes_it():
    array = np.array([1, 2])
    with pipeline_def(lambda: array)(batch_size=1) as pipe:
        array += 5
        for _ in range(5):
            output = pipe.run()[0].as_tensor()
            assert output.tolist() == [[1, 2]]
            output += 1


def test_constants_are_arguments():
    @pipeline_def(batch_size=BATCH, num_threads=1)
    def graph():
        images = fn.external_source(pixels, layout="HWC")
        return (
            fn.resize(images, size=types.Constant(2)),
            fn.resize(images, size=types.Constant([2.0, 3.0])),
            fn.resize(images, size=np.array([3, 2])),
        )

    assert [each.shape[1:3] for each in first(graph())] == [(2, 2), (2, 3), (3, 2)]


def test_constant_fills_saturates_and_checks():
    @pipeline_def(batch_size=1)
    def graph():
        return (
            fn.constant(idata=[1, 2, 3, 4], shape=[2, 2], dtype=types.UINT8, layout="HW"),
            fn.constant(fdata=[2.5, 3.5, -2.5], dtype=types.INT8),
            fn.constant(idata=300, dtype=types.UINT8),
            fn.constant(idata=[3], shape=[2, 2]),
            fn.constant(idata=[]),
        )

    assert [each[0].tolist() for each in first(graph())] == [
        [[1, 2], [3, 4]],
        [3, 4, -3],
        [255],
        [[3, 3], [3, 3]],
        [],
    ]
    for arguments, message in [
        ({}, "either fdata or idata"),
        ({"fdata": 1.0, "idata": 1}, "either fdata or idata"),
        ({"idata": [1, 2, 3], "shape": [2]}, r"3 values do not fit shape \[2\]"),
        ({"idata": [1, 2], "layout": "HW"}, r"layout='HW' does not fit shape \[2\]"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            fn.constant(**arguments)


def test_operators_outside_a_definition_make_nodes_of_nodes_and_run_on_data():
    source = fn.external_source(pixels, layout="HWC")
    assert isinstance(source, DataNode)
    assert isinstance(fn.flip(source), DataNode)
    assert isinstance(fn.flip(torch.zeros(5, 5, 3, dtype=torch.uint8)), torch.Tensor)
    batch = fn.flip(TensorList(torch.zeros(2, 5, 5, 3), "HWC"))
    assert isinstance(batch, TensorList)


def test_integers_that_do_not_fit_a_constant_are_refused():
    with pytest.raises(ArgumentError, match="1099511627776 does not fit into int32"):
        types.Constant(np.array([2**40]))
    kept = types.Constant(np.array([2**40]), dtype=types.INT64)
    assert kept.array.tolist() == [2**40]
    with pytest.raises(ArgumentError, match="does not fit"):
        made().set_outputs([2**40])
