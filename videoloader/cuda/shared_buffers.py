"""GPU memory that one process allocates and another one reads, by CUDA IPC."""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import Any

import torch

__all__ = ["OpenedBuffer", "SharedBuffer"]


class SharedBuffer:
    """Memory of this process that others open by its `handle`.

    It is not a piece of PyTorch's allocator, whose segments cannot always be opened elsewhere.

    Args:
        size: in bytes.
        device: number of the GPU.

    Attributes:
        handle: what `OpenedBuffer` takes.
        bytes: the memory, uint8 (size,).
    """

    def __init__(self, size: int, device: int) -> None:
        from cupy.cuda import Device, runtime

        with Device(device):
            try:
                self._address: int = runtime.malloc(size)
            except runtime.CUDARuntimeError:
                torch.cuda.empty_cache()
                self._address = runtime.malloc(size)
            self.handle: bytes = runtime.ipcGetMemHandle(self._address)
        self.bytes = _as_tensor(self._address, size, device)

    def close(self) -> None:
        """Free the memory, after other processes have closed it."""
        from cupy.cuda import runtime

        runtime.free(self._address)


class OpenedBuffer:
    """Memory of another process. It is closed with this object.

    Args:
        handle: of the memory.
        size: in bytes.
        device: number of the GPU.

    Attributes:
        handle: of the memory.
        bytes: the memory, uint8 (size,); not to be used after `close`.
    """

    def __init__(self, handle: bytes, size: int, device: int) -> None:
        from cupy.cuda import Device, runtime

        self.handle = handle
        with Device(device):
            address = runtime.ipcOpenMemHandle(handle)
        self.bytes = _as_tensor(address, size, device)
        self.close = weakref.finalize(self, _close, address, device)
        self.close.atexit = False  # the driver closes it then


def _close(address: int, device: int) -> None:
    from cupy.cuda import Device, runtime

    with Device(device), suppress(runtime.CUDARuntimeError):  # its process may have died
        runtime.ipcCloseMemHandle(address)


class _Memory:
    """Tells torch where memory is."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": (size,),
            "typestr": "|u1",
            "strides": None,
            "version": 3,
        }


def _as_tensor(address: int, size: int, device: int) -> torch.Tensor:
    memory: Any = _Memory(address, size)
    return torch.as_tensor(memory, device=f"cuda:{device}")
