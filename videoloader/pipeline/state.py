"""One batch on its way through the stages of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from videoloader.operators.operator import Sample
from videoloader.pipeline.slots import Slots
from videoloader.readers.planned import Identity, PlannedClip

__all__ = ["BatchState"]

Values = dict[int, Sequence[Sample]]


@dataclass(slots=True, eq=False)
class BatchState:
    """What is known of a batch so far.

    Attributes:
        iteration: its number.
        identities: of its samples; as many as it has.
        origins: for each sample the file that it comes from, as far as it is known.
        values: for each sample the outputs of the nodes so far, by ordinal.
        blocks: the outputs that lie in one tensor (N, ...), by ordinal and output.
        planned: clips that are still to be decoded, by ordinal.
        slots: memory of the pipeline's outputs.
        ready: on a GPU, when what is in it has been computed.
    """

    iteration: int
    identities: list[Identity]
    origins: list[str]
    values: list[Values]
    slots: list[Slots]
    blocks: dict[tuple[int, int], torch.Tensor] = field(default_factory=dict)
    planned: dict[int, Sequence[PlannedClip]] = field(default_factory=dict)
    ready: Any = None

    def __len__(self) -> int:
        return len(self.values)

    def samples(self, ordinal: int, output: int) -> list[Sample]:
        """One output of a node, sample by sample."""
        return [values[ordinal][output] for values in self.values]

    def put_block(self, ordinal: int, block: Any, layout: str, others: Sequence[Any] = ()) -> None:
        """The outputs of a node: the first of all samples, the others sample by sample."""
        if isinstance(block, torch.Tensor):
            self.blocks[ordinal, 0] = block
        rest = others or [()] * len(self)
        for values, first, more in zip(self.values, block, rest, strict=True):
            values[ordinal] = (Sample(first, layout), *map(Sample, more))

    def drop(self, ordinals: Sequence[int]) -> None:
        """Let go of the outputs of nodes."""
        for ordinal in ordinals:
            for values in self.values:
                values.pop(ordinal, None)
        for key in [key for key in self.blocks if key[0] in ordinals]:
            del self.blocks[key]

    def tensors(self) -> Iterator[torch.Tensor]:
        """Every tensor in it; blocks instead of their samples."""
        yield from self.blocks.values()
        for values in self.values:
            for ordinal, outputs in values.items():
                for output, (value, _) in enumerate(outputs):
                    if isinstance(value, torch.Tensor) and (ordinal, output) not in self.blocks:
                        yield value
