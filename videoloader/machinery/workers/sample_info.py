"""Arguments of the callable of an external source: numbers of the sample or batch to make."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SampleInfo:
    """The sample that a callable with `batch=False` has to make.

    Attributes:
        idx_in_epoch: number of the sample in its epoch.
        idx_in_batch: number of the sample in its batch.
        iteration: number of the batch in its epoch.
        epoch_idx: number of the epoch.

    >>> from videoloader.dali import fn, pipeline_def
    >>> @pipeline_def(batch_size=2, num_threads=1)
    ... def numbers():
    ...     return fn.external_source(lambda info: [info.idx_in_epoch, info.iteration], batch=False)
    >>> with numbers() as pipe:
    ...     pipe.run()[0].as_tensor(), pipe.run()[0].as_tensor()
    (tensor([[0, 0],
            [1, 0]]), tensor([[2, 1],
            [3, 1]]))
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

    >>> from videoloader.dali import fn, pipeline_def
    >>> @pipeline_def(batch_size=2, num_threads=1)
    ... def numbers():
    ...     return fn.external_source(lambda info: [[info.iteration]] * 2, batch_info=True)
    >>> with numbers() as pipe:
    ...     pipe.run()[0].as_tensor(), pipe.run()[0].as_tensor()
    (tensor([[0],
            [0]]), tensor([[1],
            [1]]))
    """

    iteration: int
    epoch_idx: int
