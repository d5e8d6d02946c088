"""Which part of a data set a process takes, and in which order a reader gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import BOOL, INT, Argument
from videoloader.dali.operators.batch_source import SourceContext
from videoloader.sampling.orders.reader_epochs import Epochs
from videoloader.sampling.orders.reader_order import COMMON_SEED, ReaderOrder
from videoloader.sampling.orders.sample_order import SampleOrder
from videoloader.sampling.orders.weighted import WeightedDraws
from videoloader.training.rank import find_rank


def shard_arguments(noun: str) -> tuple[Argument, ...]:
    """The arguments of a reader that say which part of its clips or samples it takes."""
    return (
        Argument(
            "shard_id",
            INT,
            None,
            f"which part of the {noun}s to read; the rank of the process if num_shards is not "
            "given",
            least=0,
        ),
        Argument("num_shards", INT, None, "number of parts; by default that of ranks", least=1),
        Argument("stick_to_shard", BOOL, default=False, doc="read the same part in every epoch"),
        Argument(
            "pad_last_batch",
            BOOL,
            default=False,
            doc=f"end an epoch with copies of its last {noun}",
        ),
    )


def find_order(
    context: SourceContext,
    arguments: Mapping[str, Any],
    size: int,
    *,
    draws: WeightedDraws | None = None,
    files: NDArray[np.int64] | None = None,
    group: int = 1,
    window: int = 1,
) -> ReaderOrder:
    """The order of the samples of a reader, by its arguments.

    Args:
        context: of the pipeline.
        arguments: of the reader.
        size: samples in the data set.
        draws: weighted draws, which are always shuffled.
        files: where each file ends, if `shuffle_after_epoch` permutes files.
        group: neighbours that are decoded together.
        window: samples among which they are permuted.
    """
    shard, count = arguments["shard_id"], arguments["num_shards"]
    if shard is None and count is None:
        shard, count = find_rank(None, None)
    is_after_epoch = arguments.get("shuffle_after_epoch", False)
    epochs = Epochs(
        size,
        context.batch_size,
        1 if count is None else count,
        shard or 0,
        arguments["stick_to_shard"] or is_after_epoch,
        arguments["pad_last_batch"],
    )
    samples = SampleOrder(
        size,
        COMMON_SEED,
        arguments["random_shuffle"] or draws is not None,
        draws,
        stage=context.stage,
        draw_stage=context.stage,
        group=group,
    )
    later = None
    if is_after_epoch:
        seed = arguments["shuffle_after_epoch_seed"]
        seed = COMMON_SEED if seed is None else seed
        later = replace(samples, seed=seed, shuffle=True, files=files)
    return ReaderOrder(epochs, samples, later, context.seed, context.stage, window)
