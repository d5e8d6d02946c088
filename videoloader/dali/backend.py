"""`nvidia.dali.backend`: tensor classes, and settings of memory allocation.

Growth factors and the shrink threshold are checked and stored, but have no effect, since PyTorch's
allocators manage the memory and keep freed blocks. The other functions work as in DALI.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from videoloader.dali.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU
from videoloader.machinery.system.checks import real_number, whole_number

__all__ = [
    "GetDeviceBufferGrowthFactor",
    "GetHostBufferGrowthFactor",
    "GetHostBufferShrinkThreshold",
    "PreallocateDeviceMemory",
    "PreallocatePinnedMemory",
    "ReleaseUnusedMemory",
    "SetBufferGrowthFactor",
    "SetDeviceBufferGrowthFactor",
    "SetHostBufferGrowthFactor",
    "SetHostBufferShrinkThreshold",
    "TensorCPU",
    "TensorGPU",
    "TensorListCPU",
    "TensorListGPU",
]


def _setting(
    name: str, meaning: str, default: float, least: float, most: float
) -> tuple[Callable[[float], None], Callable[[], float]]:
    """Functions that store and give a setting that has no effect here."""
    stored = default

    def store(value: float) -> None:
        nonlocal stored
        stored = real_number(f"the {meaning}", value, least=least, most=most)

    def stored_value() -> float:
        return stored

    example = f"""
    >>> Set{name}({default})
    >>> Get{name}()
    {default}
    """
    store.__doc__ = f"Store the {meaning}, {least:g} to {most:g}; no effect.\n{example}"
    stored_value.__doc__ = f"Give the stored {meaning}, {default} by default.\n{example}"
    store.__name__ = store.__qualname__ = f"Set{name}"
    stored_value.__name__ = stored_value.__qualname__ = f"Get{name}"
    return store, stored_value


SetHostBufferShrinkThreshold, GetHostBufferShrinkThreshold = _setting(
    "HostBufferShrinkThreshold", "shrink threshold", 0.5, 0, 1
)
SetHostBufferGrowthFactor, GetHostBufferGrowthFactor = _setting(
    "HostBufferGrowthFactor", "host growth factor", 1.1, 1, 4
)
SetDeviceBufferGrowthFactor, GetDeviceBufferGrowthFactor = _setting(
    "DeviceBufferGrowthFactor", "device growth factor", 1.1, 1, 4
)


def SetBufferGrowthFactor(factor: float) -> None:  # noqa: N802
    """Keep one growth factor for the CPU and for GPUs; no effect.

    >>> SetBufferGrowthFactor(1.1)
    >>> GetHostBufferGrowthFactor(), GetDeviceBufferGrowthFactor()
    (1.1, 1.1)
    """
    SetHostBufferGrowthFactor(factor)
    SetDeviceBufferGrowthFactor(factor)


def PreallocateDeviceMemory(bytes: int, device_id: int) -> None:  # noqa: A002, N802
    """Allocate GPU memory now, which PyTorch's allocator keeps for later batches.

    >>> if torch.cuda.is_available():
    ...     PreallocateDeviceMemory(1 << 20, device_id=0)
    """
    torch.empty(whole_number("bytes", bytes), dtype=torch.uint8, device=f"cuda:{device_id}")


def PreallocatePinnedMemory(bytes: int) -> None:  # noqa: A002, N802
    """Allocate pinned memory now, which PyTorch's allocator keeps for later copies.

    >>> if torch.cuda.is_available():
    ...     PreallocatePinnedMemory(1 << 20)
    """
    torch.empty(whole_number("bytes", bytes), dtype=torch.uint8, pin_memory=True)


def ReleaseUnusedMemory() -> None:  # noqa: N802
    """Release the GPU memory that no tensor uses.

    >>> ReleaseUnusedMemory()
    """
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
