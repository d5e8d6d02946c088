"""Random pixels of masks, and polygons of some of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import BOOL, FLOAT, INT, Argument, PerSample
from videoloader.dali.operators.boxes.coordinates import check_type
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import declare
from videoloader.dali.operators.random.random import SEED
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError


def _infer_pixel(context: Context, masks: Spec, **others: Any) -> Spec:
    for shape in masks.shapes:
        if 0 in shape:
            raise ArgumentError(
                f"fn.segmentation.random_mask_pixel: a mask of shape {shape} has no pixels"
            )
    return Spec(tuple((len(shape),) for shape in masks.shapes), torch.int64)


@declare(
    "segmentation.random_mask_pixel",
    draws=True,
    inputs=("masks",),
    devices=("cpu",),
    arguments=(
        Argument("foreground", INT, 0, "draw pixels of the foreground unless 0", per_sample=True),
        Argument("threshold", FLOAT, 0.0, "the foreground is larger than this", per_sample=True),
        Argument("value", INT, None, "the foreground is equal to this", per_sample=True),
        SEED,
    ),
    infer=_infer_pixel,
    exclusive=(("value", "threshold"),),
)
def random_mask_pixel(
    context: Context, masks: Batch, *, foreground: PerSample, threshold: PerSample, value: PerSample
) -> Batch:
    """Draw the coordinates of a pixel, each equally likely, of the foreground if there is any."""
    results = []
    for position, mask in enumerate(masks):
        rng, pixels = context.random(position), mask.numpy()
        wanted = value[position]
        chosen: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        if foreground[position]:
            is_chosen = pixels > threshold[position] if wanted is None else pixels == wanted
            chosen = np.flatnonzero(is_chosen)
        at = chosen[rng.integers(len(chosen))] if len(chosen) else rng.integers(pixels.size)
        place = np.unravel_index(int(at), pixels.shape)
        results.append(torch.tensor([int(side) for side in place], dtype=torch.int64))
    return Batch(results)


def _infer_select(
    context: Context, mask_ids: Spec, polygons: Spec, vertices: Spec, *, reindex_masks: bool
) -> tuple[Spec, Spec]:
    name = "segmentation.select_masks"
    check_type(name, "mask_ids", mask_ids, torch.int32)
    check_type(name, "polygons", polygons, torch.int32)
    shapes = zip(mask_ids.shapes, polygons.shapes, vertices.shapes, strict=True)
    for ids, own, points in shapes:
        if len(ids) != 1 or len(own) != 2 or own[1] != 3 or len(points) != 2:
            raise ArgumentError(
                f"fn.{name} takes mask_ids (M,), polygons (P, 3) of mask, first vertex and end, "
                f"and vertices (N, coordinates); got shapes {ids}, {own} and {points}"
            )
    return polygons, replace(vertices, layout="")


@declare(
    "segmentation.select_masks",
    inputs=("mask_ids", "polygons", "vertices"),
    devices=("cpu",),
    arguments=(
        Argument("reindex_masks", BOOL, default=False, doc="masks get their places among mask_ids"),
    ),
    num_outputs=2,
    infer=_infer_select,
)
def select_masks(
    context: Context, mask_ids: Batch, polygons: Batch, vertices: Batch, *, reindex_masks: bool
) -> tuple[Batch, Batch]:
    """Keep the polygons of some masks and their vertices, in the order of `mask_ids`.

    Polygons are rows (mask, first vertex, end), as `fn.readers.coco` gives them. All polygons of a
    mask are kept, in their order.
    """
    kept, points = [], []
    for wanted, rows, corners in zip(mask_ids, polygons, vertices, strict=True):
        own, pieces = _selected(wanted.tolist(), rows.tolist(), len(corners))
        if reindex_masks:
            own = [(wanted.tolist().index(mask), *ends) for mask, *ends in own]
        kept.append(torch.tensor(own, dtype=torch.int32).reshape(-1, 3))
        points.append(torch.cat([corners[:0], *(corners[start:stop] for start, stop in pieces)]))
    return Batch(kept), Batch(points)


def _selected(
    wanted: list[int], rows: list[list[int]], count: int
) -> tuple[list[tuple[int, ...]], list[tuple[int, int]]]:
    """New rows of the wanted masks, and the ranges of vertices that they take."""
    name = "fn.segmentation.select_masks"
    if len(set(wanted)) < len(wanted):
        raise ArgumentError(f"{name}: mask_ids names a mask twice: {wanted}")
    found: list[tuple[int, ...]] = []
    pieces: list[tuple[int, int]] = []
    place = 0
    for mask in wanted:
        own = [(start, stop) for number, start, stop in rows if number == mask]
        if not own:
            raise ArgumentError(f"{name}: there is no mask {mask} among the polygons")
        for start, stop in own:
            if not 0 <= start <= stop <= count:
                raise ArgumentError(
                    f"{name}: a polygon of mask {mask} has vertices {start} to {stop}, there are "
                    f"{count}"
                )
            found.append((mask, place, place + stop - start))
            pieces.append((start, stop))
            place += stop - start
    return found, pieces
