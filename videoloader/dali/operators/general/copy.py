"""Operators that change the device or the layout of data, not its values."""

from __future__ import annotations

import dataclasses

import torch

from videoloader.dali.operators.arguments import BOOL, Argument
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import OPERATORS, declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError


def _infer_copy(context: Context, values: Spec) -> Spec:
    return dataclasses.replace(values, device=context.device)


@declare("copy", inputs=("input",), infer=_infer_copy, is_elementwise=True)
def copy(context: Context, values: Batch) -> Batch:
    """Copy to the device of the operator; the data itself where it is there."""
    # What reads it on a GPU waits for the copy by itself; what reads it on the CPU does not.
    away = context.device != "cpu"
    if away and values.block is None and not values.spec.is_ragged and len(values) > 1:
        values = Batch(torch.stack(values.samples))  # one copy, not one a sample
    return values.each(lambda value: value.to(context.device, non_blocking=away))


def _infer_frames(context: Context, values: Spec, *, replace: bool) -> Spec:
    ndim = len(values.shapes[0]) if len(values) else len(values.layout)
    if len(values) and not ndim:
        raise ArgumentError("fn.per_frame: a scalar has no dimension that counts frames")
    if not values.layout:
        return dataclasses.replace(values, layout="F" + "*" * (ndim - 1))
    if values.layout[0] != "F" and not replace:
        raise ArgumentError(
            f"fn.per_frame: the first dimension of layout {values.layout} does not count frames; "
            "replace=True renames it"
        )
    return dataclasses.replace(values, layout="F" + values.layout[1:])


@declare(
    "per_frame",
    inputs=("values",),
    arguments=(
        Argument(
            "replace", BOOL, default=False, doc="rename the first dimension of another layout to F"
        ),
    ),
    infer=_infer_frames,
    is_elementwise=True,
)
def per_frame(context: Context, values: Batch, *, replace: bool) -> Batch:
    """Say that the first dimension of samples counts frames.

    An argument that may be per frame takes the result: one value for each frame of a clip.
    """
    return values


COPY, PER_FRAME = OPERATORS["copy"], OPERATORS["per_frame"]
