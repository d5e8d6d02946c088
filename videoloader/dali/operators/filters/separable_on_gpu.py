"""Separable filters of pictures on the GPU, a ragged batch in one launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from videoloader.dali.operators.context import Context
from videoloader.dali.operators.kernels import (
    BORDERS,
    ELEMENTS,
    Kernel,
    Launch,
    are_frames,
    planes_of,
    row_type,
    rows_of,
    tiles_in,
)
from videoloader.dali.tensors.batch import Batch

Taps = NDArray[np.float32]
T = TypeVar("T")

_SUM, _LARGEST, _SMALLEST = range(3)  # as in filters.cu
_TILE = 32
_MOST_PASSES = 2
_WINDOW = np.dtype([("first", "i4"), ("taps", "i4"), ("anchor", "i4")])
_PASS = np.dtype([("down", _WINDOW), ("across", _WINDOW), ("factor", "f4")])
_SEPARABLE = Kernel(
    "filters/filters.cu", "separable", row_type(("passes", _PASS, _MOST_PASSES), ("count", "i4"))
)


class Pass(NamedTuple):
    """A window down the columns and one along the rows, each of odd length; factor of the sum."""

    down: Taps
    across: Taps
    factor: float = 1.0


class Mask(NamedTuple):
    """A rectangle, and its point that lies on the pixel."""

    width: int
    height: int
    x: int
    y: int


def filter_on_gpu(
    context: Context, frames: Batch, passes: Sequence[Sequence[tuple[Pass, ...]]]
) -> Any:
    """Filter rows and columns, in float32; borders are mirrored and not repeated.

    NotImplemented for batches that the kernel does not take.

    Args:
        context: of the call.
        frames: whose layout has H before W.
        passes: for each sample one or two passes, whose results are added up; or such passes for
            each of its frames.
    """
    out = context.empty()
    if not are_frames(frames, out):
        return NotImplemented
    distinct = _distinct(passes)
    weights = {
        id(window): window
        for own in distinct.values()
        for each in own
        for window in (each.down, each.across)
    }
    starts = np.cumsum([0, *map(len, weights.values())]).tolist()
    first = dict(zip(weights, starts, strict=False))

    def window_of(window: Taps) -> tuple[int, int, int]:
        return first[id(window)], len(window), len(window) // 2

    table = {
        key: [(window_of(each.down), window_of(each.across), each.factor) for each in own]
        for key, own in distinct.items()
    }
    macros = {"OPERATION": _SUM, "BORDER": BORDERS["reflect_101"]}
    return _launch(frames, out, passes, table, macros, np.concatenate(list(weights.values())))


def extremes_on_gpu(
    context: Context, frames: Batch, masks: Sequence[Sequence[Mask]], border: str, *, largest: bool
) -> Any:
    """The largest or smallest value under a mask; NotImplemented as `filter_on_gpu` gives it.

    Args:
        context: of the call.
        frames: pictures or clips.
        masks: of each sample one, or one for each of its frames.
        border: one of `BORDERS`; `constant` is nothing at all.
        largest: or else the smallest.
    """
    out = context.empty()
    if not are_frames(frames, out):
        return NotImplemented
    table = {
        key: [((0, mask.height, mask.y), (0, mask.width, mask.x), 1.0)]
        for key, mask in _distinct(masks).items()
    }
    macros = {"OPERATION": _LARGEST if largest else _SMALLEST, "BORDER": BORDERS[border]}
    return _launch(frames, out, masks, table, macros, None)


def _distinct(given: Sequence[Sequence[T]]) -> dict[int, T]:
    """The distinct objects given for samples or their frames, by identity."""
    return {id(each): each for own in given for each in own}


def _launch(
    frames: Batch,
    out: Batch,
    given: Sequence[Sequence[Any]],
    table: Mapping[int, Sequence[tuple[Any, ...]]],
    macros: Mapping[str, int],
    weights: NDArray[np.float32] | None,
) -> Launch:
    """The kernel launch, with the passes of `table` for the objects given for samples or frames."""
    rows, _ = rows_of(_SEPARABLE.row, frames, out, [len(own) > 1 for own in given])
    passes = np.zeros((len(table), _MOST_PASSES), _PASS)
    for at, own in enumerate(table.values()):
        for number, each in enumerate(own):
            passes[at, number] = each
    counts = np.array([len(own) for own in table.values()])
    place = dict(zip(table, range(len(table)), strict=True))
    places = [place[id(each)] for own in given for each in own]
    rows["passes"], rows["count"] = passes[places], counts[places]
    if not _is_interleaved(rows):
        rows = planes_of(rows, frames, out)
    types = {"SOURCE": ELEMENTS[frames.spec.dtype], "TARGET": ELEMENTS[out.spec.dtype]}
    macros = {**types, "CHANNELS": int(rows["source"]["sizes"][0, 3]), **macros}
    tiles, device = tiles_in(rows, _TILE), frames.spec.device
    return Launch(out, _SEPARABLE, rows, tiles, macros, device, weights)


def _is_interleaved(rows: NDArray[Any]) -> bool:
    """Whether the channels of a pixel lie side by side."""
    return all((rows[name]["strides"][:, 3] == 1).all() for name in ("source", "target"))
