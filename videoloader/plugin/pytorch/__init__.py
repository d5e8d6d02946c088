"""Pipelines as PyTorch iterators."""

from videoloader.plugin.pytorch.iterator import DALIGenericIterator, GenericIterator
from videoloader.plugin.pytorch.schedule import LastBatchPolicy

__all__ = ["DALIGenericIterator", "GenericIterator", "LastBatchPolicy"]
