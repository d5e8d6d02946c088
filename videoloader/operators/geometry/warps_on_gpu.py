"""Affine and perspective warps of pictures on the GPU, a ragged batch in one launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from videoloader.operators.batch import Batch, Context
from videoloader.operators.geometry.matrices import Matrix
from videoloader.operators.kernels import ELEMENTS, Kernel, are_frames, row_type, rows_of
from videoloader.tensors import saturate_numbers
from videoloader.types import InterpType

__all__ = ["warp_on_gpu"]

_BORDERS = ("constant", "replicate", "reflect", "reflect_101", "wrap")  # as in warp.cu
_INTERPOLATIONS = (InterpType.INTERP_NN, InterpType.INTERP_LINEAR)
_TILE = 32
_WARP = Kernel(
    "geometry/warp.cu",
    "warp",
    row_type(("matrix", "f4", 9), ("fill", "f4", 4), ("border", "i4"), ("is_affine", "i4")),
)


def warp_on_gpu(
    context: Context,
    frames: Batch,
    matrices: Sequence[Sequence[Matrix]],
    interp_type: InterpType,
    border: str,
    fill: Sequence[float],
) -> Any:
    """Each sample through its matrices (2, 3) or (3, 3): one, or one for each frame.

    Matrices lead from places in the output to places in the input. NotImplemented for batches that
    the kernel does not take.
    """
    out = context.empty()
    if interp_type not in _INTERPOLATIONS or not are_frames(frames, out):
        return NotImplemented
    rows, _ = rows_of(_WARP.row, frames, out, [len(own) > 1 for own in matrices])
    channels = int(rows["source"]["sizes"][0, 3])
    if len(fill) not in (1, channels):
        return NotImplemented
    numbers = np.array([matrix for own in matrices for matrix in own]).reshape(len(rows), -1)
    rows["matrix"][:, : numbers.shape[1]] = numbers
    rows["is_affine"] = numbers.shape[1] == 6
    if interp_type is InterpType.INTERP_NN:  # it takes pixels as they are, those of the border too
        fill = saturate_numbers(fill, out.spec.dtype)
    rows["fill"][:, :channels] = fill
    rows["border"] = _BORDERS.index(border)
    macros = {
        "SOURCE": ELEMENTS[frames.spec.dtype],
        "TARGET": ELEMENTS[out.spec.dtype],
        "CHANNELS": channels,
        "LINEAR": int(interp_type is InterpType.INTERP_LINEAR),
    }
    count, height, width, _ = rows["target"]["sizes"].astype(np.int64).T
    tiles = count * -(-height // _TILE) * -(-width // _TILE)
    _WARP.launch(rows, tiles, macros, frames.spec.device)
    return out
