"""Samples of several clips or crops, and values of samples as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.decoding.clip_batch import ClipBatch
from videoloader.decoding.framing import Framing
from videoloader.decoding.options import Layout


def views(
    frames: torch.Tensor, layout: Layout, shape: tuple[int, ...], framing: Framing
) -> torch.Tensor:
    """The frames of a sample, with an axis in front of its clips, and of the crops of each.

    Args:
        frames: of all clips, one after another.
        layout: of these.
        shape: (clips, frames), or (frames,) without that axis.
        framing: whose crops are cut, if there are several.
    """
    axis = layout.index("F")
    if len(shape) > 1:
        parts = [*frames.shape[:axis], *shape, *frames.shape[axis + 1 :]]
        frames = frames.reshape(parts).movedim(axis, 0)
    if framing.num_crops == 1:
        return frames
    height, width = (layout.index(side) - len(layout) for side in "HW")
    assert framing.slot is not None  # the size of a crop
    rows, columns = framing.slot
    cut = torch.stack(
        [
            frames.narrow(height, top, rows).narrow(width, left, columns)
            for top, left in framing.corners((frames.shape[height], frames.shape[width]))
        ]
    )
    return cut.movedim(0, 1).flatten(0, 1) if len(shape) > 1 else cut


def of_views(values: NDArray[Any], shape: tuple[int, ...], framing: Framing) -> NDArray[Any]:
    """Values that belong to the frames of a sample, in the shape of its `views`."""
    values = values.reshape(shape)
    if framing.num_crops == 1:
        return values
    return np.repeat(values.reshape(-1, shape[-1]), framing.num_crops, axis=0)


def divided(
    clips: ClipBatch, layout: Layout, shapes: Sequence[tuple[int, ...]], framing: Framing
) -> ClipBatch:
    """Samples of several clips or crops, of which each tensor holds all frames one after another.

    Args:
        clips: of the samples.
        layout: of a clip.
        shapes: (clips, frames) of each sample. Where they differ the tensors become a list.
        framing: whose crops are cut.
    """

    def reshaped(arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        pairs = zip(arrays, shapes, strict=True)
        return [of_views(each, shape, framing) for each, shape in pairs]

    frames: Any = clips.frames
    if isinstance(frames, torch.Tensor) and len(set(shapes)) == framing.num_crops == 1:
        axis = 1 + layout.index("F")
        parts = frames.view(*frames.shape[:axis], *shapes[0], *frames.shape[axis + 1 :])
        frames = parts.movedim(axis, 1)
    else:
        pairs = zip(frames, shapes, strict=True)
        frames = [views(each, layout, shape, framing) for each, shape in pairs]
        if len({each.shape for each in frames}) == 1:
            frames = torch.stack(frames)
    return replace(
        clips,
        frames=frames,
        indices=reshaped(clips.indices),
        times=reshaped(clips.times),
        masks=reshaped(clips.masks),
    )


def stacked(arrays: Sequence[NDArray[Any]]) -> Any:
    """One tensor, or a list where the lengths differ."""
    tensors = [torch.from_numpy(array) for array in arrays]
    return torch.stack(tensors) if len({each.shape for each in tensors}) == 1 else tensors
