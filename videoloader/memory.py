"""Memory of frames and batches, used again once nobody holds them any more.

The first write to fresh memory costs a page fault for every 4 KiB, several times the write itself,
and clips and large pictures are too large for the allocator to keep. A `Recycler` keeps it.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

__all__ = ["Recycler"]

_SMALLEST = 1 << 20
"""Bytes from which memory is worth keeping; below, the allocator does as well."""


class _Lease(np.ndarray[Any, Any]):
    """Bytes on loan. A tensor made from it holds it, as do all views of the tensor."""


class Recycler:
    """Gives out CPU tensors whose memory returns when the last view of it is gone.

    Args:
        keep: how many free blocks to keep at most. Threads may share it.
    """

    def __init__(self, keep: int) -> None:
        # Appending to a deque and popping from it are atomic. A lock would not do: memory may
        # come back in the middle of anything, by way of the garbage collector.
        self._free: deque[torch.Tensor] = deque(maxlen=keep)

    def empty(self, shape: Sequence[int], *, dtype: torch.dtype, device: Any) -> torch.Tensor:
        """An uninitialised tensor, as `torch.empty` gives it."""
        size = math.prod(shape) * dtype.itemsize
        if torch.device(device).type != "cpu" or size < _SMALLEST:
            return torch.empty(tuple(shape), dtype=dtype, device=device)
        block = self._take(size)
        lease = block.numpy().view(_Lease)
        weakref.finalize(lease, self._free.append, block).atexit = False
        return torch.from_numpy(lease)[:size].view(dtype).view(tuple(shape))

    def _take(self, size: int) -> torch.Tensor:
        """A free block of this size, or a new one; blocks of other sizes are let go."""
        while True:
            try:
                block = self._free.popleft()
            except IndexError:
                return torch.empty(size, dtype=torch.uint8)
            if block.numel() == size:
                return block
