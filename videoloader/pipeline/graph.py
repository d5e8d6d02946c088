"""The graph that a pipeline definition draws: operator nodes, and data nodes between them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import videoloader.operators
import videoloader.readers.decoder
import videoloader.readers.external
import videoloader.readers.video  # noqa: F401  (importing these declares the operators)
from videoloader.errors import ArgumentError
from videoloader.operators.arguments import PerFrame, PerSample
from videoloader.operators.batch import Batch
from videoloader.operators.general import COPY, PER_FRAME
from videoloader.operators.operator import OPERATORS, Operator

__all__ = ["DataNode", "Graph", "Node", "current_graph", "defining", "is_defining"]

_PACKAGE = str(Path(__file__).resolve().parents[1])


@dataclass(frozen=True, slots=True, eq=False)
class DataNode:
    """What will flow from one output of an operator: a batch, once the pipeline runs.

    Pass it on to operators: as an input, or as an argument, which then has its own value for
    each sample.
    """

    node: Node
    output: int
    device: str

    @property
    def name(self) -> str:
        """Name of the operator, and the number of the output if there are several."""
        many = self.node.num_outputs > 1
        return f"{self.node.name}[{self.output}]" if many else self.node.name

    def gpu(self) -> DataNode:
        """The same data on the GPU."""
        return self._copied("gpu")

    def cpu(self) -> DataNode:
        """The same data on the CPU."""
        return self._copied("cpu")

    def _copied(self, device: str) -> DataNode:
        if device == self.device:
            return self
        return current_graph(f"{self.name}.{device}()").add(COPY, (self,), {}, {}, device)[0]

    def __getitem__(self, index: Any) -> DataNode:
        """Index every sample: `clips[::2]` has every second frame of each clip."""
        operator = OPERATORS["subscript"]
        constants = operator.bind({"index": index})
        graph = current_graph(f"{self.name}[...]")
        return graph.add(operator, (self,), constants, {}, self.device)[0]

    def __iter__(self) -> Iterator[DataNode]:
        raise ArgumentError(f"{self.name} is one data node, it cannot be unpacked")

    def __bool__(self) -> bool:
        raise ArgumentError(
            f"{self.name} has no value while the pipeline is defined; pass it to operators"
        )

    def __repr__(self) -> str:
        return f"DataNode({self.name!r}, device={self.device!r})"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An operator in a graph.

    `constants` are its converted arguments, the same for all samples or `PerSample`; `varying`
    are the data nodes that give the others. `ordinal` is its place in the graph, `stage` its place
    among the operators that draw random numbers: copies and the like shift nobody's draws.
    """

    operator: Operator
    ordinal: int
    stage: int
    name: str
    inputs: tuple[DataNode, ...]
    constants: Mapping[str, Any]
    varying: Mapping[str, DataNode]
    device: str
    num_outputs: int
    where: str

    def describe(self) -> str:
        """The operator, its name and the line of the definition, for errors."""
        return f"fn.{self.operator.name} {self.name!r} ({self.where})"

    def arguments(
        self, start: int, stop: int, value_of: Callable[[DataNode], Batch]
    ) -> dict[str, Any]:
        """Its arguments for samples `start` to `stop` of a batch, converted.

        Args:
            start: first sample.
            stop: behind the last one.
            value_of: gives the values of a data node for these samples.
        """
        arguments = {
            name: PerSample(value.values[start:stop]) if isinstance(value, PerSample) else value
            for name, value in self.constants.items()
        }
        for name, data in self.varying.items():
            declared, batch = self.operator.argument(name), value_of(data)
            convert = declared.convert_sample if self.is_per_frame(name) else declared.convert
            values = batch.samples if batch.block is None else batch.block.tolist()
            arguments[name] = PerSample(
                tuple(convert(value, self.operator.name) for value in values)
            )
        return arguments

    def is_per_frame(self, argument: str) -> bool:
        """Whether an argument has a value for each frame."""
        if argument in self.varying:
            return self.varying[argument].node.operator is PER_FRAME
        value = self.constants[argument]
        return isinstance(value, PerSample) and any(isinstance(v, PerFrame) for v in value)


@dataclass(slots=True)
class Graph:
    """Operator nodes in the order of their calls, which is an order to run them in."""

    batch_size: int
    nodes: list[Node] = field(default_factory=list)

    def add(
        self,
        operator: Operator,
        inputs: tuple[DataNode, ...],
        constants: Mapping[str, Any],
        varying: Mapping[str, DataNode],
        device: str,
        name: str | None = None,
    ) -> tuple[DataNode, ...]:
        """Append an operator and give its outputs."""
        ordinal = len(self.nodes)
        short = operator.name.rpartition(".")[2]
        name = f"{short}_{ordinal}" if name is None else name
        if any(node.name == name for node in self.nodes):
            raise ArgumentError(f"two operators are named {name!r}; names must be unique")
        for data in (*inputs, *varying.values()):
            if data.node.ordinal >= ordinal or self.nodes[data.node.ordinal] is not data.node:
                raise ArgumentError(f"{data.name} belongs to another pipeline")
        for data in varying.values():
            if data.device != "cpu":
                raise ArgumentError(
                    f"fn.{operator.name}: {data.name} is on the GPU; arguments come from the CPU"
                )
        for argument, value in constants.items():
            if isinstance(value, PerSample) and len(value) != self.batch_size:
                raise ArgumentError(
                    f"fn.{operator.name}: {argument} has {len(value)} values "
                    f"for a batch of {self.batch_size}"
                )
        count = operator.num_outputs(constants)
        stage = sum(node.operator.has_draws for node in self.nodes)
        node = Node(
            operator, ordinal, stage, name, inputs, constants, varying, device, count, _caller()
        )
        self.nodes.append(node)
        placed = "gpu" if device == "mixed" else device
        return tuple(DataNode(node, output, placed) for output in range(count))


_GRAPHS: ContextVar[Graph | None] = ContextVar("videoloader_graph", default=None)


def current_graph(what: str = "") -> Graph:
    """The graph being defined; `ArgumentError` outside of a definition if `what` needs one."""
    graph = _GRAPHS.get()
    if graph is None:
        raise ArgumentError(f"{what} belongs in the definition of a pipeline (@pipeline_def)")
    return graph


def is_defining() -> bool:
    """Whether a pipeline is being defined."""
    return _GRAPHS.get() is not None


@contextmanager
def defining(graph: Graph) -> Iterator[None]:
    """Collect the operators called inside the block in a graph."""
    token = _GRAPHS.set(graph)
    try:
        yield
    finally:
        _GRAPHS.reset(token)


def _caller() -> str:
    """File and line of the definition: the nearest frame outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
