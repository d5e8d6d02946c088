"""A graph made ready to run: its sources are opened and its stages have their parts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeGuard

import torch

from videoloader.dali.operators.batch_source import Columns
from videoloader.dali.operators.context import Sample
from videoloader.dali.operators.general.copy import COPY
from videoloader.dali.pipeline.graph.compiler import CompiledStage, Step, compile_graph
from videoloader.dali.pipeline.graph.graph import Graph
from videoloader.dali.pipeline.graph.nodes import Node
from videoloader.dali.pipeline.run.batch_state import BatchState, Part, Slots
from videoloader.dali.pipeline.run.checkpoint import Checkpoint, epochs_after, readers
from videoloader.dali.pipeline.run.evaluate import Evaluator, operator_error
from videoloader.dali.pipeline.run.open_readers import NOTHING, Planned, Sources
from videoloader.dali.pipeline.run.pool import (
    SampleSharing,
    cpus_near_gpu,
    pci_address,
    sample_pool,
    thread_cpus,
)
from videoloader.dali.pipeline.run.profiling import Mark, OutputMemory, nvtx_ranges
from videoloader.dali.pipeline.run.run_options import RunOptions
from videoloader.dali.pipeline.run.step_decoder import StepDecoder
from videoloader.dali.readers.video import media
from videoloader.dali.readers.video.planned import Numbered, ReadSample
from videoloader.dali.tensors.batch import Batch
from videoloader.decoding.failures import Failures
from videoloader.decoding.memory import Recycler
from videoloader.errors import ArgumentError, OperatorError
from videoloader.machinery.cuda.streams import (
    ConsumerStream,
    stage_stream,
    stream_here,
    torch_is_plain,
)
from videoloader.machinery.runtime.monitor import Meter, Monitor
from videoloader.machinery.runtime.run_stats import OperatorStats, RunStats
from videoloader.machinery.runtime.stage_thread import Stage
from videoloader.machinery.workers.python_pool import PythonPool
from videoloader.sampling.orders.reader_epochs import Epochs


class Program:
    """Makes batches. Knows nothing of queues, and of no pipeline."""

    def __init__(self, graph: Graph, options: RunOptions, python_pool: PythonPool | None) -> None:
        self.options = options
        self._outputs = graph.outputs
        self._recyclers = [Recycler(keep=options.depth + 1) for _ in self._outputs]
        self.compiled = compile_graph(graph, fuse=options.fuse)
        self._nodes = [
            node for stage in self.compiled for step in stage.steps for node in step.nodes
        ]
        self._failures: dict[str, Failures] = {}  # of operators that decode, by name
        has_branches = any(node.branch is not None for node in self._nodes)
        reason = "the samples of `if` and `else` keep their places" if has_branches else ""
        for node in self._nodes:
            self._take_failures(node, reason)
        self.sources = Sources(options, python_pool)
        for node in self._nodes:
            if node.operator.kind == "source":
                self.sources.open(node)
        self.sources.start_workers()  # before anything below, which may use CUDA: they may be forks
        on_gpu = [node for node in self._nodes if node.device != "cpu"]
        for node in on_gpu:
            _check_gpu(node)
        first = self.compiled[0] if self.compiled else None
        self._only_plans = first is not None and first.only_plans
        self._mark = nvtx_ranges(uses_gpu=bool(on_gpu))
        self.meter = Meter()
        self.memory = OutputMemory() if options.with_memory else None
        self._evaluator = Evaluator(
            options, self._outputs, self.meter, self.memory, self._recyclers, self._failures
        )
        self._decoder = StepDecoder(
            options, self._evaluator, self.meter, self._recyclers, self._failures
        )
        self._sharing = SampleSharing(options.num_threads)
        is_pinned = options.set_affinity
        near = cpus_near_gpu(pci_address(options.gpu)) if is_pinned and on_gpu else ()
        self._cpus = thread_cpus(options.num_threads, near) if is_pinned else ()

    def stages(self) -> list[Stage]:
        """The work of each stage, the planning of a batch first."""
        stages = self._planning_stages()
        for number, compiled in enumerate(self.compiled):
            if number == 0 and compiled.kind == "plan":
                continue
            work: Callable[[BatchState, Any], Any] = functools.partial(self._run, compiled)
            name = f"{compiled.kind}-{number}"
            scope = functools.partial(self._scope, compiled, name)
            # While one batch waits for its last clips, another fills the decoders.
            threads = 2 if compiled.kind == "decode" else 1
            is_callers = not self.options.is_async and compiled.calls_user
            has_own = self._cpus or is_callers
            is_little = None if has_own else functools.partial(self._sharing.is_little, compiled)
            stages.append(Stage(name, work, scope, threads, is_little, is_callers))
        last = stages[-1]
        stages[-1] = replace(
            last, work=lambda item, resource: self._collect(last.work(item, resource))
        )
        return stages

    def _planning_stages(self) -> list[Stage]:
        """The stages that plan a batch; Python sources run in the thread of the caller."""
        first = self.compiled[0] if self.compiled else None
        has_more = first is not None and first.kind == "plan"
        has_work = has_more and not (self._only_plans and self._mark is None)
        plan = self._plan_and_run if has_work else self.plan
        asked = self.sources.asked
        if not asked:
            return [Stage("plan", lambda number, _: plan(number))]
        is_little = len(asked) == len(self.sources) and (self._only_plans or not has_more)
        is_little &= all(node.device == "cpu" for node in asked)
        return [
            Stage("sources", lambda number, _: (number, self.sources.ask(number)), is_callers=True),
            Stage(
                "plan",
                lambda given, _: plan(*given),
                is_little=torch_is_plain if is_little else None,
            ),
        ]

    @property
    def here(self) -> Callable[[], ConsumerStream | None] | None:
        """Gives the stream for running all stages in the thread that takes the batches.

        None if they must not: they may only where nothing is made ahead, and all that they do is
        to queue work on a GPU.
        """
        is_queued = {compiled.kind for compiled in self.compiled} == {"plan", "gpu"}
        if not (is_queued and self.sources.only_repeat) or self.has_effects:
            return None
        return functools.partial(stream_here, torch.device(self.options.gpu).index or 0)

    def close(self) -> None:
        """End worker processes."""
        self.sources.close()

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return len(self._outputs)

    @property
    def has_effects(self) -> bool:
        """Whether functions of the user's see the batches."""
        return any(node.operator.has_effects for node in self._nodes)

    @property
    def epochs(self) -> dict[str, Epochs]:
        """Division of the samples of each reader, by its name."""
        return {name: reader.order.epochs for name, reader in readers(self.sources).items()}

    def epochs_after(self, state: Checkpoint) -> dict[str, Epochs]:
        """The same for readers that resume a run with the same or other shards.

        Raises:
            ArgumentError: the state is of other readers.
        """
        if self.sources.may_end or not state.readers:
            state.check(self.options.batch_size)
        return epochs_after(readers(self.sources), state, beside_sources=self.sources.may_end)

    def go_on(self, state: Checkpoint) -> None:
        """Resume sources from a state."""
        going_on = readers(self.sources)
        for name, epochs in self.epochs_after(state).items():
            going_on[name].go_on(epochs)
        self.sources.resume(state.epoch, state.epoch_start)

    def failures(self) -> dict[str, Failures]:
        """The failure logs of readers and decoders, by name."""
        return {**self.sources.failures(), **self._failures}

    def engines(self) -> dict[str, int]:
        """The kinds of the decoders, see `RunStats`."""
        found: dict[str, int] = {}
        for node in self._nodes:
            if node.operator.decoding:
                found |= self._decoder.decoder(node).engines()
        return found

    def operator_stats(self) -> dict[str, OperatorStats]:
        """The statistics of every operator so far, by name."""
        failures = self.failures()
        return {
            node.name: replace(
                self.meter.read(node.name),
                failures=failures[node.name].pairs() if node.name in failures else (),
            )
            for node in self._nodes
        }

    def stats(self, runner: RunStats, monitor: Monitor) -> RunStats:
        """The statistics since `monitor` began."""
        return replace(
            runner,
            operators=self.operator_stats(),
            samples=monitor.samples,
            first_samples=monitor.first_samples,
            work=self.meter.work,
            engines=self.engines(),
            errors=sum(failures.count for failures in self.failures().values()),
        ).since(monitor.before)

    def add(self, node: Node) -> None:
        """Add a node that `run_node` runs, outside of stages."""
        if node.device != "cpu":
            _check_gpu(node)
        self._take_failures(node, "debug mode keeps all samples of a batch")
        self._nodes.append(node)

    def run_node(self, node: Node, part: Part) -> None:
        """Run one node on a whole batch, here and now."""
        self._step_runner()(Step(node), part)

    def _take_failures(self, node: Node, reason: str) -> None:
        """Handle failures of an operator that decodes samples, as the pipeline's policy says.

        Args:
            node: of any operator.
            reason: why no sample can leave the batch; "" where it can.

        Raises:
            ArgumentError: the policy cannot be followed.
        """
        policy, operator = self.options.errors, node.operator
        if operator.kind != "decode" and not operator.notes_failures:
            return
        if reason and policy.on_error in ("skip", "replace"):
            raise ArgumentError(
                f'{node.describe()}: on_error="{policy.on_error}" of the pipeline cannot be '
                f'followed, since {reason}; use on_error="mask" or "raise" here, and give '
                f'on_error="{policy.on_error}" to readers that are to take it'
            )
        self._failures[node.name] = Failures(policy)

    def _plan_and_run(self, iteration: int, asked: Planned = NOTHING) -> BatchState:
        """Plan a batch, and send it through the first stage."""
        return self._run(self.compiled[0], self.plan(iteration, asked), None)

    def plan(self, iteration: int, asked: Planned = NOTHING) -> BatchState:
        """Draw the samples of a batch from every source."""
        items = self.sources.planned_by_all(iteration, asked)
        counts = {*map(len, items.values())} or {self.options.batch_size}
        if len(counts) > 1:
            sizes = ", ".join(f"{node.name}: {len(planned)}" for node, planned in items.items())
            raise OperatorError(
                f"batch {iteration}: sources give different numbers of samples ({sizes})"
            )
        state = self.new_state(iteration, *counts)
        read: list[Sequence[ReadSample]] = []
        for node in reversed([*items]):  # the first reader names samples
            planned = items[node]
            self.take(node, planned, state)
            if not isinstance(planned, Columns) and _has_samples(planned):
                read.append(planned)
        if read:
            self._leave_out(read, state)
        return state

    def _leave_out(self, lists: Sequence[Sequence[ReadSample]], state: BatchState) -> None:
        """Go on without the samples that a reader could not read."""
        out = {at for planned in lists for at, sample in enumerate(planned) if sample.is_left_out}
        if len(out) == len(state):
            raise OperatorError(
                f"batch {state.iteration}: its readers together left out every sample"
            )
        if out:
            state.keep([at for at in range(len(state)) if at not in out], self._recyclers)

    def new_state(self, iteration: int, count: int) -> BatchState:
        """An empty batch of `count` samples."""
        first = iteration * self.options.batch_size
        return BatchState(
            iteration,
            Numbered(first, count),
            [""] * count,
            [Slots(count, recycler) for recycler in self._recyclers],
        )

    def take(self, node: Node, planned: Sequence[Any] | Columns, state: BatchState) -> None:
        """Put the samples that a source has planned into a batch."""
        if not isinstance(planned, Columns):
            if node.operator.decoding:
                state.planned[node.ordinal] = planned
                state.identities = [clip.identity for clip in planned]
                state.origins = [str(clip) for clip in planned]
                return
            if _has_samples(planned):
                state.identities = [sample.identity for sample in planned]
                state.origins = [sample.origin for sample in planned]
                planned = [sample.outputs for sample in planned]
        try:
            if isinstance(planned, Columns):
                if not self._outputs:  # a definition in debug mode sees the values themselves
                    planned = planned.own()
                columns: Sequence[Batch] = planned.batches
                state.kept += planned.kept
            else:
                columns = [_column(column) for column in zip(*planned, strict=True)]
            self._evaluator.put(node, columns, state.whole())
        except ArgumentError as error:
            raise operator_error(node, state.iteration, None, "", error) from error
        is_placed = not isinstance(planned, Columns) or self._evaluator.gives(node)
        if node.device == "gpu" and is_placed:
            stream = torch.cuda.current_stream(self.options.gpu)
            state.hold_for(stream)  # copies to outputs were queued
            state.ready = stream.record_event()

    @contextmanager
    def _scope(self, compiled: CompiledStage, name: str) -> Iterator[Any]:
        """The resource of a stage's thread: a pool of threads, or a stream."""
        on_gpu = compiled.kind == "gpu" or any(
            step.node.device in ("gpu", "mixed") for step in compiled.steps
        )
        if compiled.kind == "cpu":
            threads = f"videoloader-{name}"
            with sample_pool(self.options.num_threads, threads, self._cpus) as pool:
                yield pool
        else:
            with stage_stream(self.options.gpu if on_gpu else "cpu") as stream:
                yield stream

    def _run(self, compiled: CompiledStage, state: BatchState, resource: Any) -> BatchState:
        """Send a batch through a stage."""
        if self._mark is None:
            return self._run_stage(compiled, state, resource)
        with self._mark(f"{compiled.kind} {state.iteration}"):
            return self._run_stage(compiled, state, resource)

    def _run_stage(self, compiled: CompiledStage, state: BatchState, resource: Any) -> BatchState:
        run_step = self._step_runner()
        is_here = isinstance(resource, ConsumerStream)
        stream = resource.stream if is_here else resource
        on_gpu = is_here or isinstance(stream, torch.cuda.Stream)
        if on_gpu:
            if state.ready is not None:
                stream.wait_event(state.ready)
            state.hold_for(stream)
        if compiled.kind == "cpu":
            self._sharing.run(compiled, state, resource, run_step)
        else:
            whole = state.whole()
            for step, dropped in zip(compiled.steps, compiled.dropped, strict=True):
                run_step(step, whole)
                if state.places is not None and len(state) != whole.stop:  # samples were left out
                    whole = state.whole()
                whole.drop(dropped)
        if on_gpu and not is_here:
            state.ready = stream.record_event()
        return state

    def _step_runner(self) -> Callable[[Step, Part], None]:
        """The function that sends a part of a batch, or a whole one, through a step."""
        if self._mark is None:
            return self._run_step
        return functools.partial(self._run_marked, self._mark)

    def _run_marked(self, mark: Mark, step: Step, part: Part) -> None:
        with mark(step.node.name):
            self._run_step(step, part)

    def _run_step(self, step: Step, part: Part) -> None:
        operator = step.node.operator
        if operator.decoding:
            self._decoder.run(step, part.state)
        elif step.joined is not None:
            self._evaluator.run_joined(step.joined, step.nodes, part)
        elif operator.kind == "map":
            self._evaluator.run(step.node, part)

    def _collect(self, state: BatchState) -> BatchState:
        lists = []
        for data, slot in zip(self._outputs, state.slots, strict=True):
            try:
                lists.append(slot.collect())
            except ArgumentError as error:
                raise OperatorError(
                    f"{data.node.describe()} made an uneven batch: {error}"
                ) from error
        state.finish(tuple(lists))
        return state


def _column(samples: Sequence[Sample]) -> Batch:
    """One output of a source."""
    info = [sample.source_info for sample in samples]
    batch = Batch([each.value for each in samples], samples[0].layout, info if any(info) else ())
    dtypes = [tensor.dtype for tensor in batch.tensors()]
    for position, dtype in enumerate(dtypes):
        if dtype != dtypes[0]:  # it would become the other type in the memory of an output
            raise ArgumentError(
                f"the samples of a batch have one element type: sample 0 has {dtypes[0]}, "
                f"sample {position} has {dtype}"
            )
    return batch


def _has_samples(planned: Sequence[Any]) -> TypeGuard[Sequence[ReadSample]]:
    """Whether a reader of stored samples has planned them."""
    return isinstance(planned[0], ReadSample)


def _check_gpu(node: Node) -> None:
    """`NoGpuError` unless there is a GPU for a node."""
    instead = ["drop the call of gpu()"] if node.operator is COPY else []
    media.check_gpu(node.describe(), *instead)
