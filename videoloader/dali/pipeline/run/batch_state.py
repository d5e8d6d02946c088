"""One batch on its way through the stages of a pipeline, and the memory of its outputs.

That memory is handed out in parts, so that outputs are written only once.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import torch

from videoloader.dali.operators.conditional import check_truth
from videoloader.dali.pipeline.graph.nodes import Branch, DataNode, Node
from videoloader.dali.readers.video.planned import Identity, PlannedClip
from videoloader.dali.tensors import TensorList
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.dali.tensors.conversion import copy_here
from videoloader.decoding.memory import Recycler
from videoloader.errors import ArgumentError
from videoloader.machinery.cuda.streams import keep_for, wait_for

T = TypeVar("T")

Positions = Sequence[int]

Values = dict[tuple[int, int], Batch]
"""Outputs of nodes, by ordinal and output: for the samples of the branch of the node."""


class Slots:
    """One output of a batch: a block of memory for `count` samples, of the shape that comes first.

    Samples that fit live in the block; a sample of another shape or type has memory of its own,
    and the batch is ragged. Threads may share it.
    """

    def __init__(self, count: int, recycler: Recycler) -> None:
        self._count = count
        self._recycler = recycler
        self._block: torch.Tensor | None = None
        self._made_for: Spec | None = None
        """The samples that the block was made for; those of a dense batch all fit."""
        self._parts: dict[int, Batch] = {}
        self._lock = threading.Lock()

    def empty(self, start: int, spec: Spec) -> Batch:
        """Uninitialised memory for samples from `start` on."""
        shapes = spec.shapes
        if shapes and shapes.count(shapes[0]) == len(shapes):
            whole = self._make(shapes[0], spec)
            if self._made_for is not spec and not self._fits(whole, shapes[0], spec):
                return Batch.empty(spec)
            part = whole if len(shapes) == self._count else whole[start : start + len(shapes)]
            return Batch(part, spec.layout)
        samples: list[torch.Tensor] = []
        for shape in dict.fromkeys(shapes):
            self._make(shape, spec)
        block = self._block
        for position, shape in enumerate(shapes, start):
            if block is not None and self._fits(block, shape, spec):
                samples.append(block[position])
            else:
                samples.append(torch.empty(shape, dtype=spec.dtype, device=spec.device))
        return Batch(samples, spec.layout)

    def place(
        self,
        start: int,
        batch: Batch,
        taken: Sequence[Slots] = (),
        kept: Collection[int] = (),
        *,
        is_own: bool = False,
    ) -> None:
        """Take samples from `start` on: as they are if they are in this memory, else copied.

        A whole batch in one block is adopted without a copy, unless others may use its memory.

        Args:
            start: number of the first sample.
            batch: of tensors.
            taken: the other outputs of the batch, which may share memory with this one.
            kept: addresses of memory that stays with others.
            is_own: whether the memory of the samples is ours alone, so that those of different
                shapes need no copy if they are contiguous.
        """
        if batch.block is not None and batch.block is self._block:  # it was written to its place
            self._parts[start] = batch
            return
        for sample in batch.samples if batch.block is None else ():
            if not isinstance(sample, torch.Tensor):
                raise ArgumentError(
                    f"an output of a pipeline is a tensor, not a {type(sample).__name__}"
                )
        if self._block is None and batch.block is not None and len(batch) == self._count:
            others = [*kept, *[slots._address() for slots in taken if slots is not self]]
            if batch.block.is_contiguous() and not (others and _storage(batch.block) in others):
                self._block = batch.block
        is_whole = len(batch) == self._count and batch.block is None
        may_stay = is_own and is_whole and batch.spec.is_ragged
        if may_stay and all(sample.is_contiguous() for sample in batch):
            pass
        elif self._block is None or not _is_inside(batch, self._block):
            copy = self.empty(start, batch.spec)
            if copy.block is not None and batch.block is not None:
                copy.block.copy_(batch.block)
            else:
                for mine, theirs in zip(copy, batch, strict=True):
                    copy_here(theirs, mine)
            copy.source_info = batch.source_info
            batch = copy
        with self._lock:
            self._parts[start] = batch

    def keep(self, start: int, batch: Batch) -> None:
        """Copy the samples of a branch, some of the samples from `start` on."""
        with self._lock:
            self._parts[start] = batch.each(lambda sample: sample.clone())

    def kept(self, positions: Sequence[int], recycler: Recycler) -> Slots:
        """The same output for some of the samples, with copies of the results so far."""
        kept = Slots(len(positions), recycler)
        if self._parts:
            joined = Batch.joined([self._parts[start] for start in sorted(self._parts)])
            info = [joined.source_info[at] for at in positions] if joined.source_info else ()
            kept.place(0, Batch([joined.samples[at] for at in positions], joined.layout, info))
        return kept

    def collect(self) -> TensorList:
        """The whole output: one block if all samples live in it."""
        if len(self._parts) == 1:
            (joined,) = self._parts.values()
        else:
            parts = [self._parts[start] for start in sorted(self._parts)]
            joined = Batch.joined(parts or [Batch([])])
        block = self._block
        if block is not None and joined.block is not block and _is_inside(joined, block):
            joined = Batch(block, joined.layout, joined.source_info)
        return TensorList(joined)

    def _make(self, shape: tuple[int, ...], spec: Spec) -> torch.Tensor:
        """The block, which is made if there is none yet."""
        with self._lock:
            if self._block is None:
                self._block = self._recycler.empty(
                    (self._count, *shape), dtype=spec.dtype, device=spec.device
                )
                self._made_for = spec
            return self._block

    def _address(self) -> int:
        return 0 if self._block is None else _storage(self._block)

    @staticmethod
    def _fits(block: torch.Tensor, shape: tuple[int, ...], spec: Spec) -> bool:
        same = block.shape[1:] == shape and block.dtype == spec.dtype
        return same and block.device.type == spec.device.partition(":")[0]


@dataclass(slots=True, eq=False, weakref_slot=True)
class BatchState:
    """A batch on its way through the stages.

    Attributes:
        iteration: its number.
        identities: of its samples; as many as it has.
        origins: for each sample the file that it comes from, as far as it is known.
        slots: memory of the pipeline's outputs.
        values: outputs of nodes that are still needed.
        planned: clips that are still to be decoded, by ordinal.
        ready: event after the work that a GPU has to do for it.
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
        """Continue with some of the samples, in all values of the batch so far.

        Args:
            positions: of those that stay, ascending; or for every sample the position of the one
                that takes its place.
            recyclers: where memory of the outputs comes from.
        """
        if len(positions) < len(self):
            places = self.places or range(len(self))
            self.places = [places[at] for at in positions]
        self.identities = [self.identities[at] for at in positions]
        self.origins = [self.origins[at] for at in positions]
        for key, batch in self.values.items():
            self.values[key] = taken(batch, positions)
        for ordinal, clips in self.planned.items():
            # A clip that comes again is decoded by itself.
            own = partial(replace, shared=None, companions=())
            self.planned[ordinal] = _at(clips, positions, own)
        self.slots = [
            slots.kept(positions, recycler)
            for slots, recycler in zip(self.slots, recyclers, strict=True)
        ]

    def finish(self, outputs: tuple[TensorList, ...]) -> None:
        """Drop everything but the outputs."""
        self.outputs = outputs
        self.values, self.slots = {}, []

    def deliver(self) -> tuple[TensorList, ...]:
        """The outputs, safe to use on the current stream."""
        if self.ready is not None:
            wait_for(self.ready, (x for each in self.outputs for x in each.batch.tensors()))
        return self.outputs

    def whole(self) -> Part:
        """All samples as one part, which shares the values of the batch."""
        return Part(self, 0, len(self.origins), self.values, self.members)

    def hold_for(self, stream: Any) -> None:
        """Keep the memory of all values allocated until a stream has finished with them.

        The stream is asked when memory is freed, so it is told once of a block that comes again.
        """
        for batch in self.values.values():
            if batch.block is None or batch.held_for is not stream:
                keep_for(stream, batch.tensors())
                batch.held_for = stream


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
        """The values of a data node, for the samples here that are in its branch."""
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

    def drop(self, keys: Sequence[tuple[int, int]]) -> None:
        """Drop outputs of nodes."""
        values = self.values
        for key in keys:
            values.pop(key, None)
        if self.narrowed:
            for inner in [inner for inner in self.narrowed if inner[:2] in keys]:
                del self.narrowed[inner]

    def alone(self, position: int, node: Node) -> Part:
        """One sample, with the inputs of a node."""
        alone = Part(self.state, position, position + 1)
        for data in node.sources:
            made, around = self._made(data), self.positions(data.node.branch)
            own = [position] if position in around else []
            alone.values[data.node.ordinal, data.output] = _chosen(made, around, own)
        return alone

    def _made(self, data: DataNode) -> Batch:
        """The outputs of a node for the samples here that are in its branch."""
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
    """The samples at some positions, from a batch of the samples at `around`."""
    if len(wanted) == len(around):
        return batch
    return taken(batch, [bisect_left(around, position) for position in wanted])


def taken(batch: Batch, places: Positions) -> Batch:
    """The samples at some places of a batch, in any order, repeated too."""
    if places and places == [*range(places[0], places[0] + len(places))]:
        return batch.between(places[0], places[-1] + 1)
    info = batch.source_info
    return Batch(
        _at(batch.samples, places, lambda each: each.clone() if torch.is_tensor(each) else each),
        batch.layout,
        [info[place] for place in places] if info else (),
    )


def _at(values: Sequence[T], places: Positions, again: Callable[[T], T]) -> list[T]:
    """Values at some places; `again` copies one that comes again."""
    seen: set[int] = set()
    found = []
    for place in places:
        value = values[place]
        found.append(again(value) if place in seen else value)
        seen.add(place)
    return found


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _is_inside(batch: Batch, block: torch.Tensor) -> bool:
    """Whether all samples of a batch live in a block."""
    return batch.block is block or all(_is_part(each, block) for each in batch.tensors())


def _is_part(sample: torch.Tensor, block: torch.Tensor) -> bool:
    """Whether a sample, or several, live in a block."""
    return (
        sample.ndim in (block.ndim - 1, block.ndim)
        and sample.shape[sample.ndim - block.ndim + 1 :] == block.shape[1:]
        and sample.dtype == block.dtype
        and _storage(sample) == _storage(block)
    )
