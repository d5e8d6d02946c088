"""Copies of tensors to memory that another library owns."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch

from videoloader.errors import ArgumentTypeError


def copy_to_address(
    tensors: Sequence[torch.Tensor], address: Any, cuda_stream: Any, non_blocking: bool
) -> None:
    """Copy tensors contiguously, each in row-major order, to memory of their device.

    Args:
        tensors: all on one device.
        address: of the first byte: an int or a `ctypes.c_void_p`. Nothing checks that the memory
            is large enough.
        cuda_stream: for tensors on a GPU, the stream that copies: an int, or what has
            `cuda_stream`, `ptr` or `value`; by default the current one.
        non_blocking: return before the copy on a GPU is done.
    """
    place = _number(address, "address")
    on_gpu = bool(tensors) and tensors[0].is_cuda
    stream = torch.cuda.current_stream(tensors[0].device) if on_gpu else None
    if on_gpu and cuda_stream is not None:
        number = _number(cuda_stream, "stream")
        stream = torch.cuda.ExternalStream(number, tensors[0].device)
    with torch.cuda.stream(stream) if stream is not None else nullcontext():
        for tensor in tensors:
            size = tensor.numel() * tensor.element_size()
            if on_gpu and size:
                _gpu_bytes(place, size, tensor.device).copy_(_bytes(tensor), non_blocking=True)
            elif size:
                packed = tensor.contiguous()  # keeps its memory until the copy is done
                ctypes.memmove(place, packed.data_ptr(), size)
            place += size
    if stream is not None and not non_blocking:
        stream.synchronize()


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8)


def _gpu_bytes(address: int, size: int, device: torch.device) -> torch.Tensor:
    interface = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 2}
    owner = type("Memory", (), {"__cuda_array_interface__": interface})()
    return torch.as_tensor(owner, device=device)


def _number(value: Any, what: str) -> int:
    for name in ("cuda_stream", "ptr", "value"):
        value = getattr(value, name, value)
    if not isinstance(value, int):
        raise ArgumentTypeError(f"a memory {what} is an int or a c_void_p, got {value!r}")
    return value
