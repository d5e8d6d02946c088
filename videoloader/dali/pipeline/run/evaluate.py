"""Runs one node of a graph on samples of a batch."""

from __future__ import annotations

import sysconfig
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from videoloader.dali.operators.applying import apply_operator
from videoloader.dali.operators.conditional import MERGE, check_alike, kind_of
from videoloader.dali.operators.context import Context, SampleError
from videoloader.dali.pipeline.graph.nodes import DataNode, Node
from videoloader.dali.pipeline.run.batch_state import BatchState, Part, Positions, taken
from videoloader.dali.pipeline.run.profiling import OutputMemory
from videoloader.dali.pipeline.run.run_options import RunOptions
from videoloader.dali.readers.video.planned import Identity
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.decoding.attempts import Attempts
from videoloader.decoding.failures import Failures
from videoloader.decoding.memory import Recycler
from videoloader.errors import (
    ArgumentError,
    OperatorArgumentError,
    OperatorError,
    TooManyFailuresError,
    VideoError,
)
from videoloader.machinery.runtime.monitor import Meter
from videoloader.machinery.system.callers import PACKAGE
from videoloader.sampling import generator
from videoloader.sources.items import Item

_LIBRARIES = (PACKAGE, sysconfig.get_path("stdlib"), "<frozen")
"""Where code lies that users did not write."""


class Evaluator:
    """Runs the maps of a graph."""

    def __init__(
        self,
        options: RunOptions,
        outputs: Sequence[DataNode],
        meter: Meter,
        memory: OutputMemory | None,
        recyclers: Sequence[Recycler],
        failures: Mapping[str, Failures],
    ) -> None:
        self._options = options
        self._given = {
            data.node.ordinal: [each for each in enumerate(outputs) if each[1].node is data.node]
            for data in outputs
        }
        """Outputs of the pipeline with their numbers, by the ordinal of their node."""
        self._meter = meter
        self._memory = memory
        self._recyclers = recyclers
        self._failures = failures
        self._effects = threading.Lock()  # functions of the user's run one at a time

    def run(self, node: Node, part: Part) -> None:
        """Run a map on the samples that are in its branch; its outputs are then values."""
        try:
            if node.operator.has_effects:
                with self._effects:
                    self._run(node, part)
            else:
                self._run(node, part)
        except SampleError as error:
            position = part.positions(node.branch)[error.position]
            origin = origin_of(node, part, error.position) or part.state.origins[position]
            own = error.error
            if isinstance(own, TooManyFailuresError):
                raise own from own.__cause__
            raise operator_error(node, part.state.iteration, position, origin, own) from own
        except Exception as error:
            raise self._blamed(node, part, error) from error

    def _run(self, node: Node, part: Part) -> None:
        begin = time.perf_counter()
        positions = part.positions(node.branch)
        count = len(positions)
        if count or node.branch is None:
            attempts = self._attempts(node, positions) if node.operator.notes_failures else None
            outputs = self._apply(node, part, positions, attempts)
            if attempts is not None and attempts.left_out:
                chosen = attempts.chosen
                part.state.keep(chosen, self._recyclers)
                outputs = tuple(taken(batch, chosen) for batch in outputs)
                part = part.state.whole()
        else:
            outputs = (Batch([]),) * node.num_outputs
        self.put(node, outputs, part)
        self._meter.add(node.name, count, time.perf_counter() - begin)

    def _attempts(self, node: Node, positions: Positions) -> Attempts[int] | None:
        """At the samples of an operator that notes failures; None where no policy is followed."""
        failures = self._failures.get(node.name)
        if failures is None:
            return None
        failures.ask(len(positions))
        return Attempts(failures, positions)

    def run_joined(self, node: Node, parts: Sequence[Node], part: Part) -> None:
        """Run a node that joins several; an error names the one at fault."""
        try:
            self.run(node, part)
        except OperatorError:
            for each in parts:
                self.run(each, part)
            raise

    def gives(self, node: Node) -> bool:
        """Whether outputs of the pipeline are outputs of a node."""
        return node.ordinal in self._given

    def put(self, node: Node, outputs: Sequence[Batch], part: Part) -> None:
        """Take the outputs of a node, and write outputs of the pipeline into their slots."""
        for number, batch in enumerate(outputs):
            part.values[node.ordinal, number] = batch
        if self._memory is not None:
            self._memory.count(node.name, outputs, part.state.iteration)
        given = self._given.get(node.ordinal)
        if not given:
            return
        slots, kept = part.state.slots, part.state.kept
        owned = {*range(len(outputs))} if node.operator.owns_outputs else set()
        for at, data in given:
            if data.branch is None:
                is_own = data.output in owned
                slots[at].place(part.start, outputs[data.output], slots, kept, is_own=is_own)
                owned.discard(data.output)  # the next one gets a copy
            else:
                slots[at].keep(part.start, outputs[data.output])

    def _apply(
        self, node: Node, part: Part, positions: Positions, attempts: Attempts[int] | None = None
    ) -> tuple[Batch, ...]:
        operator = node.operator
        arguments = node.arguments(positions, part.value)
        given = self._given.get(node.ordinal)
        context = Context(
            len(positions),
            self._options.torch_device(node.device),
            workers=self._options.num_threads,
            inferred=node.inferred,
        )
        if attempts is not None:
            context.note_failure = partial(_note_failure, node, part, attempts)
        if operator.draws:
            arguments = dict(arguments)
            seed = arguments.pop("seed", None)
            identities = part.state.identities
            context.random = partial(self._generator, node, identities, positions, seed)
        if given:
            context.allocate = partial(_result, given, part)
        inputs = list(map(part.value, node.inputs))
        outputs = apply_operator(operator, context, inputs, arguments)
        if operator is MERGE:
            _check_merged(node, outputs[0], part.state)
        return outputs

    def _generator(
        self,
        node: Node,
        identities: Sequence[Identity],
        positions: Positions,
        seed: int | None,
        position: int,
        into: np.random.Generator | None = None,
    ) -> np.random.Generator:
        identity = identities[positions[position]]
        if seed in (None, -1):
            seed, stage = self._options.seed, node.stage
        else:
            stage = 0  # operators with one seed draw the same numbers
        return generator(seed, stage=stage, sample=identity.sample, epoch=identity.epoch, into=into)

    def _blamed(self, node: Node, part: Part, error: Exception) -> OperatorError:
        """The error, naming the first sample that also fails when run alone."""
        state = part.state
        positions: Positions = ()
        origins: Sequence[str] = ()
        if not node.operator.takes_whole_batch(node.constants):
            try:
                positions = part.positions(node.branch)
                named = [origin_of(node, part, at) for at in range(len(positions))]
                pairs = zip(named, positions, strict=True)
                origins = [name or state.origins[position] for name, position in pairs]
            except VideoError:  # a predicate is wrong
                positions = range(part.start, part.stop)
                origins = state.origins[part.start : part.stop]
        for position, origin in zip(positions, origins, strict=True):
            try:
                self._apply(node, part.alone(position, node), [position])
            except Exception as own:  # noqa: BLE001  (it is reported)
                return operator_error(node, state.iteration, position, origin, own)
        return operator_error(node, state.iteration, None, "", error)


def origin_of(node: Node, part: Part, at: int) -> str:
    """The file that one of the samples of a node comes from, "" where its inputs do not say."""
    infos = [part.value(data).source_info for data in node.inputs]
    return next((info[at] for info in infos if info and info[at]), "")


def _result(given: Sequence[tuple[int, DataNode]], part: Part, output: int, spec: Spec) -> Batch:
    """Where a result is written: its place in the batch if the pipeline gives it out."""
    for at, data in given:
        if data.output == output and data.branch is None:
            return part.state.slots[at].empty(part.start, spec)
    return Batch.empty(spec)


def _note_failure(
    node: Node, part: Part, attempts: Attempts[int], place: int, error: VideoError
) -> None:
    """Have the policy decide on a sample; see `Context.note_failure`."""
    identity = part.state.identities[attempts.wanted[place]]
    item = Item(origin_of(node, part, place) or "<encoded data>")
    try:
        attempts.note_failure(place, item, error, sample=identity.sample, epoch=identity.epoch)
    except Exception as last:
        raise SampleError(place, last) from last


def _check_merged(node: Node, merged: Batch, state: BatchState) -> None:
    """Fail if parts of a batch are merged to different types: each alone may have one side only."""
    if len(merged):
        kind = kind_of(merged.spec)
        check_alike(state.merged.setdefault(node.ordinal, kind), kind)


def operator_error(
    node: Node, iteration: int, position: int | None, origin: str, error: Exception
) -> OperatorError:
    """The error of a node, with the samples that it was working on."""
    place = _place(error)
    sample = "" if position is None else f"sample {position} of "
    file = f" ({origin})" if origin and origin not in str(error) else ""
    kind = OperatorArgumentError if isinstance(error, ArgumentError) else OperatorError
    failed = kind(
        f"{node.describe()} failed on {sample}batch {iteration}{file}: "
        f"{type(error).__name__}: {error}{place}"
    )
    failed.sample = position
    return failed


def _place(error: Exception) -> str:
    """The line of the user's own code where an error was raised, if it went through any."""
    place = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if not file.startswith(_LIBRARIES) and "site-packages" not in file:
            place = f" ({Path(file).name}:{line} in {frame.f_code.co_name})"
    return place
