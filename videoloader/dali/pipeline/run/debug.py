"""Debug mode: the definition runs for every batch, and its data nodes have values meanwhile."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from videoloader.dali.operators.general.copy import COPY
from videoloader.dali.pipeline.graph.current import Definer, pop_current, push_current
from videoloader.dali.pipeline.graph.nodes import (
    DataNode,
    Node,
    current_branch,
    inside,
    place_of_call,
)
from videoloader.dali.pipeline.graph.promotion import promote, returned
from videoloader.dali.pipeline.run.batch_state import BatchState, Part
from videoloader.dali.pipeline.run.program import Program
from videoloader.dali.tensors import TensorList
from videoloader.dali.tensors.batch import Batch
from videoloader.errors import ArgumentError, OperatorError, UnsupportedError
from videoloader.machinery.runtime.run_stats import RunStats
from videoloader.machinery.system.forking import ForkSafeLock, in_turn


class DebugRun:
    """Runs a definition for every batch, each operator when it is called.

    Nothing runs ahead and nothing is fused. Operators are told apart by the order of their calls:
    it stays the same from batch to batch, and so do arguments that are not data nodes.

    It is to a pipeline in debug mode what `StagedRun` is to others, and has the same methods.

    Args:
        program: of an empty graph; gets the operators as they are called.
        definition: calls operators and returns the outputs.
        pipeline: whose definition it is.
    """

    next_batch = 0
    """Nothing goes on from a batch."""

    def __init__(self, program: Program, definition: Callable[[], Any], pipeline: Definer) -> None:
        self.program = program
        self._definition = definition
        self._pipeline = weakref.ref(pipeline)
        self._turn = ForkSafeLock()
        self._calls: list[_Call] = []
        self._place = 0
        self._iteration = self._count_of_outputs = 0
        self._batch: BatchState | None = None
        self._ahead: list[tuple[TensorList, ...]] = []
        self._waiting: dict[str, list[tuple[Any, str | None, Any]]] = {}

    @property
    def num_outputs(self) -> int:
        """Number of outputs; runs the first batch, if that has not run yet."""
        self._run_first()
        return self._count_of_outputs

    def reader_metas(self) -> dict[str, dict[str, Any]]:
        """Size and sharding of each reader; runs the first batch, if that has not run yet."""
        self._run_first()
        return self.program.sources.metas()

    def feed(self, name: str, data: Any, layout: str | None, stream: Any) -> None:
        """Queue a batch for an external source; before the first batch too."""
        if self._calls or name in self.program.sources:
            self.program.sources.fed_source(name).feed(data, layout, stream)
        else:
            self._waiting.setdefault(name, []).append((data, layout, stream))

    def feed_all(self, batches: Mapping[str, Any]) -> None:
        """Queue a batch for each of several sources, or for none if one refuses its own."""
        self.program.sources.feed(batches)

    def schedule(self, setup: Callable[[], None]) -> None:
        """Does nothing: nothing runs ahead."""

    @in_turn
    def take(self) -> tuple[TensorList, ...]:
        """Run the definition and give its outputs, one `TensorList` for each."""
        if self._ahead:
            return self._ahead.pop()
        self._batch, self._place = self.program.plan(self._iteration), 0
        pipeline = self._pipeline()
        assert pipeline is not None
        push_current(pipeline, self)
        try:
            with inside(None):
                outputs = self._definition()
                self._iteration += 1
                outputs = returned(outputs)
                lists = tuple(self._output(value, at) for at, value in enumerate(outputs))
        except StopIteration:
            raise
        except BaseException:
            self._iteration += self._iteration == self._batch.iteration
            raise
        finally:
            pop_current()
            self._batch = None
        self._count_of_outputs = len(lists)
        return lists

    def num_samples(self, count: int) -> int:
        """As many: no sample is left out."""
        return count

    def is_empty(self) -> bool:
        """Always True: nothing is scheduled."""
        return True

    def reset(self) -> bool:
        """Begin the next epoch of external sources; whether there are any."""
        sources = self.program.sources
        if sources.may_end:
            sources.reset()
        return sources.may_end

    def stats(self) -> RunStats:
        """Empty statistics: there are no stages."""
        return RunStats()

    def close(self) -> None:
        """End the worker processes of sources."""
        self.program.close()

    def node_made(self, node: Node) -> None:
        """Run an operator that was called, if the definition is running."""
        if self._batch is None:
            return
        for data in node.sources:  # made before the definition ran, or for an earlier batch
            part = data.node.part
            if not isinstance(part, Part) or part.state is not self._batch:
                self.node_made(data.node)
        is_new = self._take_place(node)
        if node.operator.kind == "source":
            self._take_source(node)
        if is_new:
            self.program.add(self._calls[-1].node)
        node.part = self._batch.whole()
        self.program.run_node(node, node.part)

    def inject(self, value: Any) -> DataNode | None:
        """The data node of a batch that the definition has at hand; None for anything else."""
        if self._batch is None:
            return None
        if not isinstance(value, TensorList):
            is_array = isinstance(value, np.ndarray | torch.Tensor) and value.ndim > 0
            is_list = isinstance(value, list | tuple) and all(
                isinstance(each, np.ndarray | torch.Tensor) for each in value
            )
            if not (is_array or is_list) or len(value) != self._count():
                return None
            value = TensorList(value)
        if len(value) != self._count():
            raise ArgumentError(
                f"a batch of {len(value)} samples is passed to an operator; it runs on "
                f"{self._count()}"
            )
        device = "gpu" if value.device.type == "cuda" else "cpu"
        branch = current_branch()
        node = Node(
            COPY, (), {}, {}, device, 1, place_of_call(), branch, "batch", is_named=False, listed=()
        )
        self._take_place(node)
        node.part = self._batch.whole()
        node.part.values[node.ordinal, 0] = Batch(value.batch.data, value.layout())
        return DataNode(node, 0, device, branch)

    def _run_first(self) -> None:
        """Run the first batch, since its outputs are asked about; `run` returns it."""
        if not self._calls:
            self._ahead.append(self.take())

    def _count(self) -> int:
        """Samples of the branch that the definition is in."""
        assert self._batch is not None
        return len(self._batch.whole().positions(current_branch()))

    def _take_place(self, node: Node) -> bool:
        """Give a node the ordinal of its call; whether no batch had this call yet."""
        place, self._place = self._place, self._place + 1
        node.ordinal = place
        is_new = place == len(self._calls)
        if is_new:
            node.stage = sum(each.node.operator.has_draws for each in self._calls)
            if not node.is_named:
                node.name = f"{node.name}_{place}"
            elif any(each.node.name == node.name for each in self._calls):
                raise ArgumentError(f"two operators are named {node.name!r}; names must be unique")
            self._calls.append(_Call.of(node))
            return True
        first = self._calls[place]
        first.check(node)
        node.stage, node.name = first.node.stage, first.node.name
        return False

    def _take_source(self, node: Node) -> None:
        """Open a source that is called for the first time, and put its samples into the batch."""
        program, batch = self.program, self._batch
        assert batch is not None
        if node.name in program.sources:
            return
        *before, bare = [each.node for each in self._calls]
        program.sources.open(bare)
        if program.sources.parallel:
            raise UnsupportedError(
                f"{node.describe()}: debug mode runs sources in this process; leave parallel out"
            )
        for data, layout, stream in self._waiting.pop(node.name, []):
            self.feed(node.name, data, layout, stream)
        planned = program.sources.planned(node, batch.iteration)
        if len(planned) != len(batch):
            if batch.values:
                raise OperatorError(
                    f"{node.describe()} gives {len(planned)} samples, operators before it have "
                    f"run on {len(batch)}: call sources before other operators"
                )
            self._batch = batch = program.new_state(batch.iteration, len(planned))
        identities, origins = batch.identities, batch.origins
        program.take(node, planned, batch)
        if any(each.operator.decoding and each.name in program.sources for each in before):
            batch.identities, batch.origins = identities, origins  # of several readers the first

    def _output(self, value: Any, at: int) -> TensorList:
        if isinstance(value, TensorList):
            return value
        return promote(value, f"output {at}").get()


class _Call(NamedTuple):
    """A call of the first batch: its node without data, and the form that later calls must have."""

    node: Node
    form: tuple[object, ...]

    @classmethod
    def of(cls, node: Node) -> _Call:
        bare = replace(node, inputs=(), varying={}, branch=None, part=None)
        return cls(bare, cls._form(node))

    @staticmethod
    def _form(node: Node) -> tuple[object, ...]:
        return node.device, len(node.inputs), frozenset(node.varying)

    def check(self, node: Node) -> None:
        """Fail if a call at this place differs."""
        first = self.node
        if node.operator is not first.operator or (node.is_named and node.name != first.name):
            raise ArgumentError(
                f"{node.describe()} is called where the first batch called {first.describe()}: in "
                "debug mode every batch calls the same operators in the same order"
            )
        if self._form(node) != self.form:
            raise ArgumentError(f"{node.describe()} has other inputs or another device than before")
        for name, value in node.constants.items():
            if not _is_same(value, first.constants.get(name)):
                raise ArgumentError(
                    f"{node.describe()}: {name} has changed from {first.constants.get(name)!r} to "
                    f"{value!r}; in debug mode what is not a data node stays the same"
                )


def _is_same(value: Any, first: Any) -> bool:
    if callable(value) or value is first:
        return True  # the definition may create the function for each batch
    if isinstance(value, torch.Tensor | np.ndarray):
        return type(value) is type(first) and bool(np.array_equal(value, first, equal_nan=True))
    try:
        return bool(value == first) or value != value
    except (TypeError, ValueError, RuntimeError):
        return True  # a source of data that cannot be compared
