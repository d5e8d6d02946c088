"""Pipelines as JAX iterators: dicts of `jax.Array`, on one device or sharded over several.

Start at `iterator.py`; `fn.py` calls functions of JAX in a pipeline. Importing
this needs no JAX; using it does.
"""

from videoloader.dali.plugin.epoch_plan import LastBatchPolicy
from videoloader.dali.plugin.jax import clu, fn
from videoloader.dali.plugin.jax.iterator import (
    ClassificationIterator,
    GenericIterator,
    PeekableIterator,
    data_iterator,
    peekable_data_iterator,
)

DALIClassificationIterator = ClassificationIterator
DALIGenericIterator = GenericIterator
DALIGenericPeekableIterator = PeekableIterator

__all__ = [
    "ClassificationIterator",
    "DALIClassificationIterator",
    "DALIGenericIterator",
    "DALIGenericPeekableIterator",
    "GenericIterator",
    "LastBatchPolicy",
    "PeekableIterator",
    "clu",
    "data_iterator",
    "fn",
    "peekable_data_iterator",
]
