"""Clips that fail are replaced by others, until all of a batch decode that are to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import torch

from videoloader.decoding.clip import Clip, ClipBatch, ClipFailure

__all__ = ["Decode", "decode_replacing", "failed_clips"]

Decode: TypeAlias = Callable[[Sequence[int]], ClipBatch]
"""Decodes the clips chosen for some places of a batch; those that fail are masked."""


def decode_replacing(
    decode: Decode, count: int, choose: Callable[[int, ClipFailure], bool]
) -> ClipBatch:
    """Decode a batch; for a clip that fails another may be chosen, until one decodes.

    Args:
        decode: decodes what is chosen for some places.
        count: clips of the batch.
        choose: called with a place whose clip failed, and why; chooses another one for it, or
            returns False to leave it as it is, masked; or raises the error of the batch.

    Returns:
        The batch, with the failures of the clips that were left as they are.
    """
    batch = decode(range(count))
    failed = failed_clips(batch)
    left = []
    while failed:
        again = []
        for place in sorted(failed):
            if choose(place, failed[place]):
                again.append(place)
            else:
                left.append(failed[place])
        if not again:
            break
        more = decode(again)
        batch = _replaced(batch, dict(zip(again, more.clips, strict=True)), more)
        failed = {
            again[place]: replace(failure, request=again[place])
            for place, failure in failed_clips(more).items()
        }
    return replace(batch, failures=left)


def failed_clips(batch: ClipBatch) -> dict[int, ClipFailure]:
    """The places of a batch whose clips failed, and why: the first failure of each."""
    return {failure.request: failure for failure in reversed(batch.failures)}


def _replaced(batch: ClipBatch, others: Mapping[int, Clip], more: ClipBatch) -> ClipBatch:
    """A batch with other clips at some places; in its memory, if they fit."""
    clips = [others.get(place, clip) for place, clip in enumerate(batch.clips)]
    return replace(
        batch,
        frames=_joined(batch.frames, {place: clip.frames for place, clip in others.items()}),
        indices=[clip.indices for clip in clips],
        times=[clip.times for clip in clips],
        masks=[clip.mask for clip in clips],
        work=batch.work + more.work,
    )


def _joined(frames: torch.Tensor | list[torch.Tensor], others: Mapping[int, torch.Tensor]) -> Any:
    fits = {clip.shape for clip in others.values()} == {frames[0].shape}
    if isinstance(frames, torch.Tensor) and fits:
        for place, clip in others.items():
            frames[place] = clip
        return frames
    clips = [others.get(place, clip) for place, clip in enumerate(frames)]
    return torch.stack(clips) if len({clip.shape for clip in clips}) == 1 else clips
