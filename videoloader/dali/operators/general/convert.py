"""Conversion from one element type to another, with saturation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from videoloader.dali.operators.arguments import DTYPE, REQUIRED, Argument
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.decoded import DecodedForm, element_type
from videoloader.dali.operators.geometry.crop_windows_on_gpu import convert_on_gpu
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.decoding.memory import Recycler


def scale_and_shift(values: torch.Tensor, factor: Any, offset: Any, out: torch.Tensor) -> None:
    """Write values * factor + offset, computed in float32 and saturated, into `out`.

    Args:
        values: any type.
        factor: a number, or a tensor that broadcasts.
        offset: a number, or a tensor that broadcasts.
        out: same shape as `values`.
    """
    if out.dtype == torch.float32:
        out.copy_(values).mul_(factor).add_(offset)
    elif out.device.type == "cpu" and 4 * out.numel() > SCRATCH and out.ndim > 1:
        for at in range(len(out)):
            own, shift = _row(factor, at, out.ndim), _row(offset, at, out.ndim)
            scale_and_shift(values[at], own, shift, out[at])
    else:
        scaled = _scratch(out).copy_(values).mul_(factor).add_(offset)
        if out.dtype.is_floating_point:
            out.copy_(scaled)
        else:
            out.copy_(saturate(scaled, out.dtype))


SCRATCH = 16 << 20
"""Bytes of intermediate values at a time on the CPU; their memory is used again and again."""

_recycler = Recycler(keep=2)


def _scratch(out: torch.Tensor) -> torch.Tensor:
    """Memory for float32 values in the order in memory of `out`."""
    if out.device.type != "cpu":
        return torch.empty_like(out, dtype=torch.float32)
    strides = torch.empty_like(out, dtype=torch.float32, device="meta").stride()
    memory = _recycler.empty((out.numel(),), dtype=torch.float32, device="cpu")
    return memory.as_strided(out.shape, strides)


def _row(numbers: Any, at: int, ndim: int) -> Any:
    """The part of a number or array of `ndim` dimensions at one index of the first dimension."""
    if not isinstance(numbers, torch.Tensor) or numbers.ndim < ndim:
        return numbers
    return numbers[at if len(numbers) > 1 else 0]


def _absorb(form: DecodedForm, arguments: Mapping[str, Any]) -> DecodedForm | None:
    dtype = element_type(arguments["dtype"])
    return None if dtype is None else form.finished(dtype=dtype)


def _infer(context: Context, values: Spec, *, dtype: torch.dtype) -> Spec:
    return replace(values, dtype=dtype)


def _cast_on_gpu(context: Context, values: Batch, *others: Batch, **arguments: Any) -> Any:
    """One launch, unless torch converts the batch in one."""
    source, target = values.spec.dtype, context.outputs[0].dtype
    is_one = values.block is not None and (target.is_floating_point or source == torch.bool)
    if source == target or is_one:
        return NotImplemented
    return convert_on_gpu(context, values)


@declare(
    "cast",
    inputs=("input",),
    arguments=(Argument("dtype", DTYPE, REQUIRED, "element type of the output"),),
    infer=_infer,
    kernels={"cuda": _cast_on_gpu},
    absorb=_absorb,
    is_elementwise=True,
)
def cast(context: Context, values: Batch, *, dtype: torch.dtype) -> Batch:
    """Convert to another element type.

    Floating point values are rounded to the nearest integer (halves away from zero) and clamped to
    the range of an integer type, integers are clamped; nothing wraps around.
    """
    return values.each(lambda value: saturate(value, dtype))


def _infer_like(context: Context, values: Spec, like: Spec) -> Spec:
    return replace(values, dtype=like.dtype)


@declare("cast_like", inputs=("data", "like"), infer=_infer_like, kernels={"cuda": _cast_on_gpu})
def cast_like(context: Context, values: Batch, like: Batch) -> Batch:
    """Convert the first input to the element type of the second, as `fn.cast` does."""
    dtype = like.spec.dtype
    return values.each(lambda value: saturate(value, dtype))
