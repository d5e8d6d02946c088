"""Converts arrays and tensors of other libraries to torch, without copying where possible."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from videoloader.errors import ArgumentTypeError

_ARRAYS = (torch.Tensor, np.ndarray, bytearray, memoryview)
_PROTOCOLS = ("__dlpack__", "__cuda_array_interface__", "__array_interface__", "__array__")


def is_array(data: Any) -> bool:
    """Whether `data` supports an array protocol; false for lists, numbers and strings.

    >>> is_array(np.zeros(3)), is_array(bytearray(3)), is_array([1, 2]), is_array("abc")
    (True, True, False, False)
    """
    return (
        isinstance(data, _ARRAYS)
        or type(data).__name__ == "PyCapsule"
        or any(hasattr(data, protocol) for protocol in _PROTOCOLS)
    )


def to_tensor(data: Any) -> torch.Tensor:
    """The torch tensor of `data`; it shares memory where torch can.

    Args:
        data: a tensor, a DLPack capsule, a number, a nested list, or an object with
            `__cuda_array_interface__`, `__dlpack__`, `__array_interface__`, `__array__` or the
            buffer protocol. Arrays that are read-only, have negative strides or foreign byte order
            are copied.

    Raises:
        ArgumentTypeError: it is none of these, or its elements are not numbers.

    >>> to_tensor(np.array([1, 2], np.uint8)), to_tensor([[1.0], [2.0]]).shape
    (tensor([1, 2], dtype=torch.uint8), torch.Size([2, 1]))
    """
    if isinstance(data, torch.Tensor):
        return data.as_subclass(torch.Tensor) if type(data) is not torch.Tensor else data
    if type(data) is np.ndarray:
        return _from_numpy(data)
    if type(data).__name__ == "PyCapsule":
        shared: torch.Tensor = torch.utils.dlpack.from_dlpack(data)
        return shared
    if hasattr(data, "__dlpack__") and not isinstance(data, np.ndarray | np.generic):
        try:
            return torch.utils.dlpack.from_dlpack(data)
        except (BufferError, RuntimeError, TypeError):  # read-only, or a type that DLPack lacks
            if not any(hasattr(data, protocol) for protocol in _PROTOCOLS[1:]):
                raise
    if hasattr(data, "__cuda_array_interface__"):
        return torch.as_tensor(data, device="cuda")
    if isinstance(data, str | bytes):
        raise ArgumentTypeError(f"a tensor is made of numbers, got {type(data).__name__}")
    return _from_numpy(data)


def _from_numpy(data: Any) -> torch.Tensor:
    try:
        array = np.asarray(data)
    except ValueError as error:  # a nested list whose rows differ in length
        raise ArgumentTypeError(f"no tensor can be made of this {type(data).__name__}") from error
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise ArgumentTypeError(
            f"a tensor is made of numbers of at most 64 bits, got {type(data).__name__} "
            f"of {array.dtype}"
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.char in "qQ":  # "long long" of C, which torch may not know: it has "long"
        array = array.view(f"{array.dtype.kind}{array.dtype.itemsize}")
    if not array.flags.writeable or min(array.strides, default=0) < 0:
        array = array.copy()
    return torch.from_numpy(array)
