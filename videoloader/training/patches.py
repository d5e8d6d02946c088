"""Clips as sequences of patches, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from videoloader.decoding.options import Layout, LayoutName, as_layout
from videoloader.errors import ArgumentError
from videoloader.sampling.batches.batch_plan import Shape


def patchify(
    frames: torch.Tensor, patch: Shape | Sequence[int], *, layout: LayoutName = "FCHW"
) -> torch.Tensor:
    """Cut a clip into patches: each is a row of the result, and a token of a transformer.

    With `patch=(t, h, w)` and a clip of F frames of H rows and W columns there are
    (F / t) * (H / h) * (W / w) tokens. Token (i, j, k) is row (i * (H / h) + j) * (W / w) + k:
    time is slowest, then from top to bottom, then from left to right. It holds t * h * w * C
    elements: channel c of pixel (j * h + y, k * w + x) of frame i * t + f is element
    ((f * h + y) * w + x) * C + c.

    Args:
        frames: a clip in `layout`, whose sides are multiples of the patch.
        patch: (frames, rows, columns) of a token.
        layout: order of the dimensions of the clip.

    Returns:
        (tokens, t * h * w * C), of the same type and device; memory of its own.

    >>> patchify(torch.arange(24).view(1, 3, 2, 4), (1, 2, 2)).tolist()[1]
    [2, 10, 18, 3, 11, 19, 6, 14, 22, 7, 15, 23]
    """
    parts = patch_view(frames, patch, as_layout(layout))
    tokens = frames.new_empty(math.prod(parts.shape[:3]), math.prod(parts.shape[3:]))
    tokens.view(parts.shape).copy_(parts)
    return tokens


def patch_view(frames: torch.Tensor, patch: Sequence[int], layout: Layout) -> torch.Tensor:
    """The patches of a clip in its own memory: (F / t, H / h, W / w, t, h, w, C)."""
    clip = frames.permute([layout.index(axis) for axis in "FHWC"])
    grid = _grid(clip.shape[:3], patch)
    sides = [part for pair in zip(grid, patch, strict=True) for part in pair]
    return clip.reshape(*sides, clip.shape[3]).permute(0, 2, 4, 1, 3, 5, 6)


def unpatchify(
    patches: torch.Tensor,
    shapes: Sequence[Sequence[int]] | torch.Tensor,
    patch: Shape | Sequence[int],
    *,
    layout: LayoutName = "FCHW",
) -> list[torch.Tensor]:
    """The clips of a pack: the inverse of `patchify`, also for tokens that a model predicts.

    Args:
        patches: (tokens, t * h * w * C), clip after clip; what is behind the last one is padding.
        shapes: (frames, height, width) of each clip, as `shapes` of a batch.
        patch: (frames, rows, columns) of a token.
        layout: order of the dimensions of the clips.

    Returns:
        The clips.

    >>> clip = torch.rand(4, 3, 32, 48)
    >>> (back,) = unpatchify(patchify(clip, (2, 16, 16)), [(4, 32, 48)], (2, 16, 16))
    >>> torch.equal(back, clip)
    True
    """
    whole = shapes.tolist() if isinstance(shapes, torch.Tensor) else [list(s) for s in shapes]
    channels, rest = divmod(patches.shape[1], math.prod(patch))
    if rest or not channels:
        raise ArgumentError(
            f"tokens of {patches.shape[1]} elements are no whole number of patches {tuple(patch)}"
        )
    clips, begin, axes = [], 0, as_layout(layout)
    for shape in whole:
        grid = _grid(shape, patch)
        tokens = patches[begin : begin + math.prod(grid)]
        begin += math.prod(grid)
        if len(patches) < begin:
            raise ArgumentError(f"{len(patches)} tokens are too few for clips of {whole}")
        parts = tokens.reshape(*grid, *patch, channels).permute(0, 3, 1, 4, 2, 5, 6)
        clip = parts.reshape(*shape, channels)
        clips.append(clip.permute(["FHWC".index(axis) for axis in axes]).contiguous())
    return clips


def _grid(shape: Sequence[int], patch: Sequence[int]) -> list[int]:
    """Patches along frames, rows and columns."""
    if len(patch) != len(shape) or any(n % unit for n, unit in zip(shape, patch, strict=True)):
        raise ArgumentError(
            f"a clip of {tuple(shape)} (frames, height, width) is no whole number of patches "
            f"{tuple(patch)}"
        )
    return [n // unit for n, unit in zip(shape, patch, strict=True)]
