"""Pipelines as PyTorch iterators."""

from videoloader import ops
from videoloader.plugin.epoch_plan import LastBatchPolicy
from videoloader.plugin.pytorch import experimental, proxy
from videoloader.plugin.pytorch.iterator import (
    ClassificationIterator,
    GenericIterator,
    RaggedIterator,
)
from videoloader.plugin.pytorch.outputs import Packed, feed_ndarray

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
