"""Arguments of the callable of an external source: numbers of the sample or batch to make."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BatchInfo", "SampleInfo"]


@dataclass(frozen=True, slots=True)
class SampleInfo:
    """The sample that a callable with `batch=False` has to make.

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
    """The batch that a callable with `batch_info=True` has to make.

    Attributes:
        iteration: number of the batch in its epoch.
        epoch_idx: number of the epoch.
    """

    iteration: int
    epoch_idx: int
