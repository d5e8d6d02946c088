"""Separable filters of pictures on the GPU, a ragged batch in one launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.operators.batch import Batch, Context
from videoloader.operators.kernels import ELEMENTS, Kernel, are_frames, planes_of, row_type, rows_of

__all__ = ["filter_on_gpu"]

Window = NDArray[np.float32]

_TILE = 32
_SEPARABLE = Kernel(
    "filters.cu",
    "separable",
    row_type(("down", "i4"), ("down_taps", "i4"), ("across", "i4"), ("across_taps", "i4")),
)


def filter_on_gpu(
    context: Context, frames: Batch, windows: Sequence[Sequence[Sequence[Window]]]
) -> Any:
    """Filter rows and columns, in float32; borders are mirrored and not repeated.

    NotImplemented for batches that the kernel does not take.

    Args:
        context: of the call.
        frames: whose layout has H before W.
        windows: for each sample a window down the columns and one along the rows, each of odd
            length; or such a pair for each of its frames.
    """
    out = context.empty()
    if not are_frames(frames, out):
        return NotImplemented
    rows, _ = rows_of(_SEPARABLE.row, frames, out, [len(own) > 1 for own in windows])
    pairs = [pair for own in windows for pair in own]
    weights = {id(window): window for pair in pairs for window in pair}
    starts = dict(zip(weights, np.cumsum([0, *map(len, weights.values())]), strict=False))
    for name, at in (("down", 0), ("across", 1)):
        rows[name] = [starts[id(pair[at])] for pair in pairs]
        rows[f"{name}_taps"] = [len(pair[at]) for pair in pairs]
    if frames.layout[-1] != "C":
        rows = planes_of(rows, frames, out)
    sizes = rows["source"]["sizes"].astype(np.int64)
    macros = {
        "SOURCE": ELEMENTS[frames.spec.dtype],
        "TARGET": ELEMENTS[out.spec.dtype],
        "CHANNELS": int(sizes[0, 3]),
    }
    tiles = sizes[:, 0] * -(-sizes[:, 1] // _TILE) * -(-sizes[:, 2] // _TILE)
    values = np.concatenate(list(weights.values()))
    _SEPARABLE.launch(rows, tiles, macros, frames.spec.device, values)
    return out
