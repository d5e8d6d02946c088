"""Pipelines as tensors of Paddle: epochs as PyTorch's iterator has them, shared memory."""

import json
import warnings

import numpy as np
import pytest
import torch
from iterated import TEN, ending, labelled

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin import pytorch
from videoloader.dali.plugin.paddle import (
    ClassificationIterator,
    DALIGenericIterator,
    GenericIterator,
    LastBatchPolicy,
    feed_ndarray,
    to_paddle,
)
from videoloader.errors import UnsupportedError

pytestmark = [pytest.mark.needs("paddle"), pytest.mark.usefixtures("no_threads_left")]

NAMES = ["clip", "label"]


@pytest.fixture(scope="module")
def paddle():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a compiler cache that is not there, among others
        import paddle
    return paddle


@pytest.mark.parametrize("policy", list(LastBatchPolicy))
@pytest.mark.parametrize("padded", [True, False])
def test_epochs_are_those_of_pytorchs_iterator(paddle, videos, policy, padded):
    def batches(kind):
        pipes = [
            labelled(pad_last_batch=padded, batch_size=2, num_shards=2, shard_id=number)
            for number in range(2)
        ]
        with kind(pipes, NAMES, reader_name="Reader", last_batch_policy=policy) as iterator:
            for _ in range(3):
                for batch in iterator:
                    yield (
                        len(iterator),
                        iterator.layouts,
                        *((part["clip"].numpy(), part["label"].numpy()) for part in batch),
                    )

    ours, expected = list(batches(GenericIterator)), list(batches(pytorch.GenericIterator))
    assert len(ours) == len(expected)
    for (*facts, first, second), (*told, one, two) in zip(ours, expected, strict=True):
        assert facts == told
        for given, wanted in zip((*first, *second), (*one, *two), strict=True):
            assert given.dtype == wanted.dtype
            assert np.array_equal(given, wanted)


@pytest.mark.parametrize(
    "name", ["uint8", "int8", "int16", "int32", "int64", "bool", "float16", "float32", "float64"]
)
def test_tensors_share_memory(paddle, name):
    tensor = torch.tensor([[0, 1], [1, 0]]).to(getattr(torch, name))
    given = to_paddle("x", tensor)
    assert str(given.dtype) == f"paddle.{name}"
    assert given.data_ptr() == tensor.data_ptr()
    assert given.numpy().tolist() == tensor.tolist()
    assert given.stop_gradient


def test_an_element_type_that_paddle_mistakes_is_an_error(paddle):
    with pytest.raises(UnsupportedError, match=r"'x' has elements of 16 bits without sign"):
        to_paddle("x", torch.zeros(2, dtype=torch.uint16))


def test_names_may_come_with_a_level_of_zero(paddle):
    with DALIGenericIterator(ending(*TEN), [("x", 0)]) as iterator:
        assert [batch["x"].tolist() for (batch,) in iterator] == TEN
    with pytest.raises(UnsupportedError, match="'x' with a level of detail of 1"):
        GenericIterator(ending(*TEN), [("x", 1)])


def test_states_go_on_with_the_next_batch(paddle, videos):
    def iterate():
        pipe = labelled(batch_size=3, pad_last_batch=True, enable_checkpointing=True)
        return ClassificationIterator(pipe, reader_name="Reader")

    with iterate() as iterator:
        whole = [batch["label"].tolist() for (batch,) in iterator]
    with iterate() as iterator:
        first = [next(iterator)[0]["label"].tolist()]
        state = json.loads(json.dumps(iterator.state_dict()))
    with iterate() as iterator:
        iterator.load_state_dict(state)
        assert first + [batch["label"].tolist() for (batch,) in iterator] == whole


def test_batches_are_copied_to_an_address(paddle):
    with pipeline_def(lambda: fn.external_source([[[1, 2], [3, 4]]]))(batch_size=2) as pipe:
        (batch,) = pipe.run()
    for given in (batch, batch.as_tensor()):
        target = paddle.zeros([2, 2], dtype="int64")
        assert feed_ndarray(given, target.data_ptr()) == target.data_ptr()
        assert target.tolist() == [[1, 2], [3, 4]]


@pytest.mark.gpu
def test_tensors_share_memory_on_a_gpu(paddle):
    def source(number):
        if number == 40:
            raise StopIteration
        return np.full((8, 64, 64), number, np.float32)

    @pipeline_def(batch_size=8, device_id=0)
    def numbers():
        return fn.external_source(source, batch=True).gpu() + 0

    with GenericIterator(numbers(), ["x"]) as iterator:
        results = [batch["x"].max() for (batch,) in iterator]  # queued, not waited for
    assert [float(result) for result in results] == [*range(40)]
