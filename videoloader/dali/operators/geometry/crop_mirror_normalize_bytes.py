"""Cropping, mirroring and normalising bytes on the CPU: a table of 256 values for each channel.

The tables come from the reference, so the values are the same. A frame is mirrored and divided into
its channels while it is bytes and in the cache, and its float32 values are written once; that is
about 2 to 4 times as fast as the reference, on one core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import PerFrame
from videoloader.dali.operators.geometry.crop_windows import Windows
from videoloader.decoding.memory import scratch

_LEAST = 96 * 96
"""Pixels of a window; batches of smaller ones are made faster by the few calls of the reference."""


def takes_bytes(
    layout: str, shapes: Sequence[tuple[int, ...]], windows: Sequence[Windows], wanted: str
) -> bool:
    """Whether `normalize_bytes` supports this output."""
    frames = "F" if layout == "FHWC" else ""
    if layout not in ("HWC", "FHWC") or wanted not in (f"{frames}CHW", f"{frames}HWC"):
        return False
    return all(
        len(window.size) == 2
        and window.size[0] * window.size[1] >= _LEAST
        and window.is_inside(shape[:-1])
        for shape, own in zip(shapes, windows, strict=True)
        for window in own
    )


def normalize_bytes(
    sample: torch.Tensor,
    windows: Windows,
    mirror: bool | PerFrame,
    tables: NDArray[np.float32],
    out: torch.Tensor,
    *,
    channels_first: bool,
) -> None:
    """Write the windows of the frames of one sample, normalised, into `out`.

    Args:
        sample: (H, W, C) or (F, H, W, C), uint8.
        windows: one for all frames, or one for each.
        mirror: likewise.
        tables: the values of the 256 bytes for each channel (C, 256).
        out: float32 in contiguous memory, with as many channels or more, which become 0.
        channels_first: the order of `out`.
    """
    pictures, places = sample.numpy(), out.numpy()
    if pictures.ndim == 3:
        pictures, places = pictures[None], places[None]
    for number, (picture, place) in enumerate(zip(pictures, places, strict=True)):
        rows, columns = windows[number if len(windows) > 1 else 0].slices
        side = mirror.values[number] if isinstance(mirror, PerFrame) else mirror
        _normalize(picture[rows, columns], tables, place, side, channels_first)


def _normalize(
    picture: NDArray[np.uint8],
    tables: NDArray[np.float32],
    place: NDArray[np.float32],
    is_mirrored: bool,
    channels_first: bool,
) -> None:
    import cv2

    if not picture.size:
        return
    channels = picture.shape[-1]
    # A copy: one pass, however the frame lies.
    planes: Sequence[Any] = cv2.split(picture, _planes(*picture.shape))
    for channel, plane in enumerate(planes):
        values = cv2.flip(plane, 1, dst=plane) if is_mirrored else plane
        if channels_first:
            cv2.LUT(values, tables[channel], dst=place[channel])
        else:
            place[..., channel] = cv2.LUT(values, tables[channel])
    if channels_first:
        place[channels:] = 0
    else:
        place[..., channels:] = 0


def _planes(height: int, width: int, channels: int) -> list[NDArray[np.uint8]]:
    """Scratch memory for the channels of a picture."""
    size = height * width
    step = -(-size // _PAGE) * _PAGE + _APART
    memory = scratch(channels * step)
    return [memory[at : at + size].reshape(height, width) for at in range(0, channels * step, step)]


_PAGE = 1 << 12
_APART = 1040
"""Bytes beside whole pages between two planes: OpenCV takes several times as long to write planes
that lie whole pages apart, and writes planes that all begin with a cache line past the cache."""
