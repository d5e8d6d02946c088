"""One tensor with a layout, as DALI's programs handle it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from videoloader.dali.tensors.batch import check_layout
from videoloader.dali.tensors.importing import to_tensor
from videoloader.dali.tensors.memory import copy_to_address
from videoloader.dali.tensors.printing import print_tensor, type_name
from videoloader.dali.tensors.sample import Count, SampleTensor
from videoloader.dali.types import Computable, DataType
from videoloader.errors import ArgumentError, ArgumentIndexError, NoGpuError


class Tensor(Computable):
    """A tensor with DALI's methods around a torch tensor, which is `.tensor`.

    torch, numpy, CuPy and JAX take it by DLPack and by the array interfaces, without a copy.

    Args:
        data: anything that `to_tensor` takes: a torch tensor, an array, a DLPack capsule, a list.
            Memory is shared where that is possible.
        layout: meaning of the dimensions, such as "HWC"; "" when unknown. By default that of
            `data`, where it is a `Tensor` or a sample of a batch.
        source_info: where the data come from, such as a file; likewise.

    >>> tensor = Tensor(np.zeros((4, 1, 3), np.uint8), "HWC")
    >>> tensor.squeeze(), tensor.shape(), tensor.layout(), tensor.dtype
    (True, [4, 3], 'HC', DataType.UINT8)
    """

    __slots__ = ("_layout", "_source_info", "_tensor")

    def __init__(
        self, data: Any, layout: str | None = None, *, source_info: str | None = None
    ) -> None:
        known = isinstance(data, Tensor | SampleTensor)
        if layout is None:
            layout = (data.get_property("layout") or "") if known else ""
        if source_info is None:
            source_info = data.source_info() if known else ""
        self._tensor = data.tensor if isinstance(data, Tensor) else to_tensor(data)
        check_layout(layout, self._tensor.ndim)
        self._layout, self._source_info = layout, source_info

    @property
    def tensor(self) -> torch.Tensor:
        """The torch tensor, which shares this tensor's memory."""
        return self._tensor

    @property
    def dtype(self) -> DataType:
        """Element type."""
        return DataType.of(self._tensor.dtype)

    @property
    def device(self) -> torch.device:
        """Where the elements are."""
        return self._tensor.device

    def device_id(self) -> int | None:
        """Number of the GPU; None on the CPU."""
        return self._tensor.device.index

    def shape(self) -> list[int]:
        """The sizes of the dimensions."""
        return list(self._tensor.shape)

    @property
    def ndim(self) -> Count:
        """The number of dimensions; also a method, as in DALI."""
        return Count(self._tensor.ndim)

    def layout(self) -> str:
        """Meaning of the dimensions, such as "HWC"; "" when unknown."""
        return self._layout

    def set_layout(self, layout: str | None) -> None:
        """Give the dimensions another meaning; none, if it is unknown."""
        check_layout(layout or "", self._tensor.ndim)
        self._layout = layout or ""

    def source_info(self) -> str:
        """Where the tensor comes from, such as a file; "" when unknown."""
        return self._source_info

    def get_property(self, name: str) -> str | None:
        """The "layout" or the "source_info"; None when unknown, or another name."""
        return {"layout": self._layout, "source_info": self._source_info}.get(name) or None

    def data_ptr(self) -> int:
        """Address of the first element, on the tensor's device."""
        return self._tensor.data_ptr()

    def squeeze(self, dim: int | None = None) -> bool:
        """Drop dimensions of size 1, and their letters of the layout; in place, as in DALI.

        Args:
            dim: the dimension to drop, which stays if it is larger; all by default.

        Returns:
            Whether any was dropped.
        """
        before = self._tensor.ndim
        if dim is not None and not -before <= dim < before:
            raise ArgumentIndexError(f"dimension {dim} is out of range for {before} dimensions")
        gone = range(before) if dim is None else [dim % before]
        kept = [at for at in range(before) if at not in gone or self._tensor.shape[at] != 1]
        self._tensor = self._tensor.squeeze() if dim is None else self._tensor.squeeze(dim)
        self._layout = "".join(self._layout[at] for at in kept) if self._layout else ""
        return len(kept) < before

    def reinterpret(self, dtype: Any) -> None:
        """Take the bytes for elements of another type of the same size, in place."""
        self._tensor = same_size_view(self._tensor, dtype)

    def as_cpu(self) -> Tensor:
        """The tensor on the CPU; itself if it is there."""
        return self if not self._tensor.is_cuda else self._like(self._tensor.cpu())

    cpu = as_cpu

    def gpu(self, device_id: int | None = None) -> Tensor:
        """The tensor on a GPU, by default the current one; itself if it is there."""
        device = gpu_device(device_id)
        return self if self.device == device else self._like(self._tensor.to(device))

    def copy_to_external(
        self,
        ptr: Any,
        cuda_stream: Any = None,
        non_blocking: bool = False,
        use_copy_kernel: bool = False,  # noqa: ARG002  DALI's choice between two ways to copy
    ) -> None:
        """Copy the elements to an address on the same device; see `TensorList`."""
        copy_to_address([self._tensor], ptr, cuda_stream, non_blocking)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self._tensor.is_cuda and copy is False:
            raise ValueError("a tensor on a GPU is no array without a copy")
        array = self._tensor.numpy(force=self._tensor.is_cuda)
        return np.array(array, dtype) if copy else array.astype(dtype or array.dtype, copy=False)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self._tensor.is_cuda:
            raise AttributeError("a tensor on a GPU has no __array_interface__")
        interface: dict[str, Any] = self._tensor.numpy(force=False).__array_interface__
        return interface

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface: dict[str, Any] = self._tensor.__cuda_array_interface__  # AttributeError on a CPU
        return interface

    def __dlpack__(self, **options: Any) -> Any:
        return self._tensor.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._tensor.__dlpack_device__()

    def __len__(self) -> int:
        return len(self._tensor)

    def __str__(self) -> str:
        """The facts and the elements, as DALI prints them."""
        return print_tensor(self._tensor, self._layout)

    def __repr__(self) -> str:
        return (
            f"Tensor(shape={tuple(self._tensor.shape)}, dtype={type_name(self._tensor.dtype)}, "
            f"layout={self._layout!r}, device={str(self.device)!r})"
        )

    def _like(self, tensor: torch.Tensor) -> Tensor:
        return Tensor(tensor, self._layout, source_info=self._source_info)


def gpu_device(device_id: int | None) -> torch.device:
    """The GPU of this number, by default the current one; an error where there is none."""
    if not torch.cuda.is_available():
        raise NoGpuError("gpu() needs a GPU, and torch finds none on this machine; drop the call")
    return torch.device("cuda", torch.cuda.current_device() if device_id is None else device_id)


def same_size_view(tensor: torch.Tensor, dtype: Any) -> torch.Tensor:
    """The same bytes as elements of another type, which must have the same size."""
    wanted = DataType.of(dtype).torch
    if wanted.itemsize != tensor.dtype.itemsize:
        raise ArgumentError(
            f"{tensor.dtype} has elements of {tensor.dtype.itemsize} bytes, {wanted} of "
            f"{wanted.itemsize}: types of different size cannot be reinterpreted"
        )
    return tensor.view(wanted)
