"""Correlation with any window, and medians, on the GPU: a ragged batch in one launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videoloader.dali.operators.context import Context
from videoloader.dali.operators.kernels import (
    BORDERS,
    ELEMENTS,
    Kernel,
    Launch,
    are_frames,
    floats_of,
    groups_in,
    row_type,
    rows_of,
)
from videoloader.dali.tensors.batch import Batch

Pair = tuple[int, int]

_ROW = row_type(
    ("weights", "u8"), ("fill", "u8"), *((name, "i4") for name in ("height", "width", "y", "x"))
)
_CORRELATE = Kernel("filters/neighborhoods.cu", "correlate", _ROW)
_MEDIAN = Kernel("filters/neighborhoods.cu", "median", _ROW)
_MOST_KEPT = 49  # values of a window that a thread keeps


def correlate_on_gpu(
    context: Context,
    frames: Batch,
    windows: Batch,
    fill: Batch | None,
    anchors: Sequence[Sequence[int]],
    border: str,
) -> Any:
    """Weighted sums of the pixels around each pixel, in float32.

    NotImplemented for batches that the kernel does not take.

    Args:
        context: of the call.
        frames: whose layout has H before W.
        windows: the weights (height, width) of each sample.
        fill: a number for each sample: a constant border.
        anchors: (row, column) in the window of each sample that lies on the pixel. What is left
            out of the picture at its end decides the size of the output.
        border: one of `BORDERS`.
    """
    out = context.empty()
    if not are_frames(frames, out):
        return NotImplemented
    rows, _ = rows_of(_ROW, frames, out)
    weights = floats_of(windows, frames.spec.device)
    rows["weights"] = weights.addresses
    rows["height"], rows["width"] = np.array(windows.spec.shapes).T
    rows["y"], rows["x"] = np.array(anchors).T
    fills = None if fill is None else floats_of(fill, frames.spec.device)
    if fills is not None:
        rows["fill"] = fills.addresses
    macros = {"BORDER": BORDERS[border]}
    return _launch(_CORRELATE, rows, frames, out, macros, kept=(weights, fills))


def median_on_gpu(context: Context, frames: Batch, plan: Sequence[Pair]) -> Any:
    """The medians of windows (width, height) of each sample; see `correlate_on_gpu`."""
    out = context.empty()
    if not are_frames(frames, out):
        return NotImplemented
    rows, _ = rows_of(_ROW, frames, out)
    rows["width"], rows["height"] = np.array(plan).T
    width, height = plan[0]
    is_kept = width * height <= _MOST_KEPT and len(set(plan)) == 1
    macros = {"BORDER": BORDERS["replicate"]}
    return _launch(_MEDIAN, rows, frames, out, macros, (height, width) if is_kept else (0, 0))


def _launch(
    kernel: Kernel,
    rows: NDArray[Any],
    frames: Batch,
    out: Batch,
    macros: dict[str, int],
    window: Pair = (0, 0),
    kept: Any = None,
) -> Launch:
    types = {"SOURCE": ELEMENTS[frames.spec.dtype], "TARGET": ELEMENTS[out.spec.dtype]}
    macros = {
        **types,
        "CHANNELS": int(rows["target"]["sizes"][0, 3]),
        "HEIGHT": window[0],
        "WIDTH": window[1],
    } | macros
    tiles, device = groups_in(rows), frames.spec.device
    return Launch(out, kernel, rows, tiles, macros, device, kept=kept)
