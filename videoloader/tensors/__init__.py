"""Tensors and batches of tensors: inputs of operators and outputs of pipelines.

Inside the library a batch is a `Batch` (`batch.py`). Users see `TensorList` (`tensor_list.py`) and
`Tensor` (`tensor.py`), with DALI's methods. `importing.py` takes arrays of other libraries.
"""

from __future__ import annotations

from videoloader.tensors.conversion import saturate, saturate_numbers, truncate
from videoloader.tensors.devices import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU
from videoloader.tensors.importing import to_tensor
from videoloader.tensors.sample import SampleTensor
from videoloader.tensors.tensor import Tensor
from videoloader.tensors.tensor_list import TensorList

__all__ = [
    "SampleTensor",
    "Tensor",
    "TensorCPU",
    "TensorGPU",
    "TensorList",
    "TensorListCPU",
    "TensorListGPU",
    "saturate",
    "saturate_numbers",
    "to_tensor",
    "truncate",
]
