"""Regions of frames on canvases on the GPU, a ragged batch in one launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videoloader.dali.operators.axes import for_each
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.fills.fills_on_gpu import SIZES, bits_of
from videoloader.dali.operators.kernels import (
    ELEMENTS,
    MOST_CHANNELS,
    VIEW,
    Kernel,
    Launch,
    are_frames,
    groups_in,
    row_type,
    rows_of,
)
from videoloader.dali.tensors.batch import Batch

_PASTE = Kernel(
    "geometry/paste.cu",
    "paste",
    row_type(("fill", "u8", MOST_CHANNELS), ("first", "i4"), ("count", "i4")),
)
_REGION = np.dtype([("pixels", VIEW), ("top", "i4"), ("left", "i4")], align=True)


class Region(NamedTuple):
    """A part of a frame, and its place on a canvas.

    Attributes:
        batch: number of the input.
        sample: of that input.
        frame: that is pasted, for a canvas of one frame; else 0, and all frames are.
        start: row and column where the region begins in its frame.
        size: height and width.
        place: row and column where it begins on the canvas.
    """

    batch: int
    sample: int
    frame: int
    start: tuple[int, int]
    size: tuple[int, int]
    place: tuple[int, int]


def paste_on_gpu(
    context: Context,
    inputs: Sequence[Batch],
    regions: Sequence[Sequence[Sequence[Region]]],
    fill: Sequence[float] = (0.0,),
) -> Any:
    """Paste regions, which lie inside their frames and canvases, one after the other.

    NotImplemented for batches that the kernel does not take.

    Args:
        context: of the call.
        inputs: pictures or clips of one element type.
        regions: of each sample those of its only canvas, or of each of its frames.
        fill: of canvases, for all channels or each.
    """
    out = context.empty()
    source, target = inputs[0].spec.dtype, out.spec.dtype
    taken = SIZES if source == target else ELEMENTS
    is_far = any(batch.spec.device != out.spec.device for batch in inputs)
    if is_far or not are_frames(*inputs, out, dtypes=taken):
        return NotImplemented
    rows, _ = rows_of(_PASTE.row, out, out, [len(own) > 1 for own in regions])
    views = [rows_of(_PASTE.row, batch, batch)[0]["source"] for batch in inputs]
    channels = int(rows["target"]["sizes"][0, 3])
    if any(int(each["sizes"][0, 3]) != channels for each in views):
        return NotImplemented
    canvases = [each for own in regions for each in own]
    rows["count"] = [len(each) for each in canvases]
    rows["first"] = np.cumsum(rows["count"]) - rows["count"]
    rows["fill"] = bits_of(for_each("fill_values", fill, channels, "channels"), target)
    types = {"SIZE": source.itemsize, "SOURCE": 0, "TARGET": 0}
    if source != target:
        types = {"SIZE": 0, "SOURCE": ELEMENTS[source], "TARGET": ELEMENTS[target]}
    macros = {**types, "CHANNELS": channels, "REGION_BYTES": _REGION.itemsize}
    table = _regions([each for own in canvases for each in own], views, source.itemsize)
    Launch(out, _PASTE, rows, groups_in(rows), macros, out.spec.device, table).queue()
    return out  # the table of regions has addresses of its own


def _regions(
    regions: Sequence[Region], views: Sequence[NDArray[Any]], itemsize: int
) -> NDArray[Any] | None:
    """Regions as the kernel sees them."""
    if not regions:
        return None
    table = np.zeros(len(regions), _REGION)
    firsts = np.cumsum([0, *map(len, views)])
    batch, sample, frame, starts, sizes, places = zip(*regions, strict=True)
    pixels = np.concatenate(views)[firsts[list(batch)] + np.array(sample)]
    begin = np.column_stack([np.array(frame), np.array(starts)])
    moved = (begin * pixels["strides"][:, :3]).sum(axis=1) * itemsize
    pixels["address"] += moved.astype(np.uint64)
    pixels["sizes"][:, 1:3] = sizes
    table["pixels"] = pixels
    table["top"], table["left"] = np.array(places).T
    return table
