"""Carries a batch to another process: tensors in memory that both have, all else pickled."""

from __future__ import annotations

import io
import math
import pickle
from typing import Any, NamedTuple

import torch

__all__ = ["Carried", "unpacked"]

_ALIGNMENT = 256  # bytes


class _Place(NamedTuple):
    """Where a tensor is in the memory of the CPU or of the GPU."""

    on_gpu: bool
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype

    def within(self, memory: torch.Tensor) -> torch.Tensor:
        """The tensor, in memory (bytes,)."""
        end = self.offset + math.prod(self.shape) * self.dtype.itemsize
        return memory[self.offset : end].view(self.dtype).as_strided(self.shape, self.strides)


class Carried:
    """A batch without its tensors, and these.

    Args:
        content: of the batch.

    Attributes:
        data: what `unpacked` takes.
        sizes: bytes that `write` needs on the CPU and on the GPU.
    """

    def __init__(self, content: Any) -> None:
        self._places: dict[int, _Place] = {}  # by `id` of the tensor
        self._tensors: list[torch.Tensor] = []
        self._sizes = [0, 0]
        stream = io.BytesIO()
        pickler = pickle.Pickler(stream, pickle.HIGHEST_PROTOCOL)
        pickler.persistent_id = self._place  # type: ignore[method-assign]
        pickler.dump(content)
        self.data = stream.getvalue()
        self.sizes = tuple(self._sizes)

    def write(self, *memories: torch.Tensor) -> None:
        """Copy the tensors, on the current stream.

        Args:
            *memories: of the CPU and of the GPU, uint8 (bytes,).
        """
        for tensor in self._tensors:
            place = self._places[id(tensor)]
            place.within(memories[place.on_gpu]).copy_(tensor)

    def _place(self, value: Any) -> _Place | None:
        """Where a tensor will be; None for what is pickled."""
        if type(value) is not torch.Tensor or value.layout is not torch.strided:
            return None
        if value.requires_grad or value.device.type not in ("cpu", "cuda"):
            return None
        if id(value) not in self._places:
            size = self._sizes[value.is_cuda]
            strides = torch.empty_like(value, device="meta").stride()  # its own, if it is dense
            place = _Place(value.is_cuda, size, tuple(value.shape), strides, value.dtype)
            self._sizes[value.is_cuda] = size + -(-value.nbytes // _ALIGNMENT) * _ALIGNMENT
            self._places[id(value)] = place
            self._tensors.append(value)
        return self._places[id(value)]


def unpacked(data: bytes, *memories: torch.Tensor) -> Any:
    """The batch; its tensors are views of the memory.

    Args:
        data: of a `Carried`.
        *memories: of the CPU and of the GPU, uint8 (bytes,).
    """

    def tensor(place: _Place) -> torch.Tensor:
        return place.within(memories[place.on_gpu])

    unpickler = pickle.Unpickler(io.BytesIO(data))
    unpickler.persistent_load = tensor  # type: ignore[method-assign]
    return unpickler.load()
