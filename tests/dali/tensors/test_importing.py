"""Tensors are made of what other libraries have, in shared memory where that is possible."""

import array

import numpy as np
import pytest
import torch

from videoloader.dali.tensors import Tensor, TensorList, to_tensor
from videoloader.errors import ArgumentError

PIXELS = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)


class Interface:
    """Has nothing but one protocol of arrays."""

    def __init__(self, data, *names):
        self.data = data
        for name in names:
            value = getattr(data, name)
            setattr(type(self), name, value if isinstance(value, dict) else staticmethod(value))


def having(*names):
    return lambda data: type("Having", (Interface,), {})(data, *names)


SHARED = {
    "torch": torch.from_numpy,
    "numpy": np.asarray,
    "array interface": having("__array_interface__"),
    "array": having("__array__"),
    "DLPack": having("__dlpack__", "__dlpack_device__"),
    "capsule": lambda data: data.__dlpack__(),
    "buffer": memoryview,
    "Tensor": Tensor,
    "sample": lambda data: TensorList(data[None])[0],
}


@pytest.mark.parametrize("name", SHARED)
def test_arrays_are_shared_by_every_protocol(name):
    data = PIXELS.copy()
    tensor = to_tensor(SHARED[name](data))
    assert type(tensor) is torch.Tensor
    np.testing.assert_array_equal(tensor.numpy(), PIXELS)
    data[0, 0, 0] = 77
    assert tensor[0, 0, 0] == 77


@pytest.mark.parametrize("name", SHARED)
def test_a_batch_is_made_of_one_array_or_of_many(name):
    dense = TensorList(SHARED[name](PIXELS.copy()), "XY")
    ragged = TensorList([SHARED[name](PIXELS.copy()), SHARED[name](PIXELS[:1].copy())], "HWC")
    np.testing.assert_array_equal(dense.as_array(), PIXELS)
    assert ragged.shape() == [(2, 2, 3), (1, 2, 3)]


@pytest.mark.parametrize(
    "data",
    [
        PIXELS[::-1],
        PIXELS.astype(">u2"),
        np.broadcast_to(PIXELS, (2, 2, 2, 3)),
        np.frombuffer(bytes(range(5)), np.uint8),
        PIXELS[0, 0, 0],
        [[1, 2], [3, 4]],
        2.5,
        array.array("h", [1, -2]),
    ],
)
def test_what_torch_cannot_share_is_copied(data):
    tensor = to_tensor(data)
    np.testing.assert_array_equal(tensor.numpy(), np.asarray(data))
    assert tensor.numpy().dtype == np.asarray(data).dtype.newbyteorder("=")


@pytest.mark.parametrize(
    "data", ["text", b"bytes", None, object(), [[1, 2], [3]], np.array(["a"]), np.zeros(2, complex)]
)
def test_what_is_no_tensor_is_an_error(data):
    with pytest.raises(ArgumentError):
        to_tensor(data)
    with pytest.raises(ArgumentError):
        TensorList([torch.zeros(2), data])
