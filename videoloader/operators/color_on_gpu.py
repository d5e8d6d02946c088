"""Colours on the GPU: a matrix, or a factor and an offset, for each sample or frame; one launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.operators.arguments import PerFrame
from videoloader.operators.batch import Batch, Context
from videoloader.operators.kernels import ELEMENTS, Kernel, are_frames, row_type, rows_of

__all__ = ["mix_colors", "scale_values"]

_MOST_CHANNELS = 4
_ROW = row_type(
    ("factors", "f4", (_MOST_CHANNELS, _MOST_CHANNELS)), ("offsets", "f4", _MOST_CHANNELS)
)
_MIX = Kernel("color.cu", "mix", _ROW)
_SCALE = Kernel("color.cu", "scale", _ROW)
_PIXELS = 1024  # of a block: four for each thread


def mix_colors(
    context: Context, frames: Batch, matrices: Sequence[NDArray[np.float64] | PerFrame]
) -> Any:
    """Pixels times matrices (channels out, channels in + 1), in float32.

    NotImplemented for batches that the kernel does not take.
    """
    out = context.empty()
    if not are_frames(frames, out):
        return NotImplemented
    rows, tables = _rows(frames, out, matrices)
    numbers = np.stack(tables)
    made, taken = numbers.shape[1], numbers.shape[2] - 1
    rows["factors"][:, :made, :taken] = numbers[:, :, :taken]
    rows["offsets"][:, :made] = numbers[:, :, taken]
    _launch(_MIX, rows, frames, out)
    return out


def scale_values(
    context: Context,
    frames: Batch,
    factors: Sequence[float | PerFrame],
    offsets: Sequence[float | PerFrame],
) -> Any:
    """Values times factors plus offsets, in float32.

    Where factors are for frames, offsets are so too. NotImplemented for batches that the kernel
    does not take.
    """
    out = context.empty()
    if not are_frames(frames, out):
        return NotImplemented
    rows, numbers = _rows(frames, out, offsets)
    rows["offsets"][:, 0] = numbers
    rows["factors"][:, 0, 0] = _each(
        [
            PerFrame((factor,) * len(offset))
            if isinstance(offset, PerFrame) and not isinstance(factor, PerFrame)
            else factor
            for factor, offset in zip(factors, offsets, strict=True)
        ]
    )
    _launch(_SCALE, rows, frames, out)
    return out


def _rows(frames: Batch, out: Batch, values: Sequence[Any]) -> tuple[NDArray[Any], list[Any]]:
    """The table, and the value of each of its rows."""
    rows, _ = rows_of(_ROW, frames, out, [isinstance(value, PerFrame) for value in values])
    return rows, _each(values)


def _each(values: Sequence[Any]) -> list[Any]:
    return [
        item
        for value in values
        for item in (value.values if isinstance(value, PerFrame) else (value,))
    ]


def _launch(kernel: Kernel, rows: NDArray[Any], frames: Batch, out: Batch) -> None:
    channels = rows["source"]["sizes"][0, 3], rows["target"]["sizes"][0, 3]
    macros = {
        "SOURCE": ELEMENTS[frames.spec.dtype],
        "TARGET": ELEMENTS[out.spec.dtype],
        "CHANNELS": channels[0],
        "TARGET_CHANNELS": channels[1],
    }
    pixels = rows["source"]["sizes"][:, :3].prod(axis=1, dtype=np.int64)
    kernel.launch(rows, -(-pixels // _PIXELS), macros, frames.spec.device)
