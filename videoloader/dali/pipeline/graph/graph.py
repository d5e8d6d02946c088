"""The graph of a pipeline, collected from its outputs.

`Graph.collect` walks back from the outputs of a pipeline, adopts the nodes that they need and
leaves the rest, which then never runs. Nodes of a definition belong to its pipeline; those made
outside may be in several.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from videoloader.dali.operators.arguments import PerSample
from videoloader.dali.operators.general.copy import COPY
from videoloader.dali.pipeline.graph.nodes import DataNode, Node, add_node
from videoloader.errors import ArgumentError


def reached(nodes: Sequence[Node]) -> set[Node]:
    """The nodes, and all that they need."""
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [data.node for data in node.sources]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """The graph of a pipeline.

    Attributes:
        nodes: in the order of their making, which is an order to run them in.
        outputs: what a batch consists of.
    """

    nodes: tuple[Node, ...]
    outputs: tuple[DataNode, ...]

    @classmethod
    def collect(
        cls,
        outputs: Sequence[DataNode],
        kept: Sequence[Node],
        *,
        batch_size: int,
        owner: object,
        copies: dict[Node, Node],
    ) -> Graph:
        """Adopt the nodes that outputs need.

        Args:
            outputs: of the pipeline.
            kept: nodes that run though no output needs them.
            batch_size: of the pipeline.
            owner: of the nodes from here on; those from the definition of another are an error.
            copies: of detached nodes that another pipeline has; this adds to it.
        """
        outputs = [
            data
            if data.branch == data.node.branch
            else add_node(COPY, (data,), {}, {}, data.device)[0]  # made when its branch is known
            for data in outputs
        ]
        needed = reached([*(data.node for data in outputs), *kept])
        nodes = sorted(needed, key=lambda node: node.number)
        for node in nodes:
            if node.owner not in (None, owner) and not node.is_detached:
                raise ArgumentError(f"{node.describe()} belongs to another pipeline")
        nodes = [_owned(node, owner, copies) for node in nodes]
        outputs = [_copied(data, copies) for data in outputs]
        names: dict[str, Node] = {}
        for node in nodes:
            if node.is_named and names.setdefault(node.name, node) is not node:
                raise ArgumentError(
                    f"two operators are named {node.name!r} ({names[node.name].where} and "
                    f"{node.where}); names must be unique"
                )
            _check_counts(node, batch_size)
        stage = 0
        for ordinal, node in enumerate(nodes):
            if not node.is_named:
                short = node.operator.name.rpartition(".")[2]
                node.name = next(
                    name
                    for name in (f"{short}_{ordinal}{'_' * more}" for more in itertools.count())
                    if name not in names
                )
            node.owner, node.ordinal, node.stage = owner, ordinal, stage
            stage += node.operator.has_draws
        return cls(tuple(nodes), tuple(outputs))


def _owned(node: Node, owner: object, copies: dict[Node, Node]) -> Node:
    """The node with inputs of its own pipeline; a copy where another pipeline has it."""
    inputs = tuple(_copied(data, copies) for data in node.inputs)
    varying = {name: _copied(data, copies) for name, data in node.varying.items()}
    if node.owner not in (None, owner):
        if node not in copies:
            copies[node] = replace(node, inputs=inputs, varying=varying, owner=None)
        return copies[node]
    node.inputs, node.varying = inputs, varying
    return node


def _copied(data: DataNode, copies: Mapping[Node, Node]) -> DataNode:
    return replace(data, node=copies[data.node]) if data.node in copies else data


def _check_counts(node: Node, batch_size: int) -> None:
    """Fail if an argument has values for another number of samples."""
    for argument, value in node.constants.items():
        if isinstance(value, PerSample) and len(value) != batch_size:
            raise ArgumentError(
                f"{node.describe()}: {argument} has {len(value)} values for a batch of {batch_size}"
            )
