"""The batches of a loader: buckets and packs by a plan for its data set, others by their size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from videoloader.decoding.clip import ClipBatch
from videoloader.decoding.framing import Framing
from videoloader.decoding.output import Layout
from videoloader.errors import ArgumentError
from videoloader.readers.clip_samples.packed import pack_clips
from videoloader.readers.clip_samples.sources import IndexedVideos, ListedVideos
from videoloader.readers.ranks import find_rank
from videoloader.sampling import (
    BatchOrder,
    BatchPlan,
    Buckets,
    ClipSampler,
    EpochSamples,
    Packing,
    VideoSizes,
)
from videoloader.sampling.orders.batch_order import OrderOptions, Places
from videoloader.system.options import part

__all__ = ["ShapedBatches", "epoch_order", "shaped_batches"]


@dataclass(frozen=True, slots=True)
class ShapedBatches:
    """Batches of clips of several shapes.

    Attributes:
        batches: how they are made.
        plan: the shape of each clip, and which of them are a batch.
    """

    batches: Buckets | Packing
    plan: BatchPlan

    def pack(
        self, clips: ClipBatch, videos: Sequence[int], layout: Layout
    ) -> tuple[ClipBatch, dict[str, Any] | None]:
        """Clips of some videos without frames, and the pack that has them; None for a bucket."""
        if isinstance(self.batches, Buckets):
            return clips, None
        shapes = [self.plan.shape(video) for video in videos]
        packed = pack_clips(clips, shapes, self.batches, layout)
        for clip in clips.frames:
            if clip.is_cuda:  # its memory is let go of while the pack is still being written
                clip.record_stream(torch.cuda.current_stream(clip.device))
        return replace(clips, frames=[]), packed

    def check_transform(self, transform: object) -> None:
        """Fail if samples are to be transformed that are parts of a pack."""
        if transform is not None and isinstance(self.batches, Packing):
            raise ArgumentError("transform takes samples, and a pack is none; transform the batch")


def shaped_batches(
    batches: Buckets | Packing | None,
    batch_size: int | None,
    videos: ListedVideos | IndexedVideos,
    clips: ClipSampler,
    framing: Framing,
    samples: EpochSamples,
    options: OrderOptions,
) -> ShapedBatches | None:
    """The plan of a loader's batches; None where all have `batch_size` clips.

    Raises:
        ArgumentError: arguments that contradict each other, no data set index, unfit videos.
    """
    if (batches is None) == (batch_size is None):
        raise ArgumentError("give either batch_size or batches to Loader")
    if batches is None:
        return None
    if not isinstance(batches, Buckets | Packing):
        raise ArgumentError(f"batches must be Buckets or Packing, got {batches!r}")
    if not isinstance(videos, IndexedVideos):
        raise ArgumentError(
            "buckets and packs are planned from a data set index; make one with "
            'index_dataset(videos, "set.parquet") and give that'
        )
    if framing.resizes or framing.crop is not None:
        raise ArgumentError("batches say what size clips have; leave out size and crop")
    if framing.random_resized_crop is not None and isinstance(batches, Packing):
        raise ArgumentError("packs keep the aspect ratio of videos; leave out random_resized_crop")
    sizes = _sizes(videos)
    plan = batches.plan(
        sizes, clips, seed=options["seed"], shuffle=options["shuffle"], samples=samples
    )
    return ShapedBatches(batches, plan)


def epoch_order(
    shaped: ShapedBatches | None,
    batch_size: int | None,
    num_videos: int,
    samples: EpochSamples,
    options: OrderOptions,
) -> BatchOrder:
    """Which samples are a batch of this rank.

    Args:
        shaped: the plan of batches; None where all have `batch_size` clips.
        batch_size: of batches without a plan.
        num_videos: of the data set.
        samples: how many an epoch has of each video.
        options: all of them; the rank as `find_rank` takes it. By default ranks run in step.
    """
    rank, num_ranks = find_rank(options["rank"], options["num_ranks"])
    plan: Places = (
        samples.order(
            np.ones(num_videos, dtype=np.bool_), options["seed"], shuffle=options["shuffle"]
        )
        if shaped is None
        else shaped.plan
    )
    return part(
        BatchOrder, options, plan=plan, batch_size=batch_size, rank=rank, num_ranks=num_ranks
    )


def _sizes(videos: IndexedVideos) -> VideoSizes:
    """Size, length and rate of each video, from the columns of the data set index alone."""
    dataset = videos.videos.dataset
    found = dataset.numbers(["height", "width", "rotation", "num_frames", "fps"])
    if len(videos) < len(dataset):
        rows = videos.rows
        found = {name: column[rows] for name, column in found.items()}
    height, width, rotation, num_frames, fps = found.values()
    is_turned = rotation % 180 == 90
    return VideoSizes(
        np.where(is_turned, width, height),
        np.where(is_turned, height, width),
        num_frames,
        fps,
    )
