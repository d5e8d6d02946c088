"""decord.bridge.torchdl: `NDArray` to and from tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.dlpack import from_dlpack

from videoloader.compat.decord.ndarray import NDArray

__all__ = ["from_torch", "to_torch"]


def to_torch(decord_arr: Any) -> torch.Tensor:
    """A tensor of the same memory."""
    return (
        from_dlpack(decord_arr) if isinstance(decord_arr, NDArray) else torch.as_tensor(decord_arr)
    )


def from_torch(tensor: torch.Tensor) -> NDArray:
    """An `NDArray` of the same memory."""
    return NDArray(tensor)
