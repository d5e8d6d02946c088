"""Peekable iterators under the DALI name of their module."""

from videoloader.dali.plugin.jax.decorators import peekable_data_iterator
from videoloader.dali.plugin.jax.iterator import PeekableIterator as DALIGenericPeekableIterator

__all__ = ["DALIGenericPeekableIterator", "peekable_data_iterator"]
