"""Operators in the definition of a pipeline: `Node`, its outputs `DataNode`, and `Branch`.

A new node belongs to no pipeline, wherever it is made; `Graph.collect` adopts it.

A data node in a branch has values only for the samples for which a predicate is true, or false.
Branches nest: the predicate of an inner one is itself in the outer one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from videoloader.dali.operators.arguments import PerFrame, PerSample
from videoloader.dali.operators.arithmetic.arithmetic import ARITHMETIC
from videoloader.dali.operators.conditional import MERGE
from videoloader.dali.operators.context import Inferred
from videoloader.dali.operators.general.copy import COPY, PER_FRAME
from videoloader.dali.operators.operator import Operator
from videoloader.dali.pipeline.graph.current import current_eager, current_pipeline
from videoloader.dali.tensors import TensorList
from videoloader.dali.tensors.batch import Batch
from videoloader.dali.types import Operand
from videoloader.errors import ArgumentError
from videoloader.machinery.system.callers import frame_of_user

_numbers = itertools.count()


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One side of a condition.

    Attributes:
        predicate: a bool for each sample of the branch around this one.
        outcome: what the predicate is for the samples of this branch.
    """

    predicate: DataNode
    outcome: bool

    @property
    def parent(self) -> Branch | None:
        """The branch around this one; None for all samples."""
        return self.predicate.branch

    @property
    def path(self) -> tuple[Branch, ...]:
        """The branches around it, the outermost first, and itself."""
        return (*(self.parent.path if self.parent else ()), self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Branch) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return f"`{'if' if self.outcome else 'else'}` of {self.predicate.node.where}"

    @property
    def _key(self) -> tuple[object, ...]:
        # Data nodes of one output are equal here; `==` of them is an operator.
        return (self.predicate.node, self.predicate.output, self.outcome, self.parent)


class Values(Protocol):
    """The outputs so far of the nodes of a definition in debug mode."""

    def value(self, data: DataNode) -> Batch:
        """The values of a data node for the samples of its branch."""


@dataclass(frozen=True, slots=True, eq=False)
class DataNode(Operand):
    """One output of an operator in a graph: a batch, once the pipeline runs.

    Pass it on to operators: as an input, or as an argument, which then has its own value for
    each sample. In a `branch` of a condition it has values for the samples of that branch.

    >>> from videoloader.dali import Pipeline, fn
    >>> with Pipeline(batch_size=2):
    ...     images = fn.zeros(shape=[4, 6])
    ...     images, images * 2 + 1
    (DataNode('zeros', device='cpu'), DataNode('arithmetic_1', device='cpu'))
    """

    node: Node
    output: int
    device: str
    branch: Branch | None = None

    @property
    def name(self) -> str:
        """Name of the operator, and the number of the output if there are several."""
        many = self.node.num_outputs > 1
        return f"{self.node.name}[{self.output}]" if many else self.node.name

    @property
    def source(self) -> Node:
        """The operator whose output this is."""
        return self.node

    def within(self, branch: Branch | None) -> DataNode:
        """The same data for the samples of a branch, which has to lie in its own."""
        if branch == self.branch:
            return self
        _check_within(self.branch, branch, self.name)
        return DataNode(self.node, self.output, self.device, branch)

    def get(self) -> TensorList:
        """The values, in a definition that runs in debug mode; see docs/dali/conditionals.md."""
        if self.node.part is None:
            raise ArgumentError(
                f"{self.name} has no value while the pipeline is defined; it has in debug mode: "
                "@pipeline.experimental.pipeline_def(debug=True)"
            )
        return TensorList(self.node.part.value(self))

    def shape(self, **arguments: Any) -> Any:
        """The sizes of every sample: a data node, or in debug mode without arguments a list."""
        if self.node.part is not None and not arguments:
            return self.get().shape()
        return Operand.shape(self, **arguments)

    def gpu(self) -> DataNode:
        """The same data on the GPU."""
        return self._copied("gpu")

    def cpu(self) -> DataNode:
        """The same data on the CPU."""
        return self._copied("cpu")

    def _copied(self, device: str) -> DataNode:
        if device == self.device:
            return self
        return add_node(COPY, (self,), {}, {}, device)[0]

    def __repr__(self) -> str:
        return f"DataNode({self.name!r}, device={self.device!r})"

    def __str__(self) -> str:
        """In debug mode with the values."""
        return repr(self) if self.node.part is None else f"{self!r}: {self.get()}"


@dataclass(slots=True, eq=False)
class Node:
    """An operator in a graph.

    Attributes:
        operator: what it runs.
        inputs: its inputs.
        constants: its converted arguments, the same for all samples or `PerSample`.
        varying: the data nodes that give its other arguments.
        device: "cpu", "gpu" or "mixed".
        num_outputs: of its outputs.
        where: file and line of the call that made it.
        branch: the samples that it runs on; None for all.
        name: as given; else its operator's until it is adopted, then with its ordinal.
        listed: the `PerSample`s among its constants.
        number: grows with every node that is made; inputs have lower ones than their users.
        ordinal: its place in the graph that adopted it, -1 before.
        stage: its place there among the operators that draw random numbers; others do not count.
        owner: the pipeline that adopted it.
        is_detached: whether it was made outside of definitions; any number of pipelines may then
            have it, each but the first a copy.
        part: in debug mode the values of the batch that it ran on.
    """

    operator: Operator
    inputs: tuple[DataNode, ...]
    constants: Mapping[str, Any]
    varying: Mapping[str, DataNode]
    device: str
    num_outputs: int
    where: str
    branch: Branch | None
    name: str
    is_named: bool
    listed: tuple[str, ...]
    number: int = field(default_factory=_numbers.__next__)
    ordinal: int = -1
    stage: int = -1
    owner: object = None
    is_detached: bool = field(default_factory=lambda: current_pipeline() is None)
    part: Values | None = None
    repeated: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Its constants by number of samples, with a `PerSample` for each that may be per sample."""
    inferred: dict[int, Inferred] | None = field(init=False)
    """See `Context`; None where outputs depend on more than inputs and constants."""

    def __post_init__(self) -> None:
        depends = self.listed or self.varying or self.operator.draws
        calls = any(map(callable, self.constants.values()))  # such as a function of the user's
        self.inferred = None if depends or calls else {}

    @property
    def outputs(self) -> tuple[DataNode, ...]:
        """The data nodes of its outputs."""
        placed = "gpu" if self.device == "mixed" else self.device
        outputs = tuple(DataNode(self, at, placed, self.branch) for at in range(self.num_outputs))
        if self.operator.kind == "source":  # it runs for all samples, wherever it is called
            return tuple(data.within(current_branch()) for data in outputs)
        return outputs

    @property
    def sources(self) -> tuple[DataNode, ...]:
        """All data nodes that it takes, and the predicates that say for which samples."""
        taken = (*self.inputs, *self.varying.values())
        branches = {each for data in taken for each in _path_of(data.branch)}
        branches.update(_path_of(self.branch))
        return (*taken, *(each.predicate for each in branches)) if branches else taken

    @property
    def calls_user(self) -> bool:
        """Whether it calls a function of the user's."""
        return self.operator.has_effects and any(map(callable, self.constants.values()))

    def describe(self) -> str:
        """The operator, its name and the line of the definition, for errors."""
        return f"fn.{self.operator.name} {self.name!r} ({self.where})"

    def arguments(
        self, positions: Sequence[int], value_of: Callable[[DataNode], Batch]
    ) -> Mapping[str, Any]:
        """Arguments of the node for some samples of a batch, converted.

        Args:
            positions: of the samples.
            value_of: gives the values of a data node for these samples.
        """
        constants = self.repeated.get(len(positions))
        if constants is None:
            constants = self.repeated[len(positions)] = self._constants_for(len(positions))
        if not self.listed and not self.varying:
            return constants
        arguments = dict(constants)
        for name in self.listed:
            values = self.constants[name].values
            arguments[name] = PerSample(tuple(values[position] for position in positions))
        for name, data in self.varying.items():
            declared, batch = self.operator.argument(name), value_of(data)
            is_per_frame = batch.layout.startswith("F")
            convert = declared.convert_frames if is_per_frame else declared.convert
            values = batch.samples if batch.block is None else batch.block.tolist()
            arguments[name] = PerSample(
                tuple(convert(value, self.operator.name) for value in values)
            )
        return arguments

    def _constants_for(self, count: int) -> dict[str, Any]:
        """The constants for some samples; kept, as there are few different numbers of them."""
        per_sample = self.operator.per_sample
        return {
            name: PerSample((value,) * count)
            if name in per_sample and not isinstance(value, PerSample)
            else value
            for name, value in self.constants.items()
        }

    def is_per_frame(self, argument: str) -> bool:
        """Whether an argument has a value for each frame."""
        if argument in self.varying:
            return _counts_frames(self.varying[argument])
        value = self.constants[argument]
        return isinstance(value, PerSample) and any(isinstance(v, PerFrame) for v in value)


def _counts_frames(data: DataNode) -> bool:
    """Whether a node comes from `fn.per_frame`, through operators that keep the first dimension."""
    operator = data.node.operator
    if operator is PER_FRAME:
        return True
    passes_on = any(operator is each for each in (COPY, *ARITHMETIC.values()))
    return passes_on and any(map(_counts_frames, data.node.inputs))


_CURRENT: ContextVar[Branch | None] = ContextVar("videoloader_branch", default=None)


def current_branch() -> Branch | None:
    """The branch that a definition is in."""
    return _CURRENT.get()


@contextmanager
def inside(branch: Branch | None) -> Iterator[None]:
    """Let operators that are called in the block run on the samples of a branch."""
    token = _CURRENT.set(branch)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def _path_of(branch: Branch | None) -> tuple[Branch, ...]:
    """The branches around a branch, the outermost first, and itself; none for all samples."""
    return branch.path if branch else ()


def _deepest(branches: Iterable[Branch | None], what: str) -> Branch | None:
    """The innermost of some branches, which have to lie within one another."""
    inner = max(branches, key=lambda each: len(_path_of(each)), default=None)
    for each in branches:
        _check_within(each, inner, what)
    return inner


def _check_within(outer: Branch | None, inner: Branch | None, what: str) -> None:
    """Fail if a branch does not contain another one."""
    path = _path_of(outer)
    if _path_of(inner)[: len(path)] != path:
        raise ArgumentError(
            f"{what} takes data of different branches ({outer}; {inner or 'all samples'}): they "
            "have different samples; merge them first"
        )


class Outputs(list[DataNode]):
    """The outputs of one operator: a list, as in DALI, that a definition may return as it is."""


def make_node(
    operator: Operator,
    inputs: tuple[DataNode, ...],
    constants: Mapping[str, Any],
    varying: Mapping[str, DataNode],
    device: str,
    name: str | None = None,
) -> Node:
    """Make a node; further nodes take its `outputs`.

    Args:
        operator: what it runs.
        inputs: its inputs.
        constants: bound arguments; see `Operator.bind`.
        varying: data nodes that give the other arguments.
        device: where it runs.
        name: unique in its pipeline; one is made by default.
    """
    for data in varying.values():
        if data.device != "cpu":
            raise ArgumentError(
                f"fn.{operator.name}: {data.name} is on the GPU; arguments come from the CPU"
            )
    if operator is MERGE:  # its inputs are in branches of its own
        branch = varying["predicate"].branch
    else:
        taken = (*inputs, *varying.values())
        what = f"fn.{operator.name}"
        here = None if operator.kind == "source" else current_branch()
        branch = _deepest((here, *(data.branch for data in taken)), what)
        inputs = tuple(data.within(branch) for data in inputs)
        varying = {key: data.within(branch) for key, data in varying.items()}
    node = Node(
        operator,
        inputs,
        constants,
        varying,
        device,
        operator.count_outputs(constants, len(inputs)),
        place_of_call(),
        branch,
        operator.name.rpartition(".")[2] if name is None else name,
        name is not None,
        tuple(key for key, value in constants.items() if isinstance(value, PerSample)),
    )
    eager = current_eager()
    if eager is not None:
        eager.node_made(node)
    return node


def add_node(*description: Any) -> tuple[DataNode, ...]:
    """Make a node and give its outputs; see `make_node`."""
    return make_node(*description).outputs


def place_of_call() -> str:
    """File and line of the definition: the nearest frame outside this package."""
    frame = frame_of_user()
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
