"""Tensors out of nothing: zeros, ones, and any other value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from videoloader.dali.operators.arguments import DTYPE, INTS, TEXT, Argument, PerSample
from videoloader.dali.operators.axes import check_layout
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError

_SHAPE = Argument("shape", INTS, (), "of a sample; a scalar by default", per_sample=True, least=0)
_LAYOUT = Argument("layout", TEXT, "", "of the output")
_DTYPE = Argument("dtype", DTYPE, torch.int32, "element type of the output")
_OWN_DTYPE = Argument("dtype", DTYPE, None, "element type of the output; the input's by default")


def _infer(context: Context, *, shape: PerSample, dtype: torch.dtype, layout: str) -> Spec:
    check_layout(layout, shape.values)
    return Spec(shape.values, dtype, layout, context.device)


def _filled(context: Context, value: int) -> Batch:
    out = context.empty()
    for tensor in out.tensors():
        tensor.fill_(value)
    return out


@declare("zeros", arguments=(_SHAPE, _DTYPE, _LAYOUT), infer=_infer)
def zeros(context: Context, **arguments: Any) -> Batch:
    """Make samples of zeros."""
    return _filled(context, 0)


@declare("ones", arguments=(_SHAPE, _DTYPE, _LAYOUT), infer=_infer)
def ones(context: Context, **arguments: Any) -> Batch:
    """Make samples of ones."""
    return _filled(context, 1)


def _infer_like(context: Context, values: Spec, *, dtype: torch.dtype | None) -> Spec:
    return replace(values, dtype=dtype or values.dtype)


@declare("zeros_like", inputs=("data_like",), arguments=(_OWN_DTYPE,), infer=_infer_like)
def zeros_like(context: Context, values: Batch, *, dtype: torch.dtype | None) -> Batch:
    """Make samples of zeros with the shapes, element type and layout of the input."""
    return _filled(context, 0)


@declare("ones_like", inputs=("data_like",), arguments=(_OWN_DTYPE,), infer=_infer_like)
def ones_like(context: Context, values: Batch, *, dtype: torch.dtype | None) -> Batch:
    """Make samples of ones with the shapes, element type and layout of the input."""
    return _filled(context, 1)


def _broadcast(fill: torch.Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    own = tuple(fill.shape)
    try:
        fits = np.broadcast_shapes(own, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ArgumentError(f"a fill value of shape {own} cannot be broadcast to shape {shape}")
    return saturate(fill, dtype).expand(shape)


def _fill(context: Context, fill_value: Batch) -> Batch:
    """Each sample of the output filled with the value that it belongs to."""
    spec, out = context.outputs[0], context.empty()
    for sample, value, shape in zip(out, fill_value, spec.shapes, strict=True):
        sample.copy_(_broadcast(value, shape, spec.dtype))
    return out


def _infer_full(context: Context, fill: Spec, *, shape: PerSample, layout: str) -> Spec:
    check_layout(layout, shape.values)
    return Spec(shape.values, fill.dtype, layout, context.device)


@declare("full", inputs=("fill_value",), arguments=(_SHAPE, _LAYOUT), infer=_infer_full)
def full(context: Context, fill_value: Batch, *, shape: PerSample, layout: str) -> Batch:
    """Make samples of a shape out of a value, which is broadcast as numpy does."""
    return _fill(context, fill_value)


@declare("full_like", inputs=("data_like", "fill_value"))
def full_like(context: Context, values: Batch, fill_value: Batch) -> Batch:
    """Make samples with the shapes, type and layout of the first input out of the second's values.

    The values are broadcast as numpy does.
    """
    return _fill(context, fill_value)
