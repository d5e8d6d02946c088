"""Operators that are called outside of definitions make nodes, unless they have data to run on."""

import threading

import numpy as np
import pytest
import torch

import videoloader
from videoloader.dali import fn, math, ops, types
from videoloader.dali.pipeline import DataNode, Pipeline, pipeline_def
from videoloader.errors import ArgumentError

BATCH = 4


def batches(*outputs, count=2, **arguments):
    """The outputs of the first batches, as lists."""
    pipe = Pipeline(**{"batch_size": BATCH, "num_threads": 1, "seed": 3, **arguments})
    pipe.set_outputs(*outputs)
    with pipe:
        return [[output.as_tensor().tolist() for output in pipe.run()] for _ in range(count)]


WITHOUT_INPUTS = {
    "uniform": lambda: fn.random.uniform(range=(0, 1)),
    "normal": lambda: fn.random.normal(shape=[2]),
    "beta": lambda: fn.random.beta(),
    "choice below a number": lambda: fn.random.choice(1000),
    "choice from a list": lambda: fn.random.choice([*range(1000)]),
    "choice below a constant": lambda: fn.random.choice(types.Constant(1000)),
    "permutation": lambda: fn.batch_permutation(),
    "class": lambda: ops.random.Uniform(range=(0, 1))(),
    "deprecated name": lambda: fn.uniform(range=(0, 1)),
    "transform of a draw": lambda: fn.transforms.translation(offset=fn.random.uniform(shape=[2])),
    "window": lambda: fn.roi_random_crop(
        crop_shape=[1, 1], roi_start=[0, 0], roi_shape=[900, 900], in_shape=[900, 900]
    ),
}


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("name", WITHOUT_INPUTS)
def test_a_call_without_data_draws_anew_for_every_sample_wherever_it_is_made(name):
    (first,), (second,) = batches(WITHOUT_INPUTS[name]())
    assert len({str(each) for each in first}) > 1
    assert first != second
    inside = pipeline_def(WITHOUT_INPUTS[name])(batch_size=BATCH, num_threads=1, seed=3)
    with inside:
        assert inside.run()[0].as_tensor().tolist() == first


def test_operators_without_draws_make_nodes_too():
    matrix = fn.transforms.rotation(angle=90.0, name="turn")
    assert isinstance(matrix, DataNode)
    assert matrix.name == "turn"
    assert np.allclose(batches(matrix, count=1)[0][0], [[[0, -1, 0], [1, 0, 0]]] * BATCH, atol=1e-6)


def test_one_node_serves_several_pipelines():
    drawn = fn.random.uniform(range=(0, 1))
    assert batches(drawn) == batches(drawn)
    assert batches(drawn) != batches(drawn, seed=4)


def test_calls_with_data_run_at_once():
    assert fn.cast(np.float32([1.5]), dtype=types.INT32).tolist() == [2]
    assert fn.cast(3, dtype=types.FLOAT).item() == 3
    assert 0 <= fn.random.choice(torch.tensor(5)) < 5
    assert fn.random.uniform(np.zeros((2, 3)), range=(1, 2)).shape == (2, 3)


def test_in_a_block_of_eager_calls_without_data_run_at_once():
    with videoloader.dali.eager():
        videoloader.dali.seed(1)
        first = fn.random.uniform(range=(0, 1)), fn.random.choice(1000)
        videoloader.dali.seed(1)
        again = fn.random.uniform(range=(0, 1)), fn.random.choice(1000)
        elsewhere = []
        thread = threading.Thread(target=lambda: elsewhere.append(fn.random.uniform()))
        thread.start()
        thread.join()
    assert first == again
    assert all(isinstance(value, torch.Tensor) for value in first)
    assert isinstance(elsewhere[0], DataNode)  # the block is of one thread
    assert isinstance(fn.random.uniform(), DataNode)


def test_eager_decorates_functions():
    @videoloader.dali.eager()
    def augment(image):
        return fn.flip(image, horizontal=fn.random.coin_flip(probability=1))

    image = np.arange(75, dtype=np.uint8).reshape(5, 5, 3)
    for _ in range(2):
        assert np.array_equal(augment(image), image[:, ::-1])


def test_a_definition_makes_nodes_in_a_block_of_eager_too():
    with videoloader.dali.eager():
        pipe = pipeline_def(lambda: fn.random.uniform(range=(0, 1)))(batch_size=BATCH, seed=3)
    with pipe:
        assert len(set(pipe.run()[0].as_tensor().tolist())) == BATCH


def test_what_a_pipeline_calls_runs_at_once():
    def source(iteration):
        value = fn.cast(fn.random.coin_flip(probability=iteration), dtype=types.FLOAT)
        return [value] * BATCH

    def shifted(value):
        return value + 10 * fn.random.coin_flip(probability=1).numpy()

    @pipeline_def(batch_size=BATCH, num_threads=1)
    def graph():
        return fn.python_function(fn.external_source(source), function=shifted)

    with graph() as pipe:
        assert [pipe.run()[0].as_tensor().tolist() for _ in range(2)] == [[10] * 4, [11] * 4]


def drawn_at_once():
    with videoloader.dali.eager():
        return fn.random.uniform(range=(0, 1), shape=[2])


def noisy():
    return fn.noise.gaussian(np.full((9, 9, 3), 100, np.uint8), stddev=5)


def node():
    return fn.external_source(lambda: np.zeros((BATCH, 2), np.float32))


INTO_GRAPHS = {
    "output": lambda drawn: Pipeline(batch_size=2).set_outputs(drawn),
    "part of an output": lambda drawn: Pipeline(batch_size=2).set_outputs(drawn[0]),
    "constant": lambda drawn: types.Constant(drawn),
    "operand": lambda drawn: node() + drawn,
    "operand of a number": lambda drawn: node() * drawn[1],
    "argument of a function": lambda drawn: math.max(node(), drawn),
    "input": lambda drawn: fn.cat(node(), drawn),
    "part of an input": lambda drawn: fn.cat(node(), [drawn[0], drawn[1]]),
    "argument": lambda drawn: fn.pad(node(), shape=drawn),
    "part of an argument": lambda drawn: fn.pad(node(), fill_value=drawn[0]),
    "list": lambda drawn: fn.crop(node(), crop=[drawn[0], 5]),
    "argument of a draw": lambda drawn: fn.random.uniform(range=drawn),
}


@pytest.mark.parametrize("way", INTO_GRAPHS)
def test_what_was_drawn_at_once_goes_into_no_graph(way):
    with pytest.raises(ArgumentError, match=r"fn\.random\.uniform ran at once.*outside of.*eager"):
        INTO_GRAPHS[way](drawn_at_once())


def test_neither_does_what_was_drawn_for_data():
    with pytest.raises(ArgumentError, match=r"fn\.noise\.gaussian ran at once.*types\.Constant"):
        Pipeline(batch_size=2).set_outputs(noisy())


def test_a_draw_for_a_constant_makes_a_node():
    data = types.Constant(np.full((9, 9, 3), 100, np.uint8), layout="HWC")
    (first,), (second,) = batches(fn.noise.gaussian(data, stddev=5))
    assert first != second


def test_a_fixed_draw_that_is_meant_goes_in_as_a_copy():
    drawn = drawn_at_once()
    (first,), (second,) = batches(drawn.clone())
    assert first == second == [drawn.tolist()] * BATCH
