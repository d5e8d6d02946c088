"""Colour operators on the GPU: one or several after the other, a ragged batch in one launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import PerSample, each_value
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.kernels import (
    ELEMENTS,
    MOST_CHANNELS,
    Kernel,
    Launch,
    are_frames,
    row_type,
    rows_of,
)
from videoloader.dali.tensors.batch import Batch

MOST_STAGES = 6
"""Operators of a launch; the numbers of each take registers."""

_STAGE = np.dtype(
    [("factors", "f4", (MOST_CHANNELS, MOST_CHANNELS)), ("offsets", "f4", MOST_CHANNELS)]
)
_BLOCK_BYTES = 4096  # of a block, counted in the larger of the two element types


@dataclass(frozen=True, slots=True, eq=False)
class ColorStage:
    """A colour operator on a batch, in numbers.

    Attributes:
        table: numbers of each sample, or of each frame of those that have their own.
        counts: for each sample how many of them are its own; None if each has one.
        dtype: element type of the result.
        channels: of the result of a matrix; 0 for a line, which works on every value alike.
        is_identity: whether nothing but the element type changes.
    """

    table: NDArray[Any]
    counts: tuple[int, ...] | None
    dtype: torch.dtype
    channels: int = 0
    is_identity: bool = False


def columns(values: Sequence[PerSample]) -> tuple[list[NDArray[Any]], tuple[int, ...] | None]:
    """Arguments as arrays, and the `counts` of a `ColorStage`.

    A sample with values for frames in one argument has them in all arrays.
    """
    if not any(each.has_frames for each in values):
        return [np.array(each.values) for each in values], None
    samples = each_value(*values, make=lambda *own: own)
    rows = [row for own in samples for row in own]
    return [np.array(each) for each in zip(*rows, strict=True)], tuple(map(len, samples))


def matrix_stage(
    matrices: NDArray[np.float64], counts: tuple[int, ...] | None, dtype: torch.dtype
) -> ColorStage:
    """Pixels times matrices (N, channels out, channels in + 1), in float32."""
    made, taken = matrices.shape[1], matrices.shape[2] - 1
    table = np.zeros(len(matrices), _STAGE)
    table["factors"][:, :made, :taken] = matrices[:, :, :taken]
    table["offsets"][:, :made] = matrices[:, :, taken]
    return ColorStage(table, counts, dtype, channels=made)


def line_stage(
    factors: NDArray[Any], offsets: NDArray[Any], counts: tuple[int, ...] | None, dtype: torch.dtype
) -> ColorStage:
    """Values times factors plus offsets, in float32."""
    table = np.zeros(len(factors), _STAGE)
    table["factors"][:, 0, 0] = factors
    table["offsets"][:, 0] = offsets
    is_identity = counts is None and bool((factors == 1).all() and (offsets == 0).all())
    return ColorStage(table, counts, dtype, is_identity=is_identity)


def recolor(context: Context, frames: Batch, *stages: ColorStage) -> Any:
    """Pixels through stages, each rounded and saturated to its element type.

    NotImplemented for batches that the kernel does not take.
    """
    out = context.empty()
    if not are_frames(frames, out):
        return NotImplemented
    table, by_frame = _joined(stages)
    kernel = _kernel(len(stages))
    rows, _ = rows_of(kernel.row, frames, out, by_frame)
    rows["stages"] = table
    sizes = rows["source"]["sizes"]
    kinds = tuple([(each.dtype, each.channels) for each in stages])
    macros = _macros(frames.spec.dtype, int(sizes[0, 3]), kinds)
    size = max(frames.spec.dtype.itemsize, out.spec.dtype.itemsize)
    pixels = sizes[:, 0].astype(np.int64) * sizes[:, 1] * sizes[:, 2]
    tiles = -(pixels * size // -_BLOCK_BYTES)
    return Launch(out, kernel, rows, tiles, macros, frames.spec.device)


@cache
def _kernel(stages: int) -> Kernel:
    return Kernel("color/color.cu", "recolor_frames", row_type(("stages", _STAGE, (stages,))))


@cache
def _macros(
    source: torch.dtype, channels: int, stages: tuple[tuple[torch.dtype, int], ...]
) -> Mapping[str, int]:
    types, counts, lines = ELEMENTS[source], channels, 0
    for number, (dtype, made) in enumerate(stages):
        channels = made or channels
        types |= ELEMENTS[dtype] << 4 * (number + 1)
        counts |= channels << 4 * (number + 1)
        lines |= (not made) << number
    return {"STAGES": len(stages), "TYPES": types, "CHANNELS": counts, "LINES": lines}


def _joined(stages: Sequence[ColorStage]) -> tuple[NDArray[Any], tuple[bool, ...]]:
    """The numbers of all stages for each row of the table, and which samples have a row a frame."""
    counted = [each.counts for each in stages if each.counts is not None]
    if not counted:
        return np.stack([each.table for each in stages], axis=1), ()
    rows = np.max(counted, axis=0)
    frame = np.arange(rows.sum()) - np.repeat(np.cumsum(rows) - rows, rows)
    tables = []
    for each in stages:
        own = np.ones_like(rows) if each.counts is None else np.array(each.counts)
        first = np.cumsum(own) - own
        tables.append(
            each.table[np.repeat(first, rows) + np.where(np.repeat(own, rows) > 1, frame, 0)]
        )
    return np.stack(tables, axis=1), tuple(rows > 1)
