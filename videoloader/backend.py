"""The containers and the settings of memory under the module name that DALI's programs use."""

from __future__ import annotations

from videoloader.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU
from videoloader.tensors.allocation import (
    GetDeviceBufferGrowthFactor,
    GetHostBufferGrowthFactor,
    GetHostBufferShrinkThreshold,
    PreallocateDeviceMemory,
    PreallocatePinnedMemory,
    ReleaseUnusedMemory,
    SetBufferGrowthFactor,
    SetDeviceBufferGrowthFactor,
    SetHostBufferGrowthFactor,
    SetHostBufferShrinkThreshold,
)

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
