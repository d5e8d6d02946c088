"""Compiles a graph to stages: groups and orders its nodes, and fuses some into decoding."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from videoloader.dali.operators.arguments import PerSample
from videoloader.dali.operators.color.color_on_gpu import MOST_STAGES
from videoloader.dali.operators.color.color_run import color_run, name_in_run
from videoloader.dali.operators.decoded import DecodedForm
from videoloader.dali.operators.general.copy import COPY
from videoloader.dali.pipeline.graph.graph import Graph, reached
from videoloader.dali.pipeline.graph.nodes import DataNode, Node
from videoloader.decoding.output import OutputFormat
from videoloader.errors import VideoError

StageKind: TypeAlias = Literal["plan", "decode", "cpu", "batch", "gpu"]

_ORDER = ("plan", "decode", "cpu", "batch", "gpu")
_PROBE = (1 << 14, 1 << 14)  # larger than any crop: whether it fits is found out with the video


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A node to run, with the later nodes that are fused into it.

    `output` is the form in which a decoder gives pictures. `joined` runs in place of all nodes of a
    step without a decoder.
    """

    node: Node
    absorbed: tuple[Node, ...] = ()
    output: OutputFormat | None = None
    joined: Node | None = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The node, then the absorbed ones."""
        return (self.node, *self.absorbed)

    @property
    def last(self) -> Node:
        """The node whose value the pictures are."""
        return self.nodes[-1]

    def __str__(self) -> str:
        fused = "".join(f" + {node.operator.name} {node.name!r}" for node in self.absorbed)
        return f"{self.node.operator.name} {self.node.name!r}{fused}"


@dataclass(frozen=True, slots=True, eq=False)
class CompiledStage:
    """Steps that run in order.

    The threads of a pool share the samples of a batch in a `cpu` stage, and send their part
    through all its steps. The others run a whole batch step by step, in one thread.

    Attributes:
        kind: what it does.
        steps: of the stage.
        dropped: for each step the values not needed after it, by ordinal of the node and output.
    """

    kind: StageKind
    steps: tuple[Step, ...]
    dropped: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def calls_user(self) -> bool:
        """Whether it calls functions of the user's."""
        return any(node.calls_user for step in self.steps for node in step.nodes)

    @property
    def only_plans(self) -> bool:
        """Whether there is nothing to do for a batch that was planned."""
        return all(step.node.operator.kind == "source" for step in self.steps) and not any(
            self.dropped
        )

    def __str__(self) -> str:
        return f"{self.kind}: {', '.join(map(str, self.steps))}"


def compile_graph(graph: Graph, *, fuse: bool) -> tuple[CompiledStage, ...]:
    """The stages that run a graph.

    Args:
        graph: of operators.
        fuse: let decoders do what they can of the operators behind them, and one kernel what
            several colour operators do.
    """
    steps = [Step(node) for node in graph.nodes]
    if fuse:
        steps = _with_color_runs(_fused(steps, graph.outputs), graph)
    ranks = _ranks(steps)
    keys = sorted({(rank, _ORDER.index(_kind(step.node))) for step, rank in ranks.items()})
    groups = [
        [s for s, rank in ranks.items() if (rank, _ORDER.index(_kind(s.node))) == key]
        for key in keys
    ]
    last_use: dict[Node, Step] = {}
    for step in itertools.chain(*groups):
        last_use |= dict.fromkeys(step.nodes, step)
        last_use |= dict.fromkeys((data.node for data in _inputs(step)), step)
    dropped: dict[Step, list[tuple[int, int]]] = {}
    for node, step in last_use.items():
        values = [(node.ordinal, output) for output in range(node.num_outputs)]
        dropped.setdefault(step, []).extend(values)
    return tuple(
        CompiledStage(
            _kind(group[0].node),
            tuple(group),
            tuple(tuple(sorted(dropped.get(step, ()))) for step in group),
        )
        for group in groups
    )


def _kind(node: Node) -> StageKind:
    if node.operator.decoding or (node.operator.in_workers and node.device == "cpu"):
        return "decode"
    is_first = not node.inputs and node.branch is None and node.device == "cpu"
    if node.operator.kind == "source" or (is_first and not node.calls_user):
        return "plan"
    from_gpu = node.operator is COPY and node.inputs[0].device == "gpu"
    if node.device in ("gpu", "mixed") or from_gpu:
        return "gpu"
    return "batch" if node.operator.takes_whole_batch(node.constants) else "cpu"


def _inputs(step: Step) -> list[DataNode]:
    """The inputs of a step that other steps make."""
    own = {node.ordinal for node in step.nodes}
    taken = [data for node in step.nodes for data in node.sources]
    return [data for data in taken if data.node.ordinal not in own]


def _ranks(steps: Sequence[Step]) -> dict[Step, int]:
    """How many changes of kind lie before each step."""
    ranks: dict[Step, int] = {}
    maker = {node.ordinal: step for step in steps for node in step.nodes}
    waiting = list(steps)
    while waiting:  # a fused step may take arguments that are defined behind its first node
        for step in waiting:
            makers = {maker[data.node.ordinal] for data in _inputs(step)}
            if not makers <= ranks.keys():
                continue
            rank = max((ranks[each] for each in makers), default=0)
            alike = all(
                ranks[each] < rank or _kind(each.node) == _kind(step.node) for each in makers
            )
            ranks[step] = rank if alike else rank + 1
        waiting = [step for step in waiting if step not in ranks]
    return ranks


def _fused(steps: Sequence[Step], outputs: Sequence[DataNode]) -> list[Step]:
    """The steps, each decoder with the operators behind it that it can do."""
    users: dict[tuple[int, int], list[Node]] = {}
    for step in steps:
        for data in step.node.sources:
            users.setdefault((data.node.ordinal, data.output), []).append(step.node)
    given = {(data.node.ordinal, data.output) for data in outputs}
    absorbed: set[Node] = set()
    fused = []
    for step in steps:
        if step.node in absorbed:
            continue
        chain: list[Node] = []
        form = _decoded_form(step.node)
        last = step.node
        while step.node.operator.decoding and (last.ordinal, 0) not in given:
            following = users.get((last.ordinal, 0), [])
            after = _absorbed(following[0], last, form) if len(following) == 1 else None
            if after is None or _needs_pictures(following[0], step.node):
                break
            if step.node.constants.get("clips_per_decode", 1) > 1 and _varies(following[0]):
                # Clips of later batches are decoded too, whose arguments are not known yet.
                break
            chain.append(following[0])
            last, form = following[0], after
        absorbed.update(chain)
        fused.append(Step(step.node, tuple(chain), form.output))
    return fused


def _with_color_runs(steps: Sequence[Step], graph: Graph) -> list[Step]:
    """The steps, with one for the operators of each run of colour operators."""
    runs = {run[0]: run for run in _color_runs(graph)}
    taken = {node for run in runs.values() for node in run[1:]}
    return [
        Step(step.node, runs[step.node][1:], joined=_joined(runs[step.node]))
        if step.node in runs
        else step
        for step in steps
        if step.node not in taken
    ]


def _color_runs(graph: Graph) -> list[tuple[Node, ...]]:
    """Two or more operators to run as one, whose intermediate values are not needed."""
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


def _joined(nodes: Sequence[Node]) -> Node:
    """One node in place of several, with the output of the last and the name of the first.

    The graph keeps the nodes that it joins; it is itself in no graph.
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


def _decoded_form(node: Node) -> DecodedForm:
    """The form of the pictures that a decoder gives by itself."""
    form = DecodedForm.of(_PROBE, node.constants)
    is_resized = "size" in node.varying or node.constants.get("size") is not None
    return replace(form, is_resized=is_resized)


def _absorbed(node: Node, before: Node, form: DecodedForm) -> DecodedForm | None:
    """The form behind an operator, if the decoder that gives the form before can do it."""
    operator = node.operator
    if operator.absorb is None or form.is_finished or node.inputs[0].node is not before:
        return None
    if node.branch != before.branch:
        return None
    given_on_gpu = before.device in ("gpu", "mixed")
    if given_on_gpu != (node.device == "gpu"):
        return None
    per_sample = {k for k, v in node.constants.items() if isinstance(v, PerSample)}
    per_sample |= node.varying.keys()
    if any(map(node.is_per_frame, (*node.constants, *node.varying))):
        return None
    if not per_sample <= set(operator.absorbed_per_sample):
        return None
    arguments = {argument.name: argument.default for argument in operator.arguments}
    arguments |= {k: v for k, v in node.constants.items() if k not in per_sample}
    try:
        return operator.absorb(form, arguments)
    except VideoError:  # it will say so with the video at hand, and name the sample
        return None


def _varies(node: Node) -> bool:
    """Whether an argument may differ between samples."""
    return bool(node.varying) or any(isinstance(v, PerSample) for v in node.constants.values())


def _needs_pictures(node: Node, decoder: Node) -> bool:
    """Whether an argument of a node depends on the decoder's output."""
    return decoder in reached([data.node for data in node.varying.values()])
