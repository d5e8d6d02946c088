"""A batch of clips of several shapes as one sequence of tokens, for packs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.clip import ClipBatch
from videoloader.decoding.output import Layout
from videoloader.readers.clip_samples.patches import patch_view
from videoloader.sampling import Packing
from videoloader.sampling.batches.batch_plan import Shape

__all__ = ["pack_clips"]


def pack_clips(
    clips: ClipBatch, shapes: Sequence[Shape], packing: Packing, layout: Layout
) -> dict[str, Any]:
    """What a batch of packs holds, see `Loader`; on the device of the clips.

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
    parts = [patch_view(clip, unit, layout) for clip in frames]
    pack = frames[0].new_empty(room, math.prod(parts[0].shape[3:]))
    begin = 0
    for part in parts:
        end = begin + math.prod(part.shape[:3])
        pack[begin:end].view(part.shape).copy_(part)
        begin = end
    pack[begin:] = 0
    return pack


def _each_token(values: Any, grid: NDArray[np.int64]) -> NDArray[Any]:
    """One value for each step in time, for each token."""
    return np.repeat(values, grid[1] * grid[2])


def _padded(values: NDArray[Any], room: int, fill: Any) -> NDArray[Any]:
    rest = np.full((room - len(values), *values.shape[1:]), fill, dtype=values.dtype)
    return np.concatenate([values, rest])
