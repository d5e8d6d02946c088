"""Memory of frames and batches, used again once nobody holds them any more.

The first write to fresh memory costs a page fault for every 4 KiB, several times the write itself,
and clips and large pictures are too large for the allocator to keep. A `Recycler` keeps it.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.output import OutputFormat
from videoloader.machinery.workers.free_memory import check_room

TORCH_TYPES = {
    "uint8": torch.uint8,
    "uint16": torch.uint16,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
}

_SMALLEST = 1 << 20
"""Bytes from which memory is worth keeping; below, the allocator does as well."""

_LARGEST_SCRATCH = 1 << 23  # bytes; more are not kept
_NOTHING = np.empty(0, np.uint8)
_own = threading.local()


def scratch(size: int) -> NDArray[np.uint8]:
    """Uninitialised bytes for intermediate results, valid until the next call in this thread."""
    if size > _LARGEST_SCRATCH:
        return np.empty(size, np.uint8)
    memory: NDArray[np.uint8] = getattr(_own, "scratch", _NOTHING)
    if memory.size < size:
        memory = _own.scratch = np.empty(size, np.uint8)
    return memory[:size]


class _Lease(np.ndarray[Any, Any]):
    """Bytes on loan. A tensor made from it holds it, as do all views of the tensor."""

    loan: tuple[weakref.ref[deque[NDArray[np.uint8]]], NDArray[np.uint8]] | None = None
    """Where they return to, and the block; views that NumPy makes have none."""

    def __del__(self) -> None:
        if self.loan is not None:
            free, block = self.loan
            queue = free()
            if queue is not None:  # else the recycler has gone, and the block goes too
                queue.append(block)


class Recycler:
    """Gives out CPU tensors whose memory returns when the last view of it is gone.

    Args:
        keep: how many free blocks to keep at most. Threads may share it.
    """

    def __init__(self, keep: int) -> None:
        # Appending to a deque and popping from it are atomic. A lock would not do: memory may
        # come back in the middle of anything, by way of the garbage collector.
        self._free: deque[NDArray[np.uint8]] = deque(maxlen=keep)
        self._live: weakref.WeakValueDictionary[int, _Lease] = weakref.WeakValueDictionary()

    def empty(self, shape: Sequence[int], *, dtype: torch.dtype, device: Any) -> torch.Tensor:
        """An uninitialised tensor, as `torch.empty` gives it.

        Raises:
            ResourceError: there is no room for it in the memory of this machine.
        """
        size = math.prod(shape) * dtype.itemsize
        if not shape or not size or not str(device).startswith("cpu"):
            return torch.empty(tuple(shape), dtype=dtype, device=device)
        in_bytes = *shape[:-1], shape[-1] * dtype.itemsize
        if size < _SMALLEST:
            memory = np.empty(in_bytes, np.uint8)
        else:
            block = self._take(size)
            memory = lease = block.reshape(in_bytes).view(_Lease)
            lease.loan = weakref.ref(self._free), block
            self._live[lease.ctypes.data] = lease
        tensor = torch.from_numpy(memory)
        return tensor if dtype == torch.uint8 else tensor.view(dtype)

    def _take(self, size: int) -> NDArray[np.uint8]:
        """A free block of this size, or a new one; blocks of other sizes are let go."""
        while True:
            try:
                block = self._free.popleft()
            except IndexError:
                check_room(size, self._in_use())
                # NumPy asks for huge pages, torch does not; large pictures are written up to a
                # fifth faster to them.
                return np.empty(size, np.uint8)
            if block.size == size:
                return block

    def _in_use(self) -> list[tuple[int, int]]:
        """Address and bytes of the blocks on loan; an error that has them in it holds no block."""
        leases = [lease() for lease in self._live.valuerefs()]
        return [(each.ctypes.data, each.nbytes) for each in leases if each is not None]


def as_movable(memory: torch.Tensor) -> torch.Tensor:
    """The same memory of a type that torch can move about, which it does not do with uint16."""
    return memory.view(torch.int16) if memory.dtype == torch.uint16 else memory


def as_slots(memory: torch.Tensor, output: OutputFormat, row: int | None = None) -> NDArray[Any]:
    """The memory of a clip, or of one of several, as (F, H, W, C) of numpy's types."""
    if output.dtype == "bfloat16":
        memory = memory.view(torch.uint16)
    array = memory.numpy()
    return output.slots(array if row is None else array[row])
