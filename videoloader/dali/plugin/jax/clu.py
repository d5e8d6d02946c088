"""Peekable iterators under the DALI name of their module."""

from videoloader.dali.plugin.jax.iterator import PeekableIterator as DALIGenericPeekableIterator
from videoloader.dali.plugin.jax.iterator import peekable_data_iterator

__all__ = ["DALIGenericPeekableIterator", "peekable_data_iterator"]
