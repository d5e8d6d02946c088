"""Runs the decoding operators of a graph: clips in, frames out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from videoloader.dali.operators.arguments import PerSample
from videoloader.dali.operators.context import SampleError
from videoloader.dali.operators.decoded import DecodedForm
from videoloader.dali.operators.limits import LIMITS
from videoloader.dali.pipeline.graph.compiler import Step
from videoloader.dali.pipeline.graph.nodes import DataNode, Node
from videoloader.dali.pipeline.run.batch_state import BatchState, Part
from videoloader.dali.pipeline.run.evaluate import Evaluator, operator_error, origin_of
from videoloader.dali.pipeline.run.run_options import RunOptions
from videoloader.dali.readers.video import media
from videoloader.dali.readers.video.clip_decoding import DecoderSetup, decode_planned
from videoloader.dali.readers.video.planned import PlannedClip
from videoloader.dali.tensors.batch import Batch
from videoloader.decoding.failures import Failures
from videoloader.decoding.memory import Recycler
from videoloader.errors import ArgumentError, OperatorError, TooManyFailuresError
from videoloader.machinery.runtime.monitor import Meter
from videoloader.sources.items import Item

if TYPE_CHECKING:
    from videoloader.decoding.batch_decoder import BatchDecoder


class StepDecoder:
    """Runs steps whose operator decodes."""

    def __init__(
        self,
        options: RunOptions,
        evaluator: Evaluator,
        meter: Meter,
        recyclers: Sequence[Recycler],
        failures: Mapping[str, Failures],
    ) -> None:
        self._options = options
        self._evaluator = evaluator
        self._meter = meter
        self._recyclers = recyclers
        self._setups: dict[str, DecoderSetup] = {}  # by the name of the node
        self._failures = failures

    def run(self, step: Step, state: BatchState) -> None:
        """Decode the clips of a batch, and run the operators fused into the decoder."""
        node, whole = step.node, state.whole()
        positions = whole.positions(node.branch)
        count = len(positions)
        if not count:
            for each in {node, step.last}:
                self._evaluator.put(each, [Batch([])] * each.num_outputs, whole)
            return
        arguments = [self._arguments(node, whole, at) for at in range(count)]
        clips = state.planned.pop(node.ordinal, None)
        try:
            if not clips:
                clips = [self._clip(node, whole, at, arguments[at]) for at in range(count)]
                self._failures[node.name].ask(count)
            with self._meter.measure(node.name, count=count):
                decoded = decode_planned(
                    clips,
                    self._setup(step, arguments[0]),
                    arguments,
                    fuse=partial(self._fused, step, whole),
                )
        except SampleError as error:
            cause = error.error
            # Of an absorbed operator, or the end of the run.
            if isinstance(cause, OperatorError | TooManyFailuresError):
                raise cause from cause.__cause__
            position = positions[error.position]
            origin = str(clips[error.position]) if clips else ""
            origin = origin or origin_of(node, whole, error.position) or state.origins[position]
            raise operator_error(node, state.iteration, position, origin, cause) from cause
        self._meter.add_work(decoded.work)
        if decoded.places != [*range(count)]:
            state.keep(decoded.places, self._recyclers)
            whole = state.whole()
        given = [whole.value(data).source_info for data in node.inputs]
        frames, *others = decoded.outputs
        frames.source_info = next(filter(any, [*given, frames.source_info]), ())
        try:
            if step.absorbed:
                nothing = Batch([torch.empty(0)] * len(frames))
                self._evaluator.put(node, [nothing, *others], whole)
                self._evaluator.put(step.absorbed[-1], [frames], whole)
            else:
                self._evaluator.put(node, [frames, *others], whole)
        except ArgumentError as error:
            raise operator_error(node, state.iteration, None, "", error) from error

    def _fused(self, step: Step, whole: Part, at: int, form: DecodedForm) -> DecodedForm:
        """The form of a clip behind the operators that its decoder does as well."""
        for absorbed in step.absorbed:
            operator = absorbed.operator
            try:
                given = self._arguments(absorbed, whole, at)
                after = operator.absorb(form, given) if operator.absorb else None
                if after is None:
                    raise ArgumentError("its arguments cannot be fused with decoding")
            except Exception as error:
                position, state = whole.positions(step.node.branch)[at], whole.state
                origin = state.origins[position]
                raise operator_error(absorbed, state.iteration, position, origin, error) from error
            form = after
        return form

    @staticmethod
    def _arguments(node: Node, whole: Part, at: int) -> dict[str, Any]:
        """The arguments of a node for one of the samples of its branch."""

        def value(data: DataNode) -> Batch:
            return whole.value(data).between(at, at + 1)

        return PerSample.at(0, node.arguments([whole.positions(node.branch)[at]], value))

    def decoder(self, node: Node) -> BatchDecoder:
        """The decoder of a node; nodes with the same device and limits share one."""
        device = self._options.torch_device(node.device)
        workers = self._options.num_threads if device == "cpu" else None
        limits = {name: node.constants[name] for name in LIMITS}
        return media.clip_decoder(device, workers, **limits)

    def _setup(self, step: Step, arguments: Mapping[str, Any]) -> DecoderSetup:
        """The decoder of a step, made for its first batch."""
        name = step.node.name
        if name not in self._setups:
            self._setups[name] = DecoderSetup.of(self.decoder(step.node), arguments, step.output)
        return self._setups[name]

    def _clip(self, node: Node, whole: Part, at: int, arguments: Mapping[str, Any]) -> PlannedClip:
        """The clip that a decoding operator takes of its input."""
        (data,) = node.inputs
        value = whole.value(data)[at]
        given = {k: v for k, v in arguments.items() if k not in node.operator.decoding}
        try:
            planned: PlannedClip = node.operator.run(value, **given)
        except Exception as error:
            raise SampleError(at, error) from error
        position, state = whole.positions(node.branch)[at], whole.state
        origin = origin_of(node, whole, at) or str(planned)
        state.origins[position] = state.origins[position] or origin
        known = isinstance(planned.source, Item)
        return replace(
            planned,
            failures=self._failures[node.name],
            item=planned.source if known else Item(origin or "<encoded video>"),
            identity=state.identities[position],
            epoch=state.identities[position].epoch,
        )
