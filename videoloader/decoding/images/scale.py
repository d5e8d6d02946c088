"""Converts the element type of decoded pixels. Separate, since worker processes load no torch."""

from __future__ import annotations

import torch


def to_range(pixels: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Rescale pixels to the range of another element type: 0 to 1, or 0 to the largest integer."""
    if pixels.dtype == dtype:
        return pixels
    from_top = _top(pixels.dtype)
    scaled = pixels.double() * (_top(dtype) / from_top)
    if dtype.is_floating_point:
        return scaled.to(dtype)
    return scaled.add_(0.5).floor_().clamp_(0, _top(dtype)).to(dtype)


def _top(dtype: torch.dtype) -> float:
    return 1.0 if dtype.is_floating_point else float(torch.iinfo(dtype).max)
