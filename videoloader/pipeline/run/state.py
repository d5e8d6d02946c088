"""One batch on its way through the stages of a pipeline."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from videoloader.cuda.streams import wait_for
from videoloader.decoding.memory import Recycler
from videoloader.operators.batch import Batch
from videoloader.operators.conditional import check_truth
from videoloader.pipeline.graph.nodes import Branch, DataNode, Node
from videoloader.pipeline.run.slots import Slots
from videoloader.readers.video.planned import Identity, PlannedClip
from videoloader.tensors import TensorList

__all__ = ["BatchState", "Part", "Positions", "Values"]

Positions = Sequence[int]

Values = dict[tuple[int, int], Batch]
"""Outputs of nodes, by ordinal and output: for the samples of the branch of the node."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class BatchState:
    """What is known of a batch so far.

    Attributes:
        iteration: its number.
        identities: of its samples; as many as it has.
        origins: for each sample the file that it comes from, as far as it is known.
        slots: memory of the pipeline's outputs.
        values: outputs of the nodes so far that somebody still needs.
        planned: clips that are still to be decoded, by ordinal.
        ready: on a GPU, when what is in it has been computed.
        members: positions of the samples of branches, as far as they were needed for the whole.
        merged: element type, dimensions and layout of what was merged, by ordinal.
        places: of its samples in the batch that was planned; None where none was left out.
        kept: addresses of memory that a source gives again, so that no output may have it.
        outputs: of the pipeline, once all stages are done; nothing else is kept then.
    """

    iteration: int
    identities: Sequence[Identity]
    origins: list[str]
    slots: list[Slots]
    values: Values = field(default_factory=dict)
    planned: dict[int, Sequence[PlannedClip]] = field(default_factory=dict)
    ready: Any = None
    members: dict[Branch, Positions] = field(default_factory=dict)
    merged: dict[int, tuple[object, ...]] = field(default_factory=dict)
    places: Sequence[int] | None = None
    kept: list[int] = field(default_factory=list)
    outputs: tuple[TensorList, ...] = ()

    def __len__(self) -> int:
        return len(self.origins)

    def keep(self, positions: Positions, recyclers: Sequence[Recycler]) -> None:
        """Leave out all samples but some, from all that is known of them so far.

        Args:
            positions: of those that stay, ascending.
            recyclers: where memory of the outputs comes from.
        """
        everything = range(len(self))
        self.places = [(self.places or everything)[at] for at in positions]
        self.identities = [self.identities[at] for at in positions]
        self.origins = [self.origins[at] for at in positions]
        for key, batch in self.values.items():
            self.values[key] = _chosen(batch, everything, positions)
        for ordinal, clips in self.planned.items():
            self.planned[ordinal] = [clips[at] for at in positions]
        self.slots = [
            slots.kept(positions, recycler)
            for slots, recycler in zip(self.slots, recyclers, strict=True)
        ]

    def finish(self, outputs: tuple[TensorList, ...]) -> None:
        """Let go of everything but the outputs."""
        self.outputs = outputs
        self.values, self.slots = {}, []

    def deliver(self) -> tuple[TensorList, ...]:
        """The outputs, for what is queued on the current stream from here on."""
        if self.ready is not None:
            wait_for(self.ready, (x for each in self.outputs for x in each.batch.tensors()))
        return self.outputs

    def whole(self) -> Part:
        """All samples; what is made of them is put into the batch itself."""
        return Part(self, 0, len(self), self.values, members=self.members)

    def tensors(self) -> Iterator[torch.Tensor]:
        """Every tensor in it."""
        for batch in self.values.values():
            yield from batch.tensors()


@dataclass(slots=True, eq=False)
class Part:
    """Consecutive samples of a batch, for one thread.

    Attributes:
        state: of the batch.
        start: first sample.
        stop: behind the last one.
        values: what was made of these samples here.
        members: positions in the batch of those of these samples that are in a branch.
        narrowed: values for the samples of inner branches, taken from `values`.
    """

    state: BatchState
    start: int
    stop: int
    values: Values = field(default_factory=dict)
    members: dict[Branch, Positions] = field(default_factory=dict)
    narrowed: dict[tuple[int, int, Branch], Batch] = field(default_factory=dict)

    def positions(self, branch: Branch | None) -> Positions:
        """Positions in the batch of the samples of a branch, ascending."""
        if branch is None:
            return range(self.start, self.stop)
        if branch not in self.members:
            around, outcomes = self.positions(branch.parent), self.value(branch.predicate)
            what = f"the predicate {branch.predicate.name}"
            for outcome in outcomes:
                check_truth(outcome, what, only_bool=True)
            truths = outcomes.samples if outcomes.block is None else outcomes.block.tolist()
            self.members[branch] = [
                position
                for position, truth in zip(around, truths, strict=True)
                if bool(truth) == branch.outcome
            ]
        return self.members[branch]

    def value(self, data: DataNode) -> Batch:
        """The values of a data node for those of these samples that are in its branch."""
        made, branch = self.values.get((data.node.ordinal, data.output)), data.branch
        if made is None:
            made = self._made(data)
        if branch == data.node.branch:
            return made
        assert branch is not None
        key = (data.node.ordinal, data.output, branch)
        if key not in self.narrowed:
            self.narrowed[key] = _chosen(
                made, self.positions(data.node.branch), self.positions(branch)
            )
        return self.narrowed[key]

    def put(self, ordinal: int, outputs: Sequence[Batch]) -> None:
        """Take the outputs of a node."""
        for number, batch in enumerate(outputs):
            self.values[ordinal, number] = batch

    def drop(self, keys: Sequence[tuple[int, int]]) -> None:
        """Let go of outputs of nodes."""
        values = self.values
        for key in keys:
            values.pop(key, None)
        if self.narrowed:
            for inner in [inner for inner in self.narrowed if inner[:2] in keys]:
                del self.narrowed[inner]

    def alone(self, position: int, node: Node) -> Part:
        """One sample, with what a node takes."""
        alone = Part(self.state, position, position + 1)
        for data in node.sources:
            made, around = self._made(data), self.positions(data.node.branch)
            own = [position] if position in around else []
            alone.values[data.node.ordinal, data.output] = _chosen(made, around, own)
        return alone

    def _made(self, data: DataNode) -> Batch:
        """What a node has made of these samples, those of its own branch."""
        key = (data.node.ordinal, data.output)
        made = self.values.get(key)
        if made is None:
            start, stop = self.start, self.stop
            if data.node.branch is not None:
                everywhere = self.state.whole().positions(data.node.branch)
                start, stop = bisect_left(everywhere, start), bisect_left(everywhere, stop)
            made = self.values[key] = self.state.values[key].between(start, stop)
        return made


def _chosen(batch: Batch, around: Positions, wanted: Positions) -> Batch:
    """The samples at some positions of a batch that has those at `around`."""
    if len(wanted) == len(around):
        return batch
    places = [bisect_left(around, position) for position in wanted]
    if places and places[-1] - places[0] + 1 == len(places):
        return batch.between(places[0], places[-1] + 1)
    samples, info = batch.samples, batch.source_info
    return Batch(
        [samples[place] for place in places],
        batch.layout,
        [info[place] for place in places] if info else (),
    )
