"""Separable filters of images, clips and volumes, and `fn.gaussian_blur`.

A sample is filtered along its data axes: all but `C`, which comes first or last, and `F`. The
borders are reflected without repeating the outermost values. Plain torch is the reference; on the
CPU OpenCV filters picture by picture, on a GPU a kernel filters a batch. All compute in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import (
    DTYPE,
    FLOATS,
    INTS,
    Argument,
    PerSample,
    each_value,
)
from videoloader.dali.operators.axes import for_each, padded
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.filters.separable_on_gpu import Pass, filter_on_gpu
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError
from videoloader.machinery.system.forking import cached_property

FRAMES_OR_VOLUME = Input("frames", is_frames=True)
DTYPE_ARGUMENT = Argument("dtype", DTYPE, None, "element type of the output: the input's or FLOAT")

_MOST_AXES = 3
_UNNAMED = {1: "W", 2: "HW", 3: "DHW"}

Kernels = Sequence[NDArray[np.float32]]
"""A window for each data axis."""


@dataclass(frozen=True, slots=True)
class Axes:
    """The dimensions of a sample that are filtered.

    Attributes:
        first: of them; those before are frames and channels.
        count: of them; a dimension behind them is the channels.
    """

    first: int
    count: int

    @classmethod
    def of(cls, layout: str, ndim: int) -> Axes:
        """The data axes of samples of a layout.

        >>> Axes.of("FHWC", 4), Axes.of("CHW", 3)
        (Axes(first=1, count=2), Axes(first=1, count=2))
        """
        layout = layout or _UNNAMED.get(ndim, "")
        if not layout or len(layout) != ndim:
            raise ArgumentError(f"samples of {ndim} dimensions need a layout, such as HWC")
        if any(layout.count(letter) > 1 for letter in "CF"):
            raise ArgumentError(f"F and C stand once in a layout, got {layout}")
        first = len(layout) - len(layout.lstrip("CF"))
        data = layout[first:].removesuffix("C")
        if "F" in data:
            raise ArgumentError(f"clips have F (or C) first in their layout, got {layout}")
        if "C" in data:
            raise ArgumentError(f"channels come first or last in a layout, got {layout}")
        if not 1 <= len(data) <= _MOST_AXES:
            raise ArgumentError(f"1 to {_MOST_AXES} data axes are filtered, got {layout}")
        return cls(first, len(data))

    def each(self, name: str, values: Sequence[Any]) -> tuple[Any, ...]:
        """A value for each axis, of one for all or one for each."""
        return for_each(name, values, self.count, "axes")


def picture_axes(layout: str) -> Axes | None:
    """The data axes of a layout if they are H and W in this order, else None."""
    if layout.replace("C", "").replace("F", "") != "HW":
        return None
    return Axes.of(layout, len(layout))


def infer_filtered(context: Context, frames: Spec, *, dtype: torch.dtype | None, **_: Any) -> Spec:
    """The input's spec, with its element type or float32."""
    if dtype not in (None, frames.dtype, torch.float32):
        raise ArgumentError(f"dtype is the input's, {frames.dtype}, or FLOAT; got {dtype}")
    for ndim in {len(shape) for shape in frames.shapes}:
        Axes.of(frames.layout, ndim)
    return replace(frames, dtype=dtype or frames.dtype)


def _correlated(values: torch.Tensor, axis: int, window: NDArray[np.float32]) -> torch.Tensor:
    """float32 values filtered along one axis."""
    if len(window) == 1:
        return values * float(window[0])
    length, half = values.shape[axis], len(window) // 2
    wide = padded(values, axis, half, half, "reflect_101")
    result = torch.zeros_like(values)
    for place, weight in enumerate(window.tolist()):
        result.add_(wide.narrow(axis, place, length), alpha=weight)
    return result


def _by_torch(values: torch.Tensor, axes: Axes, kernels: Kernels) -> torch.Tensor:
    result = values.float()
    for number, window in enumerate(kernels):
        result = _correlated(result, axes.first + number, window)
    return result


def _by_opencv(values: torch.Tensor, axes: Axes, kernels: Kernels) -> torch.Tensor:
    """The same picture by picture: the last two axes in one call, a third one by itself."""
    import cv2

    shape = values.shape
    sides = shape[axes.first : axes.first + axes.count]
    channels = math.prod(shape[axes.first + axes.count :])
    outer = math.prod(shape[: axes.first])
    pictures = math.prod(sides[:-2]) * outer
    rows, columns = (1, *sides)[-2:]
    source = np.ascontiguousarray(values.numpy())
    if source.dtype not in (np.uint8, np.uint16, np.int16, np.float32):
        source = source.astype(np.float32)
    source = source.reshape(pictures, rows, columns, channels)
    result = np.empty(source.shape, np.float32)
    across = kernels[-1].reshape(1, -1)
    down = kernels[-2].reshape(-1, 1) if len(kernels) > 1 else np.ones((1, 1), np.float32)
    for picture, place in zip(source, result, strict=True):
        made = cv2.sepFilter2D(picture, cv2.CV_32F, across, down, borderType=cv2.BORDER_REFLECT_101)
        place[...] = made.reshape(place.shape)
    if axes.count == _MOST_AXES:
        volumes = result.reshape(outer, sides[0], -1)
        deep = kernels[0].reshape(-1, 1)
        one = np.ones((1, 1), np.float32)
        for volume in volumes:
            volume[...] = cv2.sepFilter2D(
                volume, cv2.CV_32F, one, deep, borderType=cv2.BORDER_REFLECT_101
            )
    return torch.from_numpy(result.reshape(shape))


def _separable(values: torch.Tensor, axes: Axes, kernels: Kernels) -> torch.Tensor:
    if not values.numel():
        return values.float()
    return (_by_torch if values.device.type != "cpu" else _by_opencv)(values, axes, kernels)


class Term(NamedTuple):
    """A window for each data axis, and a factor for the result."""

    windows: Kernels
    factor: float = 1.0


Terms = tuple[Term, ...]
"""The terms of the sum."""


@dataclass(frozen=True, eq=False)
class Filtering:
    """Plan of a separable filter.

    Attributes:
        axes: of each sample.
        terms: of each sample, or of each of its frames where they have their own. Equal ones are
            one object.
        are_pictures: whether the data axes are H and W, in this order.
    """

    axes: list[Axes]
    terms: list[list[Terms]]
    are_pictures: bool

    @cached_property
    def passes(self) -> list[list[tuple[Pass, ...]]]:
        """The terms of pictures for the kernel."""
        each = {id(own): own for sample in self.terms for own in sample}
        made = {
            key: tuple([Pass(down, across, factor) for (down, across), factor in own])
            for key, own in each.items()
        }
        return [[made[id(own)] for own in sample] for sample in self.terms]


def planned(frames: Spec, out: Spec, terms_of: Callable[..., Terms], *given: PerSample) -> Planned:
    """The plan with `terms_of(axes, *values)`, which is called once for equal values."""
    each = {ndim: Axes.of(frames.layout, ndim) for ndim in {*map(len, frames.shapes)}}
    axes = [each[len(shape)] for shape in frames.shapes]
    found: dict[Any, Terms] = {}

    def terms(axes: Axes, own: tuple[Any, ...]) -> Terms:
        key = axes, own
        if key not in found:
            found[key] = terms_of(axes, *own)
        return found[key]

    values = each_value(*given, make=lambda *own: own) if axes else []
    pairs = zip(axes, values, strict=True)
    plan = Filtering(
        axes,
        [[terms(own, value) for value in sample] for own, sample in pairs],
        picture_axes(frames.layout) is not None,
    )
    return Planned((out,), plan)


def filtered(context: Context, frames: Batch, plan: Filtering) -> Batch:
    """The terms of each sample, or of its frames, added up."""
    out = context.empty()
    for sample, place, axes, terms in zip(frames, out, plan.axes, plan.terms, strict=True):
        if len(terms) == 1:
            place.copy_(saturate(_summed(sample, axes, terms[0]), place.dtype))
            continue
        at = frames.layout.index("F")
        inner = replace(axes, first=axes.first - 1)
        for number, own in enumerate(terms):
            made = _summed(sample.select(at, number), inner, own)
            place.select(at, number).copy_(saturate(made, place.dtype))
    return out


def _summed(values: torch.Tensor, axes: Axes, terms: Terms) -> torch.Tensor:
    total: torch.Tensor | None = None
    for windows, factor in terms:
        made = _separable(values, axes, windows)
        made = made if factor == 1 else made.mul_(factor)
        total = made if total is None else total.add_(made)
    assert total is not None
    return total


def on_gpu(context: Context, frames: Batch, plan: Filtering) -> Any:
    """The same by one CUDA kernel, for pictures."""
    return filter_on_gpu(context, frames, plan.passes) if plan.are_pictures else NotImplemented


def per_axis(name: str, kind: Any, default: Any, doc: str) -> Argument:
    """An argument with a value for all axes or one for each, by sample or by frame."""
    return Argument(name, kind, default, doc, per_sample=True, per_frame=True)


def _gaussian_window(sigma: float, size: int) -> NDArray[np.float32]:
    """The window of one axis, whose missing size or sigma follows from the other."""
    if sigma < 0 or size < 0:
        raise ArgumentError(f"sigma and window_size are not negative, got {sigma} and {size}")
    if not sigma and not size:
        raise ArgumentError("sigma and window_size must not both be 0")
    if size and size % 2 == 0:
        raise ArgumentError(f"window_size is odd, got {size}")
    size = size or 2 * math.ceil(3 * sigma) + 1
    radius = (size - 1) // 2
    sigma = sigma or (radius - 1) * 0.3 + 0.8
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    window: NDArray[np.float32] = (weights / weights.sum()).astype(np.float32)
    return window


def _gaussian_terms(axes: Axes, sigma: Sequence[float], window_size: Sequence[int]) -> Terms:
    sizes = axes.each("sigma", sigma), axes.each("window_size", window_size)
    each = list(zip(*sizes, strict=True))
    windows = {own: _gaussian_window(*own) for own in dict.fromkeys(each)}
    return (Term([windows[own] for own in each]),)


def _infer_blur(
    context: Context,
    frames: Spec,
    *,
    sigma: PerSample,
    window_size: PerSample,
    dtype: torch.dtype | None,
) -> Planned:
    out = infer_filtered(context, frames, dtype=dtype)
    return planned(frames, out, _gaussian_terms, sigma, window_size)


@declare(
    "gaussian_blur",
    inputs=(FRAMES_OR_VOLUME,),
    arguments=(
        per_axis("sigma", FLOATS, (0.0,), "of the Gaussian; one for all axes, or one for each"),
        per_axis("window_size", INTS, (0,), "of the window, odd; likewise"),
        DTYPE_ARGUMENT,
    ),
    infer=_infer_blur,
    kernels={"cuda": on_gpu},
)
def gaussian_blur(context: Context, frames: Batch, plan: Filtering) -> Batch:
    """Blur with a Gaussian window, by default every frame of a clip alike.

    Without `window_size` the window has 2 * ceil(3 * sigma) + 1 values; without `sigma` it is
    ((window_size - 1) / 2 - 1) * 0.3 + 0.8. Values for each axis have the order of the layout.
    """
    return filtered(context, frames, plan)
