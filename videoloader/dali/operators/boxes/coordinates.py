"""Boxes as operators take them: checks, and the order of their coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from videoloader.dali.tensors.batch import Spec
from videoloader.errors import ArgumentError, ArgumentTypeError


def check_type(name: str, what: str, spec: Spec, dtype: torch.dtype) -> None:
    """Fail if an input has another element type."""
    if len(spec) and spec.dtype != dtype:
        raise ArgumentTypeError(f"fn.{name}: {what} must be {dtype}, got {spec.dtype}; cast first")


def check_boxes(name: str, boxes: Spec, lengths: Sequence[int] = (4,)) -> list[int]:
    """How many boxes each sample has; fail unless they are float32 (N, one of `lengths`)."""
    check_type(name, "boxes", boxes, torch.float32)
    for shape in boxes.shapes:
        if len(shape) != 2 or shape[1] not in lengths:
            wanted = " or ".join(f"(N, {length})" for length in lengths)
            raise ArgumentError(f"fn.{name}: boxes must be {wanted}, got shape {shape}")
    return [shape[0] for shape in boxes.shapes]


def check_whole_boxes(name: str, boxes: Spec) -> None:
    """Fail if boxes are not float32 in fours, whatever their shape is."""
    check_type(name, "boxes", boxes, torch.float32)
    for shape in boxes.shapes:
        if torch.Size(shape).numel() % 4 or not shape:
            raise ArgumentError(f"fn.{name}: a box has four numbers, got boxes of shape {shape}")


def check_labels(name: str, labels: Spec, counts: Sequence[int]) -> None:
    """Fail if labels are not int32, (N,) or (N, 1), one for each box."""
    check_type(name, "labels", labels, torch.int32)
    for shape, count in zip(labels.shapes, counts, strict=True):
        if len(shape) not in (1, 2) or shape[1:] not in ((), (1,)):
            raise ArgumentError(f"fn.{name}: labels must be (N,) or (N, 1), got shape {shape}")
        if shape[0] != count:
            raise ArgumentError(f"fn.{name}: {shape[0]} labels for {count} boxes")


def columns(name: str, layout: str, axes: str) -> tuple[list[int], bool]:
    """Positions of the coordinates in a layout of boxes, such as "xyXY" or "xyWH".

    Args:
        name: of the operator, for the error.
        layout: of the boxes.
        axes: "xy" or "xyz".

    Returns:
        The columns of the starts, then of the ends or extents; and whether those are extents.
    """
    ends, extents = axes + axes.upper(), axes + "WHD"[: len(axes)]
    for wanted, are_extents in ((ends, False), (extents, True)):
        if sorted(layout) == sorted(wanted):
            return [layout.index(letter) for letter in wanted], are_extents
    raise ArgumentError(
        f"fn.{name}: bbox_layout must have the letters of {ends} or {extents}, got {layout!r}"
    )
