"""Frames in another size on the GPU: a ragged batch in one launch, behind one for its weights."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.operators.batch import Batch, Context
from videoloader.operators.geometry.resampling import Axis
from videoloader.operators.kernels import (
    ELEMENTS,
    Kernel,
    are_frames,
    planes_of,
    row_type,
    rows_of,
)
from videoloader.types import InterpType

__all__ = ["resize_on_gpu"]

_AXIS = np.dtype(
    [
        *(("start", "f8"), ("end", "f8"), ("table", "u8")),
        *((name, "i4") for name in ("size", "begin", "count", "side", "taps")),
        *((name, "i4") for name in ("filter", "antialias", "mirrored")),
    ],
    align=True,
)
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
_THREADS = 256


def resize_on_gpu(context: Context, frames: Batch, axes: Sequence[tuple[Axis, ...]]) -> Any:
    """Each sample resized along its axes, in float32 between them, as `resample` does it.

    NotImplemented for batches that the kernel does not take.
    """
    out = context.empty()
    if not are_frames(frames, out) or len(axes[0]) != 2:
        return NotImplemented
    rows, _ = rows_of(_ROW, frames, out)
    rows["axes"] = _fields(axes, rows["source"]["sizes"][:, 1:3])
    strides = rows["source"]["strides"]
    channels = int(rows["source"]["sizes"][0, 3])
    is_planar = channels > 1 and bool((strides[:, 2:] != (channels, 1)).any())
    macros = {
        "SOURCE": ELEMENTS[frames.spec.dtype],
        "TARGET": ELEMENTS[out.spec.dtype],
        "CHANNELS": 1 if is_planar else channels,
    }
    memory = _add_tables(context, rows["axes"])
    table = planes_of(rows, frames, out) if is_planar else rows
    count, height, width, _ = table["target"]["sizes"].astype(np.int64).T
    if (rows["axes"]["filter"] == 0).all():
        tiles = -(-(count * height * -(-width // 4)) // _THREADS)
        _NEAREST.launch(table, tiles, macros, frames.spec.device)
    else:
        tiles = count * -(-height // _TILE) * -(-width // _TILE)
        _RESIZE.launch(table, tiles, macros, frames.spec.device)
    del memory  # what is queued later on this stream may have it
    return out


def _fields(axes: Sequence[tuple[Axis, ...]], sides: NDArray[Any]) -> NDArray[Any]:
    """(samples, 2) of what the kernel gets of each axis, without the address of its table."""
    is_same = axes.count(axes[0]) == len(axes)
    numbers = np.array(
        [
            [
                (
                    *(axis.start, axis.end, axis.size, *(axis.window or (0, axis.size))),
                    *(_FILTERS[axis.filter], axis.antialias, axis.mirrored),
                )
                for axis in own
            ]
            for own in (axes[:1] if is_same else axes)
        ],
        np.float64,
    )
    fields = np.zeros((len(axes), 2), _AXIS)
    names = ("start", "end", "size", "begin", "count", "filter", "antialias", "mirrored")
    for at, name in enumerate(names):
        fields[name] = numbers[..., at]
    fields["side"] = sides
    scales = np.abs((numbers[..., 1] - numbers[..., 0]) / numbers[..., 2])
    widths = np.where(fields["antialias"], np.maximum(scales, 1.0), 1.0)
    fields["taps"] = np.ceil(2 * _RADII[fields["filter"]] * widths) + 1
    return fields


def _add_tables(context: Context, axes: NDArray[Any]) -> torch.Tensor:
    """Set the addresses of the tables of weights, and give their memory.

    Samples that are all alike have one table together.
    """
    distinct = axes[:1] if (axes == axes[:1]).all() else axes
    stream = 0 if context.stream is None else context.stream.cuda_stream
    memory, filled = _tables(distinct.tobytes(), context.device, stream)
    axes["table"] = filled["table"]
    return memory


@lru_cache(maxsize=8)
def _tables(
    axes: bytes,
    device: str,
    stream: int,  # noqa: ARG001  (only what is queued on it finds them filled)
) -> tuple[torch.Tensor, NDArray[Any]]:
    """Memory of the tables of axes, and the axes with their addresses.

    Constant arguments have the same ones from batch to batch.
    """
    filled = np.frombuffer(axes, _AXIS).reshape(-1, 2).copy()
    strides = -(-np.minimum(filled["taps"], filled["side"]) // 4) * 4
    sizes = filled["count"].astype(np.int64) * (_TAP + 4 * strides)
    ends = sizes.cumsum().reshape(sizes.shape)
    memory = torch.empty(int(ends[-1, -1]), dtype=torch.uint8, device=device)
    filled["table"] = memory.data_ptr() + ends - sizes
    rows = np.zeros(len(filled), _ROW)
    rows["axes"] = filled
    outputs = filled["count"].sum(axis=1)
    _TAPS.launch(rows, -(-outputs // _THREADS), _ANY_PIXELS, device)
    return memory, filled
