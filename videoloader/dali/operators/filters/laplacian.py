"""`fn.laplacian`: the sum of second derivatives."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import BOOL, FLOATS, INTS, Argument, PerSample
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.filters.separable import (
    DTYPE_ARGUMENT,
    FRAMES_OR_VOLUME,
    Axes,
    Filtering,
    Term,
    Terms,
    filtered,
    infer_filtered,
    on_gpu,
    per_axis,
    planned,
)
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError

_LARGEST = 31  # window


def _smoothing(size: int) -> NDArray[np.float32]:
    """Binomial coefficients."""
    return np.array([math.comb(size - 1, k) for k in range(size)], np.float32)


def _second_derivative(size: int) -> NDArray[np.float32]:
    """1, -2, 1, smoothed."""
    smooth = _smoothing(size - 2).astype(np.float64)
    return np.convolve(smooth, [1, -2, 1]).astype(np.float32)


def _check_laplacian(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    if arguments.get("normalized_kernel") and "scale" in given and arguments["scale"] != (1.0,):
        raise ArgumentError("normalized_kernel scales by itself; give it or scale, not both")


def _check_window(name: str, sizes: Sequence[int], least: int) -> None:
    for size in sizes:
        if not (least <= size <= _LARGEST and size % 2):
            raise ArgumentError(f"{name} is odd, from {least} to {_LARGEST}, got {size}")


def _derivatives(
    axes: Axes,
    window_size: Sequence[int],
    smoothing_size: Sequence[int] | None,
    scale: Sequence[float],
    *,
    normalized: bool,
) -> Terms:
    """The second derivative along each axis."""
    windows = axes.each("window_size", window_size)
    _check_window("window_size", windows, 3)
    if smoothing_size is not None:
        smooth = axes.each("smoothing_size", smoothing_size)
        _check_window("smoothing_size", smooth, 1)
    found = []
    for axis, factor in enumerate(axes.each("scale", scale)):
        if smoothing_size is None:
            smooth = (windows[axis],) * axes.count
        kernels = tuple(
            _second_derivative(windows[other]) if other == axis else _smoothing(smooth[other])
            for other in range(axes.count)
        )
        if normalized:
            factor = 2.0 ** (axes.count + 2 - sum(map(len, kernels)))
        found.append(Term(kernels, factor))
    return tuple(found)


def _infer_laplacian(
    context: Context,
    frames: Spec,
    *,
    window_size: PerSample,
    smoothing_size: PerSample,
    scale: PerSample,
    normalized_kernel: bool,
    dtype: torch.dtype | None,
) -> Planned:
    out = infer_filtered(context, frames, dtype=dtype)
    terms_of = partial(_derivatives, normalized=normalized_kernel)
    return planned(frames, out, terms_of, window_size, smoothing_size, scale)


@declare(
    "laplacian",
    inputs=(FRAMES_OR_VOLUME,),
    arguments=(
        per_axis("window_size", INTS, (3,), "of the derivative window, odd, 3 to 31"),
        per_axis(
            "smoothing_size",
            INTS,
            None,
            "of the smoothing windows, odd; by default that of the derivative",
        ),
        per_axis("scale", FLOATS, (1.0,), "factor of the partial derivatives"),
        Argument(
            "normalized_kernel",
            BOOL,
            default=False,
            doc="scale each derivative by 2 ** (axes + 2 - sum of its windows)",
        ),
        DTYPE_ARGUMENT,
    ),
    infer=_infer_laplacian,
    check=_check_laplacian,
    kernels={"cuda": on_gpu},
)
def laplacian(context: Context, frames: Batch, plan: Filtering) -> Batch:
    """The sum of the second derivatives along each axis, by default of every frame alike.

    A derivative is a window of `window_size` along its axis, and of `smoothing_size` along the
    others. Values for each axis have the order of the layout.
    """
    return filtered(context, frames, plan)
