"""Pipelines as PyTorch iterators."""

from videoloader.dali import ops
from videoloader.dali.plugin.epoch_plan import LastBatchPolicy
from videoloader.dali.plugin.pytorch import experimental, proxy
from videoloader.dali.plugin.pytorch.iterator import (
    ClassificationIterator,
    GenericIterator,
    RaggedIterator,
)
from videoloader.dali.plugin.pytorch.outputs import Packed, feed_ndarray

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
]
