"""Splits data nodes by a predicate, and merges the results of both sides."""

from __future__ import annotations

from typing import Any

from videoloader.dali.operators.conditional import MERGE, NOT, PREDICATE
from videoloader.dali.pipeline.graph.nodes import Branch, DataNode, add_node
from videoloader.dali.pipeline.graph.promotion import promote
from videoloader.errors import ArgumentError


def predicate_node(value: DataNode, what: str, *, only_bool: bool = False) -> DataNode:
    """A data node of bools: which samples of another one are not 0.

    Args:
        value: on the CPU.
        what: it is, for errors.
        only_bool: fail for other types than BOOL.
    """
    constants = PREDICATE.bind({"what": what, "only_bool": only_bool})
    return add_node(PREDICATE, (_on_cpu(value, what),), constants, {}, "cpu")[0]


def negation(value: DataNode) -> DataNode:
    """A data node of bools: which samples of another one are 0."""
    return add_node(NOT, (_on_cpu(value, "an operand of `not`"),), {}, {}, "cpu")[0]


def split(value: Any, predicate: DataNode) -> tuple[DataNode, DataNode]:
    """The samples for which a predicate is true, and the others.

    Args:
        value: a data node or a constant.
        predicate: a scalar of type BOOL for each sample, on the CPU.
    """
    data, condition = promote(value, "a split"), _on_cpu(predicate, "the predicate of a split")
    true, false = (data.within(Branch(condition, outcome)) for outcome in (True, False))
    return true, false


def merge(predicate: DataNode, true: Any, false: Any) -> DataNode:
    """One batch of the samples of two branches, in order.

    Args:
        predicate: of the branches.
        true: a data node or a constant for the samples for which it is true.
        false: for the others.
    """
    condition = _on_cpu(predicate, "the predicate of a merge")
    sides = [promote(true, "a merge"), promote(false, "a merge")]
    inputs = tuple(
        side.within(Branch(condition, outcome))
        for side, outcome in zip(sides, (True, False), strict=True)
    )
    device = "gpu" if any(data.device == "gpu" for data in inputs) else "cpu"
    if device == "gpu":
        inputs = tuple(data.gpu() for data in inputs)
    return add_node(MERGE, inputs, {}, {"predicate": condition}, device)[0]


def _on_cpu(value: DataNode, what: str) -> DataNode:
    if not isinstance(value, DataNode):
        raise ArgumentError(f"{what} must be a data node, got {type(value).__name__}")
    if value.device != "cpu":
        raise ArgumentError(f"{what} must be on the CPU: {value.name} is on the GPU; use .cpu()")
    return value
