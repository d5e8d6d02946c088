"""A compiled pipeline as a graph in Graphviz's DOT language."""

from __future__ import annotations

import json
from collections.abc import Sequence

from videoloader.dali.pipeline.graph.compiler import CompiledStage
from videoloader.dali.pipeline.graph.nodes import DataNode, Node

_COLORS = {
    "plan": "lightgrey",
    "decode": "gold",
    "cpu": "lightblue",
    "batch": "lightcyan",
    "gpu": "palegreen",
}


def to_dot(
    stages: Sequence[CompiledStage],
    outputs: Sequence[DataNode],
    *,
    show_tensors: bool,
    use_colors: bool,
) -> str:
    """The stages as boxes with their operators; a decoder and its fused operators are one box.

    Args:
        stages: of the pipeline.
        outputs: of the pipeline.
        show_tensors: draw what flows between operators as nodes too.
        use_colors: a color for each kind of stage.
    """
    lines = ["digraph pipeline {", "  rankdir=TB;", "  node [shape=box];"]
    nodes: list[Node] = []
    for number, stage in enumerate(stages):
        lines += [
            f"  subgraph cluster_{number} {{",
            f"    label={_text(f'{number}: {stage.kind}')};",
        ]
        if use_colors:
            lines.append(f"    style=filled; fillcolor={_COLORS[stage.kind]};")
        for place, step in enumerate(stage.steps):
            nodes += step.nodes
            inside = [f"{_name(node)} [label={_text(_label(node))}];" for node in step.nodes]
            if step.absorbed:
                lines.append(f"    subgraph cluster_{number}_{place} {{")
                lines.append('      label="fused"; style=dashed;')
                lines += [f"      {line}" for line in inside] + ["    }"]
            else:
                lines += [f"    {line}" for line in inside]
        lines.append("  }")
    drawn: set[str] = set()
    for node in nodes:
        for data in node.inputs:
            lines += _edges(data, _name(node), "", drawn, show_tensors=show_tensors)
        arguments = dict(node.varying)
        if node.branch is not None:
            arguments["if" if node.branch.outcome else "else"] = node.branch.predicate
        for name, data in arguments.items():
            lines += _edges(data, _name(node), name, drawn, show_tensors=show_tensors)
    for number, data in enumerate(outputs):
        lines.append(f"  output_{number} [label={_text(f'output {number}')}, shape=ellipse];")
        lines += _edges(data, f"output_{number}", "", drawn, show_tensors=show_tensors)
    return "\n".join([*lines, "}", ""])


def _edges(
    data: DataNode, end: str, argument: str, drawn: set[str], *, show_tensors: bool
) -> list[str]:
    """The edge from an operator to a user of its output."""
    label = f" [label={_text(argument)}, style=dashed]" if argument else ""
    begin = _name(data.node)
    if not show_tensors:
        if not argument and data.node.num_outputs > 1:
            label = f" [label={_text(str(data.output))}]"
        return [f"  {begin} -> {end}{label};"]
    tensor = f"tensor_{data.node.ordinal}_{data.output}"
    lines = []
    if tensor not in drawn:
        drawn.add(tensor)
        lines.append(f"  {tensor} [label={_text(f'{data.name} ({data.device})')}, shape=note];")
        lines.append(f"  {begin} -> {tensor};")
    return [*lines, f"  {tensor} -> {end}{label};"]


def _name(node: Node) -> str:
    return f"node_{node.ordinal}"


def _label(node: Node) -> str:
    return f"fn.{node.operator.name}\n{node.name}\n{node.device}, {node.where}"


def _text(text: str) -> str:
    """A string of DOT, which has the escapes of JSON."""
    return json.dumps(text, ensure_ascii=False)
