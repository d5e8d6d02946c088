"""`fn.bbox_rotate`: boxes of frames that are rotated."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import (
    BOOL,
    FLOAT,
    FLOATS,
    INTS,
    REQUIRED,
    TEXT,
    Argument,
    PerSample,
)
from videoloader.dali.operators.boxes.coordinates import check_labels, check_whole_boxes
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.geometry.warps.warp import canvas_size
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError

_MODES = {"expand": 1.0, "halfway": 0.5, "fixed": 0.0}
"""How far boxes grow from their own size (0) to the one that holds the rotated box (1)."""


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    if "size" in given and arguments["keep_size"]:
        raise ArgumentError("fn.bbox_rotate: size and keep_size exclude each other")
    layout = arguments["shape_layout"]
    if "H" not in layout or "W" not in layout:
        raise ArgumentError(f"fn.bbox_rotate: shape_layout must have H and W, got {layout!r}")


def _infer(
    context: Context, boxes: Spec, *labels: Spec, **arguments: Any
) -> Spec | tuple[Spec, ...]:
    check_whole_boxes("bbox_rotate", boxes)
    for shape in boxes.shapes:
        if shape[-1] != 4 or len(shape) > 2:
            raise ArgumentError(f"fn.bbox_rotate: boxes must be (N, 4), got shape {shape}")
    counts = [shape[0] if len(shape) > 1 else 1 for shape in boxes.shapes]
    most = replace(boxes, shapes=tuple((count, 4) for count in counts))
    if not labels:
        return most
    check_labels("bbox_rotate", labels[0], counts)
    return most, labels[0]


@declare(
    "bbox_rotate",
    inputs=("bboxes", Input("labels", is_optional=True)),
    devices=("cpu",),
    arguments=(
        Argument("angle", FLOAT, REQUIRED, "in degrees, as of fn.rotate", per_sample=True),
        Argument(
            "input_shape",
            INTS,
            REQUIRED,
            "of the frame before it is rotated, as shape_layout orders it",
            per_sample=True,
        ),
        Argument("shape_layout", TEXT, "HW", "what the numbers of input_shape are"),
        Argument(
            "bbox_layout",
            TEXT,
            "xyXY",
            "boxes with their ends or their sizes",
            choices=("xyXY", "xyWH"),
        ),
        Argument("bbox_normalized", BOOL, default=True, doc="parts of the sides, not pixels"),
        Argument("keep_size", BOOL, default=False, doc="as of fn.rotate"),
        Argument("size", FLOATS, None, "(height, width), as of fn.rotate", per_sample=True),
        Argument(
            "mode",
            TEXT,
            "expand",
            "boxes grow to hold the rotated box, keep their size, or halfway between",
            choices=tuple(_MODES),
        ),
        Argument(
            "remove_threshold",
            FLOAT,
            0.1,
            "boxes are removed of which a smaller part is left on the canvas",
            least=0,
            most=1,
        ),
    ),
    optional_outputs=True,
    infer=_infer,
    check=_check,
)
def bbox_rotate(
    context: Context,
    boxes: Batch,
    *labels: Batch,
    angle: PerSample,
    input_shape: PerSample,
    shape_layout: str,
    bbox_layout: str,
    bbox_normalized: bool,
    keep_size: bool,
    size: PerSample,
    mode: str,
    remove_threshold: float,
) -> Batch | tuple[Batch, ...]:
    """Rotate boxes as `fn.rotate` rotates their frame.

    They are cut at the borders of the rotated frame. With labels there are two outputs: the boxes
    that are left, and their labels.
    """
    results, kept_labels = [], []
    for position, sample in enumerate(boxes):
        before = _sides(input_shape[position], shape_layout)
        after = _canvas(before, angle[position], size[position], keep_size=keep_size)
        own = sample.reshape(-1, 4).double().numpy().copy()
        if bbox_layout == "xyXY":
            own[:, 2:] -= own[:, :2]
        if bbox_normalized:
            own *= np.tile(before[::-1], 2)
        found, part = _rotated(own, angle[position], before, after, _MODES[mode])
        keep = part >= remove_threshold
        found = found[keep]
        if bbox_normalized:
            found /= np.tile(after[::-1], 2)
        if bbox_layout == "xyWH":
            found[:, 2:] -= found[:, :2]
        results.append(torch.from_numpy(found.astype(np.float32)))
        if labels:
            kept_labels.append(labels[0][position][torch.from_numpy(keep)])
    return (Batch(results), Batch(kept_labels)) if labels else Batch(results)


def _sides(shape: Sequence[int], layout: str) -> tuple[float, float]:
    """(height, width) of a frame."""
    places = layout.index("H"), layout.index("W")
    if max(places) >= len(shape):
        raise ArgumentError(
            f"fn.bbox_rotate: input_shape {tuple(shape)} has too few numbers for {layout!r}"
        )
    return shape[places[0]], shape[places[1]]


def _canvas(
    sides: tuple[float, float], degrees: float, size: Sequence[float] | None, *, keep_size: bool
) -> tuple[float, ...]:
    """(height, width) of the rotated frame."""
    if size:
        if len(size) != 2:
            raise ArgumentError(f"fn.bbox_rotate: size must be (height, width), got {tuple(size)}")
        return tuple(size)
    return sides if keep_size else canvas_size((int(sides[0]), int(sides[1])), [degrees])


def _rotated(
    boxes: NDArray[np.float64],
    degrees: float,
    before: tuple[float, ...],
    after: tuple[float, ...],
    growth: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Boxes (x, y, width, height) in pixels rotated and cut, and the part of each that is left.

    Returns:
        (left, top, right, bottom) of each, and the ratio of areas; 1 for what has no area.
    """
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    lengths = boxes[:, 2:]
    centers = boxes[:, :2] + lengths / 2 - np.array(before[::-1]) / 2
    turned = centers @ np.array([[cos, -sin], [sin, cos]]) + np.array(after[::-1]) / 2
    full = lengths @ np.abs([[cos, sin], [sin, cos]])
    # Turned by more than 45 degrees, a box lies on its side.
    same = lengths[:, ::-1] if abs(sin) > abs(cos) else lengths
    half = (same + growth * (full - same)) / 2
    whole = np.concatenate([turned - half, turned + half], axis=1)
    cut = whole.clip(0, np.tile(after[::-1], 2))
    area = np.prod(whole[:, 2:] - whole[:, :2], axis=1)
    left = np.prod(cut[:, 2:] - cut[:, :2], axis=1)
    return cut, np.divide(left, area, out=np.ones_like(area), where=area > 0)
