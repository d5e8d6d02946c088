"""Pipelines as PyTorch iterators.

>>> to_torch_type[types.FLOAT16]
torch.float16
"""

from videoloader.dali import ops, types
from videoloader.dali.plugin.epoch_plan import LastBatchPolicy
from videoloader.dali.plugin.pytorch import experimental, proxy
from videoloader.dali.plugin.pytorch.iterator import (
    ClassificationIterator,
    GenericIterator,
    RaggedIterator,
)
from videoloader.dali.plugin.pytorch.outputs import Packed, feed_ndarray

to_torch_type = {dtype: dtype.torch for dtype in types.DataType if dtype.is_numeric}
"""The dtype of torch for each element type."""
TorchPythonFunction = vars(ops)["TorchPythonFunction"]
DALIClassificationIterator = ClassificationIterator
DALIGenericIterator = GenericIterator
DALIRaggedIterator = RaggedIterator

__all__ = [
    "ClassificationIterator",
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIRaggedIterator",
    "GenericIterator",
    "LastBatchPolicy",
    "Packed",
    "RaggedIterator",
    "TorchPythonFunction",
    "experimental",
    "feed_ndarray",
    "proxy",
    "to_torch_type",
]
