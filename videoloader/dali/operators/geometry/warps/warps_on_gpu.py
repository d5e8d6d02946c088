"""Pictures whose pixels come from other places, on the GPU: a ragged batch in one launch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from videoloader.dali.operators.context import Context
from videoloader.dali.operators.geometry.warps.matrices import Matrix
from videoloader.dali.operators.kernels import (
    BORDERS,
    ELEMENTS,
    Kernel,
    Launch,
    are_frames,
    floats_of,
    row_type,
    rows_of,
    tiles_in,
)
from videoloader.dali.tensors import saturate_numbers
from videoloader.dali.tensors.batch import Batch
from videoloader.dali.types import InterpType

_PLACES = ("matrix", "sphere", "water", "moves", "maps")  # as in warp.cu
_INTERPOLATIONS = (InterpType.INTERP_NN, InterpType.INTERP_LINEAR, InterpType.INTERP_CUBIC)
_TILE = 32
_WARP = Kernel(
    "geometry/warps/warp.cu",
    "warp",
    row_type(
        ("maps", "u8", 2),
        ("numbers", "f4", 9),
        ("fill", "f4", 4),
        *((name, "i4") for name in ("border", "is_affine", "is_moved", "first")),
    ),
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
    if len(fill) not in (1, int(rows["source"]["sizes"][0, 3])):
        return NotImplemented
    numbers = np.array([matrix for own in matrices for matrix in own]).reshape(len(rows), -1)
    rows["numbers"][:, : numbers.shape[1]] = numbers
    rows["is_affine"] = numbers.shape[1] == 6
    return _launch(rows, frames, out, "matrix", interp_type, border, fill)


def displace_on_gpu(
    context: Context,
    frames: Batch,
    rule: Literal["sphere", "water", "moves"],
    mask: Sequence[int],
    interp_type: InterpType,
    fill: float,
    *,
    numbers: Sequence[float] = (),
    moves: Sequence[NDArray[np.int16] | None] = (),
) -> Any:
    """Move pixels by a rule, in all frames of a clip alike; NotImplemented as `warp_on_gpu`.

    Args:
        context: of the call.
        frames: pictures or clips.
        rule: that of an operator; `moves` are those of each pixel.
        mask: 0 leaves a sample as it is.
        interp_type: nearest or linear.
        fill: what lies outside.
        numbers: of water: amplitudes, frequencies and phases, each along x and along y.
        moves: of each sample (height, width, 2), x first; None where there are none.
    """
    out = context.empty()
    if not are_frames(frames, out):
        return NotImplemented
    rows, _ = rows_of(_WARP.row, frames, out)
    rows["is_moved"] = mask
    rows["numbers"][:, : len(numbers)] = numbers
    given = [each.reshape(-1, 2) for each in moves if each is not None]
    counts = [0 if each is None else each.size // 2 for each in moves]
    if counts:
        rows["first"] = np.cumsum(counts) - counts
    values = np.concatenate(given) if given else None
    return _launch(rows, frames, out, rule, interp_type, "constant", (fill,), values)


def remap_on_gpu(
    context: Context, frames: Batch, maps: tuple[Batch, Batch], shift: float, interp: InterpType
) -> Any:
    """Take pixels from where maps say; NotImplemented as `warp_on_gpu`.

    Args:
        context: of the call.
        frames: pictures or clips.
        maps: places along x and along y: for each sample one of the size of the output, or one for
            each of its frames.
        shift: added to places.
        interp: how a pixel is computed.
    """
    out = context.empty()
    if not are_frames(frames, out):
        return NotImplemented
    axes = [frames.layout.index(letter) for letter in "HW"]
    sizes = [math.prod(shape[axis] for axis in axes) for shape in out.spec.shapes]
    counts = [
        math.prod(shape) // size for shape, size in zip(maps[0].spec.shapes, sizes, strict=True)
    ]
    rows, samples = rows_of(_WARP.row, frames, out, [count > 1 for count in counts])
    number = np.arange(len(rows)) - np.searchsorted(samples, samples)
    places = [floats_of(each, frames.spec.device) for each in maps]
    for at, each in enumerate(places):
        step = 4 * number * np.array(sizes)[samples]
        rows["maps"][:, at] = each.addresses[samples] + step.astype(np.uint64)
    rows["numbers"][:, 0] = shift
    return _launch(rows, frames, out, "maps", interp, "constant", (0.0,), kept=places)


def _launch(
    rows: NDArray[Any],
    frames: Batch,
    out: Batch,
    places: str,
    interp_type: InterpType,
    border: str,
    fill: Sequence[float],
    values: NDArray[Any] | None = None,
    kept: Any = None,
) -> Launch:
    channels = int(rows["source"]["sizes"][0, 3])
    if interp_type is InterpType.INTERP_NN:  # it takes pixels as they are, those of the border too
        fill = saturate_numbers(fill, out.spec.dtype)
    rows["fill"][:, :channels] = fill
    rows["border"] = BORDERS[border]
    macros = {
        "SOURCE": ELEMENTS[frames.spec.dtype],
        "TARGET": ELEMENTS[out.spec.dtype],
        "CHANNELS": channels,
        "PLACES": _PLACES.index(places),
        "INTERPOLATION": _INTERPOLATIONS.index(interp_type),
    }
    tiles = tiles_in(rows, _TILE)
    return Launch(out, _WARP, rows, tiles, macros, frames.spec.device, values, kept)
