"""Batches of samples: some of their clips, samples of several clips, values as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import NDArray

from videoloader.decoding.clip import ClipBatch
from videoloader.decoding.output import Layout

__all__ = ["divided", "stacked", "taken"]


def taken(clips: ClipBatch, places: Sequence[int]) -> ClipBatch:
    """Some clips of a batch."""
    frames: Any = clips.frames
    frames = frames[places] if isinstance(frames, torch.Tensor) else [frames[at] for at in places]
    return ClipBatch(
        frames,
        [clips.indices[at] for at in places],
        [clips.times[at] for at in places],
        [clips.masks[at] for at in places],
        clips.requests[places],
        [],
        clips.work,
    )


def divided(clips: ClipBatch, layout: Layout, shapes: Sequence[tuple[int, ...]]) -> ClipBatch:
    """Samples of several clips, of which each tensor holds all frames one after another.

    Args:
        clips: of the samples.
        layout: of a clip.
        shapes: (clips, frames) of each sample. Where they differ the tensors become a list.
    """
    axis = layout.index("F")

    def divide(frames: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
        lead = frames.ndim - len(layout)  # 1 for a batch
        parts = frames.view(*frames.shape[: lead + axis], *shape, *frames.shape[lead + axis + 1 :])
        return parts.movedim(lead + axis, lead)

    def reshaped(arrays: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        return [each.reshape(shape) for each, shape in zip(arrays, shapes, strict=True)]

    frames = clips.frames
    is_block = isinstance(frames, torch.Tensor) and len(set(shapes)) == 1
    return ClipBatch(
        divide(frames, shapes[0])  # type: ignore[arg-type]
        if is_block
        else [divide(one, shape) for one, shape in zip(frames, shapes, strict=True)],
        reshaped(clips.indices),
        reshaped(clips.times),
        reshaped(clips.masks),
        clips.requests,
        clips.failures,
        clips.work,
    )


def stacked(arrays: Sequence[NDArray[Any]]) -> Any:
    """One tensor, or a list where the lengths differ."""
    tensors = [torch.from_numpy(array) for array in arrays]
    return torch.stack(tensors) if len({each.shape for each in tensors}) == 1 else tensors
