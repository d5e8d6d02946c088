"""Windows of frames on the GPU: mirrored, filled outside, converted, scaled; one launch a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators import kernels
from videoloader.dali.operators.arguments import PerFrame, PerSample
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.fills.fills_on_gpu import SIZES, bits_of
from videoloader.dali.operators.geometry.crop_windows import Windows
from videoloader.dali.operators.kernels import (
    ELEMENTS,
    MOST_CHANNELS,
    MOST_VALUES,
    Kernel,
    Launch,
    are_frames,
    groups_in,
    row_type,
    rows_of,
)
from videoloader.dali.tensors.batch import Batch

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


class Lines(NamedTuple):
    """Factors and offsets (samples, channels) of values; one row serves for all samples."""

    factors: NDArray[np.float32]
    offsets: NDArray[np.float32]


class Moves(NamedTuple):
    """Where the pixels of samples, or of the frames of some samples, come from.

    Attributes:
        start: (rows, 3), the first frame, row and column of each window; may lie outside.
        flips: (rows,), 1: left and right swapped, 2: top and bottom, 4: front and back.
        by_frame: of each sample whether its frames have rows of their own; empty: none.
    """

    start: NDArray[np.int64]
    flips: NDArray[np.int64]
    by_frame: tuple[bool, ...] = ()


def moves_of(windows: Sequence[Windows], *sides: PerSample) -> Moves | None:
    """The moves of windows, and of whether columns, rows and frames of each sample are swapped.

    None where frames have values of their own but windows leave frames out.
    """
    has_frames = any(side.has_frames for side in sides)
    if not has_frames and all(len(own) == 1 for own in windows):
        flips = np.zeros(len(windows), np.int64)
        for bit, side in enumerate(sides):
            flips += np.array(side.values, np.int64) << bit
        return Moves(_starts([own[0].start for own in windows]), flips)
    starts: list[tuple[int, ...]] = []
    swapped: list[int] = []
    by_frame = []
    for own, *given in zip(windows, *sides, strict=True):
        count = max(len(own), *(len(each) for each in given if isinstance(each, PerFrame)), 1)
        by_frame.append(count > 1)
        if by_frame[-1] and len(own[0].start) > 2:
            return None
        starts += [window.start for window in own] * (count // len(own))
        each = [one.values if isinstance(one, PerFrame) else (one,) * count for one in given]
        swapped += [sum(side[at] << bit for bit, side in enumerate(each)) for at in range(count)]
    return Moves(_starts(starts), np.array(swapped, np.int64), tuple(by_frame))


def moves_from(starts: Sequence[Sequence[int]]) -> Moves | None:
    """The moves of windows, by their first (frame,) row and column; nothing is flipped.

    None where a window is too far away for the kernel.
    """
    if any(abs(start) > _FARTHEST for own in starts for start in own):
        return None
    return Moves(_starts(starts), np.zeros(len(starts), np.int64))


def windows_on_gpu(
    frames: Batch,
    out: Batch,
    moves: Moves | None,
    fills: Sequence[tuple[float, ...]],
    *,
    lines: Lines | None = None,
    is_rounded: bool = False,
) -> Any:
    """Fill `out` with windows of its size.

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
    each = (fill * (channels if len(fill) == 1 else 1) for fill in fills)
    bits = [bits_of(fill, target, is_rounded=is_rounded) for fill in each]
    rows["fill"] = bits[0] if len(bits) == 1 else np.stack(bits)[samples]
    if lines is not None:
        own = slice(None) if len(lines.factors) == 1 else samples
        rows["factors"][:, :channels] = lines.factors[own]
        rows["offsets"][:, :channels] = lines.offsets[own]
    is_cut = lines is None and not (is_rounded or target.is_floating_point)
    device = str(_one(frames).device)
    types = source, target
    return _launch(out, rows, device, *types, is_scaled=lines is not None, is_cut=is_cut)


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
    return _launch(out, rows, str(_one(values).device), source, target)


def _launch(
    out: Batch,
    rows: NDArray[Any],
    device: str,
    source: torch.dtype,
    target: torch.dtype,
    *,
    is_scaled: bool = False,
    is_cut: bool = False,
) -> Launch:
    is_moved = source == target and not is_scaled
    channels = [int(rows[name]["sizes"][0, 3]) for name in ("source", "target")]
    size = max(source.itemsize * channels[0], target.itemsize * channels[1])
    pixels = 16 if size <= 2 else 8 if size <= 8 else 4
    macros = {"CHANNELS": channels[0], "TARGET_CHANNELS": channels[1], "PIXELS": pixels}
    macros |= {"SIZE": source.itemsize if is_moved else 0}
    if not is_moved:
        macros |= {"SOURCE": _CONVERTED[source], "TARGET": _CONVERTED[target]}
        macros |= {"SCALED": int(is_scaled), "CUT": int(is_cut)}
    return Launch(out, _WINDOW, rows, groups_in(rows, pixels), macros, device)


def _one(batch: Batch) -> torch.Tensor:
    """A tensor of the device and type of a batch that is not empty."""
    return batch.samples[0] if batch.block is None else batch.block


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
