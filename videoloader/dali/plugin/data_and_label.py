"""`DataAndLabel`: the two named outputs of iterators for classification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from videoloader.dali.pipeline import Pipeline
from videoloader.dali.plugin.epoch_plan import LastBatchPolicy
from videoloader.dali.plugin.iteration import BatchIterator

Item = TypeVar("Item")


class DataAndLabel(BatchIterator[Item]):
    """Names the two outputs of pipelines "data" and "label"; the iterator itself is the next base.

    The other arguments are those of `GenericIterator`.
    """

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: str | bool | None = False,
        fill_last_batch: bool | None = None,
        dynamic_shape: bool | None = False,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        super().__init__(
            pipelines,
            ["data", "label"],
            size,
            reader_name,
            auto_reset,
            fill_last_batch,
            dynamic_shape,
            last_batch_padded,
            last_batch_policy,
            prepare_first_batch,
        )
