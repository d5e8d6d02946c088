"""Affine transforms as matrices: made from arguments, and combined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import Kind
from videoloader.errors import ArgumentError

Matrix = NDArray[np.float64]
"""(n, n + 1): a linear part, and what is added to it."""


class Rows(tuple[float, ...]):
    """The numbers of a matrix, row by row; `columns` of them to a row, 0 if that is not known."""

    columns: int = 0


def numbers(value: Any) -> Rows:
    """The numbers of a matrix in any form, row by row."""
    if isinstance(value, str | bytes):
        raise TypeError
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    table = np.asarray(value, dtype=np.float64)
    rows = Rows(table.reshape(-1).tolist())
    rows.columns = table.shape[1] if table.ndim == 2 else 0
    return rows


MATRIX = Kind("matrix of float, (n, n + 1) or its rows in one list", numbers, rank=2)


def affine(rows: Sequence[float], ndim: int | None = None) -> Matrix:
    """The matrix of its rows in one list."""
    found = math.isqrt(len(rows))
    if found * (found + 1) != len(rows) or ndim not in (None, found):
        wanted = "n * (n + 1)" if ndim is None else ndim * (ndim + 1)
        raise ArgumentError(f"an affine transform has {wanted} numbers, got {len(rows)}")
    columns = getattr(rows, "columns", 0)
    if columns not in (0, found + 1):
        raise ArgumentError(
            f"an affine transform has shape (n, n + 1), got {(len(rows) // columns, columns)}"
        )
    return np.asarray(rows, dtype=np.float64).reshape(found, found + 1)


def shape_of(ndim: int) -> tuple[int, int]:
    """The shape of a matrix of `ndim` dimensions."""
    return ndim, ndim + 1


def about(linear: Matrix, center: Sequence[float] | None) -> Matrix:
    """The transform with this linear part that leaves `center` where it is."""
    middle = np.zeros(len(linear)) if center is None else np.asarray(center, dtype=np.float64)
    return np.concatenate([linear, (middle - linear @ middle)[:, None]], axis=1)


def composed(first: Matrix, then: Matrix) -> Matrix:
    """Compose two transforms: the first, then the second."""
    if len(first) != len(then):
        raise ArgumentError(
            f"transforms of {len(first)} and of {len(then)} dimensions cannot follow each other"
        )
    moved = then[:, :-1] @ first
    moved[:, -1] += then[:, -1]
    return moved


def inverse(matrix: Matrix, operator: str) -> Matrix:
    """The transform back, for a matrix (n, n + 1) or (n, n); `operator` is for the error."""
    count, columns = matrix.shape
    whole = np.eye(columns)
    whole[:count] = matrix
    try:
        return np.asarray(np.linalg.inv(whole)[:count], dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise ArgumentError(
            f"fn.{operator}: inverse_map=False needs a matrix that has an inverse, got "
            f"{matrix.tolist()}"
        ) from error


def rotation(degrees: float, axis: Sequence[float] | None = None) -> Matrix:
    """The linear part of a rotation: of a plane, or about an axis (x, y, z)."""
    angle = math.radians(degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    if axis is None:
        return np.array([[cos, -sin], [sin, cos]])
    length = math.hypot(*axis)
    if len(axis) != 3 or not length:
        raise ArgumentError(f"axis must be three numbers that are not all 0, got {tuple(axis)}")
    x, y, z = (each / length for each in axis)
    across = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    along = np.outer((x, y, z), (x, y, z))
    return cos * np.eye(3) + sin * across + (1 - cos) * along
