"""`fn.box_encoder`: boxes matched with the anchors of a single-shot detector."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch

from videoloader.dali.operators.arguments import BOOL, FLOAT, FLOATS, REQUIRED, Argument
from videoloader.dali.operators.boxes.coordinates import check_boxes, check_labels
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError


def _check(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    anchors, means, stds = (arguments[name] for name in ("anchors", "means", "stds"))
    if not anchors or len(anchors) % 4:
        raise ArgumentError(
            f"fn.box_encoder: anchors are (left, top, right, bottom) each, got {len(anchors)} "
            "numbers"
        )
    if len(means) != 4 or len(stds) != 4 or 0 in stds:
        raise ArgumentError(
            f"fn.box_encoder: means and stds are four numbers, stds not 0; got {means} and {stds}"
        )


def _infer(
    context: Context, boxes: Spec, labels: Spec, *, anchors: Sequence[float], **others: Any
) -> tuple[Spec, Spec]:
    check_labels("box_encoder", labels, check_boxes("box_encoder", boxes))
    count = len(anchors) // 4
    return (
        Spec(((count, 4),) * len(boxes), torch.float32, device=context.device),
        Spec(((count,),) * len(boxes), torch.int32, device=context.device),
    )


@declare(
    "box_encoder",
    inputs=("boxes", "labels"),
    arguments=(
        Argument("anchors", FLOATS, REQUIRED, "(left, top, right, bottom) of each, in one list"),
        Argument("criteria", FLOAT, 0.5, "least overlap (IoU) of a match", least=0, most=1),
        Argument("offset", BOOL, default=False, doc="give boxes relative to their anchors"),
        Argument("scale", FLOAT, 1.0, "boxes and anchors are multiplied by it for offsets"),
        Argument("means", FLOATS, (0.0,) * 4, "subtracted from offsets (x, y, w, h)"),
        Argument("stds", FLOATS, (1.0,) * 4, "offsets (x, y, w, h) are divided by it"),
    ),
    num_outputs=2,
    infer=_infer,
    check=_check,
)
def box_encoder(
    context: Context,
    boxes: Batch,
    labels: Batch,
    *,
    anchors: Sequence[float],
    criteria: float,
    offset: bool,
    scale: float,
    means: Sequence[float],
    stds: Sequence[float],
) -> tuple[Batch, Batch]:
    """Give every anchor the box (left, top, right, bottom) that it overlaps most, and its label.

    A match overlaps by more than `criteria`; the anchor that a box overlaps most is a match in any
    case. Matches are (x, y, width, height) of the box, with the center first; other anchors have
    the label 0 and their own coordinates. With `offset` it is the distance from the anchor in its
    sides, and the logarithm of the ratios of the sides; zeros for other anchors.
    """
    table = torch.tensor(anchors, dtype=torch.float32, device=context.device).reshape(-1, 4)
    centered = _centered(table)
    mean, std = (torch.tensor(each, device=context.device) for each in (means, stds))
    encoded, classes = [], []
    for own, kinds in zip(boxes, labels, strict=True):
        result = torch.zeros_like(centered) if offset else centered.clone()
        label = torch.zeros(len(table), dtype=torch.int32, device=context.device)
        if len(own):
            best, matched = _matches(own, table, criteria)
            found = _centered(own)[best]
            if offset:
                found = (_offsets(found * scale, centered * scale) - mean) / std
            result = torch.where(matched[:, None], found, result)
            label = torch.where(matched, kinds.reshape(-1)[best], label)
        encoded.append(result)
        classes.append(label)
    return Batch(encoded), Batch(classes)


def _matches(
    boxes: torch.Tensor, anchors: torch.Tensor, criteria: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The box of each anchor, and whether it is a match; of equal ones the last."""
    overlap = _overlaps(boxes, anchors)
    nearest = len(anchors) - 1 - overlap.flip(1).argmax(dim=1)
    overlap[torch.arange(len(boxes), device=boxes.device), nearest] = 2.0
    best = len(boxes) - 1 - overlap.flip(0).argmax(dim=0)
    return best, overlap.amax(dim=0) > criteria


def _overlaps(boxes: torch.Tensor, anchors: torch.Tensor) -> torch.Tensor:
    """Intersection over union of each box with each anchor."""
    start = torch.maximum(boxes[:, None, :2], anchors[None, :, :2])
    stop = torch.minimum(boxes[:, None, 2:], anchors[None, :, 2:])
    common = (stop - start).clamp(min=0).prod(dim=-1)
    areas = [(each[:, 2:] - each[:, :2]).prod(dim=-1) for each in (boxes, anchors)]
    union = areas[0][:, None] + areas[1] - common
    return torch.where(union > 0, common / union, 0.0)


def _centered(boxes: torch.Tensor) -> torch.Tensor:
    """(x, y, width, height) with the center, of (left, top, right, bottom)."""
    return torch.cat([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]], dim=1)


def _offsets(boxes: torch.Tensor, anchors: torch.Tensor) -> torch.Tensor:
    sides = anchors[:, 2:]
    return torch.cat([(boxes[:, :2] - anchors[:, :2]) / sides, (boxes[:, 2:] / sides).log()], 1)
