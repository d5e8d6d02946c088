"""`TensorList`: a batch of samples, input of operators and output of pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, overload

import numpy as np
import torch

from videoloader.dali.tensors.batch import Batch, check_alike, check_layout
from videoloader.dali.tensors.importing import is_array, to_tensor
from videoloader.dali.tensors.memory import copy_to_address
from videoloader.dali.tensors.printing import distinct_shapes, print_batch
from videoloader.dali.tensors.sample import Count, SampleTensor
from videoloader.dali.tensors.tensor import Tensor, gpu_device, same_size_view
from videoloader.dali.types import Computable, DataType
from videoloader.errors import (
    ArgumentError,
    ArgumentIndexError,
    ArgumentTypeError,
    UnsupportedError,
)
from videoloader.machinery.views import frames_view


class TensorList(Computable):
    """N samples of one element type, one number of dimensions and one device.

    The samples may differ in shape (*ragged*) or not (*dense*). A batch made from one tensor
    (N, ...) shares its memory; samples and `as_tensor()` are then views of it. Samples are torch
    tensors that have DALI's methods too (`SampleTensor`).

    Args:
        samples: one tensor whose first dimension is the batch, or a sequence of tensors. A tensor
            is anything that `to_tensor` takes: of torch, numpy, CuPy, JAX or DALI, a `Tensor`, a
            DLPack capsule; in a sequence also nested lists of numbers. A `TensorList` is shared.
        layout: meaning of the dimensions of one sample, such as "FHWC"; "" when unknown. By
            default that of `samples`, if they carry one.
        source_info: where each sample comes from, such as its file.

    >>> batch = TensorList([torch.zeros(2, 4, 6, 3), torch.zeros(2, 8, 6, 3)], layout="FHWC")
    >>> len(batch), batch.is_dense_tensor(), batch.shape()
    (2, False, [(2, 4, 6, 3), (2, 8, 6, 3)])
    """

    __slots__ = ("_batch",)

    def __init__(
        self, samples: Any, layout: str | None = None, *, source_info: Sequence[str] | None = None
    ) -> None:
        self._batch: Batch
        if isinstance(samples, TensorList):
            samples = samples._batch
        if isinstance(samples, Batch):
            block = samples.block
            if block is not None and layout is None and source_info is None:
                check_layout(samples.layout, block.ndim - 1)
                self._batch = samples
                return
            layout = samples.layout if layout is None else layout
            source_info = samples.source_info or None if source_info is None else source_info
            samples = samples.data
        data: torch.Tensor | list[torch.Tensor]
        if isinstance(samples, torch.Tensor) or is_array(samples):
            data = samples if type(samples) is torch.Tensor else to_tensor(samples)
            if data.ndim == 0:
                raise ArgumentError("a batch needs a dimension for its samples, got a scalar")
        else:
            given = list(samples)
            if layout is None and given and isinstance(given[0], Tensor | SampleTensor):
                layout = given[0].get_property("layout")
            if source_info is None and any(isinstance(x, Tensor | SampleTensor) for x in given):
                source_info = [getattr(sample, "source_info", str)() for sample in given]
            data = [_tensor(sample, at) for at, sample in enumerate(given)]
            check_alike(data)
        info = [] if source_info is None else list(source_info)
        self._batch = Batch(data, layout or "", info)
        count = len(self)
        if layout and count:
            check_layout(layout, self.ndim)
        if info and len(info) != count:
            raise ArgumentError(f"{len(info)} source_info for {count} samples")

    @property
    def batch(self) -> Batch:
        """The samples as operators take them; this is a view of it."""
        return self._batch

    @classmethod
    def broadcast(cls, sample: Any, count: int) -> TensorList:
        """A batch of one sample `count` times, which shares its memory.

        >>> TensorList.broadcast(torch.zeros(2, 3), 4).shape()
        [(2, 3), (2, 3), (2, 3), (2, 3)]
        """
        if count < 0:
            raise ArgumentError(f"a batch has 0 samples or more, got {count}")
        return cls([sample] * count)

    @classmethod
    def from_dlpack_list(
        cls, list_of_objects: Sequence[Any], layout: str | None = None, contiguous: bool = False
    ) -> TensorList:
        """A batch of tensors of other libraries, given by the DLPack protocol.

        Args:
            list_of_objects: one for each sample. They share memory with the batch.
            layout: meaning of the dimensions of one sample.
            contiguous: copy the samples to contiguous memory.
        """
        for position, each in enumerate(list_of_objects):
            if not hasattr(each, "__dlpack__"):
                raise ArgumentTypeError(
                    f"object {position} does not support DLPack: it is a {type(each).__name__}"
                )
        batch = cls([to_tensor(each) for each in list_of_objects], layout)
        if contiguous and len(batch):
            samples = batch._batch.samples
            flat = torch.cat([sample.reshape(-1) for sample in samples])
            parts = flat.split_with_sizes([sample.numel() for sample in samples])
            each_part = zip(parts, samples, strict=True)
            batch._hold([part.view(sample.shape) for part, sample in each_part])
        return batch

    @property
    def ndim(self) -> Count:
        """Number of dimensions of a sample; also a method, as in DALI. 0 without any sample."""
        block = self._batch.block
        if block is not None:
            return Count(block.ndim - 1)
        return Count(self._batch.samples[0].ndim if len(self) else 0)

    def __len__(self) -> int:
        block = self._batch.block
        return len(self._batch.samples) if block is None else block.shape[0]

    def __iter__(self) -> Iterator[SampleTensor]:
        return map(self._sample, range(len(self)))

    @overload
    def __getitem__(self, position: int) -> SampleTensor: ...

    @overload
    def __getitem__(self, position: slice) -> TensorList: ...

    def __getitem__(self, position: int | slice) -> SampleTensor | TensorList:
        """One sample, or a batch of some; it shares the memory of this one."""
        if not isinstance(position, slice):
            return self._sample(self._position(position))
        batch = self._batch
        is_backwards = (position.step or 1) < 0  # torch has no negative steps
        part = (batch.samples if is_backwards else batch.data)[position]
        return TensorList(part, batch.layout, source_info=batch.source_info[position])

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The samples as plain torch tensors."""
        return list(self._batch.samples)

    def at(self, position: int) -> np.ndarray[Any, Any] | torch.Tensor:
        """One sample: a numpy array that shares memory on the CPU, a tensor on a GPU."""
        sample = self._sample(self._position(position))
        return sample if sample.is_cuda else self._batch.samples[position].numpy(force=False)

    def layout(self) -> str:
        """Meaning of the dimensions of one sample, such as "FHWC"; "" when unknown."""
        return self._batch.layout

    def set_layout(self, layout: str | None) -> None:
        """Set the layout of the samples; None or "" if it is unknown."""
        check_layout(layout or "", self.ndim)
        self._batch = Batch(self._batch.data, layout or "", self._batch.source_info)

    def reset(self) -> None:
        """Drop all samples."""
        self._batch = Batch([])

    def shape(self) -> list[tuple[int, ...]]:
        """Shape of every sample."""
        return [tuple(sample.shape) for sample in self._batch.samples]

    def source_info(self) -> list[str]:
        """Where each sample comes from, such as its file; "" when unknown."""
        return list(self._batch.source_info) or [""] * len(self)

    @property
    def dtype(self) -> DataType | None:
        """Element type; None for an empty batch that was made from a list."""
        first = self._first()
        return None if first is None else DataType.of(first.dtype)

    @property
    def device(self) -> torch.device:
        """Where the samples are."""
        first = self._first()
        return torch.device("cpu") if first is None else first.device

    @property
    def block(self) -> torch.Tensor | None:
        """The tensor (N, ...) that holds all samples; None if they have memory of their own."""
        return self._batch.block

    def is_dense_tensor(self) -> bool:
        """Whether all samples have one shape, so that `as_tensor()` works."""
        return self.block is not None or len({sample.shape for sample in self._batch.samples}) <= 1

    def as_tensor(self) -> SampleTensor:
        """The batch as one tensor (N, ...): a view where the batch is one block, else a copy.

        Its layout is that of a sample with an N in front.
        """
        return SampleTensor.of(self._stacked(), self.layout() and f"N{self.layout()}")

    def _stacked(self) -> torch.Tensor:
        block = self._batch.block
        if block is None:
            samples = self._batch.samples
            if not self.is_dense_tensor():
                raise UnsupportedError(
                    "a ragged batch is no tensor: its shapes are "
                    f"{distinct_shapes(samples)}; resize or crop to one size first, "
                    "or take the samples one by one"
                )
            block = torch.stack(samples) if samples else torch.empty(0)
            self._hold(block)
        return block

    def as_array(self) -> np.ndarray[Any, Any]:
        """The batch as one numpy array (N, ...), on the CPU."""
        return self._stacked().cpu().numpy()

    def as_reshaped_tensor(self, shape: Sequence[int]) -> SampleTensor:
        """The elements of a dense batch as one tensor of another shape."""
        return SampleTensor.of(self._stacked().reshape(tuple(shape)))

    def data_ptr(self) -> int:
        """Address of the first element of `as_tensor()`, on the batch's device."""
        return self._stacked().data_ptr()

    def device_id(self) -> int | None:
        """Number of the GPU; None on the CPU."""
        return self.device.index

    def reinterpret(self, dtype: Any) -> None:
        """Reinterpret the bytes as elements of another type of the same size, in place."""
        self._batch = self._batch.each(lambda sample: same_size_view(sample, dtype))

    def copy_to_external(
        self,
        ptr: Any,
        cuda_stream: Any = None,
        non_blocking: bool = False,
        use_copy_kernel: bool = False,  # noqa: ARG002  DALI's choice between two ways to copy
    ) -> None:
        """Copy the samples contiguously to an address on the same device.

        Args:
            ptr: an int or a `ctypes.c_void_p`. Nothing checks that the memory is large enough.
            cuda_stream: on a GPU, the stream that copies; by default the current one.
            non_blocking: return before a copy on a GPU is done.
            use_copy_kernel: ignored; accepted for compatibility with DALI.
        """
        copy_to_address(self._batch.tensors(), ptr, cuda_stream, non_blocking)

    def as_cpu(self) -> TensorList:
        """The batch on the CPU; itself if it is there."""
        return self._to(torch.device("cpu"))

    cpu = as_cpu

    def gpu(self, device_id: int | None = None) -> TensorList:
        """The batch on a GPU, by default the current one; itself if it is there."""
        return self._to(gpu_device(device_id))

    def _to(self, device: torch.device) -> TensorList:
        if self.device == device:
            return self
        on_gpu = device.type == "cuda"
        return TensorList(self._batch.each(lambda sample: sample.to(device, non_blocking=on_gpu)))

    def _first(self) -> torch.Tensor | None:
        """A tensor that has the element type and the device of all; None without any."""
        block = self._batch.block
        return next(iter(self._batch), None) if block is None else block

    def _hold(self, data: torch.Tensor | list[torch.Tensor]) -> None:
        """Take the same samples in other memory; a batch that others share is not changed."""
        self._batch = Batch(data, self._batch.layout, self._batch.source_info)

    def _position(self, position: int) -> int:
        if not -len(self) <= position < len(self):
            raise ArgumentIndexError(
                f"sample {position} is out of range: the batch has {len(self)}"
            )
        return position % len(self)

    def _sample(self, position: int) -> SampleTensor:
        batch = self._batch
        info = batch.source_info[position] if batch.source_info else ""
        return SampleTensor.of(batch.samples[position], batch.layout, info)

    def _repr_html_(self) -> str:
        """HTML for notebooks: a row of frames for each sample that is a picture or a clip."""
        pictures = []
        if {*"HW"} <= {*self._batch.layout}:
            pictures = [sample.cpu().numpy() for sample in self._batch]
        return f"<pre>{escape(repr(self))}</pre>{frames_view(pictures, self._batch.source_info)}"

    def __str__(self) -> str:
        """Properties and elements, as DALI prints them."""
        return self._printed(with_elements=True)

    def __repr__(self) -> str:
        """Properties without elements, as DALI prints them."""
        return self._printed(with_elements=False)

    def _printed(self, *, with_elements: bool) -> str:
        batch = self._batch
        first = next(iter(batch), batch.block)
        like = torch.empty(0) if first is None else first
        return print_batch(batch.samples, like, batch.layout, with_elements=with_elements)


def _tensor(sample: Any, position: int) -> torch.Tensor:
    if type(sample) is torch.Tensor:
        return sample
    if not isinstance(sample, list | tuple) and not is_array(sample):
        raise ArgumentTypeError(
            f"a batch holds tensors, sample {position} is a {type(sample).__name__}"
        )
    return to_tensor(sample)
