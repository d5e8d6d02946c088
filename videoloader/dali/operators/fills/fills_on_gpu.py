"""Copies of frames with regions in one colour on the GPU, a ragged batch in one launch."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.context import Context
from videoloader.dali.operators.kernels import (
    LETTERS,
    MOST_CHANNELS,
    Kernel,
    Launch,
    are_frames,
    row_type,
    rows_of,
)
from videoloader.dali.tensors import saturate, truncate
from videoloader.dali.tensors.batch import Batch

_ROW = row_type(
    ("fill", "u8", MOST_CHANNELS),
    ("first", "i4"),
    ("count", "i4"),
    *((name, "f4") for name in ("sin", "cos", "across", "down", "ratio")),
)
_ERASE = Kernel("fills/fills.cu", "erase", _ROW)
_GRID_MASK = Kernel("fills/fills.cu", "grid_mask", _ROW)
SIZES = {
    dtype: dtype.itemsize
    for dtype in (
        *(torch.bool, torch.uint8, torch.int8, torch.uint16, torch.int16, torch.float16),
        *(torch.uint32, torch.int32, torch.float32, torch.uint64, torch.int64),
        torch.float64,
    )
}
"""Element types of kernels that compute nothing, and their bytes."""

_PIXELS = 1024  # of a block: four for each thread


def erase_regions(
    context: Context,
    values: Batch,
    regions: Sequence[Sequence[Sequence[slice]]],
    fills: Sequence[tuple[float, ...]],
) -> Any:
    """Fill regions of each sample; NotImplemented for batches that the kernel does not take.

    Args:
        context: of the call.
        values: the samples.
        regions: of each sample, a slice for each of its dimensions.
        fills: for each sample one value, or one for each channel.
    """
    out = context.empty()
    if not are_frames(values, out, dtypes=SIZES):
        return NotImplemented
    rows, _ = rows_of(_ROW, values, out)
    boxes: list[list[int]] = []
    places: dict[tuple[int, ...], tuple[int, int]] = {}
    found = []
    for own, sizes in zip(regions, rows["source"]["sizes"].tolist(), strict=True):
        key = (id(own), *sizes)  # equal samples share their regions
        if key not in places:
            places[key] = len(boxes), len(own)
            boxes += [_box(region, values.layout, sizes) for region in own]
        found.append(places[key])
    rows["first"], rows["count"] = np.array(found).T
    kind = values.spec.dtype
    rows["fill"] = [
        bits_of(fill * MOST_CHANNELS if len(fill) == 1 else fill, kind) for fill in fills
    ]
    return _launch(out, _ERASE, rows, values, np.array(boxes, dtype=np.int32))


def mask_squares(
    context: Context,
    frames: Batch,
    tile: Sequence[int],
    ratio: Sequence[float],
    angle: Sequence[float],
    shift_x: Sequence[float],
    shift_y: Sequence[float],
) -> Any:
    """Fill the squares of a grid with 0; arguments are for each sample.

    NotImplemented for batches that the kernel does not take.
    """
    out = context.empty()
    if not are_frames(frames, out, dtypes=SIZES):
        return NotImplemented
    rows, _ = rows_of(_ROW, frames, out)
    pairs = list(zip(angle, tile, strict=True))
    rows["sin"] = [math.sin(own) / side for own, side in pairs]
    rows["cos"] = [math.cos(own) / side for own, side in pairs]
    rows["across"] = np.divide(shift_x, tile)
    rows["down"] = np.divide(shift_y, tile)
    rows["ratio"] = ratio
    return _launch(out, _GRID_MASK, rows, frames, None)


def _box(region: Sequence[slice], layout: str, sizes: Sequence[int]) -> list[int]:
    """Where a region begins and ends along frames, rows, columns and channels."""
    bounds = [(0, size) for size in sizes]
    for letter, part in zip(layout, region, strict=True):
        at = LETTERS.index(letter)
        bounds[at] = part.indices(sizes[at])[:2]
    return [*(start for start, _ in bounds), *(stop for _, stop in bounds)]


def bits_of(
    numbers: Sequence[float], dtype: torch.dtype, *, is_rounded: bool = False
) -> NDArray[np.uint64]:
    """The bytes of numbers as an element type, one for each channel, as integers of 64 bits.

    Numbers are truncated for integers unless they are to be rounded. Channels without a number
    have 0.
    """
    packed = struct.pack(f"{len(numbers)}d", *numbers)  # as bytes: 0.0 is not -0.0
    return _bits(packed, dtype, is_rounded) if any(packed) else np.zeros(MOST_CHANNELS, np.uint64)


@lru_cache(maxsize=256)  # constants, which torch converts: slower than all else of a launch
def _bits(packed: bytes, dtype: torch.dtype, is_rounded: bool) -> NDArray[np.uint64]:
    exact = torch.frombuffer(bytearray(packed), dtype=torch.float64)
    values = (saturate if is_rounded else truncate)(exact, dtype)
    memory = np.zeros((MOST_CHANNELS, 8), dtype=np.uint8)
    memory[: len(values), : dtype.itemsize] = values.view(torch.uint8).reshape(len(values), -1)
    return memory.view(np.uint64)[:, 0]


def _launch(
    out: Batch, kernel: Kernel, rows: NDArray[Any], frames: Batch, values: NDArray[Any] | None
) -> Launch:
    spec, sizes = frames.spec, rows["source"]["sizes"]
    macros = {"SIZE": spec.dtype.itemsize, "CHANNELS": int(sizes[0, 3])}
    pixels = sizes[:, :3].prod(axis=1, dtype=np.int64)
    return Launch(out, kernel, rows, -(-pixels // _PIXELS), macros, spec.device, values)
