"""Integers that stand for something else: a row of classes, a value of a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from videoloader.dali.operators.arguments import DTYPE, FLOAT, FLOATS, INT, INTS, TEXT, Argument
from videoloader.dali.operators.axes import by_block, check_letter, storable
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.deprecated import OUTPUT_DTYPE
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Shape, Spec
from videoloader.errors import ArgumentError

_LARGEST_KEY = 65535
_BYTES = 256  # values of a number of 8 bits


def _class_axis(values: Spec, axis: int | None) -> int | None:
    """Where the classes stand in the output; None where each sample is one class."""
    ndim = len(values.shapes[0]) if len(values) else 0
    is_scalar = all(shape == (1,) * ndim for shape in values.shapes)
    if axis is not None and not -1 <= axis <= ndim:
        raise ArgumentError(f"axis {axis} is out of range for a new dimension (-1 to {ndim})")
    if is_scalar and (axis is None or ndim == 0):
        return None
    return ndim if axis is None or axis == -1 else axis


class _Marking(NamedTuple):
    """Plan of `one_hot`.

    Attributes:
        axis: where the classes stand in the output; None where each sample is one class.
        classes: the numbers of the classes; on the CPU, as `values` are.
        values: at the class, and elsewhere.
    """

    axis: int | None
    classes: torch.Tensor
    values: torch.Tensor


def _infer_one_hot(
    context: Context,
    values: Spec,
    *,
    num_classes: int,
    axis: int | None,
    axis_name: str | None,
    dtype: torch.dtype,
    on_value: float,
    off_value: float,
) -> Planned:
    place = _class_axis(values, axis)
    if place is None:
        shapes: tuple[Shape, ...] = ((num_classes,),) * len(values)
        layout = axis_name or ""
    else:
        shapes = tuple((*each[:place], num_classes, *each[place:]) for each in values.shapes)
        own = values.layout
        if axis_name and not own and any(values.shapes):
            raise ArgumentError(
                f"fn.one_hot: axis_name {axis_name!r} needs an input with a layout, it has none"
            )
        layout = own[:place] + axis_name + own[place:] if axis_name and own else ""
    numbers = saturate(torch.tensor([on_value, off_value], dtype=torch.float64), dtype)
    classes = torch.arange(num_classes)
    return Planned((Spec(shapes, dtype, layout, values.device),), _Marking(place, classes, numbers))


@declare(
    "one_hot",
    inputs=("data",),
    arguments=(
        Argument("num_classes", INT, 0, "length of the new dimension", least=0),
        Argument("axis", INT, None, "where it stands; last by default"),
        Argument("axis_name", TEXT, None, "its letter; without, the output has no layout"),
        Argument("dtype", DTYPE, torch.float32, "element type of the output"),
        Argument("on_value", FLOAT, 1.0, "at the class"),
        Argument("off_value", FLOAT, 0.0, "elsewhere"),
    ),
    infer=_infer_one_hot,
    check=check_letter("one_hot"),
    whole_batch=lambda arguments: arguments["axis"] is None,
)
def one_hot(context: Context, values: Batch, plan: _Marking) -> Batch:
    """Mark the class that each number stands for along a new dimension.

    A class that is not one of `num_classes` is marked nowhere. Samples of one element are scalars:
    their output has the dimension of the classes alone, unless `axis` is given.
    """
    dtype, place = context.outputs[0].dtype, plan.axis
    classes = plan.classes.to(context.device)
    on, off = storable(plan.values).to(context.device)

    def mark(value: torch.Tensor, front: int) -> torch.Tensor:
        if place is None:
            value = value.reshape(value.shape[:front])
        at = front + (place or 0)
        # Fractions have the class in front of them, as in DALI.
        numbers = value.to(torch.float64).trunc() if value.is_floating_point() else value
        numbers = numbers.to(torch.int64).unsqueeze(at)
        along = classes.reshape(-1, *[1] * (numbers.ndim - at - 1))
        return torch.where(numbers == along, on, off).view(dtype)

    return by_block(values, mark)


def _check_table(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    keys, values = arguments["keys"], arguments["values"]
    if len(keys) != len(values):
        raise ArgumentError(f"fn.lookup_table has {len(keys)} keys and {len(values)} values")


def _infer_lookup(
    context: Context,
    data: Spec,
    *,
    keys: Sequence[int],
    values: Sequence[float],
    default_value: float,
    dtype: torch.dtype,
) -> Planned:
    if data.dtype.is_floating_point or data.dtype == torch.bool:
        raise ArgumentError(f"fn.lookup_table takes integers, got {data.dtype}")
    entries = _entries(keys, values, default_value, dtype, context.device)
    return Planned((replace(data, dtype=dtype),), entries)


@declare(
    "lookup_table",
    inputs=("data",),
    arguments=(
        Argument("keys", INTS, (), "numbers of the table", least=0, most=_LARGEST_KEY),
        Argument("values", FLOATS, (), "what each key stands for; of a repeated key, the last"),
        Argument("default_value", FLOAT, 0.0, "for numbers that are no key"),
        Argument("dtype", DTYPE, torch.float32, "element type of the output"),
    ),
    infer=_infer_lookup,
    check=_check_table,
    deprecated=(OUTPUT_DTYPE,),
    is_elementwise=True,
)
def lookup_table(context: Context, data: Batch, plan: torch.Tensor) -> Batch:
    """Give for each integer the value that a table has for it."""
    entries, dtype = plan, context.outputs[0].dtype
    if entries.is_cuda:  # made on the stream of an earlier batch, which need not be this one
        entries.record_stream(torch.cuda.current_stream(entries.device))
    size = len(entries)

    def look_up(value: torch.Tensor) -> torch.Tensor:
        if value.dtype == torch.uint8:
            flat = value.reshape(-1).to(torch.int32)
            return storable(entries).index_select(0, flat).view(dtype).reshape(value.shape)
        numbers = saturate(value, torch.int64)
        numbers = numbers.masked_fill((numbers < 0) | (numbers >= size), size - 1)
        return storable(entries)[numbers].view(dtype)

    return data.each(look_up)


def _entries(
    keys: Sequence[int],
    values: Sequence[float],
    default_value: float,
    dtype: torch.dtype,
    device: str,
) -> torch.Tensor:
    """The table, ready for any stream: one entry for each number of 8 bits at least.

    The last one is for numbers that are too large for it.
    """
    table = np.full(max(_BYTES, max(keys, default=-1) + 2), default_value, dtype=np.float64)
    table[list(keys)] = values
    entries = saturate(torch.from_numpy(table).to(torch.float32), dtype).to(device)
    if entries.is_cuda:
        torch.cuda.current_stream(entries.device).synchronize()
    return entries
