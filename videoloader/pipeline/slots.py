"""Memory of a batch, handed out sample by sample, so that a batch is written only once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import torch

from videoloader.decoding.memory import Recycler
from videoloader.tensors import TensorList

__all__ = ["Slots"]


class Slots:
    """One block for `count` samples, as large as the first of them asks for.

    Args:
        count: samples in the batch.
        recycler: where the block comes from.

    Samples that fit live in the block; a sample of another shape or type has memory of its own,
    and the batch is ragged. Threads may share it.
    """

    def __init__(self, count: int, recycler: Recycler) -> None:
        self._count = count
        self._recycler = recycler
        self._block: torch.Tensor | None = None
        self._lock = threading.Lock()

    def empty(
        self, position: int, shape: Sequence[int], *, dtype: torch.dtype, device: Any
    ) -> torch.Tensor:
        """Memory for a sample, uninitialised: `torch.empty` with a place in the batch."""
        with self._lock:
            if self._block is None:
                self._block = self._recycler.empty(
                    (self._count, *shape), dtype=dtype, device=device
                )
            block = self._block
        if self._fits(block, shape, dtype, torch.device(device)):
            return block[position]
        return torch.empty(tuple(shape), dtype=dtype, device=device)

    def place(self, position: int, value: torch.Tensor) -> torch.Tensor:
        """The value in its place in the batch: itself if it is there, a copy otherwise."""
        block = self._block
        if block is not None and _is_part(value, block):
            return value
        memory = self.empty(position, value.shape, dtype=value.dtype, device=value.device)
        return memory.copy_(value)

    def collect(self, samples: Sequence[torch.Tensor], layout: str) -> TensorList:
        """The batch: one block if all samples live in it."""
        block = self._block
        if block is not None and all(_is_part(sample, block) for sample in samples):
            return TensorList(block, layout)
        return TensorList(samples, layout)

    @staticmethod
    def _fits(
        block: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, device: torch.device
    ) -> bool:
        same = block.shape[1:] == tuple(shape) and block.dtype == dtype
        return same and block.device.type == device.type


def _is_part(sample: torch.Tensor, block: torch.Tensor) -> bool:
    return (
        sample.shape == block.shape[1:]
        and sample.dtype == block.dtype
        and sample.untyped_storage().data_ptr() == block.untyped_storage().data_ptr()
    )
