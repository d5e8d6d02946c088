"""What the callable of an external source is told of the sample or batch that it makes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BatchInfo", "SampleInfo"]


@dataclass(frozen=True, slots=True)
class SampleInfo:
    """Which sample a callable with `batch=False` makes.

    Attributes:
        idx_in_epoch: number of the sample in its epoch.
        idx_in_batch: number of the sample in its batch.
        iteration: number of the batch in its epoch.
        epoch_idx: number of the epoch.
    """

    idx_in_epoch: int
    idx_in_batch: int
    iteration: int
    epoch_idx: int


@dataclass(frozen=True, slots=True)
class BatchInfo:
    """Which batch a callable with `batch_info=True` makes.

    Attributes:
        iteration: number of the batch in its epoch.
        epoch_idx: number of the epoch.
    """

    iteration: int
    epoch_idx: int
