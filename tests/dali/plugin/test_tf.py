"""Pipelines as data sets of TensorFlow: element types, shapes, epochs, errors."""

import json
import os
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from iterated import TEN, ending, labelled

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin import pytorch
from videoloader.dali.plugin.tf import DALIDataset, DALIIterator, LastBatchPolicy, dataset_options
from videoloader.errors import ArgumentError, UnsupportedError

pytestmark = pytest.mark.needs("tensorflow")


@pytest.fixture(scope="module")
def tf():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if find_spec("paddle"):
            import paddle  # noqa: F401  (its library crashes a process that has TensorFlow's)
        import tensorflow as tf
    return tf


def lists(dataset):
    return [element.numpy().tolist() for element in dataset]


def typed(dtype, *shape, batch_size=2):
    """A pipeline of two batches of ones."""

    def define():
        data = fn.external_source([np.ones((batch_size, *shape), np.float32)] * 2, cycle="raise")
        return fn.cast(data, dtype=dtype)

    return pipeline_def(define)(batch_size=batch_size)


@pytest.mark.parametrize("policy", list(LastBatchPolicy))
def test_epochs_are_those_of_pytorchs_iterator(tf, videos, policy):
    options = {"reader_name": "Reader", "last_batch_policy": policy}
    with pytorch.GenericIterator(labelled(batch_size=2), ["a", "b"], **options) as iterator:
        expected = [
            [(part["a"].numpy(), part["b"].numpy()) for (part,) in iterator] for _ in range(3)
        ]
    with labelled(batch_size=2) as pipe:
        dataset = DALIDataset(pipe, (tf.uint8, tf.int32), **options)
        for batches in expected:
            epoch = list(dataset)
            assert len(epoch) == len(batches)
            for given, wanted in zip(epoch, batches, strict=True):
                assert all(np.array_equal(*pair) for pair in zip(given, wanted, strict=True))


def test_sources_end_a_data_set_and_begin_again(tf):
    with ending(*TEN) as pipe:
        dataset = DALIDataset(pipe, tf.int64, (2,), batch_size=2, num_threads=3, device_id=0)
        assert dataset.element_spec == tf.TensorSpec((2,), tf.int64)
        assert [lists(dataset) for _ in range(2)] == [TEN, TEN]


def test_element_types_and_dimensions_are_those_of_the_first_batch(tf):
    with typed(types.FLOAT16, 3, 4) as pipe:
        dataset = DALIDataset(pipe)
        assert dataset.element_spec == (tf.TensorSpec((None, None, None), tf.float16),)
        assert [[tensor.shape for tensor in element] for element in dataset] == [[(2, 3, 4)]] * 2
        assert len(list(dataset)) == 2


def test_an_epoch_of_one_batch_stays_one(tf):
    with ending([1, 2]) as pipe:
        dataset = DALIDataset(pipe, size=2)
        assert [[x.numpy().tolist() for (x,) in dataset] for _ in range(3)] == [[[1, 2]]] * 3


@pytest.mark.parametrize("name", ["uint8", "int16", "int64", "bool", "float16", "float64"])
def test_element_types_are_kept(tf, name):
    dtype = {"bool": types.BOOL}.get(name) or getattr(types, name.upper())
    with typed(dtype, 3) as pipe:
        first = next(iter(DALIDataset(pipe, getattr(tf, name))))
    assert first.dtype.name == name
    assert np.array_equal(first.numpy(), np.ones((2, 3)))


def test_elements_of_bfloat16_are_kept(tf):
    import torch

    def define():
        data = fn.external_source([np.array([[1.5, 2.5]], np.float32)])
        return fn.torch_python_function(data, function=lambda x: x.to(torch.bfloat16))

    with pipeline_def(define)(batch_size=1) as pipe:
        first = next(iter(DALIDataset(pipe, tf.bfloat16)))
    assert first.dtype == tf.bfloat16
    assert first.numpy().astype(float).tolist() == [[1.5, 2.5]]


def test_a_batch_of_one_may_be_a_sample(tf):
    with typed(types.FLOAT, 3, 4, batch_size=1) as pipe:
        dataset = DALIDataset(pipe, tf.float32, (3, 4))
        assert [element.shape for element in dataset] == [(3, 4)] * 2


@pytest.mark.parametrize(
    ("dtype", "shape", "message"),
    [
        ("int32", None, r"output 0 is float32\[2, 3\], expected int32"),
        ("float32", (2, 4), r"output 0 is float32\[2, 3\], expected float32\(2, 4\)"),
        ("float32", (3,), r"output 0 is float32\[2, 3\], expected float32\(3,\)"),
    ],
)
def test_a_batch_that_is_not_as_promised_is_an_error(tf, dtype, shape, message):
    with typed(types.FLOAT, 3) as pipe:
        dataset = DALIDataset(pipe, getattr(tf, dtype), shape)
        with pytest.raises(tf.errors.OpError, match=message):
            list(dataset)


def test_arguments_without_a_meaning_are_errors(tf):
    with typed(types.FLOAT, 3) as pipe:
        with pytest.raises(ArgumentError, match="no argument 'sise'"):
            DALIDataset(pipe, tf.float32, sise=3)
        with pytest.raises(ArgumentError, match="batch_size is 4, the pipeline has 2"):
            DALIDataset(pipe, tf.float32, batch_size=4)
        with pytest.raises(ArgumentError, match="output_dtypes has 2 for 1 outputs"):
            DALIDataset(pipe, (tf.float32, tf.float32))
        with pytest.raises(ArgumentError, match="output_shapes has 2 for 1 outputs"):
            DALIDataset(pipe, (tf.float32,), ((2, 3), (2, 3)))
        with pytest.raises(UnsupportedError, match="give the data set to fn"):
            DALIDataset(pipe, tf.float32, input_datasets={"x": None})
        with pytest.warns(DeprecationWarning, match="pass output_dtypes"):
            assert len(list(DALIDataset(pipe, dtypes=tf.float32))) == 2


def test_a_data_set_of_tensorflow_feeds_a_pipeline(tf):
    numbers = tf.data.Dataset.range(6).batch(2)
    define = pipeline_def(lambda: fn.external_source(numbers, cycle="raise") + 1)
    with define(batch_size=2) as pipe:
        assert lists(DALIDataset(pipe, tf.int64)) == [[1, 2], [3, 4], [5, 6]]


def test_operators_of_tensorflow_follow(tf):
    with ending(*TEN) as pipe:
        dataset = DALIDataset(pipe, tf.int64, (2,)).with_options(dataset_options())
        doubled = dataset.map(lambda x: 2 * x).unbatch().batch(5).prefetch(2)
        assert lists(doubled) == [[0, 2, 4, 6, 8], [10, 12, 14, 16, 18]]


def test_the_iterator_of_a_data_set_has_its_state(tf, videos):
    def make(pipe):
        return DALIDataset(pipe, (tf.uint8, tf.int32), reader_name="Reader")

    with labelled(batch_size=3, enable_checkpointing=True) as pipe:
        whole = [label.numpy().tolist() for _, label in make(pipe)]
    with labelled(batch_size=3, enable_checkpointing=True) as pipe:
        dataset = make(pipe)
        first = [label.numpy().tolist() for _, label in dataset.take(1)]
        taken = dataset.iterator.state_dict()["taken"]  # `take` may have asked for one more
        state = json.loads(json.dumps(dataset.iterator.state_dict()))
    with labelled(batch_size=3, enable_checkpointing=True) as pipe:
        dataset = make(pipe)
        dataset.iterator.load_state_dict(state)
        assert first == whole[:1]
        assert [label.numpy().tolist() for _, label in dataset] == whole[taken:]


def test_an_operator_gives_the_next_batch(tf):
    next_batch = DALIIterator()
    with ending(*TEN) as pipe:

        @tf.function
        def doubled():
            (x,) = next_batch(pipe, shapes=[(2,)], dtypes=[tf.int64])
            assert x.shape == (2,)
            return 2 * x

        (first,) = next_batch(pipe, dtypes=[tf.int64], batch_size=2)
        assert first.numpy().tolist() == TEN[0]
        assert [doubled().numpy().tolist() for _ in TEN[1:]] == [
            [2 * x for x in b] for b in TEN[1:]
        ]
        with pytest.raises(tf.errors.OutOfRangeError):
            doubled()
        with pytest.raises(UnsupportedError, match="sparse outputs are not supported"):
            next_batch(pipe, dtypes=[tf.int64], sparse=[True])
