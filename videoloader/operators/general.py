"""Operators that change where data is, or what it means, and no values."""

from __future__ import annotations

from dataclasses import replace

import torch

from videoloader.operators.batch import Batch, Context, Spec
from videoloader.operators.operator import OPERATORS, declare

__all__ = ["COPY", "PER_FRAME", "copy", "per_frame"]


def _infer_copy(context: Context, values: Spec) -> Spec:
    return replace(values, device=context.device)


@declare("copy", inputs=("input",), infer=_infer_copy, is_elementwise=True)
def copy(context: Context, values: Batch) -> Batch:
    """Copy to the device of the operator; the data itself where it is there."""
    # What reads it on a GPU waits for the copy by itself; what reads it on the CPU does not.
    away = context.device != "cpu"
    if away and values.block is None and not values.spec.is_ragged and len(values) > 1:
        values = Batch(torch.stack(values.samples), values.layout)  # one copy, not one a sample
    return values.each(lambda value: value.to(context.device, non_blocking=away))


def _infer_frames(context: Context, values: Spec) -> Spec:  # noqa: ARG001
    return replace(
        values, layout=_per_frame_layout(values.layout, len(next(iter(values.shapes), ())))
    )


def _per_frame_layout(layout: str, ndim: int) -> str:
    return "F" + layout[1:] if layout or ndim == 1 else ""


@declare(
    "per_frame", inputs=("values",), devices=("cpu",), infer=_infer_frames, is_elementwise=True
)
def per_frame(context: Context, values: Batch) -> Batch:  # noqa: ARG001
    """Say that the first dimension of samples counts frames.

    An argument that may be per frame takes the result: one value for each frame of a clip.
    """
    return values


COPY, PER_FRAME = OPERATORS["copy"], OPERATORS["per_frame"]
