import copy
import pickle

import numpy as np
import pytest
import torch
from torch.utils.data import default_collate

from videoloader.dali import types
from videoloader.dali.tensors import Tensor, TensorList
from videoloader.dali.tensors.batch import Batch
from videoloader.errors import ArgumentError, ArgumentIndexError, ArgumentTypeError


@pytest.mark.parametrize("part", [slice(0, 2), slice(1, None), slice(None, None, 2), slice(3, 3)])
def test_a_slice_of_a_batch_is_a_batch(part):
    block = torch.arange(12).view(4, 3)
    for batch in (TensorList(block, "X"), TensorList(list(block), "X")):
        cut = batch[part]
        assert isinstance(cut, TensorList)
        assert [sample.tolist() for sample in cut] == block.tolist()[part]
        assert cut.layout() == "X"
    assert TensorList(block)[part].dtype is types.INT64


def test_a_batch_may_be_turned_around():
    block = torch.arange(12).view(4, 3)
    for batch in (TensorList(block), TensorList(list(block))):
        assert batch[::-1].as_tensor().tolist() == block.tolist()[::-1]


def test_a_slice_of_one_block_shares_its_memory():
    block = torch.zeros(4, 3)
    TensorList(block)[1:3].as_tensor().fill_(1)
    assert block.sum(dim=1).tolist() == [0, 3, 3, 0]


def test_a_slice_of_a_ragged_batch_may_be_dense():
    ragged = TensorList([torch.zeros(2, 3), torch.zeros(4, 3), torch.ones(4, 3)])
    assert ragged[:2].shape() == [(2, 3), (4, 3)]
    assert ragged[1:].as_tensor().shape == (2, 4, 3)


@pytest.mark.parametrize(("asked", "device"), [(None, "cuda:1"), (0, "cuda:0"), (2, "cuda:2")])
def test_a_batch_goes_to_the_gpu_asked_for(monkeypatch, asked, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(TensorList, "_to", lambda self, device: device)
    assert TensorList(torch.zeros(2, 3)).gpu(asked) == torch.device(device)


def test_a_sample_is_a_torch_tensor_with_dalis_methods():
    block = torch.arange(24, dtype=torch.uint8).view(2, 3, 4)
    batch = TensorList(block, "HW", source_info=["a.jpg", "b.jpg"])
    for sample in (batch[1], batch[-1], list(batch)[1]):
        assert isinstance(sample, torch.Tensor)
        assert sample.data_ptr() == block[1].data_ptr()
        assert sample.shape == (3, 4) == torch.Size(sample.shape)
        assert sample.shape() == [3, 4]
        assert sample.dtype == types.UINT8
        assert sample.as_cpu() is sample
        assert sample.source_info() == sample.get_property("source_info") == "b.jpg"
        assert sample.get_property("layout") == "HW"
        assert np.array(sample).tolist() == block[1].tolist()
    assert batch.source_info() == ["a.jpg", "b.jpg"]
    assert batch[1:].source_info() == ["b.jpg"]
    assert TensorList(block).source_info() == ["", ""]


def test_what_torch_makes_of_a_sample_is_a_plain_tensor():
    sample = TensorList(torch.ones(2, 3, 4))[0]
    for made in (
        sample + 1,
        sample[0],
        sample.permute(1, 0),
        torch.stack([sample, sample]),
        default_collate([sample, sample]),
        pickle.loads(pickle.dumps(sample)),
    ):
        assert type(made) is torch.Tensor
    assert copy.deepcopy(sample).shape() == [3, 4]
    assert repr(sample) == repr(torch.ones(3, 4))
    torch.testing.assert_close(sample, torch.ones(3, 4))


def test_a_saved_sample_is_loaded_without_trust(tmp_path):
    torch.save(TensorList(torch.ones(2, 3))[1], tmp_path / "sample.pt")
    loaded = torch.load(tmp_path / "sample.pt", weights_only=True)
    assert loaded.tolist() == [1, 1, 1]


def test_a_batch_of_tensors_takes_what_they_know():
    samples = [Tensor(np.zeros(3), "X", source_info="a"), Tensor(np.zeros(2), "X")]
    batch = TensorList(samples)
    assert (batch.layout(), batch.source_info()) == ("X", ["a", ""])
    assert TensorList(list(batch)).source_info() == ["a", ""]
    assert TensorList(batch, "Y").layout() == "Y"
    assert TensorList(batch)[0].data_ptr() == samples[0].data_ptr()
    with pytest.raises(ArgumentError, match="1 source_info for 2 samples"):
        TensorList(samples, source_info=["a"])


@pytest.mark.parametrize("position", [2, -3])
def test_a_sample_that_is_not_there_is_an_index_error(position):
    batch = TensorList(torch.zeros(2, 3))
    for take in (batch.__getitem__, batch.at):
        with pytest.raises(ArgumentIndexError, match="out of range: the batch has 2") as error:
            take(position)
        assert isinstance(error.value, IndexError)


def test_a_dense_batch_is_one_tensor_of_any_shape():
    batch = TensorList(list(torch.arange(12).view(2, 2, 3)))
    assert batch.as_reshaped_tensor([3, 4]).tolist() == torch.arange(12).view(3, 4).tolist()
    assert batch.data_ptr() == batch.as_tensor().data_ptr()
    assert [type(tensor) for tensor in batch.tensors] == [torch.Tensor] * 2


def test_a_batch_as_one_tensor_answers_dali_calls():
    batch = TensorList([torch.zeros(4, 3), torch.ones(4, 3)], "WC")
    for _ in range(2):  # stacked, and kept
        tensor = batch.as_tensor()
        assert tensor.shape() == [2, 4, 3]
        assert tensor.get_property("layout") == "NWC"
        assert type(tensor + 1) is torch.Tensor
    assert batch.as_reshaped_tensor((8, 3)).shape() == [8, 3]


def test_the_layout_of_a_batch_can_be_changed():
    batch = TensorList([torch.zeros(2, 3), torch.zeros(4, 3)], "HW")
    before = batch[0]
    batch.set_layout("AB")
    assert (batch.layout(), batch[0].get_property("layout")) == ("AB", "AB")
    assert before.get_property("layout") == "HW"
    with pytest.raises(ArgumentError, match="'HWC' names 3 dimensions, the samples have 2"):
        batch.set_layout("HWC")
    assert batch.layout() == "AB"
    for unknown in ("", None):
        batch.set_layout(unknown)
        assert batch.layout() == ""
    with pytest.raises(ArgumentError, match="the samples have 0"):
        TensorList([]).set_layout("HW")


@pytest.mark.parametrize(
    ("samples", "expected"),
    [(torch.zeros(2, 3, 4), 2), ([torch.zeros(3)], 1), (torch.zeros(0, 3), 1), ([], 0)],
)
def test_a_batch_counts_the_dimensions_of_its_samples(samples, expected):
    batch = TensorList(samples)
    assert batch.ndim == batch.ndim() == expected
    for sample in batch:
        assert sample.ndim == sample.ndim() == sample.dim() == expected
        assert Tensor(sample).ndim == Tensor(sample).ndim() == expected


def test_a_batch_may_be_one_sample_many_times():
    sample = Tensor(np.arange(6).reshape(2, 3), "HW", source_info="a")
    batch = TensorList.broadcast(sample, 3)
    assert (len(batch), batch.layout(), batch.source_info()) == (3, "HW", ["a"] * 3)
    assert {each.data_ptr() for each in batch} == {sample.data_ptr()}
    assert batch.as_array().tolist() == [np.arange(6).reshape(2, 3).tolist()] * 3
    assert len(TensorList.broadcast(sample, 0)) == 0
    with pytest.raises(ArgumentError, match="0 samples or more, got -1"):
        TensorList.broadcast(sample, -1)


def test_a_batch_of_dlpack_objects_shares_their_memory():
    arrays = [np.zeros((2, 3)), np.ones((3, 3))]
    batch = TensorList.from_dlpack_list(arrays, "HW")
    arrays[0][:] = 7
    assert (batch[0].min(), batch.layout(), batch.shape()) == (7, "HW", [(2, 3), (3, 3)])
    apart = TensorList.from_dlpack_list(arrays, contiguous=True)
    assert apart[1].data_ptr() - apart[0].data_ptr() == arrays[0].nbytes
    assert [each.tolist() for each in apart] == [each.tolist() for each in arrays]
    arrays[0][:] = 8
    assert apart[0].max() == 7
    assert len(TensorList.from_dlpack_list([], contiguous=True)) == 0
    with pytest.raises(ArgumentTypeError, match="object 1 does not support DLPack: it is a int"):
        TensorList.from_dlpack_list([arrays[0], 5])
    with pytest.raises(ArgumentTypeError, match=r"sample 1 has torch\.float32"):
        TensorList.from_dlpack_list([arrays[0], np.zeros(3, np.float32)])


def test_a_batch_can_be_emptied():
    for samples in (torch.zeros(2, 3), [torch.zeros(3)] * 2):
        batch = TensorList(samples, "X", source_info=["a", "b"])
        batch.reset()
        assert (len(batch), batch.layout(), batch.shape(), batch.source_info()) == (0, "", [], [])
        assert (batch.dtype, batch.ndim) == (None, 0)


def test_a_list_is_a_view_of_the_batch_of_operators():
    batch = Batch(torch.zeros(2, 3, 4, 1), "HWC", ["a", "b"])
    seen = TensorList(batch)
    seen[0][...] = 1
    assert batch[0].all()
    assert (seen.layout(), seen.source_info()) == ("HWC", ["a", "b"])


def test_changes_of_a_list_leave_the_batch_of_operators():
    batch = Batch([torch.zeros(3, 4), torch.ones(3, 4)], "HW")
    seen = TensorList(batch)
    seen.set_layout("XY")
    seen.reinterpret(types.INT32)
    seen.as_tensor()
    assert (batch.layout, batch.block, batch[0].dtype) == ("HW", None, torch.float32)
    seen.reset()
    assert (len(seen), len(batch)) == (0, 2)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize("kind", ["block", "samples"])
def test_a_copy_of_a_batch_has_its_data_and_nothing_of_the_stream_that_used_it(kind, copied):
    pixels = torch.arange(12).view(2, 3, 2)
    batch = Batch(pixels if kind == "block" else [pixels[0], pixels[1, :2]], "WC", ["a", "b"])
    assert batch.samples  # made now and kept; a copy makes its own
    batch.held_for = (step for step in ())  # as a stream, no pickle of it is of use
    again = copied(batch)
    assert again.held_for is None
    assert (again.layout, again.source_info) == ("WC", ["a", "b"])
    for mine, theirs in zip(again, batch, strict=True):
        assert torch.equal(mine, theirs)
    if kind == "block":
        assert again[1].data_ptr() == again.block[1].data_ptr()
