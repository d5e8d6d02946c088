"""Arguments that several ways to frames have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from videoloader.decoding.output import OutputFormat
from videoloader.errors import ArgumentError, NoGpuError

__all__ = ["as_device", "as_fill", "as_frame_numbers"]


def as_device(device: str | torch.device) -> torch.device:
    """A device that is there."""
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise ArgumentError(f'device must be "cpu", "cuda" or "cuda:N", got {device!r}') from error
    if chosen.type not in ("cpu", "cuda"):
        raise ArgumentError(f'device must be "cpu", "cuda" or "cuda:N", got {device!r}')
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise NoGpuError(f'device={str(device)!r}, but torch sees no GPU; use device="cpu"')
    return chosen


def as_frame_numbers(frames: ArrayLike) -> NDArray[np.int64]:
    """Frame numbers in one row."""
    try:
        numbers = np.asarray(frames).reshape(-1)
    except ValueError as error:  # lists of several lengths
        raise ArgumentError(f"frame numbers are integers, got {frames!r:.80}") from error
    kind = numbers.dtype.kind
    if kind not in "iu" and numbers.size:
        raise ArgumentError(f"frame numbers are integers, got {numbers.dtype}")
    if kind == "u" and numbers.size and numbers.max() > np.iinfo(np.int64).max:
        raise ArgumentError(f"frame number {numbers.max()} is over 63 bits")
    return numbers.astype(np.int64)


def as_fill(value: int | Sequence[int], output: OutputFormat) -> NDArray[Any]:
    """A fill value as one element for each channel, or one for all."""
    values = np.asarray(value).reshape(-1)
    fits = np.issubdtype(values.dtype, np.integer) and len(values) in (1, output.channels)
    if not fits or values.min() < 0 or values.max() > 255:
        raise ArgumentError(
            f"fill_value is a number from 0 to 255, or {output.channels}, got {value!r}"
        )
    return output.encode(values)
