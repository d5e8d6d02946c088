"""`fn.transforms`: affine transforms of points, as matrices that other operators take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import torch

from videoloader.dali.operators.arguments import (
    BOOL,
    FLOAT,
    FLOATS,
    INT,
    REQUIRED,
    Argument,
    PerSample,
)
from videoloader.dali.operators.axes import for_each
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.geometry.warps.matrices import (
    MATRIX,
    Matrix,
    about,
    affine,
    composed,
    rotation,
    shape_of,
)
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError

_MOST = 14  # transforms that `combine` takes

_LAYOUT = "**"

_INPUT = Argument("mt", MATRIX, None, "a transform to go on from", per_sample=True, per_frame=True)

_ORDER = Argument(
    "reverse_order",
    BOOL,
    default=False,
    doc="this transform comes before that of the input, not after it",
)


def _numbers(name: str, doc: str, default: Any = None) -> Argument:
    return Argument(name, FLOATS, default, doc, per_sample=True, per_frame=True)


def _table(name: str, doc: str) -> Argument:
    return Argument(name, MATRIX, None, doc, per_sample=True, per_frame=True)


def _matrices(
    context: Context, make: Callable[..., Matrix], arguments: Mapping[str, Any]
) -> list[Matrix]:
    """The matrix of each sample, combined with the matrix of the input."""
    found = []
    for position in range(context.count):
        own = PerSample.at(position, arguments)
        reverse_order, before = own.pop("reverse_order"), own.pop("mt")
        first = None if before is None else affine(before)
        matrix = make(None if first is None else len(first), **own)
        if first is not None:
            pair = (matrix, first) if reverse_order else (first, matrix)
            matrix = composed(*pair)
        found.append(matrix)
    return found


def _planned(matrices: list[Matrix]) -> Planned:
    """The matrices of all samples are the plan."""
    shapes = tuple(shape_of(len(each)) for each in matrices)
    return Planned((Spec(shapes, torch.float32, _LAYOUT),), matrices)


def _tables(matrices: list[Matrix]) -> Batch:
    tables = [torch.from_numpy(each.astype(np.float32)) for each in matrices]
    is_dense = len({table.shape for table in tables}) == 1
    return Batch(torch.stack(tables) if is_dense else tables)


def _declare(name: str, make: Callable[..., Matrix], doc: str, **description: Any) -> Any:
    """Declare an operator that makes a matrix for each sample."""

    def infer(context: Context, **arguments: Any) -> Planned:
        return _planned(_matrices(context, make, arguments))

    def run(context: Context, plan: list[Matrix]) -> Batch:
        return _tables(plan)

    run.__doc__ = doc
    arguments = (_INPUT, *description.pop("arguments"), _ORDER)
    return declare(
        f"transforms.{name}",
        arguments=arguments,
        positional=("mt",),
        devices=("cpu",),
        infer=infer,
        by_frames=True,
        **description,
    )(run)


def _translation(ndim: int | None, *, offset: tuple[float, ...]) -> Matrix:
    if not offset:
        raise ArgumentError("offset must have a number for each dimension, got none")
    values = for_each("offset", offset, ndim or len(offset))
    return np.concatenate([np.eye(len(values)), np.array(values)[:, None]], axis=1)


translation = _declare(
    "translation",
    _translation,
    "Move points.",
    arguments=(_numbers("offset", "added to the coordinates", REQUIRED),),
)


def _scale(
    given: int | None,
    *,
    scale: tuple[float, ...],
    center: tuple[float, ...] | None,
    ndim: int | None,
) -> Matrix:
    several = len(scale) if len(scale) > 1 else ndim  # `ndim` is for one factor
    wanted = given or several or max(1, len(center or ()))
    middle = None if center is None else for_each("center", center, wanted)
    return about(np.diag(for_each("scale", scale, wanted)), middle)


scale = _declare(
    "scale",
    _scale,
    "Scale points away from a center.",
    arguments=(
        _numbers("scale", "factors of the coordinates, or one for all", REQUIRED),
        _numbers("center", "point that stays; the origin by default"),
        Argument("ndim", INT, None, "number of dimensions, where `scale` is one number", least=1),
    ),
)


def _rotation(
    given: int | None,
    *,
    angle: float,
    axis: tuple[float, ...] | None,
    center: tuple[float, ...] | None,
) -> Matrix:
    linear = rotation(angle, axis)
    if given not in (None, len(linear)):
        raise ArgumentError("a rotation in three dimensions needs axis, one of a plane has none")
    middle = None if center is None else for_each("center", center, len(linear))
    return about(linear, middle)


rotate = _declare(
    "rotation",
    _rotation,
    "Rotate points about a center, from the first axis to the second.",
    arguments=(
        Argument("angle", FLOAT, REQUIRED, "in degrees", per_sample=True, per_frame=True),
        _numbers("axis", "(x, y, z) to rotate about, in three dimensions"),
        _numbers("center", "point that stays; the origin by default"),
    ),
)


def _shear(
    given: int | None,
    *,
    shear: tuple[float, ...] | None,
    angles: tuple[float, ...] | None,
    center: tuple[float, ...] | None,
) -> Matrix:
    factors = shear or [_tangent(angle) for angle in angles or ()]
    ndim = {2: 2, 6: 3}.get(len(factors), 0)
    if not ndim or given not in (None, ndim):
        raise ArgumentError(f"shear has 2 numbers in a plane and 6 in space, got {len(factors)}")
    linear = np.eye(ndim)
    linear[~np.eye(ndim, dtype=bool)] = factors
    middle = None if center is None else for_each("center", center, ndim)
    return about(linear, middle)


def _tangent(degrees: float) -> float:
    if abs(degrees) > 90:
        raise ArgumentError(f"angles of a shear lie between -90 and 90 degrees, got {degrees:g}")
    return math.tan(math.radians(degrees))


def _check_shear(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    if ("shear" in given) == ("angles" in given):
        raise ArgumentError("fn.transforms.shear: give either shear or angles")


shear = _declare(
    "shear",
    _shear,
    "Shear points: x' = x + shear[0] * y, y' = y + shear[1] * x.",
    arguments=(
        _table("shear", "(xy, yx), or (xy, xz, yx, yz, zx, zy), in rows of 2 or in one"),
        _table("angles", "in degrees, in place of `shear`: their tangents"),
        _numbers("center", "point that stays; the origin by default"),
    ),
    check=_check_shear,
)


def _crop(
    given: int | None,
    *,
    from_start: tuple[float, ...],
    from_end: tuple[float, ...],
    to_start: tuple[float, ...],
    to_end: tuple[float, ...],
    absolute: bool,
) -> Matrix:
    corners = {
        "from_start": from_start,
        "from_end": from_end,
        "to_start": to_start,
        "to_end": to_end,
    }
    ndim = given or max(map(len, corners.values()))
    begin, end, low, high = (np.array(for_each(name, each, ndim)) for name, each in corners.items())
    if absolute:
        begin, end = np.minimum(begin, end), np.maximum(begin, end)
        low, high = np.minimum(low, high), np.maximum(low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = (high - low) / (end - begin)  # infinite where from_start equals from_end
    return np.concatenate([np.diag(factors), (low - begin * factors)[:, None]], axis=1)


crop = _declare(
    "crop",
    _crop,
    "Map a box of coordinates to another one.",
    arguments=(
        _numbers("from_start", "lower corner of the box", (0.0,)),
        _numbers("from_end", "upper corner of the box", (1.0,)),
        _numbers("to_start", "where the lower corner comes to lie", (0.0,)),
        _numbers("to_end", "where the upper corner comes to lie", (1.0,)),
        Argument("absolute", BOOL, default=False, doc="swap corners that are in the other order"),
    ),
)


def _chained(context: Context, arguments: Mapping[str, Any]) -> list[Matrix]:
    found = []
    for position in range(context.count):
        given = [arguments[f"mt_{number}"][position] for number in range(_MOST)]
        steps = [affine(each) for each in given if each is not None]
        if arguments["reverse_order"]:
            steps.reverse()
        matrix = steps[0]
        for step in itertools.islice(steps, 1, None):
            matrix = composed(matrix, step)
        found.append(matrix)
    return found


@declare(
    "transforms.combine",
    arguments=(
        *(
            Argument(
                f"mt_{number}",
                MATRIX,
                REQUIRED if number < 2 else None,
                "a transform",
                per_sample=True,
                per_frame=True,
            )
            for number in range(_MOST)
        ),
        Argument("reverse_order", BOOL, default=False, doc="the last one comes first"),
    ),
    positional=tuple(f"mt_{number}" for number in range(_MOST)),
    devices=("cpu",),
    infer=lambda context, **arguments: _planned(_chained(context, arguments)),
    by_frames=True,
)
def combine(context: Context, plan: list[Matrix]) -> Batch:
    """Combine several transforms into one, which applies the first of them first."""
    return _tables(plan)
