"""DALI's tensors: their methods, their protocols, their text."""

import ctypes
import pickle

import numpy as np
import pytest
import torch

from videoloader.dali import backend, types
from videoloader.dali.tensors import (
    Tensor,
    TensorCPU,
    TensorGPU,
    TensorList,
    TensorListCPU,
    TensorListGPU,
)
from videoloader.errors import ArgumentError, ArgumentIndexError, UnsupportedError

PIXELS = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
NUMERIC = [dtype for dtype in types.DataType if dtype.is_numeric]


def test_a_tensor_says_what_it_is():
    tensor = Tensor(PIXELS, "HWC", source_info="a.jpg")
    assert (tensor.shape(), tensor.layout(), tensor.dtype) == ([2, 2, 3], "HWC", types.UINT8)
    assert (tensor.source_info(), tensor.device_id(), len(tensor)) == ("a.jpg", None, 2)
    assert tensor.get_property("layout") == "HWC"
    assert tensor.get_property("source_info") == "a.jpg"
    assert tensor.get_property("colour") is None
    assert repr(tensor) == "Tensor(shape=(2, 2, 3), dtype=UINT8, layout='HWC', device='cpu')"
    assert Tensor(tensor).layout() == "HWC"
    assert Tensor(tensor).source_info() == "a.jpg"
    assert Tensor(PIXELS).get_property("layout") is None
    with pytest.raises(ArgumentError, match="layout 'HW' names 2 dimensions"):
        Tensor(PIXELS, "HW")


def test_the_layout_of_a_tensor_can_be_changed():
    tensor = Tensor(PIXELS, "HWC")
    tensor.set_layout("CHW")
    assert (tensor.layout(), tensor.get_property("layout")) == ("CHW", "CHW")
    with pytest.raises(ArgumentError, match="layout 'HW' names 2 dimensions"):
        tensor.set_layout("HW")
    tensor.set_layout(None)
    assert tensor.layout() == ""


@pytest.mark.parametrize("dtype", NUMERIC)
def test_a_tensor_goes_to_other_libraries_without_a_copy(dtype):
    data = np.ones((2, 3), dtype.numpy)
    tensor = Tensor(data)
    assert tensor.dtype is dtype
    assert tensor.data_ptr() == data.ctypes.data == tensor.__array_interface__["data"][0]
    for other in (np.asarray(tensor), np.from_dlpack(tensor), torch.from_dlpack(tensor).numpy()):
        assert other.dtype == data.dtype
        assert other.ctypes.data == data.ctypes.data
    assert np.array(tensor).ctypes.data != data.ctypes.data
    assert np.asarray(tensor, dtype=np.float64).dtype == np.float64


@pytest.mark.parametrize("shape", [(3, 5), (3, 1, 6), (1, 1, 6), (1, 1, 1), (), (0, 1)])
def test_squeezing_drops_dimensions_and_their_letters(shape):
    for dim in (None, *range(-len(shape), len(shape))):
        layout = "ABC"[: len(shape)]
        tensor = Tensor(np.zeros(shape), layout)
        position = None if dim is None else dim % len(shape)
        kept = [at for at, size in enumerate(shape) if size != 1 or position not in (None, at)]
        assert tensor.squeeze(dim) == (len(kept) < len(shape))
        assert tensor.shape() == [shape[at] for at in kept]
        assert tensor.layout() == "".join(layout[at] for at in kept)
    with pytest.raises(ArgumentIndexError, match=f"dimension 5 .* for {len(shape)} dimensions"):
        Tensor(np.zeros(shape)).squeeze(5)


def test_bytes_are_taken_for_another_type():
    bits = np.array([[0x3F800000, 0x40000000]], np.int32)
    for holder in (Tensor(bits.copy()), TensorList(bits.copy()), TensorList([bits[0].copy()])):
        holder.reinterpret(types.UINT32)
        assert holder.dtype is types.UINT32
        holder.reinterpret(types.FLOAT)
        assert (
            np.asarray(holder.as_array() if isinstance(holder, TensorList) else holder)[0, 0] == 1
        )
        for other in (types.UINT16, types.FLOAT64):
            with pytest.raises(ArgumentError, match="different size"):
                holder.reinterpret(other)


@pytest.mark.parametrize("wrap", [int, ctypes.c_void_p])
def test_tensors_and_batches_are_copied_to_an_address(wrap):
    ragged = TensorList([torch.arange(6.0).view(2, 3).T, torch.ones(1, 2)])
    for source, expected in (
        (Tensor(PIXELS[:, ::2]), PIXELS[:, ::2]),
        (TensorList(PIXELS), PIXELS),
        (TensorList(PIXELS)[1], PIXELS[1]),
        (ragged, np.array([0, 3, 1, 4, 2, 5, 1, 1], np.float32)),
        (TensorList([]), np.zeros(0)),
    ):
        target = np.full(expected.nbytes + 1, 99, np.uint8)
        source.copy_to_external(wrap(target.ctypes.data))
        assert target[:-1].tobytes() == np.ascontiguousarray(expected).tobytes()
        assert target[-1] == 99
    with pytest.raises(TypeError, match="int or a c_void_p"):
        ragged.copy_to_external("address")


def test_names_by_device_hold_for_all_tensors_and_batches_there():
    batch = TensorList(PIXELS)
    assert isinstance(batch, TensorListCPU)
    assert not isinstance(batch, TensorListGPU)
    for tensor in (Tensor(PIXELS), batch[0], batch.as_tensor()):
        assert isinstance(tensor, TensorCPU)
        assert not isinstance(tensor, TensorGPU | TensorListCPU)
    assert not isinstance(PIXELS, TensorCPU | TensorListCPU)
    assert type(TensorCPU(PIXELS, "HWC")) is TensorCPU
    assert type(TensorListCPU(PIXELS, "WC", is_pinned=False)) is TensorListCPU
    assert len(TensorListGPU()) == 0
    for kind in (TensorGPU, TensorListGPU):
        with pytest.raises(TypeError, match="data on the CPU"):
            kind(PIXELS)
    assert backend.TensorListCPU is TensorListCPU


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_tensor_says_that_there_is_no_gpu():
    with pytest.raises(UnsupportedError, match="finds none on this machine; drop the call"):
        Tensor(PIXELS).gpu()


def test_tensors_and_batches_are_pickled():
    tensor = pickle.loads(pickle.dumps(TensorCPU(PIXELS, "HWC")))
    assert type(tensor) is TensorCPU
    assert tensor.layout() == "HWC"
    batch = pickle.loads(pickle.dumps(TensorList(PIXELS, "WC", source_info=["a", "b"])))
    assert (batch.layout(), batch.source_info()) == ("WC", ["a", "b"])
    np.testing.assert_array_equal(batch.as_array(), PIXELS)


def test_text_has_the_elements():
    assert str(Tensor(np.array([[1, 2], [3, 4]]), "HW")) == (
        "TensorCPU(\n    [[1 2]\n     [3 4]],\n    dtype=DALIDataType.INT64,\n"
        '    layout="HW",\n    device="cpu",\n    shape=(2, 2))'
    )
    assert str(TensorList([np.array([1, 2]), np.array([3])])) == (
        "TensorListCPU(\n    [[1 2],\n    [3]],\n    dtype=DALIDataType.INT64,\n"
        '    device="cpu",\n    num_samples=2,\n    shape=[(2,), (1,)])'
    )
    assert "num_samples=0,\n    shape=[])" in str(TensorList(np.empty(0)))
    unnamed = torch.zeros(1, 2, dtype=torch.bfloat16)  # DALI has no such type
    for made in (TensorList(unnamed), Tensor(unnamed)):
        assert "dtype=torch.bfloat16" in str(made)
        assert "dtype=torch.bfloat16" in repr(made)


def test_text_of_a_large_batch_is_short():
    text = str(TensorList(np.zeros((64, 128, 128, 3), np.uint8), "HWC"))
    assert len(text) < 3000
    assert "num_samples=64" in text
    assert text.count("(128, 128, 3)") == 4


@pytest.mark.gpu
def test_tensors_and_batches_go_to_a_gpu_and_back():
    for made in (Tensor(PIXELS, "HWC", source_info="a"), TensorList(PIXELS, "WC")):
        there = made.gpu()
        kind = TensorGPU if isinstance(made, Tensor) else TensorListGPU
        assert isinstance(there, kind)
        assert there.gpu() is there
        assert "GPU(" in str(there)
        assert there.layout() == made.layout()
        back = there.as_cpu()
        np.testing.assert_array_equal(
            np.asarray(back if isinstance(back, Tensor) else back.as_array()), PIXELS
        )
        target = torch.zeros(12, dtype=torch.uint8, device="cuda")
        there.copy_to_external(target.data_ptr())
        assert target.tolist() == list(range(12))
        target.zero_()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        there.copy_to_external(ctypes.c_void_p(target.data_ptr()), stream, non_blocking=True)
        stream.synchronize()
        assert target.tolist() == list(range(12))
        with pytest.raises(TypeError, match="data on a GPU"):
            (TensorCPU if kind is TensorGPU else TensorListCPU)(there)
    tensor = TensorGPU(torch.from_numpy(PIXELS).cuda(), "HWC")
    assert TensorGPU(tensor).data_ptr() == tensor.data_ptr()
    assert TensorGPU(tensor.__dlpack__()).data_ptr() == tensor.data_ptr()
    interface = type("Memory", (), {"__cuda_array_interface__": tensor.__cuda_array_interface__})
    assert TensorListGPU(interface(), "WC").data_ptr() == tensor.data_ptr()
    assert TensorListGPU([tensor, tensor])[0].as_cpu().tolist() == PIXELS.tolist()
    with pytest.raises(ArgumentError, match="one device"):
        TensorList([tensor, PIXELS])
