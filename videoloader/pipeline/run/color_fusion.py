"""Colour operators of a graph that follow each other on a GPU: found, and run as one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from videoloader.errors import OperatorError
from videoloader.operators.color.color_on_gpu import MOST_STAGES
from videoloader.operators.color.color_run import color_run, name_in_run
from videoloader.pipeline.graph.graph import Graph
from videoloader.pipeline.graph.nodes import DataNode, Node
from videoloader.pipeline.run.evaluate import Evaluator
from videoloader.pipeline.run.state import Part

__all__ = ["color_runs", "joined", "run_joined"]


def color_runs(graph: Graph) -> list[tuple[Node, ...]]:
    """The operators, two or more, that are better run as one: nobody needs what is in between."""
    users: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        for data in node.sources:
            users.setdefault(data.node, []).append(node)
    given = {data.node for data in graph.outputs}
    runs: list[list[Node]] = []
    last: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        if node.device != "gpu" or not node.operator.is_color_stage:
            continue
        before = node.inputs[0].node
        run = last.pop(before, None)
        is_next = node.branch == before.branch and users[before] == [node] and before not in given
        if run is None or not is_next or len(run) == MOST_STAGES:
            run = []
            runs.append(run)
        run.append(node)
        last[node] = run
    return [tuple(run) for run in runs if len(run) > 1]


def joined(nodes: Sequence[Node]) -> Node:
    """One node in place of several, with the output of the last and the name of the first.

    It is in no graph; the graph keeps those that it stands for.
    """
    constants: dict[str, Any] = {}
    varying: dict[str, DataNode] = {}
    for number, node in enumerate(nodes):
        constants |= {name_in_run(number, k): value for k, value in node.constants.items()}
        varying |= {name_in_run(number, k): data for k, data in node.varying.items()}
    listed = [name_in_run(number, k) for number, node in enumerate(nodes) for k in node.listed]
    return replace(
        nodes[-1],
        operator=color_run([node.operator for node in nodes]),
        inputs=nodes[0].inputs,
        constants=constants,
        varying=varying,
        listed=tuple(listed),
        name=nodes[0].name,
        repeated={},
    )


def run_joined(evaluator: Evaluator, node: Node, parts: Sequence[Node], part: Part) -> None:
    """Run a node that stands for several; an error is that of the one at fault."""
    try:
        evaluator.run(node, part)
    except OperatorError:
        for each in parts:
            evaluator.run(each, part)
        raise
