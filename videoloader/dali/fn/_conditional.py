"""Splitting a batch by a predicate and merging the parts again: `if`, written out."""

from __future__ import annotations

from typing import Any

from videoloader.dali.pipeline.graph.merging import merge as _merge
from videoloader.dali.pipeline.graph.merging import negation
from videoloader.dali.pipeline.graph.merging import split as _split
from videoloader.dali.pipeline.graph.nodes import DataNode

__all__ = ["merge", "not_", "split"]


def split(data: Any, *, predicate: DataNode) -> tuple[DataNode, DataNode]:
    """The samples for which a predicate is true, and the others.

    Operators that take a part run on its samples only.

    Args:
        data: a data node or a constant.
        predicate: a scalar of type BOOL for each sample, on the CPU.
    """
    return _split(data, predicate)


def merge(true: Any, false: Any, *, predicate: DataNode) -> DataNode:
    """Merge both parts of a batch, in the order that the samples had before the split.

    Args:
        true: a data node of samples for which the predicate is true, or a constant.
        false: the same for the others; element type, dimensions and layout are those of `true`.
        predicate: by which the batch was split.
    """
    return _merge(predicate, true, false)


def not_(data: DataNode) -> DataNode:
    """Whether each sample, a scalar on the CPU, is 0."""
    return negation(data)
