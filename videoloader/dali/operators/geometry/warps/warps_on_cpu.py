"""Linear warps of pictures by OpenCV, four to seven times as fast as the reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.geometry.warps.matrices import Matrix
from videoloader.dali.operators.geometry.warps.sampling import opencv_border
from videoloader.dali.types import InterpType

_DTYPES = (torch.uint8, torch.uint16, torch.float32)
_CHANNELS = (1, 3, 4)
_MOST_PIXELS = 32767  # along a side
_FIRST_EXACT = 5  # version of OpenCV; earlier ones round places to 1/32 of a pixel


def can_warp(
    pictures: torch.Tensor, slots: torch.Tensor, interp_type: InterpType, fill: Sequence[float]
) -> bool:
    """Whether OpenCV gives the reference's result; (P, H, W, C) become slots (P, H, W, C)."""
    import cv2

    sides = (*pictures.shape[1:3], *slots.shape[1:3])
    if pictures.dtype in (torch.uint8, torch.uint16):
        is_storable = all(0 <= value <= torch.iinfo(pictures.dtype).max for value in fill)
    else:
        is_storable = True
    return (
        int(cv2.__version__.partition(".")[0]) >= _FIRST_EXACT
        and interp_type is InterpType.INTERP_LINEAR
        and pictures.dtype == slots.dtype
        and pictures.dtype in _DTYPES
        and pictures.shape[-1] in _CHANNELS
        and len(fill) in (1, pictures.shape[-1])
        and all(0 < side <= _MOST_PIXELS for side in sides)
        and is_storable
    )


def warp_pictures(
    pictures: torch.Tensor,
    matrices: Sequence[Matrix],
    slots: torch.Tensor,
    border: str,
    fill: Sequence[float],
) -> None:
    """Fill slots with pictures through matrices (2, 3) or (3, 3), one for all or one for each.

    Matrices lead from places in a slot to places in a picture, where pixel i reaches from i to
    i + 1.
    """
    import cv2

    mode = opencv_border(border)
    value = tuple(fill) * (4 if len(fill) == 1 else 1)
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    tables = [_between_centers(matrix) for matrix in matrices]
    for number, (picture, slot) in enumerate(zip(pictures, slots, strict=True)):
        table = tables[number % len(tables)]
        warp = cv2.warpAffine if len(table) == 2 else cv2.warpPerspective
        source = np.ascontiguousarray(picture.numpy())
        size = (slot.shape[1], slot.shape[0])
        is_direct = slot.is_contiguous()
        place = slot.numpy() if is_direct else np.empty(tuple(slot.shape), source.dtype)
        warp(source, table, size, place, flags=flags, borderMode=mode, borderValue=value)
        if not is_direct:
            slot.copy_(torch.from_numpy(place))


def _between_centers(matrix: Matrix) -> NDArray[np.float64]:
    """The same transform of coordinates in which pixel centres lie at whole numbers."""
    whole = np.eye(3)
    whole[: len(matrix)] = matrix
    shift = np.eye(3)
    shift[:2, 2] = 0.5
    moved: NDArray[np.float64] = np.linalg.inv(shift) @ whole @ shift
    return moved[: len(matrix)]
