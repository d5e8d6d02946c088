"""Sources of samples: the interface of readers and external sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from videoloader.dali.tensors.batch import Batch
from videoloader.decoding.failures import FailurePolicy


@dataclass(frozen=True, slots=True)
class Columns:
    """A batch that a source gives as a whole; on a GPU, all its data is ready.

    Attributes:
        batches: one for each output.
        kept: addresses of memory that the source gives again; it must not be written to.
    """

    batches: tuple[Batch, ...]
    kept: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.batches[0])

    def own(self) -> Columns:
        """The same batch in memory that may be written to."""
        if not self.kept:
            return self
        return Columns(tuple(batch.each(torch.clone) for batch in self.batches))


class BatchSource(Protocol):
    """Source of a pipeline: `plan` decides which samples are in a batch."""

    def plan(self, iteration: int) -> Sequence[Any] | Columns:
        """The samples of batch `iteration`; StopIteration when there is no more.

        Called in one thread, in order. A sample is a `PlannedClip`, or a tuple with a `Sample` for
        each output. After the StopIteration of another source the batch is dropped.
        """
        ...

    def reset(self) -> None:
        """Begin again, after `plan` has raised StopIteration."""
        ...

    def meta(self) -> dict[str, Any] | None:
        """Shards and epochs of a reader; None for other sources."""
        ...


@dataclass(frozen=True, slots=True)
class SourceContext:
    """Properties of the pipeline that a source feeds.

    `device` is the torch device of its outputs. `python_pool` is where worker processes run Python
    code, None if the pipeline has none. `errors` is what readers do with samples that fail, where
    they do not say themselves.
    """

    name: str
    stage: int
    seed: int
    batch_size: int
    num_threads: int
    device: str = "cpu"
    python_pool: Any = None
    errors: FailurePolicy = field(default_factory=FailurePolicy)
