"""JPEG artefacts on the GPU: a ragged batch in two launches, without a codec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.context import Context
from videoloader.dali.operators.kernels import Kernel, Launch, are_frames, row_type, rows_of
from videoloader.dali.tensors.batch import Batch
from videoloader.machinery.system.forking import cached_property

_ROW = row_type(("units", "u8"), ("scale", "i4"))
_CODED = Kernel("color/jpeg.cu", "jpeg_blocks", _ROW)
_SHOWN = Kernel("color/jpeg.cu", "jpeg_pixels", _ROW)
_SIDE = 16  # pixels of a unit, as in jpeg.cu
_UNIT = 6 * 64  # bytes
_CODED_TOGETHER, _SHOWN_TOGETHER = 16, 4  # units of a block of threads

_LUMA = (
    *(16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55),
    *(14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62),
    *(18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92),
    *(49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99),
)
_CHROMA = (
    *(17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99),
    *(24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99),
    *(99,) * 32,
)
_TABLES = np.array((*_LUMA, *_CHROMA), np.uint8)
"""Steps of coefficients at quality 50, from Annex K of the JPEG standard."""


@dataclass(frozen=True, eq=False)
class Qualities:
    """Plan of `jpeg_compression_distortion`.

    Attributes:
        each: quality of each picture, for each sample.
    """

    each: Sequence[list[int]]

    @cached_property
    def by_frame(self) -> list[bool]:
        """Whether the frames of each sample differ."""
        return [len(set(own)) > 1 for own in self.each]

    @cached_property
    def scales(self) -> NDArray[np.int64]:
        """Scale of the tables in percent, for each sample or each of its frames that differ."""
        pairs = zip(self.each, self.by_frame, strict=True)
        found = np.array([value for own, varies in pairs for value in (own if varies else own[:1])])
        scales: NDArray[np.int64] = np.where(found < 50, 5000 // found, 200 - 2 * found)
        return scales


def distort_on_gpu(context: Context, frames: Batch, plan: Qualities) -> Any:
    """Pictures as JPEGs show them; NotImplemented for batches that the kernels do not take."""
    out = context.empty()
    if not are_frames(frames, out, dtypes={torch.uint8: 0}):
        return NotImplemented
    rows, _ = rows_of(_ROW, frames, out, plan.by_frame)
    rows["scale"] = plan.scales
    count, height, width, _ = rows["source"]["sizes"].astype(np.int64).T
    units = count * -(height // -_SIDE) * -(width // -_SIDE)
    ends = (_UNIT * units).cumsum()
    device = frames.spec.device
    memory = torch.empty(int(ends[-1]), dtype=torch.uint8, device=device)
    rows["units"] = memory.data_ptr() + ends - _UNIT * units
    for kernel, together in ((_CODED, _CODED_TOGETHER), (_SHOWN, _SHOWN_TOGETHER)):
        tiles = -(units // -together)
        Launch(out, kernel, rows, tiles, {}, device, _TABLES).queue()
    return out
