"""`fn.filter`: correlation with any window."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from videoloader.dali.operators.arguments import INTS, TEXT, Argument, Kind, PerSample
from videoloader.dali.operators.axes import padded
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.filters.neighborhoods_on_gpu import correlate_on_gpu
from videoloader.dali.operators.filters.separable import (
    DTYPE_ARGUMENT,
    FRAMES_OR_VOLUME,
    Axes,
    infer_filtered,
    picture_axes,
)
from videoloader.dali.operators.geometry.warps.sampling import opencv_border
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError

BORDERS = ("reflect_101", "reflect_1001", "wrap", "clamp", "constant")
_BORDERS = {
    "101": "reflect_101",
    "reflect101": "reflect_101",
    "1001": "reflect_1001",
    "reflect1001": "reflect_1001",
    "reflect": "reflect_1001",
    "edge": "clamp",
}
"""Other names of borders."""
_OPENCV_TYPES = (torch.uint8, torch.int16, torch.uint16, torch.float32)


class _Correlating(NamedTuple):
    """Plan of `filter`.

    Attributes:
        axes: of each sample.
        anchors: the place in the window of each, along each axis, that lies on the pixel.
        border: what stands outside; None for windows that lie inside.
    """

    axes: list[Axes]
    anchors: list[tuple[int, ...]]
    border: str | None


def _infer(
    context: Context,
    frames: Spec,
    windows: Spec,
    fill: Spec | None = None,
    *,
    anchor: PerSample,
    border: str,
    mode: str,
    dtype: torch.dtype | None,
) -> Planned:
    spec = infer_filtered(context, frames, dtype=dtype)
    plan = _Correlating([], [], None if mode == "valid" else border)
    shapes = []
    for shape, window, own in zip(frames.shapes, windows.shapes, anchor, strict=True):
        axes = Axes.of(frames.layout, len(shape))
        if len(window) != axes.count or 0 in window:
            raise ArgumentError(
                f"the window has {axes.count} dimensions for layout {frames.layout or 'unknown'}, "
                f"got shape {window}"
            )
        plan.axes.append(axes)
        plan.anchors.append(_anchors(axes, own, window))
        sides = list(shape)
        if mode == "valid":
            for number, extent in enumerate(window):
                sides[axes.first + number] -= extent - 1
            if min(sides, default=1) < 1:
                raise ArgumentError(f"a window of {window} does not fit into {shape}")
        shapes.append(tuple(sides))
    return Planned((replace(spec, shapes=tuple(shapes)),), plan)


def _anchors(axes: Axes, anchor: Sequence[int], extents: Sequence[int]) -> tuple[int, ...]:
    """The place in a window, along each axis, that lies on the pixel."""
    found = tuple(
        extent // 2 if own == -1 else own
        for own, extent in zip(axes.each("anchor", anchor), extents, strict=True)
    )
    if any(own >= extent for own, extent in zip(found, extents, strict=True)):
        raise ArgumentError(f"anchor {list(found)} is not in a window of {tuple(extents)}")
    return found


def _on_gpu(
    context: Context,
    frames: Batch,
    windows: Batch,
    fill_values: Batch | None = None,
    *,
    plan: _Correlating,
) -> Any:
    if picture_axes(frames.layout) is None:
        return NotImplemented
    anchors = [(0, 0)] * len(frames) if plan.border is None else plan.anchors
    border = plan.border or "reflect_101"  # of windows that lie inside nothing is read there
    return correlate_on_gpu(context, frames, windows, fill_values, anchors, border)


@declare(
    "filter",
    inputs=(FRAMES_OR_VOLUME, Input("window"), Input("fill_value", is_optional=True)),
    arguments=(
        Argument(
            "anchor",
            INTS,
            (-1,),
            "the value of the window that lies on the pixel; -1: the middle",
            per_sample=True,
            per_frame=True,
            least=-1,
        ),
        Argument(
            "border",
            Kind("str", lambda value: _BORDERS.get(value, str(value))),
            "reflect_101",
            "what stands outside; `constant` is `fill_value`, or 0",
            choices=BORDERS,
        ),
        Argument(
            "mode",
            TEXT,
            "same",
            "`valid` leaves out where the window is not wholly inside",
            choices=("same", "valid"),
        ),
        DTYPE_ARGUMENT,
    ),
    infer=_infer,
    kernels={"cuda": _on_gpu},
    by_frames=True,
)
def correlate(
    context: Context,
    frames: Batch,
    windows: Batch,
    fill_values: Batch | None = None,
    *,
    plan: _Correlating,
) -> Batch:
    """Correlate samples with a window of each, in float32.

    The window has the data axes of the layout: (H, W) for images and clips, (D, H, W) for volumes.
    Channels and frames are filtered by themselves.
    """
    out = context.empty()
    border = plan.border
    each = zip(frames, out, windows, plan.axes, plan.anchors, strict=True)
    for position, (sample, place, window, axes, anchors) in enumerate(each):
        fill = 0.0 if fill_values is None else float(fill_values[position])
        window, made = window.float(), None
        if border is not None:
            made = _same_by_opencv(sample, axes, window, anchors, border, fill)
        if made is None:
            values = sample.float()
            if border is not None:
                values = _surrounded(values, axes, anchors, window.shape, border, fill)
            made = _valid(values, axes, window)
        place.copy_(saturate(made, place.dtype))
    return out


def _same_by_opencv(
    values: torch.Tensor,
    axes: Axes,
    window: torch.Tensor,
    anchors: Sequence[int],
    border: str,
    fill: float,
) -> torch.Tensor | None:
    """The correlation of pictures on the CPU in one pass; None for types OpenCV does not take."""
    is_known = border != "wrap" and (border != "constant" or fill == 0)
    if not is_known or values.dtype not in _OPENCV_TYPES or not _are_pictures(values, axes):
        return None
    return _by_opencv(values, axes, window, (anchors[1], anchors[0]), border)


def _are_pictures(values: torch.Tensor, axes: Axes) -> bool:
    """Whether values are pictures on the CPU, which OpenCV filters."""
    return values.device.type == "cpu" and axes.count == 2 and values.numel() > 0


def _by_opencv(
    values: torch.Tensor, axes: Axes, window: torch.Tensor, anchor: tuple[int, int], border: str
) -> torch.Tensor:
    """The correlation, float32; `anchor` is (x, y)."""
    import cv2

    pictures: Any = values.contiguous().numpy().reshape(-1, *values.shape[axes.first :])
    kernel: Any = np.ascontiguousarray(window.cpu().numpy())
    made = np.empty(pictures.shape, np.float32)
    mode = opencv_border(border)
    for picture, result in zip(pictures, made, strict=True):
        filtered = cv2.filter2D(picture, cv2.CV_32F, kernel, anchor=anchor, borderType=mode)
        result[...] = filtered.reshape(result.shape)
    return torch.from_numpy(made).reshape(values.shape)


def _surrounded(
    values: torch.Tensor,
    axes: Axes,
    anchors: Sequence[int],
    extents: Sequence[int],
    border: str,
    fill: float,
) -> torch.Tensor:
    """Values with a border that makes a valid correlation as large as they are."""
    mode = "edge" if border == "clamp" else border
    for number, (before, extent) in enumerate(zip(anchors, extents, strict=True)):
        values = padded(values, axes.first + number, before, extent - 1 - before, mode, fill)
    return values


def _valid(values: torch.Tensor, axes: Axes, window: torch.Tensor) -> torch.Tensor:
    extents = window.shape
    sides = [
        values.shape[axes.first + number] - extent + 1 for number, extent in enumerate(extents)
    ]

    def part_at(wide: torch.Tensor, place: Sequence[int]) -> torch.Tensor:
        for number, (start, side) in enumerate(zip(place, sides, strict=True)):
            wide = wide.narrow(axes.first + number, start, side)
        return wide

    if _are_pictures(values, axes):
        return part_at(_by_opencv(values, axes, window, (0, 0), "constant"), (0, 0))
    shape = (*values.shape[: axes.first], *sides, *values.shape[axes.first + axes.count :])
    result = values.new_zeros(shape)
    places = itertools.product(*map(range, extents))
    for place, weight in zip(places, window.flatten().tolist(), strict=True):
        result.add_(part_at(values, place), alpha=weight)
    return result
