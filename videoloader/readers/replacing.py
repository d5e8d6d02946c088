"""Clips that fail are replaced by others, until all of a batch decode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import torch

from videoloader.decoding.clip import Clip, ClipBatch
from videoloader.errors import VideoError

__all__ = ["Decode", "decode_replacing", "failed_clips"]

Decode: TypeAlias = Callable[[Sequence[int]], ClipBatch]
"""Decodes the clips chosen for some places of a batch; those that fail are masked."""


def decode_replacing(
    decode: Decode, count: int, choose: Callable[[int, VideoError], None]
) -> ClipBatch:
    """Decode a batch; for each clip that fails another is chosen, until all decode.

    Args:
        decode: decodes what is chosen for some places.
        count: clips of the batch.
        choose: called with a place whose clip failed, and why; chooses another one for it, or
            raises the error of the batch.

    Returns:
        The batch, without failures.
    """
    batch = decode(range(count))
    failed = failed_clips(batch)
    while failed:
        again = sorted(failed)
        for place in again:
            choose(place, failed[place])
        more = decode(again)
        batch = _replaced(batch, dict(zip(again, more.clips, strict=True)))
        failed = {again[place]: error for place, error in failed_clips(more).items()}
    return batch


def failed_clips(batch: ClipBatch) -> dict[int, VideoError]:
    """The places of a batch whose clips failed, and why: the first error of each."""
    return {failure.request: failure.error for failure in reversed(batch.failures)}


def _replaced(batch: ClipBatch, others: Mapping[int, Clip]) -> ClipBatch:
    """A batch with other clips at some places; in its memory, if they fit."""
    clips = [others.get(place, clip) for place, clip in enumerate(batch.clips)]
    return replace(
        batch,
        frames=_joined(batch.frames, {place: clip.frames for place, clip in others.items()}),
        indices=[clip.indices for clip in clips],
        times=[clip.times for clip in clips],
        masks=[clip.mask for clip in clips],
        failures=[],
    )


def _joined(frames: torch.Tensor | list[torch.Tensor], others: Mapping[int, torch.Tensor]) -> Any:
    fits = {clip.shape for clip in others.values()} == {frames[0].shape}
    if isinstance(frames, torch.Tensor) and fits:
        for place, clip in others.items():
            frames[place] = clip
        return frames
    clips = [others.get(place, clip) for place, clip in enumerate(frames)]
    return torch.stack(clips) if len({clip.shape for clip in clips}) == 1 else clips
