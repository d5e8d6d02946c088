"""Resizing on the GPU: one launch computes the weights, one resizes a ragged batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.context import Context
from videoloader.dali.operators.geometry.resampling import Axis
from videoloader.dali.operators.kernels import (
    ELEMENTS,
    THREADS,
    Kernel,
    Launch,
    are_frames,
    groups_in,
    planes_of,
    row_type,
    rows_of,
    tiles_in,
)
from videoloader.dali.tensors.batch import Batch
from videoloader.dali.types import InterpType

_AXIS = np.dtype(
    [
        *(("start", "f8"), ("end", "f8"), ("table", "u8")),
        *((name, "i4") for name in ("size", "begin", "count", "side", "taps")),
        *((name, "i4") for name in ("filter", "antialias", "mirrored")),
    ],
    align=True,
)
_NUMBERS = ("start", "end", "size", "begin", "count", "filter", "antialias", "mirrored")
_ROW = row_type(("axes", _AXIS, 2))
_TAPS, _RESIZE, _NEAREST = (
    Kernel("geometry/resize.cu", name, _ROW) for name in ("taps", "resize", "nearest")
)
_FILTERS = {  # numbers in resize.cu
    InterpType.INTERP_NN: 0,
    InterpType.INTERP_LINEAR: 1,
    InterpType.INTERP_TRIANGULAR: 1,
    InterpType.INTERP_CUBIC: 2,
    InterpType.INTERP_LANCZOS3: 3,
    InterpType.INTERP_GAUSSIAN: 4,
}
_RADII = np.array([0, 1, 2, 3, 1])
_ANY_PIXELS = {"SOURCE": 0, "TARGET": 0, "CHANNELS": 1}  # weights are the same for all
_TAP = 16  # bytes of `Taps`
_TILE = 32


class Weights:
    """The axes of a batch as the kernel sees them, with their weights, which the GPU computes.

    They are kept for the stream that asked last: only there are they known to be complete.
    Threads may share it.

    Args:
        axes: of the rows and of the columns of each sample.
        sides: height and width of each sample.
    """

    def __init__(self, axes: Sequence[tuple[Axis, ...]], sides: Sequence[Sequence[int]]) -> None:
        is_one = len({*zip(axes, map(tuple, sides), strict=True)}) == 1
        self._axes, self._sides = (axes[:1], sides[:1]) if is_one else (axes, sides)
        self._last: tuple[tuple[str, int], _Tables] | None = None

    @property
    def are_pictures(self) -> bool:
        """Whether rows and columns are resized, and nothing else."""
        return all(len(own) == 2 for own in self._axes)

    def tables(self, device: str, stream: Any) -> _Tables:
        """The tables on a device, ready for kernels that are queued on a stream."""
        queue, last = (device, 0 if stream is None else stream.cuda_stream), self._last
        if last is None or last[0] != queue:
            last = self._last = queue, _tables(self._axes, self._sides, device)
        return last[1]


def resize_on_gpu(
    context: Context, frames: Batch, weights: Weights, out: Batch | None = None
) -> Any:
    """Each sample resized along its axes, in float32 between them, as `resample` does it.

    NotImplemented for batches that the kernel does not take.

    Args:
        context: of the call.
        frames: images or clips.
        weights: of the axes.
        out: memory for the result; fresh memory for the operator's output by default.
    """
    out = context.empty() if out is None else out
    if not are_frames(frames, out) or not weights.are_pictures:
        return NotImplemented
    rows, _ = rows_of(_ROW, frames, out)
    pixels = frames.tensors()[0]
    device = str(pixels.device)
    tables = weights.tables(device, context.stream)
    rows["axes"] = tables.axes
    channels = int(rows["source"]["sizes"][0, 3])
    if channels > 1 and (rows["source"]["strides"][:, 2:] != (channels, 1)).any():
        rows, channels = planes_of(rows, frames, out), 1
    macros = {
        "SOURCE": ELEMENTS[pixels.dtype],
        "TARGET": ELEMENTS[context.outputs[0].dtype],
        "CHANNELS": channels,
    }
    tiles = groups_in(rows) if tables.is_nearest else tiles_in(rows, _TILE)
    kernel = _NEAREST if tables.is_nearest else _RESIZE
    return Launch(out, kernel, rows, tiles, macros, device, kept=tables.memory)


class _Tables(NamedTuple):
    """The axes of a batch and their weights, which all pixels share.

    Attributes:
        axes: (samples, 2), or (1, 2) for samples that are alike.
        memory: of the tables that the axes point to. Once nobody holds it, torch gives it to what
            is queued later on the same stream.
        is_nearest: whether pixels are only picked.
    """

    axes: NDArray[Any]
    memory: torch.Tensor
    is_nearest: bool


def _tables(
    axes: Sequence[tuple[Axis, ...]], sides: Sequence[Sequence[int]], device: str
) -> _Tables:
    """Queue the kernel that computes the weights."""
    rows = np.zeros(len(axes), _ROW)
    fields = rows["axes"]
    start, end, size, kinds, antialias, windows, mirrored = zip(
        *(axis for own in axes for axis in own), strict=True
    )
    spans = [window or (0, whole) for window, whole in zip(windows, size, strict=True)]
    begin, count = zip(*spans, strict=True)
    filters = [_FILTERS[kind] for kind in kinds]
    columns = (start, end, size, begin, count, filters, antialias, mirrored)
    for name, column in zip(_NUMBERS, columns, strict=True):
        fields[name] = np.reshape(column, (-1, 2))
    scales = np.abs((fields["end"] - fields["start"]) / fields["size"])
    widths = np.where(fields["antialias"], np.maximum(scales, 1.0), 1.0)
    taps = (np.ceil(2 * _RADII[fields["filter"]] * widths) + 1).astype(np.int64)
    fields["side"], fields["taps"] = sides, taps
    strides = -(-np.minimum(taps, sides) // 4) * 4
    sizes = fields["count"] * (_TAP + 4 * strides)
    ends = sizes.cumsum().reshape(sizes.shape)
    memory = torch.empty(int(ends[-1, -1]), dtype=torch.uint8, device=device)
    fields["table"] = memory.data_ptr() + ends - sizes
    outputs = fields["count"].sum(axis=1)
    tiles = -(-outputs // THREADS)
    Launch(Batch(memory), _TAPS, rows, tiles, _ANY_PIXELS, device).queue()
    return _Tables(fields, memory, not fields["filter"].any())
