"""A graph made ready to run: its sources opened, its operators in stages, one batch a call.

Neighbouring operators on the CPU form one stage, whose samples run through all of them as jobs
of a thread pool; operators on the GPU are launched from the calling thread, sample after sample.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from itertools import groupby
from typing import Any

import torch

from videoloader.errors import ArgumentError, OperatorError
from videoloader.indexing.address import shown
from videoloader.memory import Recycler
from videoloader.ops import media
from videoloader.ops.external import ExternalSource
from videoloader.ops.operator import Sample, Source, SourceContext
from videoloader.pipeline.graph import DataNode, Graph, Node
from videoloader.pipeline.slots import Slots
from videoloader.pipeline.stats import Meter, OperatorStats
from videoloader.sampling import generator
from videoloader.tensors import TensorList

__all__ = ["Program"]

Values = dict[int, Sequence[Sample]]


class Program:
    """Runs a graph batch by batch. Knows nothing of queues, and of no pipeline.

    Args:
        graph: what to run.
        outputs: what a batch consists of.
        seed: of all random draws.
        num_threads: for opening sources.
        gpu: torch device that "gpu" stands for.
        depth: batches made ahead; as many blocks of memory are kept for the next ones.
    """

    def __init__(
        self,
        graph: Graph,
        outputs: Sequence[DataNode],
        *,
        seed: int,
        num_threads: int,
        gpu: str,
        depth: int,
    ) -> None:
        self._graph = graph
        self._outputs = tuple(outputs)
        self._recyclers = [Recycler(keep=depth + 1) for _ in self._outputs]
        self._seed = seed
        self._meter = Meter()
        self._devices = {"cpu": "cpu", "gpu": gpu, "mixed": gpu}
        for node in graph.nodes:
            if node.device != "cpu":
                media.check_gpu(node.describe())
        self.sources: dict[str, Source] = {}
        for node in graph.nodes:
            if node.operator.kind == "source":
                self.sources[node.name] = self._open(node, num_threads)
        self._stages = [
            (on_gpu, list(nodes))
            for on_gpu, nodes in groupby(graph.nodes, key=lambda node: node.device == "gpu")
        ]

    def _open(self, node: Node, num_threads: int) -> Source:
        own = node.constants.get("seed")
        context = SourceContext(
            node.name,
            node.stage,
            self._seed if own in (None, -1) else int(own or 0),
            self._graph.batch_size,
            num_threads,
            self._devices[node.device],
        )
        arguments = {name: value for name, value in node.constants.items() if name != "seed"}
        source: Source = node.operator.run(context, **arguments)
        return source

    def is_ready(self) -> bool:
        """Whether every source that is fed by hand has a batch."""
        fed = (source for source in self.sources.values() if isinstance(source, ExternalSource))
        return all(source.num_fed > 0 for source in fed if source.is_fed)

    @property
    def may_end(self) -> bool:
        """Whether there is a source with epochs that end; those of readers go on for ever."""
        return any(isinstance(source, ExternalSource) for source in self.sources.values())

    def stats(self) -> dict[str, OperatorStats]:
        """What every operator has done so far, by name."""
        return {
            node.name: replace(
                self._meter.read(node.name),
                failures=tuple(getattr(self.sources.get(node.name), "failures", ())),
            )
            for node in self._graph.nodes
        }

    def reset(self) -> None:
        """Begin the next epoch of every source."""
        for source in self.sources.values():
            source.reset()

    def run(self, iteration: int, pool: Executor) -> tuple[TensorList, ...]:
        """Make batch `iteration`.

        Args:
            iteration: number of the batch; sources see them in order.
            pool: runs the samples.

        Raises:
            OperatorError: an operator failed; names it, the batch and the sample.
            StopIteration: a source has no more data.
        """
        items = self._plan(iteration)
        count = len(next(iter(items.values()), range(self._graph.batch_size)))
        values: list[Values] = [{} for _ in range(count)]
        slots = [Slots(count, recycler) for recycler in self._recyclers]
        for on_gpu, nodes in self._stages:
            stage = functools.partial(self._run_stage, iteration, nodes, items, values, slots)
            if on_gpu:
                for position in range(count):
                    stage(position)
            else:
                _run_all(pool, stage, count)
        return tuple(
            self._collect(data, [value[data.node.ordinal][data.output] for value in values], slot)
            for data, slot in zip(self._outputs, slots, strict=True)
        )

    def _plan(self, iteration: int) -> dict[int, Sequence[Any]]:
        """What every source puts into the batch."""
        items = {}
        for node in self._graph.nodes:
            if node.name in self.sources:
                try:
                    items[node.ordinal] = self.sources[node.name].plan(iteration)
                except StopIteration:
                    raise
                except Exception as error:
                    raise _failure(node, iteration, None, "", error) from error
        if len({len(planned) for planned in items.values()}) > 1:
            sizes = ", ".join(
                f"{self._graph.nodes[at].name}: {len(planned)}" for at, planned in items.items()
            )
            raise OperatorError(
                f"batch {iteration}: sources give different numbers of samples ({sizes})"
            )
        return items

    def _run_stage(
        self,
        iteration: int,
        nodes: Sequence[Node],
        items: Mapping[int, Sequence[Any]],
        values: Sequence[Values],
        slots: Sequence[Slots],
        position: int,
    ) -> None:
        """Run one sample through the operators of a stage."""
        so_far = values[position]
        for node in nodes:
            try:
                with self._meter.measure(node.name):
                    if node.ordinal in items:
                        outputs = self._read(node, items[node.ordinal][position])
                    elif node.operator.kind == "draw":
                        outputs = self._draw(node, iteration, position, so_far)
                    else:
                        outputs = self._map(node, position, so_far, slots)
                    so_far[node.ordinal] = self._place(node, outputs, position, slots)
            except Exception as error:
                origin = _origin(items, position)
                raise _failure(node, iteration, position, origin, error) from error

    def _read(self, node: Node, item: Any) -> tuple[Sample, ...]:
        outputs = self.sources[node.name].read(item)
        device = self._devices[node.device]
        if device == "cpu":
            return outputs
        return tuple(Sample(value.to(device), layout) for value, layout in outputs)

    def _draw(
        self, node: Node, iteration: int, position: int, so_far: Values
    ) -> tuple[Sample, ...]:
        arguments = node.arguments(position, so_far)
        own = arguments.pop("seed", None)
        rng = generator(
            self._seed if own in (None, -1) else own,
            stage=node.stage,
            sample=iteration * self._graph.batch_size + position,
        )
        drawn = node.operator.run(rng, **arguments)
        return (Sample(drawn.to(self._devices[node.device])),)

    def _map(
        self, node: Node, position: int, so_far: Values, slots: Sequence[Slots]
    ) -> tuple[Sample, ...]:
        inputs = [so_far[data.node.ordinal][data.output] for data in node.inputs]
        context: dict[str, Any] = {}
        if "device" in node.operator.context:
            context["device"] = self._devices[node.device]
        if "empty" in node.operator.context:
            context["empty"] = self._memory(node, position, slots)
        return node.operator.apply(inputs, node.arguments(position, so_far), context)

    def _memory(
        self, node: Node, position: int, slots: Sequence[Slots]
    ) -> Callable[..., torch.Tensor]:
        """Where a result is written: its place in the batch if the pipeline gives it out."""
        for data, slot in zip(self._outputs, slots, strict=True):
            if data.node is node:
                return functools.partial(slot.empty, position)
        return torch.empty

    def _place(
        self, node: Node, outputs: tuple[Sample, ...], position: int, slots: Sequence[Slots]
    ) -> tuple[Sample, ...]:
        placed = list(outputs)
        for data, slot in zip(self._outputs, slots, strict=True):
            if data.node is node:
                value, layout = outputs[data.output]
                if not isinstance(value, torch.Tensor):
                    raise ArgumentError(
                        f"an output of a pipeline is a tensor, not a {type(value).__name__}"
                    )
                placed[data.output] = Sample(slot.place(position, value), layout)
        return tuple(placed)

    def _collect(self, data: DataNode, samples: Sequence[Sample], slot: Slots) -> TensorList:
        try:
            return slot.collect([sample.value for sample in samples], samples[0].layout)
        except ArgumentError as error:
            raise OperatorError(f"{data.node.describe()} made an uneven batch: {error}") from error


def _run_all(pool: Executor, job: Callable[[int], None], count: int) -> None:
    """Run the job for every sample; the error of the first sample that failed, if any."""
    futures: list[Future[None]] = [pool.submit(job, position) for position in range(count)]
    failure: BaseException | None = None
    for future in futures:
        try:
            future.result()
        except BaseException as error:  # noqa: BLE001  (raised below, when no sample runs any more)
            failure = failure or error
            for other in futures:
                other.cancel()
    if failure is not None:
        raise failure


def _origin(items: Mapping[int, Sequence[Any]], position: int) -> str:
    """The file that a sample comes from, where a source knows it."""
    for planned in items.values():
        path = getattr(planned[position], "path", None)
        if path is not None:
            return shown(str(path))
    return ""


def _failure(
    node: Node, iteration: int, position: int | None, origin: str, error: Exception
) -> OperatorError:
    sample = "" if position is None else f"sample {position} of "
    file = f" ({origin})" if origin and origin not in str(error) else ""
    return OperatorError(
        f"{node.describe()} failed on {sample}batch {iteration}{file}: "
        f"{type(error).__name__}: {error}"
    )
