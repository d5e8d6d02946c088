"""One batch on its way through the stages of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from videoloader.operators.batch import Batch
from videoloader.pipeline.graph import DataNode
from videoloader.pipeline.slots import Slots
from videoloader.readers.planned import Identity, PlannedClip

__all__ = ["BatchState", "Part", "Values"]

Values = dict[tuple[int, int], Batch]
"""Outputs of nodes, by ordinal and output."""


@dataclass(slots=True, eq=False)
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
    """

    iteration: int
    identities: list[Identity]
    origins: list[str]
    slots: list[Slots]
    values: Values = field(default_factory=dict)
    planned: dict[int, Sequence[PlannedClip]] = field(default_factory=dict)
    ready: Any = None

    def __len__(self) -> int:
        return len(self.identities)

    def whole(self) -> Part:
        """All samples; what is made of them is put into the batch itself."""
        return Part(self, 0, len(self), self.values)

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
    """

    state: BatchState
    start: int
    stop: int
    values: Values = field(default_factory=dict)

    def __len__(self) -> int:
        return self.stop - self.start

    def value(self, data: DataNode) -> Batch:
        """The values of a data node for these samples."""
        key = (data.node.ordinal, data.output)
        if key not in self.values:
            self.values[key] = self.state.values[key].between(self.start, self.stop)
        return self.values[key]

    def put(self, ordinal: int, outputs: Sequence[Batch]) -> None:
        """Take the outputs of a node."""
        for number, batch in enumerate(outputs):
            self.values[ordinal, number] = batch

    def drop(self, ordinals: Sequence[int]) -> None:
        """Let go of the outputs of nodes."""
        for key in [key for key in self.values if key[0] in ordinals]:
            del self.values[key]
