"""Filters along one dimension: which source pixels make an output pixel, and how much each weighs.

As in DALI: pixel centres lie at half-integers; a filter that shrinks is as wide as the scale where
it antialiases; what it would read outside the picture is the pixel at the border; weights sum to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.axes import storable
from videoloader.dali.tensors import saturate
from videoloader.dali.types import InterpType

_CLOSE = 1e-9  # distances that are equal but for rounding
_BLOCK = 16  # outputs whose weights are one dense matrix


class Axis(NamedTuple):
    """Resizing of one dimension.

    Attributes:
        start, end: the part of the source that becomes the output, in pixels, from edge to edge;
            the output is mirrored where `end` is less.
        size: pixels of the output.
        filter: how they are computed.
        antialias: widen the filter where it shrinks.
        window: first pixel and number of those of the output that are wanted; all by default.
        mirrored: reverse the order of these pixels.
    """

    start: float
    end: float
    size: int
    filter: InterpType = InterpType.INTERP_LINEAR
    antialias: bool = True
    window: tuple[int, int] | None = None
    mirrored: bool = False

    @property
    def outputs(self) -> int:
        """Pixels that come out."""
        return self.size if self.window is None else self.window[1]

    def within(self, window: tuple[int, int], *, mirrored: bool = False) -> Axis:
        """A part of the output, which may be mirrored."""
        return self._replace(window=window, mirrored=mirrored)


def resample(
    frames: torch.Tensor, axes: Sequence[Axis], tables: Sequence[Taps], dtype: torch.dtype
) -> torch.Tensor:
    """Resize the dimensions in front of the last one, which holds channels.

    Args:
        frames: (..., *sides, C).
        axes: one for each side.
        tables: `taps_of` them.
        dtype: element type of the result, converted once at the end.
    """
    first = frames.ndim - 1 - len(axes)
    sides = frames.shape[first:-1]
    if frames.numel() == 0:
        shape = (*frames.shape[:first], *(axis.outputs for axis in axes), frames.shape[-1])
        return frames.new_empty(shape, dtype=dtype)
    # What shrinks most comes first: the rest has less to do.
    order = sorted(range(len(axes)), key=lambda at: axes[at].outputs / sides[at])
    picked = all(taps.weights is None for taps in tables)
    values, pictures = frames, frames.shape[:first].numel()
    for at in order:
        if not tables[at].is_identity:
            values = _filtered(values, first + at, tables[at], pictures)
    return saturate(values, dtype) if picked or values.dtype != dtype else values


@dataclass(frozen=True, slots=True, eq=False)
class Taps:
    """Source pixels (outputs, taps) of each output pixel and their weights; None: only one each."""

    indices: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    is_identity: bool

    def blocks(self, count: int) -> list[tuple[int, int, NDArray[np.float64]]]:
        """For `count` outputs at a time: their source pixels, from and to, and their weights."""
        assert self.weights is not None
        found = []
        for at in range(0, len(self.indices), count):
            indices, weights = self.indices[at : at + count], self.weights[at : at + count]
            low, high = int(indices.min()), int(indices.max()) + 1
            matrix = np.zeros((len(indices), high - low))
            np.add.at(matrix, (np.arange(len(indices))[:, None], indices - low), weights)
            found.append((low, high, matrix))
        return found


def taps_of(sides: Sequence[int], axes: Sequence[Axis]) -> list[Taps]:
    """The taps of each side; none of samples without elements."""
    if not all(sides):
        return []
    last = len(axes) - 1
    each = enumerate(zip(sides, axes, strict=True))
    return [_taps(side, axis, is_row=number == last) for number, (side, axis) in each]


def _taps(side: int, axis: Axis, *, is_row: bool) -> Taps:
    scale = (axis.end - axis.start) / axis.size
    begin, count = axis.window or (0, axis.size)
    if axis.filter is InterpType.INTERP_NN:
        nearest = np.floor(_single_centers(axis, is_row=is_row)).clip(0, side - 1).astype(np.int64)
        is_same = np.array_equal(nearest, np.arange(side))
        return Taps(nearest[:, None], None, is_same)
    outputs = np.arange(begin, begin + count)[:: -1 if axis.mirrored else 1]
    # One division, so that a center at the border of two pixels is there exactly.
    centers = axis.start + (outputs + 0.5) * (axis.end - axis.start) / axis.size
    radius, weigh = _FILTERS[axis.filter]
    width = max(1.0, abs(scale)) if axis.antialias else 1.0
    centers = centers - 0.5
    first = np.ceil(centers - radius * width - _CLOSE)
    indices = first[:, None] + np.arange(int(np.ceil(2 * radius * width)) + 1)
    weights = weigh((indices - centers[:, None]) / width)
    weights /= weights.sum(axis=1, keepdims=True)
    used = np.abs(weights).max(axis=0) > 0
    indices = indices[:, used].clip(0, side - 1).astype(np.int64)
    weights = weights[:, used]
    is_same = (
        count == side and weights.shape[1] == 1 and np.array_equal(indices[:, 0], np.arange(side))
    )
    return Taps(indices, weights, is_same)


def _single_centers(axis: Axis, *, is_row: bool) -> NDArray[np.floating[Any]]:
    """Where outputs have their centers, in float32 as DALI adds them up.

    A center may lie at the border of two pixels: its last bit decides which one is nearest. Along
    a row each is computed from its number; along other dimensions the scale is added step by step.
    """
    single = np.float32
    begin, count = axis.window or (0, axis.size)
    step = (axis.end - axis.start) / axis.size
    low, high = single(axis.start + begin * step), single(axis.start + (begin + count) * step)
    if (begin, count) == (0, axis.size):
        high = single(axis.end)
    if axis.mirrored:
        low, high = high, low
    scale = single((high - low) / single(count)) if count else single(0)
    if is_row:
        return low + (np.arange(count, dtype=single) + single(0.5)) * scale
    steps = np.full(count, scale, single)
    steps[:1] = low + single(0.5) * scale
    return np.add.accumulate(steps)


def _filtered(values: torch.Tensor, dim: int, taps: Taps, pictures: int) -> torch.Tensor:
    """Filter one dimension of so many pictures, in float32 or float64."""
    if taps.weights is None:
        indices = torch.from_numpy(taps.indices[:, 0]).to(values.device)
        return storable(values).index_select(dim, indices).view(values.dtype)
    kind = torch.float64 if values.dtype == torch.float64 else torch.float32
    side, inner = values.shape[dim], values.shape[dim + 1 :].numel()
    count = len(taps.indices)
    on_cpu = values.device.type == "cpu"
    step = _BLOCK if on_cpu else count  # a GPU has more use of one launch than of fewer products
    blocks = [
        (low, high, torch.from_numpy(matrix).to(values.device, kind, copy=True))
        for low, high, matrix in taps.blocks(step)
    ]
    whole = values.reshape(pictures, -1, side, inner)
    outer = whole.shape[1]
    if not on_cpu:
        ((low, high, weights),) = blocks
        done = weights @ whole[:, :, low:high].to(kind)
        return done.reshape(*values.shape[:dim], count, *values.shape[dim + 1 :])
    # Each picture by itself and in the same memory: libraries round sums by how many there are and
    # by their place in memory, and a picture is to be the same in any batch.
    done = torch.empty(pictures, outer, count, inner, dtype=kind)
    if inner < _BLOCK:  # the channels alone: whole rows are multiplied
        source, made = (torch.empty(outer, inner, length, dtype=kind) for length in (side, count))
        rows, filtered = source.view(-1, side), made.view(-1, count)
        for picture, result in zip(whole, done, strict=True):
            source.copy_(picture.transpose(1, 2))
            for number, (low, high, weights) in enumerate(blocks):
                place = filtered[:, number * step : (number + 1) * step]
                place.copy_(rows[:, low:high] @ weights.T)
            result.copy_(made.transpose(1, 2))
    else:
        source, made = (torch.empty(length, outer, inner, dtype=kind) for length in (side, count))
        for picture, result in zip(whole, done, strict=True):
            source.copy_(picture.transpose(0, 1))
            for number, (low, high, weights) in enumerate(blocks):
                place = made[number * step : (number + 1) * step]
                torch.mm(weights, source[low:high].flatten(1), out=place.flatten(1))
            result.copy_(made.transpose(0, 1))
    return done.reshape(*values.shape[:dim], count, *values.shape[dim + 1 :])


def _triangle(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(0.0, 1.0 - np.abs(distance))


def _catmull_rom(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    x = np.abs(distance)
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def _lanczos(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    inside = np.abs(distance) < 3
    return np.where(inside, np.sinc(distance) * np.sinc(distance / 3), 0.0)


def _gaussian(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    # As in DALI, the pixel at distance -1 is inside and the one at distance 1 is not.
    inside = (distance > -1 - _CLOSE) & (distance < 1 - _CLOSE)
    return np.where(inside, np.exp(-((2 * distance) ** 2)), 0.0)


_FILTERS: dict[InterpType, tuple[int, Callable[[NDArray[np.float64]], NDArray[np.float64]]]] = {
    InterpType.INTERP_LINEAR: (1, _triangle),
    InterpType.INTERP_TRIANGULAR: (1, _triangle),
    InterpType.INTERP_CUBIC: (2, _catmull_rom),
    InterpType.INTERP_LANCZOS3: (3, _lanczos),
    InterpType.INTERP_GAUSSIAN: (1, _gaussian),
}
