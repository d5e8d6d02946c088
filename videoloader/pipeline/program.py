"""A graph made ready to run: its sources opened, its stages with what they work on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from videoloader.decoding.memory import Recycler
from videoloader.errors import ArgumentError, OperatorError
from videoloader.operators.decoded import DecodedForm
from videoloader.operators.operator import Sample, Source, SourceContext
from videoloader.pipeline.compiler import CompiledStage, Step, compile_graph
from videoloader.pipeline.graph import DataNode, Graph, Node
from videoloader.pipeline.pool import sample_pool
from videoloader.pipeline.slots import Slots
from videoloader.pipeline.stages import Stage
from videoloader.pipeline.state import BatchState, Values
from videoloader.pipeline.stats import Meter, OperatorStats
from videoloader.pipeline.streams import stage_stream, wait_for
from videoloader.readers import media
from videoloader.readers.clip_decoding import SampleError, decode_planned
from videoloader.readers.decoder import LIMITS
from videoloader.readers.external import ExternalSource
from videoloader.readers.planned import Identity, PlannedClip
from videoloader.sampling import generator
from videoloader.tensors import TensorList

__all__ = ["Outputs", "Program"]


class Outputs:
    """The outputs of a batch; on a GPU they may still be in the making."""

    def __init__(self, lists: tuple[TensorList, ...], ready: Any) -> None:
        self._lists = lists
        self._ready = ready

    def deliver(self) -> tuple[TensorList, ...]:
        """The outputs, for what is queued on the current stream from here on."""
        wait_for(self._ready, (sample for each in self._lists for sample in each))
        return self._lists


class Program:
    """Makes batches. Knows nothing of queues, and of no pipeline.

    Args:
        graph: what to run.
        outputs: what a batch consists of.
        seed: of all random draws.
        num_threads: that work on samples, and for opening sources.
        gpu: torch device that "gpu" stands for.
        depth: batches made ahead; as many blocks of memory are kept for the next ones.
        fuse: let decoders do what they can of the operators behind them.
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
        fuse: bool,
    ) -> None:
        self._batch_size = graph.batch_size
        self._outputs = tuple(outputs)
        self._recyclers = [Recycler(keep=depth + 1) for _ in self._outputs]
        self._seed = seed
        self._num_threads = num_threads
        self._meter = Meter()
        self._devices = {"cpu": "cpu", "gpu": gpu, "mixed": gpu}
        self.compiled = compile_graph(graph, outputs, fuse=fuse)
        self._nodes = [
            node for stage in self.compiled for step in stage.steps for node in step.nodes
        ]
        for node in self._nodes:
            if node.device != "cpu":
                media.check_gpu(node.describe())
        self.sources: dict[str, Source] = {
            node.name: self._open(node) for node in self._nodes if node.operator.kind == "source"
        }

    def stages(self) -> list[Stage]:
        """The work of each stage, the planning of a batch first."""
        stages = [Stage("plan", lambda number, _: self._plan(number))]
        for number, compiled in enumerate(self.compiled):
            work: Callable[[BatchState, Any], Any] = functools.partial(self._run, compiled)
            name = f"{compiled.kind}-{number}"
            if compiled.kind == "plan" and number == 0:
                stages[0] = Stage("plan", self._plan_and_run)
                continue
            scope = functools.partial(self._scope, compiled, name)
            # While one batch waits for its last clips, another fills the decoders.
            stages.append(Stage(name, work, scope, threads=2 if compiled.kind == "decode" else 1))
        last = stages[-1]
        stages[-1] = replace(
            last, work=lambda item, resource: self._collect(last.work(item, resource))
        )
        return stages

    @property
    def num_fed(self) -> int | None:
        """Batches that every source that is fed by hand has had; None without such a source."""
        sources = self.sources.values()
        fed = [s.num_fed for s in sources if isinstance(s, ExternalSource) and s.is_fed]
        return min(fed) if fed else None

    @property
    def may_end(self) -> bool:
        """Whether there is a source with epochs that end; those of readers go on for ever."""
        return any(isinstance(source, ExternalSource) for source in self.sources.values())

    def operator_stats(self) -> dict[str, OperatorStats]:
        """What every operator has done so far, by name."""
        return {
            node.name: replace(
                self._meter.read(node.name),
                failures=tuple(getattr(self.sources.get(node.name), "failures", ())),
            )
            for node in self._nodes
        }

    def reset(self) -> None:
        """Begin the next epoch of every source."""
        for source in self.sources.values():
            source.reset()

    def _open(self, node: Node) -> Source:
        own = node.constants.get("seed")
        context = SourceContext(
            node.name,
            node.stage,
            self._seed if own in (None, -1) else int(own or 0),
            self._batch_size,
            self._num_threads,
        )
        skipped = ("seed", *node.operator.decoding)
        arguments = {key: value for key, value in node.constants.items() if key not in skipped}
        source: Source = node.operator.run(context, **arguments)
        return source

    def _plan_and_run(self, iteration: int, resource: Any) -> BatchState:
        """Plan a batch, and send it through the first stage."""
        return self._run(self.compiled[0], self._plan(iteration), resource)

    def _plan(self, iteration: int) -> BatchState:
        """What every source puts into a batch."""
        items: dict[Node, Sequence[Any]] = {}
        for node in self._nodes:
            if node.name in self.sources:
                try:
                    items[node] = self.sources[node.name].plan(iteration)
                except StopIteration:
                    raise
                except Exception as error:
                    raise _failure(node, iteration, None, "", error) from error
        if len({len(planned) for planned in items.values()}) > 1:
            sizes = ", ".join(f"{node.name}: {len(planned)}" for node, planned in items.items())
            raise OperatorError(
                f"batch {iteration}: sources give different numbers of samples ({sizes})"
            )
        count = len(next(iter(items.values()), range(self._batch_size)))
        first = iteration * self._batch_size
        state = BatchState(
            iteration,
            [Identity(first + position) for position in range(count)],
            [""] * count,
            [{} for _ in range(count)],
            [Slots(count, recycler) for recycler in self._recyclers],
        )
        for node, planned in reversed(items.items()):  # of several readers the first tells
            if node.operator.decoding:
                state.planned[node.ordinal] = planned
                state.identities = [clip.identity for clip in planned]
                state.origins = [str(clip) for clip in planned]
                continue
            for values, outputs in zip(state.values, planned, strict=True):
                values[node.ordinal] = outputs
        return state

    @contextmanager
    def _scope(self, compiled: CompiledStage, name: str) -> Iterator[Any]:
        """What the thread of a stage works with: a pool of threads, or a stream."""
        on_gpu = compiled.kind == "gpu" or any(
            step.node.device in ("gpu", "mixed") for step in compiled.steps
        )
        if compiled.kind == "cpu":
            with sample_pool(self._num_threads, f"videoloader-{name}") as pool:
                yield pool
        else:
            with stage_stream(self._devices["gpu"] if on_gpu else "cpu") as stream:
                yield stream

    def _run(self, compiled: CompiledStage, state: BatchState, resource: Any) -> BatchState:
        """Send a batch through a stage."""
        on_gpu = isinstance(resource, torch.cuda.Stream)
        if on_gpu:
            wait_for(state.ready, state.tensors(), resource)
        if compiled.kind == "cpu":
            resource.run(functools.partial(self._run_sample, compiled.steps, state), len(state))
        else:
            for step in compiled.steps:
                self._run_step(step, state)
        if on_gpu:
            state.ready = resource.record_event()
        state.drop(compiled.dropped)
        return state

    def _run_step(self, step: Step, state: BatchState) -> None:
        """Run a step for the whole batch."""
        if step.node.operator.decoding:
            self._decode(step, state)
        elif step.node.operator.kind != "source" and not self._run_block(step.node, state):
            for position in range(len(state)):
                self._run_sample((step,), state, position)

    def _run_sample(self, steps: Sequence[Step], state: BatchState, position: int) -> None:
        """Run one sample through steps."""
        so_far = state.values[position]
        for step in steps:
            node = step.node
            try:
                with self._meter.measure(node.name):
                    if node.operator.kind == "draw":
                        outputs = self._draw(node, state.identities[position], position, so_far)
                    else:
                        outputs = self._map(node, position, so_far, state.slots)
                    so_far[node.ordinal] = self._place(node, outputs, position, state.slots)
            except Exception as error:
                origin = state.origins[position]
                raise _failure(node, state.iteration, position, origin, error) from error

    def _run_block(self, node: Node, state: BatchState) -> bool:
        """Run an operator on a whole batch in one go, if it can be; say whether it was."""
        keys = [(data.node.ordinal, data.output) for data in node.inputs]
        if not node.operator.takes_batches or node.has_own_arguments:
            return False
        if not state.blocks.keys() >= set(keys):
            return False
        samples = [
            Sample(state.blocks[key], state.values[0][key[0]][key[1]].layout) for key in keys
        ]
        try:
            with self._meter.measure(node.name, count=len(state)):
                outputs = node.operator.apply(
                    samples, dict(node.constants), self._context(node, torch.empty), leading=1
                )
        except Exception as error:
            raise _failure(node, state.iteration, None, "", error) from error
        ((block, layout),) = outputs
        state.put_block(node.ordinal, block, layout)
        return True

    def _decode(self, step: Step, state: BatchState) -> None:
        """Decode the clips of a batch, along with what its decoder does of the operators behind."""
        node, count = step.node, len(state)
        arguments = [node.arguments(position, state.values[position]) for position in range(count)]

        def fuse(position: int, form: DecodedForm) -> DecodedForm:
            for absorbed in step.absorbed:
                given = absorbed.arguments(position, state.values[position])
                operator = absorbed.operator
                try:
                    after = operator.absorb(form, given) if operator.absorb else None
                    if after is None:
                        raise ArgumentError("its arguments cannot be fused with decoding")
                except Exception as error:
                    origin = state.origins[position]
                    raise _failure(absorbed, state.iteration, position, origin, error) from error
                form = after
            return form

        clips = state.planned.pop(node.ordinal, None)
        try:
            clips = clips or [self._clip(node, state, at, arguments[at]) for at in range(count)]
            with self._meter.measure(node.name, count=count):
                decoded = decode_planned(
                    clips, self._decoder(node), arguments, fuse=fuse, output=step.output
                )
        except SampleError as error:
            cause = error.error
            if isinstance(cause, OperatorError):  # of an absorbed operator
                raise cause from cause.__cause__
            origin = state.origins[error.position]
            raise _failure(node, state.iteration, error.position, origin, cause) from cause
        if step.absorbed:
            nothing = torch.empty(0)
            for values, more in zip(state.values, decoded.others, strict=True):
                values[node.ordinal] = (Sample(nothing), *map(Sample, more))
            state.put_block(step.last.ordinal, decoded.frames, decoded.layout)
        else:
            state.put_block(node.ordinal, decoded.frames, decoded.layout, decoded.others)

    def _decoder(self, node: Node) -> media.ClipDecoder:
        device = self._devices[node.device]
        limits = {name: node.constants[name] for name in LIMITS}
        return media.clip_decoder(device, self._num_threads if device == "cpu" else None, **limits)

    def _clip(
        self, node: Node, state: BatchState, position: int, arguments: Mapping[str, Any]
    ) -> PlannedClip:
        """The clip that a decoding operator takes of its input."""
        (data,) = node.inputs
        value = state.values[position][data.node.ordinal][data.output].value
        given = {k: v for k, v in arguments.items() if k not in node.operator.decoding}
        try:
            planned: PlannedClip = node.operator.run(value, **given)
        except Exception as error:
            raise SampleError(position, error) from error
        state.origins[position] = state.origins[position] or str(planned)
        return planned

    def _draw(
        self, node: Node, identity: Identity, position: int, so_far: Values
    ) -> tuple[Sample, ...]:
        arguments = node.arguments(position, so_far)
        own = arguments.pop("seed", None)
        rng = generator(
            self._seed if own in (None, -1) else own,
            stage=node.stage,
            sample=identity.sample,
            epoch=identity.epoch,
        )
        drawn = node.operator.run(rng, **arguments)
        return (Sample(drawn.to(self._devices[node.device])),)

    def _map(
        self, node: Node, position: int, so_far: Values, slots: Sequence[Slots]
    ) -> tuple[Sample, ...]:
        inputs = [so_far[data.node.ordinal][data.output] for data in node.inputs]
        context = self._context(node, self._memory(node, position, slots))
        return node.operator.apply(inputs, node.arguments(position, so_far), context)

    def _context(self, node: Node, empty: Callable[..., torch.Tensor]) -> dict[str, Any]:
        given = {"device": self._devices[node.device], "empty": empty}
        return {name: given[name] for name in node.operator.context}

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

    def _collect(self, state: BatchState) -> Outputs:
        lists = []
        for data, slot in zip(self._outputs, state.slots, strict=True):
            samples = state.samples(data.node.ordinal, data.output)
            block = state.blocks.get((data.node.ordinal, data.output))
            layout = samples[0].layout if samples else ""
            try:
                lists.append(
                    slot.collect([sample.value for sample in samples], layout)
                    if block is None
                    else TensorList(block, layout)
                )
            except ArgumentError as error:
                raise OperatorError(
                    f"{data.node.describe()} made an uneven batch: {error}"
                ) from error
        return Outputs(tuple(lists), state.ready)


def _failure(
    node: Node, iteration: int, position: int | None, origin: str, error: Exception
) -> OperatorError:
    sample = "" if position is None else f"sample {position} of "
    file = f" ({origin})" if origin and origin not in str(error) else ""
    return OperatorError(
        f"{node.describe()} failed on {sample}batch {iteration}{file}: "
        f"{type(error).__name__}: {error}"
    )
