"""Tensors and batches of tensors: inputs of operators and outputs of pipelines.

Inside the library a batch is a `Batch` (`batch.py`). Users see `TensorList` (`tensor_list.py`) and
`Tensor` (`tensor.py`), with DALI's methods. `importing.py` takes arrays of other libraries.
"""

from __future__ import annotations

from videoloader.dali.tensors.conversion import saturate, saturate_numbers, truncate
from videoloader.dali.tensors.devices import TensorCPU, TensorGPU, TensorListCPU, TensorListGPU
from videoloader.dali.tensors.importing import to_tensor
from videoloader.dali.tensors.sample import SampleTensor
from videoloader.dali.tensors.tensor import Tensor
from videoloader.dali.tensors.tensor_list import TensorList

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
