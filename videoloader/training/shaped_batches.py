"""The batches of a loader: buckets and packs by a plan for its data set, others by their size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.clip_batch import ClipBatch
from videoloader.decoding.framing import Framing
from videoloader.decoding.options import Layout
from videoloader.errors import ArgumentError
from videoloader.machinery.system.options import from_options
from videoloader.sampling import (
    BatchOrder,
    BatchPlan,
    Buckets,
    ClipSampler,
    EpochSamples,
    Packing,
    VideoSizes,
)
from videoloader.sampling.batches.batch_plan import Shape
from videoloader.sampling.orders.batch_order import OrderOptions, Places
from videoloader.training.patches import patch_view
from videoloader.training.rank import find_rank
from videoloader.training.sources import SampleVideos


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
        packed = _pack_clips(clips, shapes, self.batches, layout)
        for clip in clips.frames:
            if clip.is_cuda:  # its memory is let go of while the pack is still being written
                clip.record_stream(torch.cuda.current_stream(clip.device))
        return replace(clips, frames=[]), packed

    def check_transforms(self, *transforms: object) -> None:
        """Fail if samples are to be transformed that are parts of a pack."""
        if transforms.count(None) < len(transforms) and isinstance(self.batches, Packing):
            raise ArgumentError("transforms take samples, and a pack is none; transform the batch")


def shaped_batches(
    batches: Buckets | Packing | None,
    batch_size: int | None,
    videos: SampleVideos,
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
    if not videos.is_indexed:
        raise ArgumentError(
            "buckets and packs are planned from a data set index; make one with "
            'index_dataset(videos, "set.parquet") and give that'
        )
    if framing.resizes or framing.crop_size is not None:
        raise ArgumentError("batches say what size clips have; leave out size and crop_size")
    if not framing.rotate:
        raise ArgumentError("batches sort videos by their size as displayed; leave out rotate")
    if framing.random_resized_crop is not None and isinstance(batches, Packing):
        raise ArgumentError("packs keep the aspect ratio of videos; leave out random_resized_crop")
    sizes = video_sizes(videos)
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
    return from_options(
        BatchOrder, options, plan=plan, batch_size=batch_size, rank=rank, num_ranks=num_ranks
    )


def video_sizes(videos: SampleVideos) -> VideoSizes:
    """Size, length and rate of each video, from the columns of the data set index."""
    found = videos.numbers(["num_frames", "fps"])
    return VideoSizes(*displayed_sizes(videos), *found.values())


def displayed_sizes(videos: SampleVideos) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Height and width of each video as displayed, from the columns of the data set index."""
    height, width, rotation = videos.numbers(["height", "width", "rotation"]).values()
    is_turned = rotation % 180 == 90
    return np.where(is_turned, width, height), np.where(is_turned, height, width)


def _pack_clips(
    clips: ClipBatch, shapes: Sequence[Shape], packing: Packing, layout: Layout
) -> dict[str, Any]:
    """The content of a batch of packs, see `Loader`; on the device of the clips.

    Args:
        clips: of the pack.
        shapes: (frames, height, width) of each.
        packing: how they are packed.
        layout: of the clips.
    """
    frames = list(clips.frames)
    grids = np.array(shapes, dtype=np.int64).reshape(-1, 3) // packing.unit
    lengths = grids.prod(axis=1)
    room = packing.max_tokens if packing.pad else int(lengths.sum())
    parts = {
        "positions": [np.indices(grid, dtype=np.int32).reshape(3, -1).T for grid in grids],
        "sample_ids": [np.full(n, at, dtype=np.int32) for at, n in enumerate(lengths)],
        "token_times": [
            _each_token(times[:: packing.unit[0]], grid)
            for times, grid in zip(clips.times, grids, strict=True)
        ],
        "mask": [
            _each_token(mask.reshape(-1, packing.unit[0]).all(axis=1), grid)
            for mask, grid in zip(clips.masks, grids, strict=True)
        ],
    }
    padding = {"positions": 0, "sample_ids": -1, "token_times": -1.0, "mask": False}
    empty = {
        "positions": np.zeros((0, 3), np.int32),
        "sample_ids": np.zeros(0, np.int32),
        "token_times": np.zeros(0),
        "mask": np.zeros(0, np.bool_),
    }
    device = frames[0].device if frames else torch.device("cpu")
    result: dict[str, Any] = {
        name: torch.from_numpy(_padded(np.concatenate([empty[name], *values]), room, padding[name]))
        for name, values in parts.items()
    }
    result["cu_seqlens"] = torch.from_numpy(np.append(0, np.cumsum(lengths)).astype(np.int32))
    result = {name: tensor.to(device) for name, tensor in result.items()}
    result["max_seqlen"] = int(lengths.max(initial=0))
    result["shapes"] = torch.tensor([list(shape) for shape in shapes]).reshape(-1, 3)
    if packing.patchify is None:
        result["frames"] = frames
    else:
        result["patches"] = _patches(frames, packing.unit, layout, room)
    return result


def _patches(
    frames: Sequence[torch.Tensor], unit: Shape, layout: Layout, room: int
) -> torch.Tensor:
    """The patches of all clips, filled up with zeros."""
    if not frames:
        return torch.zeros(0)
    patches = [patch_view(clip, unit, layout) for clip in frames]
    pack = frames[0].new_empty(room, math.prod(patches[0].shape[3:]))
    begin = 0
    for each in patches:
        end = begin + math.prod(each.shape[:3])
        pack[begin:end].view(each.shape).copy_(each)
        begin = end
    pack[begin:] = 0
    return pack


def _each_token(values: Any, grid: NDArray[np.int64]) -> NDArray[Any]:
    """One value for each step in time, for each token."""
    return np.repeat(values, grid[1] * grid[2])


def _padded(values: NDArray[Any], room: int, fill: Any) -> NDArray[Any]:
    rest = np.full((room - len(values), *values.shape[1:]), fill, dtype=values.dtype)
    return np.concatenate([values, rest])
