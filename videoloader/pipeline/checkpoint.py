"""The state of a pipeline between two batches: a few integers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from videoloader.errors import ArgumentError

__all__ = ["Checkpoint"]

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a pipeline is.

    Attributes:
        seed: of its random draws.
        batch_size: samples in a batch.
        batches: that were taken.
        epoch: epochs of external sources that have ended and were followed by `reset`.
        epoch_start: number of the first batch of this epoch.
    """

    seed: int
    batch_size: int
    batches: int
    epoch: int = 0
    epoch_start: int = 0

    @classmethod
    def read(cls, text: str | bytes) -> Checkpoint:
        """From what `write` gave."""
        try:
            fields = json.loads(text)
            if fields.pop("version") != _VERSION:
                raise ValueError("another version")
            state = cls(**{name: int(value) for name, value in fields.items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ArgumentError(
                f"checkpoint is not what Pipeline.checkpoint() gives: {text[:60]!r}"
            ) from error
        if not 0 <= state.epoch_start <= state.batches or state.epoch < 0:
            raise ArgumentError(
                f"checkpoint has {state.batches} batches, epoch {state.epoch} of which begins "
                f"with batch {state.epoch_start}"
            )
        return state

    def write(self) -> bytes:
        """As bytes."""
        return json.dumps({"version": _VERSION, **asdict(self)}).encode()

    def checked_seed(self, seed: int | None) -> int:
        """The seed to go on with; an error if another one is asked for."""
        if seed not in (None, -1, self.seed):
            raise ArgumentError(
                f"the checkpoint is of a pipeline with seed={self.seed}, got seed={seed}"
            )
        return self.seed

    def check(self, batch_size: int) -> None:
        """Fail for a pipeline that cuts its samples into other batches."""
        if batch_size != self.batch_size:
            raise ArgumentError(
                f"the checkpoint is of a pipeline with batch_size={self.batch_size}, "
                f"got batch_size={batch_size}"
            )
