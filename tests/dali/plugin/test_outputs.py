"""Forms of an output: one tensor, a list, a sparse tensor, a copy into a given tensor."""

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.pytorch import (
    LastBatchPolicy,
    RaggedIterator,
    feed_ndarray,
    to_torch_type,
)
from videoloader.dali.plugin.pytorch.outputs import packed, sparse_coo, sparse_list
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, UnsupportedError

pytestmark = pytest.mark.usefixtures("no_threads_left")

DENSE, LIST = RaggedIterator.DENSE_TAG, RaggedIterator.SPARSE_LIST_TAG
SPARSE, PACKED = RaggedIterator.SPARSE_COO_TAG, RaggedIterator.PACKED_TAG

SAMPLES = [
    np.arange(6).reshape(2, 3),
    np.zeros((0, 1), int),
    np.full((1, 2), 7),
    np.eye(3, dtype=int),
]


def epoch(samples, *types, **arguments):
    """The outputs of one epoch over samples, in pairs, each once for every type."""

    @pipeline_def(batch_size=2)
    def graph():
        batches = [samples[at : at + 2] for at in range(0, len(samples), 2)]
        data = fn.external_source(batches, cycle="raise")
        return (data,) * len(types)

    names = [str(number) for number in range(len(types))]
    with RaggedIterator(graph(), names, output_types=types, **arguments) as iterator:
        return [list(batch[0].values()) for batch in iterator]


@pytest.mark.parametrize("count", [4, 3])
def test_ragged_outputs_are_lists_or_sparse_tensors(count):
    batches = epoch(SAMPLES, LIST, SPARSE, size=count, last_batch_policy=LastBatchPolicy.PARTIAL)
    given = [sample.numpy() for batch, _ in batches for sample in batch]
    assert len(given) == count
    assert all(np.array_equal(*pair) for pair in zip(given, SAMPLES, strict=False))
    for batch, tensor in batches:
        assert tensor.is_sparse
        extents = np.max([sample.shape for sample in batch], axis=0)
        expected = np.zeros((len(batch), *extents), int)
        for number, sample in enumerate(batch):
            expected[number, : sample.shape[0], : sample.shape[1]] = sample
        assert np.array_equal(tensor.to_dense().numpy(), expected)
        assert np.array_equal(tensor.coalesce().to_dense().numpy(), expected)
        # Zeros of a sample are stored, what lies outside it is not.
        assert tensor.values().numel() == sum(sample.numel() for sample in batch)


@pytest.mark.parametrize("lengths", [(2, 0, 3, 1), (2, 2, 2, 2)])
@pytest.mark.parametrize("count", [4, 3])
def test_clips_of_several_lengths_are_packed(count, lengths):
    clips = [
        np.random.default_rng(n).normal(size=(length, 2, 3)) for n, length in enumerate(lengths)
    ]
    batches = epoch(clips, PACKED, size=count, last_batch_policy=LastBatchPolicy.PARTIAL)
    for number, (batch,) in enumerate(batches):
        expected = clips[:count][2 * number : 2 * number + 2]
        ends = batch.cu_seqlens.tolist()
        assert batch.cu_seqlens.dtype == torch.int32
        assert len(ends) == len(expected) + 1
        assert batch.values.shape[0] == ends[-1]
        for clip, begin, end in zip(expected, ends, ends[1:], strict=False):
            assert np.array_equal(batch.values[begin:end].numpy(), clip)


def test_a_packed_batch_may_be_empty_but_has_one_shape_behind_the_first_dimension():
    given = packed("x", TensorList([torch.ones(2, 3), torch.ones(1, 3)]), 0)
    assert given.values.shape == (0, 3)
    assert given.cu_seqlens.tolist() == [0]
    for samples in ([torch.ones(2, 3), torch.ones(2, 4)], [torch.tensor(1.0)] * 2):
        with pytest.raises(UnsupportedError, match="output 'x' cannot be packed"):
            packed("x", TensorList(samples), 2)


def test_a_sparse_batch_may_be_of_scalars_or_empty():
    ((batch,),) = epoch([np.float32(2), np.float32(0)], SPARSE)
    assert batch.to_dense().tolist() == [2, 0]
    empty = sparse_coo("x", TensorList([torch.zeros(3, 2), torch.zeros(1, 2)]), 0)
    assert empty.is_sparse
    assert empty.shape == (0, 0, 0)


def test_a_list_that_is_cut_keeps_no_whole_batch_alive():
    (sample,) = sparse_list("x", TensorList(torch.ones(4, 100)), 1)
    assert sample.tolist() == [1] * 100
    assert sample.untyped_storage().nbytes() == sample.nbytes


def test_outputs_are_dense_unless_marked():
    same = [np.zeros((2, 2)), np.ones((2, 2))]
    ((batch,),) = epoch(same, DENSE)
    assert batch.shape == (2, 2, 2)
    with pytest.raises(UnsupportedError, match=r"ragged.*RaggedIterator"):
        epoch(SAMPLES, DENSE)


def test_output_types_that_do_not_fit_are_named():
    with pytest.raises(ArgumentError, match="output_types must be of dense, sparse_list"):
        epoch(SAMPLES, "csr")
    with pytest.raises(ArgumentError, match="output_types has 1 entries for 2 names"):
        RaggedIterator([], ["x", "y"], output_types=[DENSE])


def test_types_of_dali_have_types_of_torch():
    assert to_torch_type[types.FLOAT16] is torch.float16
    assert to_torch_type[TensorList([torch.zeros(2)]).dtype] is torch.float32
    assert types.NO_TYPE not in to_torch_type


def test_feed_ndarray_copies_between_tensors_of_one_type_and_shape():
    numbers = np.arange(6).reshape(2, 3)
    for given in (numbers, torch.as_tensor(numbers), TensorList(torch.as_tensor(numbers))):
        target = torch.empty(2, 3, dtype=torch.int64)
        assert feed_ndarray(given, target) is target
        assert target.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ArgumentError, match=r"element type: .*torch.int64.*torch.int8"):
        feed_ndarray(numbers, torch.empty(2, 3, dtype=torch.int8))
    with pytest.raises(ArgumentError, match=r"shape: .*\(2, 3\).*\(3, 2\)"):
        feed_ndarray(numbers, torch.empty(3, 2, dtype=torch.int64))
