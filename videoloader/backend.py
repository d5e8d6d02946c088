"""The containers under the module name that DALI's programs import them from."""

from __future__ import annotations

from videoloader.tensors import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU

__all__ = ["TensorCPU", "TensorGPU", "TensorListCPU", "TensorListGPU"]
