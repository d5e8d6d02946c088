"""One of several operators for each sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from videoloader.errors import ArgumentError
from videoloader.pipeline.graph.merging import merge, predicate_node
from videoloader.pipeline.graph.nodes import Branch, DataNode, inside

__all__ = ["select"]


def select(
    ops: Sequence[Callable[..., Any]],
    selected_op_idx: DataNode,
    *op_args: Any,
    **op_kwargs: Any,
) -> DataNode:
    """Run for each sample the operator that it selects.

    The batch is halved by the index until one operator is left, which runs on its samples alone.
    This needs no `enable_conditionals`.

    Args:
        ops: functions, such as augmentations, that give one data node.
        selected_op_idx: for each sample the place of its function in `ops`; on the CPU.
        *op_args: of the functions; data nodes have their values for the samples of a function.
        **op_kwargs: of the functions, likewise.
    """
    if not ops:
        raise ArgumentError("select has no operators to choose from")

    def among(first: int, last: int) -> Any:
        if last - first == 1:
            return ops[first](*op_args, **op_kwargs)
        middle = (first + last) // 2
        is_below = predicate_node(selected_op_idx < middle, "the index of an operator")
        sides = []
        for outcome, limits in ((True, (first, middle)), (False, (middle, last))):
            with inside(Branch(is_below, outcome)):
                sides.append(among(*limits))
        return merge(is_below, *sides)

    return among(0, len(ops))  # type: ignore[no-any-return]  # as the functions promise
