"""Pipelines as PyTorch iterators."""

from videoloader.plugin.epoch_plan import LastBatchPolicy
from videoloader.plugin.pytorch.iterator import (
    ClassificationIterator,
    GenericIterator,
    RaggedIterator,
)
from videoloader.plugin.pytorch.outputs import feed_ndarray

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
    "RaggedIterator",
    "feed_ndarray",
]
