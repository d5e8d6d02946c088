import pytest
import torch

from videoloader import types
from videoloader.tensors import TensorList


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
