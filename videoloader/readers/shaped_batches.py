"""Buckets and packs of a loader: the plan for its data set, and what a pack holds."""

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
from videoloader.indexing.dataset import Videos
from videoloader.readers.clip_sources import IndexedVideos, ListedVideos
from videoloader.readers.packed import pack_clips
from videoloader.sampling import BatchPlan, Buckets, ClipSampler, Packing, VideoSizes

__all__ = ["ShapedBatches", "packed_batch", "packed_tensors", "shaped_batches"]


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
        self, clips: ClipBatch, samples: Sequence[int], layout: Layout
    ) -> tuple[ClipBatch, dict[str, Any] | None]:
        """The clips without frames, and the pack that has them; None for a bucket."""
        if isinstance(self.batches, Buckets):
            return clips, None
        shapes = [self.plan.shape(sample) for sample in samples]
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
    *,
    seed: int,
    shuffle: bool,
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
    sizes = _sizes(videos.videos)
    return ShapedBatches(batches, batches.plan(sizes, clips, seed=seed, shuffle=shuffle))


def _sizes(videos: Videos) -> VideoSizes:
    """Size, length and rate of each video, from the columns of the data set index alone."""
    found = videos.dataset.numbers(["height", "width", "rotation", "num_frames", "fps"])
    if len(videos) < len(videos.dataset):
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


def packed_batch(packed: dict[str, Any], clips: ClipBatch, samples: torch.Tensor) -> dict[str, Any]:
    """A pack as the training loop gets it."""
    rest = {
        "frame_numbers": [torch.from_numpy(each) for each in clips.indices],
        "times": [torch.from_numpy(each) for each in clips.times],
        "frame_mask": [torch.from_numpy(each) for each in clips.masks],
        "sample": samples,
    }
    return packed | rest


def packed_tensors(packed: dict[str, Any] | None) -> list[torch.Tensor]:
    """All tensors of a pack."""
    return [
        tensor
        for value in (packed or {}).values()
        for tensor in (value if isinstance(value, list) else [value])
        if isinstance(tensor, torch.Tensor)
    ]
