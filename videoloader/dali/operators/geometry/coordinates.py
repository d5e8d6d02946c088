"""Operators on points: `fn.coord_transform` and `fn.coord_flip`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import (
    BOOL,
    DTYPE,
    FLOAT,
    FLOATS,
    TEXT,
    Argument,
    PerSample,
)
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.geometry.warps.matrices import MATRIX
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError


def _table(name: str, rows: tuple[float, ...], columns: int, points: int) -> NDArray[np.float64]:
    """A matrix with so many columns, for points of so many coordinates."""
    known = getattr(rows, "columns", 0)
    if len(rows) % columns or known not in (0, columns):
        found = f"shape {(len(rows) // known, known)}" if known else f"{len(rows)} numbers"
        raise ArgumentError(
            f"{name} must have rows of {columns} numbers for points of {points} coordinates, "
            f"got {found}"
        )
    return np.reshape(rows, (-1, columns))


def _transform(
    columns: int,
    linear: tuple[float, ...] | None,
    offset: tuple[float, ...] | None,
    both: tuple[float, ...] | None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The matrix and the offset for points of some coordinates."""
    if linear == () or both == ():
        raise ArgumentError("fn.coord_transform: a matrix of no numbers was given")
    if both is not None and len(both) == 1:  # that factor of the coordinates, and in T
        matrix = np.eye(columns, columns + 1) * both[0]
        return matrix[:, :-1], matrix[:, -1]
    if both is not None:
        table = _table("MT", both, columns + 1, columns)
        return table[:, :-1], table[:, -1]
    if linear is None or len(linear) == 1:
        matrix = np.eye(columns) * (1.0 if linear is None else linear[0])
    else:
        matrix = _table("M", linear, columns, columns)
    added = np.zeros(1) if offset is None else np.array(offset)
    if len(added) not in (1, len(matrix)):
        raise ArgumentError(f"T must have 1 or {len(matrix)} numbers, got {len(added)}")
    return matrix, np.broadcast_to(added, len(matrix))


def _infer(
    context: Context,
    points: Spec,
    *,
    M: PerSample,  # noqa: N803  (DALI's name)
    T: PerSample,  # noqa: N803
    MT: PerSample,  # noqa: N803
    dtype: torch.dtype,
) -> Planned:
    shapes, plan = [], []
    for position, shape in enumerate(points.shapes):
        if not shape:
            raise ArgumentError("fn.coord_transform takes points, got a scalar")
        made = _transform(shape[-1], M[position], T[position], MT[position])
        shapes.append((*shape[:-1], len(made[0])))
        plan.append(made)
    return Planned((replace(points, shapes=tuple(shapes), dtype=dtype),), plan)


@declare(
    "coord_transform",
    inputs=("points",),
    arguments=(
        Argument(
            "M",
            MATRIX,
            None,
            "matrix (m, n), or one factor for all",
            per_sample=True,
            per_frame=True,
        ),
        Argument("T", FLOATS, None, "added after that", per_sample=True, per_frame=True),
        Argument(
            "MT", MATRIX, None, "(m, n + 1): both in one matrix", per_sample=True, per_frame=True
        ),
        Argument("dtype", DTYPE, torch.float32, "element type of the output"),
    ),
    infer=_infer,
    exclusive=(("MT", "M"), ("MT", "T")),
    by_frames=True,
)
def coord_transform(
    context: Context, points: Batch, plan: Sequence[tuple[NDArray[Any], NDArray[Any]]]
) -> Batch:
    """Transform points, whose coordinates are the last dimension: M @ point + T."""
    results = []
    for sample, own in zip(points, plan, strict=True):
        matrix, offset = (
            torch.from_numpy(np.asarray(each, np.float32)).to(sample.device) for each in own
        )
        made = sample.float() @ matrix.T + offset
        results.append(saturate(made, context.outputs[0].dtype))
    return Batch(results)


def _side(axis: str, *, default: bool) -> Argument:
    return Argument(
        f"flip_{axis}", BOOL, default=default, doc=f"mirror the {axis} coordinates", per_sample=True
    )


def _center(axis: str) -> Argument:
    return Argument(f"center_{axis}", FLOAT, 0.5, f"{axis} of the mirror", per_sample=True)


@declare(
    "coord_flip",
    inputs=("points",),
    arguments=(
        _side("x", default=True),
        _side("y", default=False),
        _side("z", default=False),
        *(_center(axis) for axis in "xyz"),
        Argument("layout", TEXT, "", 'order of the coordinates; "x", "xy" or "xyz" by default'),
    ),
)
def coord_flip(context: Context, points: Batch, *, layout: str, **given: PerSample) -> Batch:
    """Mirror points, whose coordinates are the last dimension: 2 * center - coordinate."""
    results = []
    for position, sample in enumerate(points):
        columns = sample.shape[-1] if sample.ndim else 0
        order = layout or "xyz"[:columns]
        if len(set(order)) != columns or not set(order) <= set("xyz"):
            raise ArgumentError(
                f"fn.coord_flip: layout {order!r} does not name the {columns} coordinates of points"
            )
        mirrored = sample.clone()
        for axis in "xyz":
            if axis not in order or not given[f"flip_{axis}"][position]:
                continue
            column = order.index(axis)
            mirrored[..., column] = 2 * given[f"center_{axis}"][position] - sample[..., column]
        results.append(mirrored)
    return Batch(results)
