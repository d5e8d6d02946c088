"""Boxes of frames that are mirrored or put on a canvas: `fn.bb_flip` and `fn.bbox_paste`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from videoloader.dali.operators.arguments import BOOL, FLOAT, INT, REQUIRED, Argument, PerSample
from videoloader.dali.operators.boxes.coordinates import check_whole_boxes
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec

_LTRB = Argument(
    "ltrb",
    BOOL,
    default=False,
    doc="boxes are (left, top, right, bottom), not (left, top, width, height)",
)


def _same_boxes(name: str) -> Callable[..., Spec]:
    """The `infer` of an operator that gives boxes of the shape that it takes."""

    def infer(context: Context, boxes: Spec, **arguments: Any) -> Spec:
        check_whole_boxes(name, boxes)
        return boxes

    return infer


@declare(
    "bb_flip",
    inputs=("boxes",),
    arguments=(
        Argument("horizontal", INT, 1, "mirror left and right unless 0", per_sample=True),
        Argument("vertical", INT, 0, "mirror top and bottom unless 0", per_sample=True),
        _LTRB,
    ),
    infer=_same_boxes("bb_flip"),
)
def bb_flip(
    context: Context, boxes: Batch, *, horizontal: PerSample, vertical: PerSample, ltrb: bool
) -> Batch:
    """Mirror boxes as `fn.flip` mirrors their frame.

    Coordinates are parts of the sides of the frame, 0 to 1.
    """
    results = []
    for position, sample in enumerate(boxes):
        flipped = sample.clone(memory_format=torch.contiguous_format)
        before, after = sample.reshape(-1, 4), flipped.view(-1, 4)
        for axis, is_flipped in enumerate((horizontal[position], vertical[position])):
            start, last = before[:, axis], before[:, axis + 2]
            if is_flipped and ltrb:
                after[:, axis], after[:, axis + 2] = 1 - last, 1 - start
            elif is_flipped:
                after[:, axis] = 1 - start - last
        results.append(flipped)
    return Batch(results)


def _place(name: str, doc: str) -> Argument:
    return Argument(name, FLOAT, 0.5, doc, per_sample=True)


@declare(
    "bbox_paste",
    inputs=("boxes",),
    devices=("cpu",),
    arguments=(
        Argument("ratio", FLOAT, REQUIRED, "canvas to frame", per_sample=True, least=1),
        _place("paste_x", "place of the frame: 0 is leftmost, 1 rightmost"),
        _place("paste_y", "place of the frame: 0 is topmost, 1 lowest"),
        _LTRB,
    ),
    infer=_same_boxes("bbox_paste"),
)
def bbox_paste(
    context: Context,
    boxes: Batch,
    *,
    ratio: PerSample,
    paste_x: PerSample,
    paste_y: PerSample,
    ltrb: bool,
) -> Batch:
    """Move boxes as `fn.paste` moves their frame, to parts of the sides of the canvas."""
    results = []
    for position, sample in enumerate(boxes):
        scale = ratio[position]
        room = (scale - 1) / scale
        places = (paste_x[position], paste_y[position])
        shift = [room * min(max(place, 0.0), 1.0) for place in places]
        offset = torch.tensor(shift + (shift if ltrb else [0.0, 0.0]), dtype=torch.float32)
        results.append((sample.reshape(-1, 4) / scale + offset).reshape(sample.shape))
    return Batch(results)
