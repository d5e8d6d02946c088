"""Windows of frames on the GPU: mirrored, filled outside, converted, scaled; one launch a batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.operators import kernels
from videoloader.operators.arguments import PerFrame, PerSample
from videoloader.operators.batch import Batch, Context
from videoloader.operators.fills.fills_on_gpu import SIZES, bits_of_each
from videoloader.operators.geometry.windows import Windows
from videoloader.operators.kernels import (
    ELEMENTS,
    MOST_CHANNELS,
    MOST_VALUES,
    Kernel,
    are_frames,
    groups_in,
    row_type,
    rows_of,
)
from videoloader.tensors import saturate, truncate

__all__ = [
    "Lines",
    "Moves",
    "convert_on_gpu",
    "flips_of",
    "moves_from",
    "moves_of",
    "windows_on_gpu",
]

_FARTHEST = 1 << 30  # a window's first pixel, which the kernel counts in 32 bits
_ROW = row_type(
    ("fill", "u8", MOST_CHANNELS),
    ("factors", "f4", MOST_CHANNELS),
    ("offsets", "f4", MOST_CHANNELS),
    ("start", "i4", 3),
    ("flips", "i4"),
)
_WINDOW = Kernel("geometry/window.cu", "window", _ROW)
_CONVERTED = {**ELEMENTS, torch.int8: 16, torch.int16: 17, torch.bool: 18}  # as in window.cu

Flips = PerSample | tuple[int | PerFrame, ...]
"""1: left and right swapped, 2: top and bottom, 4: front and back; for each sample."""


class Lines(NamedTuple):
    """Factors and offsets (samples, channels) of values; one row serves for all samples."""

    factors: NDArray[np.float32]
    offsets: NDArray[np.float32]


class Moves(NamedTuple):
    """Where the pixels of samples, or of the frames of some samples, come from.

    Attributes:
        start: (rows, 3), the first frame, row and column of each window; may lie outside.
        flips: (rows,), see `Flips`.
        by_frame: of each sample whether its frames have rows of their own; empty: none.
    """

    start: NDArray[np.int64]
    flips: NDArray[np.int64]
    by_frame: tuple[bool, ...] = ()


def moves_of(windows: tuple[Windows, ...], flips: Flips) -> Moves | None:
    """The moves of windows and flips, one for each sample.

    None where frames have values of their own but windows leave frames out.
    """
    if all(len(own) == 1 for own in windows) and not _has_frames(flips):
        return Moves(_starts([own[0].start for own in windows]), np.array([*flips], np.int64))
    starts: list[tuple[int, ...]] = []
    sides: list[int] = []
    by_frame = []
    for own, flip in zip(windows, flips, strict=True):
        by_frame.append(len(own) > 1 or isinstance(flip, PerFrame))
        count = max(len(own), len(flip) if isinstance(flip, PerFrame) else 1)
        if by_frame[-1] and len(own[0].start) > 2:
            return None
        starts += [window.start for window in own] * (count // len(own))
        sides += flip.values if isinstance(flip, PerFrame) else (flip,) * count
    return Moves(_starts(starts), np.array(sides, np.int64), tuple(by_frame))


def moves_from(starts: Sequence[Sequence[int]]) -> Moves | None:
    """The moves of windows, by their first (frame,) row and column; nothing is flipped.

    None where a window is too far away for the kernel.
    """
    if any(abs(start) > _FARTHEST for own in starts for start in own):
        return None
    return Moves(_starts(starts), np.zeros(len(starts), np.int64))


def flips_of(*sides: PerSample) -> Flips:
    """The flips of each sample, by whether columns, rows and frames are swapped."""
    flips: list[int | PerFrame] = []
    for position in range(len(sides[0])):
        counts = [len(side[position]) for side in sides if isinstance(side[position], PerFrame)]
        frames = zip(*(side.frames(position, max([1, *counts])) for side in sides), strict=True)
        each = tuple(sum(is_flipped << at for at, is_flipped in enumerate(own)) for own in frames)
        flips.append(PerFrame(each) if counts else each[0])
    return tuple(flips)


def windows_on_gpu(
    frames: Batch,
    out: Batch,
    moves: Moves | None,
    fills: Sequence[tuple[float, ...]],
    *,
    lines: Lines | None = None,
    is_rounded: bool = False,
) -> Any:
    """Fill `out` with windows of its size; `out` itself.

    NotImplemented for batches that the kernel does not take. A dimension D counts as frames.

    Args:
        frames: the samples.
        out: for as many samples; channels that `frames` has not become 0.
        moves: where windows lie.
        fills: what lies outside, for all channels or each: one for all samples, or for each.
        lines: what values go through in float32, before they are rounded and saturated.
        is_rounded: whether values and fills are rounded without `lines`, not truncated.
    """
    if moves is None or not len(frames):
        return NotImplemented
    source, target = _one(frames).dtype, _one(out).dtype
    is_moved = source == target and lines is None
    pair = _as_clips(frames), _as_clips(out)
    if not are_frames(*pair, dtypes=SIZES if is_moved else _CONVERTED):
        return NotImplemented
    rows, samples = rows_of(_ROW, *pair, moves.by_frame)
    channels = int(rows["source"]["sizes"][0, 3])
    if any(len(fill) not in (1, channels) for fill in fills):
        return NotImplemented
    rows["start"], rows["flips"] = moves.start, moves.flips
    if len(fills) == 1:
        rows["fill"] = _bits(fills[0], channels, target, is_rounded)
    else:
        bits = [_bits(fill, channels, target, is_rounded) for fill in fills]
        rows["fill"] = np.stack(bits)[samples]
    if lines is not None:
        each = slice(None) if len(lines.factors) == 1 else samples
        rows["factors"][:, :channels] = lines.factors[each]
        rows["offsets"][:, :channels] = lines.offsets[each]
    is_cut = lines is None and not (is_rounded or target.is_floating_point)
    device = str(_one(frames).device)
    _launch(rows, device, source, target, is_scaled=lines is not None, is_cut=is_cut)
    return out


def convert_on_gpu(context: Context, values: Batch) -> Any:
    """The output with the values rounded and saturated, whatever shapes samples have.

    NotImplemented for batches that the kernel does not take.
    """
    if not len(values):
        return NotImplemented
    source, target = _one(values).dtype, context.outputs[0].dtype
    if source not in _CONVERTED or target not in _CONVERTED or not kernels.has_cupy():
        return NotImplemented
    out = context.empty()
    are_blocks = values.block is not None and out.block is not None
    pair = [batch.tensors() if are_blocks else batch.samples for batch in (values, out)]
    tensors = pair[0] + pair[1]
    if any(not each.is_contiguous() or each.numel() > MOST_VALUES for each in tensors):
        return NotImplemented
    rows = np.zeros(len(pair[0]), _ROW)
    for name, own in zip(("source", "target"), pair, strict=True):
        rows[name]["address"] = [each.data_ptr() for each in own]
        rows[name]["sizes"] = [(1, 1, each.numel(), 1) for each in own]
        rows[name]["strides"] = (0, 0, 1, 0)
    _launch(rows, str(_one(values).device), source, target)
    return out


def _launch(
    rows: NDArray[Any],
    device: str,
    source: torch.dtype,
    target: torch.dtype,
    *,
    is_scaled: bool = False,
    is_cut: bool = False,
) -> None:
    is_moved = source == target and not is_scaled
    channels = [int(rows[name]["sizes"][0, 3]) for name in ("source", "target")]
    size = max(source.itemsize * channels[0], target.itemsize * channels[1])
    pixels = 16 if size <= 2 else 8 if size <= 8 else 4
    macros = {"CHANNELS": channels[0], "TARGET_CHANNELS": channels[1], "PIXELS": pixels}
    macros |= {"SIZE": source.itemsize if is_moved else 0}
    if not is_moved:
        macros |= {"SOURCE": _CONVERTED[source], "TARGET": _CONVERTED[target]}
        macros |= {"SCALED": int(is_scaled), "CUT": int(is_cut)}
    _WINDOW.launch(rows, groups_in(rows, pixels), macros, device)


def _one(batch: Batch) -> torch.Tensor:
    """A tensor of the device and type of a batch that is not empty."""
    return batch.samples[0] if batch.block is None else batch.block


def _has_frames(flips: Flips) -> bool:
    if isinstance(flips, PerSample):
        return flips.has_frames
    return any(isinstance(flip, PerFrame) for flip in flips)


def _starts(starts: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """First pixels along frames, rows and columns; frames are whole where they are not named."""
    most = max(map(len, starts), default=3)
    if any(len(start) != most for start in starts):
        starts = [(*(0,) * (most - len(start)), *start) for start in starts]
    table = np.zeros((len(starts), 3), np.int64)
    table[:, 3 - most :] = starts
    return table


def _as_clips(batch: Batch) -> Batch:
    """The batch with D called F."""
    if "D" not in batch.layout or "F" in batch.layout:
        return batch
    data = batch.samples if batch.block is None else batch.block
    return Batch(data, batch.layout.replace("D", "F"))


@lru_cache(maxsize=64)  # of constants: plans of batches with random windows share them
def _bits(
    fill: tuple[float, ...], channels: int, dtype: torch.dtype, is_rounded: bool
) -> NDArray[np.uint64]:
    """The bits of an element for each channel; those of channels that are added are 0."""
    exact = torch.tensor(fill * (channels if len(fill) == 1 else 1), dtype=torch.float64)
    return bits_of_each((saturate if is_rounded else truncate)(exact, dtype))
