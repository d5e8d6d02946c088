"""Random windows that keep boxes: `fn.random_bbox_crop` and `fn.ssd_random_crop`."""

from __future__ import annotations

import logging
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
    INT,
    INTS,
    TEXT,
    Argument,
    PerSample,
)
from videoloader.dali.operators.boxes.coordinates import check_boxes, check_labels, columns
from videoloader.dali.operators.boxes.crop_search import Crop, SearchRules, find_crop
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.operators.random.random import SEED
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError

_NAME = "random_bbox_crop"
_logger = logging.getLogger("videoloader")


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    scaling, ratios = arguments["scaling"], arguments["aspect_ratio"]
    if len(scaling) != 2 or not 0 <= scaling[0] <= scaling[1]:
        raise ArgumentError(f"fn.{_NAME}: scaling is (least, most), not negative; got {scaling}")
    pairs = list(zip(ratios[::2], ratios[1::2], strict=False))
    if len(ratios) not in (2, 6) or not all(0 <= low <= high for low, high in pairs):
        raise ArgumentError(
            f"fn.{_NAME}: aspect_ratio is (least, most), or three of these for boxes in three "
            f"dimensions; got {ratios}"
        )
    if not arguments["thresholds"]:
        raise ArgumentError(f"fn.{_NAME}: thresholds must not be empty")
    if arguments["total_num_attempts"] == 0:
        raise ArgumentError(
            f"fn.{_NAME}: total_num_attempts must be at least 1, or -1 for no limit"
        )
    if "crop_shape" in given:
        if "input_shape" not in given:
            raise ArgumentError(f"fn.{_NAME}: crop_shape needs input_shape")
        clashing = {"scaling", "aspect_ratio"} & set(given)
        if arguments["allow_no_crop"] and "allow_no_crop" in given:
            clashing.add("allow_no_crop")
        if clashing:
            raise ArgumentError(f"fn.{_NAME}: crop_shape excludes {', '.join(sorted(clashing))}")


def _infer(
    context: Context, boxes: Spec, *labels: Spec, output_bbox_indices: bool, **others: Any
) -> tuple[Spec, ...]:
    counts = check_boxes(_NAME, boxes, (4, 6))
    place = Spec(tuple((shape[1] // 2,) for shape in boxes.shapes), torch.float32)
    specs = [place, place, boxes]
    if labels:
        check_labels(_NAME, labels[0], counts)
        specs.append(labels[0])
    if output_bbox_indices:
        specs.append(Spec(tuple((count,) for count in counts), torch.int32))
    return tuple(specs)


@declare(
    _NAME,
    draws=True,
    inputs=("boxes", Input("labels", is_optional=True)),
    devices=("cpu",),
    arguments=(
        Argument(
            "thresholds",
            FLOATS,
            (0.0,),
            "least overlaps of boxes with the window, of which one is drawn",
            least=0,
            most=1,
        ),
        Argument(
            "threshold_type",
            TEXT,
            "iou",
            "overlap is the intersection over union of window and box, or the part of the box",
            choices=("iou", "overlap"),
        ),
        Argument(
            "all_boxes_above_threshold",
            BOOL,
            default=True,
            doc="all boxes must overlap that much, not only one",
        ),
        Argument(
            "allow_no_crop", BOOL, default=True, doc="the whole frame is drawn like a threshold"
        ),
        Argument("scaling", FLOATS, (1.0, 1.0), "(least, most) length of the window to the frame"),
        Argument(
            "aspect_ratio",
            FLOATS,
            (1.0, 1.0),
            "(least, most) x to y of the window, for volumes then x to z and y to z; in pixels if "
            "input_shape is given",
        ),
        Argument(
            "crop_shape",
            INTS,
            None,
            "of the window in pixels; anchor and shape then are in pixels too",
            per_sample=True,
            least=1,
        ),
        Argument("input_shape", INTS, None, "of the frame in pixels", per_sample=True, least=1),
        Argument("shape_layout", TEXT, None, 'order of these shapes; "WH" or "WHD" by default'),
        Argument(
            "bbox_layout",
            TEXT,
            None,
            'order of the coordinates; "xyXY" or "xyzXYZ" by default, W, H, D for sizes',
        ),
        Argument("ltrb", BOOL, default=True, doc="boxes have ends, not sizes; see bbox_layout"),
        Argument(
            "bbox_prune_threshold",
            FLOAT,
            None,
            "boxes stay with this part in the window; by default if their center is inside",
            least=0,
            most=1,
        ),
        Argument("num_attempts", INT, 1, "windows for one threshold", least=1),
        Argument(
            "total_num_attempts",
            INT,
            -1,
            "windows before the best one is taken; -1: many",
            least=-1,
        ),
        Argument("output_bbox_indices", BOOL, default=False, doc="give the numbers of boxes too"),
        Argument("quiet", BOOL, default=False, doc="do not warn if the best window is taken"),
        SEED,
    ),
    num_outputs=lambda arguments: 3 + arguments["output_bbox_indices"],
    optional_outputs=True,
    infer=_infer,
    exclusive=(("ltrb", "bbox_layout"),),
    check=_check,
)
def random_bbox_crop(
    context: Context,
    boxes: Batch,
    *labels: Batch,
    crop_shape: PerSample,
    input_shape: PerSample,
    shape_layout: str | None,
    bbox_layout: str | None,
    ltrb: bool,
    output_bbox_indices: bool,
    quiet: bool,
    **given: Any,
) -> tuple[Batch, ...]:
    """Draw a window that keeps boxes, and move the boxes into it.

    Boxes are parts of the sides of their frame (0 to 1), those of the output of the window. The
    outputs are anchor (x, y) and shape (width, height) of the window for `fn.slice`, the boxes that
    stay, their labels if there are any, and with `output_bbox_indices` their numbers.
    """
    outputs: tuple[list[torch.Tensor], ...] = ([], [], [], [], [])
    rules, missed = _rules(given), 0
    for position, sample in enumerate(boxes):
        axes = "xyz"[: sample.shape[1] // 2]
        default = axes + (axes.upper() if ltrb else "WHD"[: len(axes)])
        order, has_sizes = columns(_NAME, bbox_layout or default, axes)
        own = _corners(sample.double().numpy()[:, order], has_sizes=has_sizes)
        frame = _lengths("input_shape", input_shape[position], shape_layout, len(axes))
        window = _lengths("crop_shape", crop_shape[position], shape_layout, len(axes))
        crop = find_crop(
            own,
            replace(rules, allow_no_crop=False) if window else rules,
            context.random(position),
            frame=frame or (1,) * len(axes),
            window=window,
        )
        missed += not crop.is_found
        kept = torch.from_numpy(np.flatnonzero(crop.kept))
        unit = np.array(frame if window else (1.0,) * len(axes))
        moved = np.empty((len(kept), len(order)))
        moved[:, order] = _moved(own[crop.kept], crop, has_sizes=has_sizes)
        for output, values in zip(
            outputs, (crop.anchor * unit, crop.shape * unit, moved), strict=False
        ):
            output.append(torch.from_numpy(values.astype(np.float32)))
        outputs[3].append(labels[0][position][kept] if labels else kept)
        outputs[4].append(kept.int())
    if missed and not quiet:
        _logger.warning(
            "fn.%s: no window satisfies the thresholds in %d of %d samples; took the best",
            *(_NAME, missed, context.count),
        )
    wanted = (True, True, True, bool(labels), output_bbox_indices)
    return tuple(Batch(each) for each, want in zip(outputs, wanted, strict=True) if want)


def _rules(given: Mapping[str, Any]) -> SearchRules:
    ratios, attempts = given["aspect_ratio"], given["total_num_attempts"]
    return SearchRules(
        thresholds=given["thresholds"],
        allow_no_crop=given["allow_no_crop"],
        is_iou=given["threshold_type"] == "iou",
        needs_all=given["all_boxes_above_threshold"],
        prune_threshold=given["bbox_prune_threshold"],
        num_attempts=given["num_attempts"],
        total_num_attempts=None if attempts < 0 else attempts,
        scaling=given["scaling"],
        ratios=tuple(zip(ratios[::2], ratios[1::2], strict=True)),
    )


def _corners(boxes: NDArray[np.float64], *, has_sizes: bool) -> NDArray[np.float64]:
    """(N, 2, dimensions): starts and ends of boxes; an error if they are not in the frame."""
    corners = boxes.reshape(len(boxes), 2, boxes.shape[1] // 2).copy()
    if has_sizes:
        corners[:, 1] += corners[:, 0]
    outside = ((corners < -1e-5) | (corners > 1 + 1e-5)).any(axis=(1, 2))
    if outside.any():
        at = int(outside.argmax())
        raise ArgumentError(
            f"fn.{_NAME}: boxes are parts of the frame from 0 to 1; box {at} reaches from "
            f"{corners[at, 0].tolist()} to {corners[at, 1].tolist()}"
        )
    return corners


def _moved(boxes: NDArray[np.float64], crop: Crop, *, has_sizes: bool) -> NDArray[np.float64]:
    """Boxes as parts of the window, cut at its borders, in the columns of the input."""
    corners = ((boxes - crop.anchor) / crop.shape).clip(0, 1)
    if has_sizes:
        corners[:, 1] -= corners[:, 0]
    return corners.reshape(len(boxes), 2 * len(crop.anchor))


def _lengths(
    name: str, shape: Sequence[int] | None, layout: str | None, count: int
) -> tuple[int, ...] | None:
    """A shape along x, y, z; None if there is none."""
    if not shape:
        return None
    wanted = "WHD"[:count]
    order = layout or wanted
    if sorted(order) != sorted(wanted) or len(shape) != count:
        raise ArgumentError(
            f"fn.{_NAME}: {name} {tuple(shape)} with shape_layout {order!r} does not fit boxes in "
            f"{count} dimensions; the layout has the letters of {wanted}"
        )
    return tuple(shape[order.index(letter)] for letter in wanted)


def _infer_ssd(context: Context, frames: Spec, boxes: Spec, labels: Spec, **given: Any) -> Any:
    check_labels("ssd_random_crop", labels, check_boxes("ssd_random_crop", boxes))
    return frames, boxes, labels


@declare(
    "ssd_random_crop",
    draws=True,
    inputs=(Input("frames", ("HWC", "CHW", "FHWC", "FCHW")), "boxes", "labels"),
    devices=("cpu",),
    arguments=(Argument("num_attempts", INT, 1, "windows for one threshold", least=1), SEED),
    num_outputs=3,
    infer=_infer_ssd,
)
def ssd_random_crop(
    context: Context, frames: Batch, boxes: Batch, labels: Batch, *, num_attempts: int
) -> tuple[Batch, ...]:
    """Cut a window out of frames as the single-shot detector of boxes (SSD) is trained.

    Boxes are (left, top, right, bottom), parts of the sides. The window has 0.3 to 1 of the sides,
    with a ratio of 0.5 to 2, and overlaps boxes by at least 0, 0.1, 0.3, 0.5, 0.7 or 0.9; or it is
    the whole frame. The outputs are the windows, the boxes with their center inside, and their
    labels. `fn.random_bbox_crop` has more choices.
    """
    rules = SearchRules(
        thresholds=(0.0, 0.1, 0.3, 0.5, 0.7, 0.9),
        num_attempts=num_attempts,
        scaling=(0.3, 1.0),
        ratios=((0.5, 2.0),),
    )
    windows, moved, kinds = [], [], []
    for position, (frame, sample, label) in enumerate(zip(frames, boxes, labels, strict=True)):
        own = sample.double().numpy().reshape(-1, 2, 2)
        crop = find_crop(own, rules, context.random(position), frame=(1, 1))
        sides = np.array([frame.shape[-2], frame.shape[-3]])
        (left, top), (width, height) = (
            (part * sides).astype(int) for part in (crop.anchor, crop.shape)
        )
        windows.append(frame[..., top : top + height, left : left + width, :])
        kept = torch.from_numpy(crop.kept)
        found = _moved(own[crop.kept], crop, has_sizes=False)
        moved.append(torch.from_numpy(found.astype(np.float32)))
        kinds.append(label[kept])
    return Batch(windows, frames.layout), Batch(moved), Batch(kinds)
