"""`nvidia.dali.backend`: tensor classes, and settings of memory allocation.

Growth factors and the shrink threshold are checked and stored, but have no effect, since PyTorch's
allocators manage the memory and keep freed blocks. The other functions work as in DALI.
"""

from __future__ import annotations

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

_settings = {"shrink threshold": 0.5, "host growth factor": 1.1, "device growth factor": 1.1}


def SetHostBufferShrinkThreshold(fraction: float) -> None:  # noqa: N802  (DALI's name)
    """Keep the part of a buffer, 0 to 1, below which DALI would shrink it; no effect.

    >>> SetHostBufferShrinkThreshold(0.5)
    >>> GetHostBufferShrinkThreshold()
    0.5
    """
    _set("shrink threshold", fraction, 0, 1)


def GetHostBufferShrinkThreshold() -> float:  # noqa: N802
    """The stored value, 0.5 by default.

    >>> GetHostBufferShrinkThreshold()
    0.5
    """
    return _settings["shrink threshold"]


def SetHostBufferGrowthFactor(factor: float) -> None:  # noqa: N802
    """Keep the factor, 1 to 4, by which DALI would grow buffers on the CPU; no effect.

    >>> SetHostBufferGrowthFactor(1.1)
    >>> GetHostBufferGrowthFactor()
    1.1
    """
    _set("host growth factor", factor, 1, 4)


def GetHostBufferGrowthFactor() -> float:  # noqa: N802
    """The stored value, 1.1 by default.

    >>> GetHostBufferGrowthFactor()
    1.1
    """
    return _settings["host growth factor"]


def SetDeviceBufferGrowthFactor(factor: float) -> None:  # noqa: N802
    """Keep the factor, 1 to 4, by which DALI would grow buffers on a GPU; no effect.

    >>> SetDeviceBufferGrowthFactor(1.1)
    >>> GetDeviceBufferGrowthFactor()
    1.1
    """
    _set("device growth factor", factor, 1, 4)


def GetDeviceBufferGrowthFactor() -> float:  # noqa: N802
    """The stored value, 1.1 by default.

    >>> GetDeviceBufferGrowthFactor()
    1.1
    """
    return _settings["device growth factor"]


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


def _set(name: str, value: float, least: float, most: float) -> None:
    _settings[name] = real_number(f"the {name}", value, least=least, most=most)
