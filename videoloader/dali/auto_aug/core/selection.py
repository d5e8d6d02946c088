"""One of several operators for each sample, and the random numbers that choose it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from videoloader.dali import fn, math
from videoloader.dali.pipeline.graph.merging import merge, predicate_node
from videoloader.dali.pipeline.graph.nodes import Branch, DataNode, inside
from videoloader.dali.types import DataType
from videoloader.errors import ArgumentError


def select(
    ops: Sequence[Callable[..., Any]], selected_op_idx: DataNode, *op_args: Any, **op_kwargs: Any
) -> DataNode:
    """Run for each sample the function that its index selects.

    The batch is split by binary search on the index; each function runs on its samples only. This
    does not need `enable_conditionals`.

    Args:
        ops: functions, such as augmentations, that return one data node.
        selected_op_idx: index into `ops` per sample, on the CPU.
        *op_args: passed to the functions; data nodes are split like the batch.
        **op_kwargs: likewise.
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


class Draws:
    """Independent random numbers per sample.

    One operator draws all of them: operators with the same seed draw the same numbers.

    Args:
        count: numbers per sample.
        seed: as for `fn.random.uniform`.
    """

    def __init__(self, count: int, seed: int | None) -> None:
        self._numbers: Any = fn.random.uniform(
            range=(0, 1), shape=(count,), dtype=DataType.FLOAT64, seed=seed
        )
        self._taken = 0

    def number(self) -> Any:
        """The next number in [0, 1) per sample."""
        self._taken += 1
        return self._numbers[self._taken - 1]

    def choice(self, count: int) -> DataNode:
        """An integer from 0 to `count - 1` per sample."""
        return fn.cast(math.floor(self.number() * count), dtype=DataType.INT32)  # type: ignore[no-any-return]

    def sign(self) -> DataNode:
        """0 or 1 per sample."""
        return self.choice(2)
