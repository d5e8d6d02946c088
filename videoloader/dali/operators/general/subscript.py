"""Indexing of data nodes: `clips[::2]`, `clips[0]`, `frames[:, first:]`, and new dimensions."""

from __future__ import annotations

import operator as builtin
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import torch

from videoloader.dali.operators.arguments import (
    INT,
    INTS,
    REQUIRED,
    TEXT,
    Argument,
    Kind,
    PerSample,
)
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.operator import OPERATORS, declare
from videoloader.dali.tensors.batch import Batch, Shape, Spec, parts
from videoloader.errors import ArgumentError, ArgumentIndexError

MOST_SUBSCRIPTS = 8
"""Dimensions that an index may have."""

Index: TypeAlias = tuple[int | slice, ...]


def index_tensor(values: torch.Tensor, index: Index, first: int) -> torch.Tensor:
    """Index dimensions of a tensor, from number `first` on; a view unless a step is negative."""
    shape = tuple(values.shape[first:])
    _check_count(len(index), shape)
    for axis in reversed(range(first, first + len(index))):
        item, length = index[axis - first], values.shape[axis]
        if isinstance(item, int):
            if not -length <= item < length:
                raise ArgumentIndexError(
                    f"index {item} is out of range for dimension {axis - first} of shape {shape}"
                )
            values = values.select(axis, item)
            continue
        start, stop, step = item.indices(length)
        if step > 0:
            values = values[(slice(None),) * axis + (item,)]
        else:  # torch has no negative steps
            values = values.index_select(
                axis, torch.arange(start, stop, step, device=values.device)
            )
    return values


def _check_count(count: int, shape: Shape) -> None:
    if count > len(shape):
        raise ArgumentError(f"{count} indices for a sample of shape {shape}")


def _integer(value: Any) -> int:
    """An integer; a floating point number is none, even if it is whole."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return builtin.index(value)


_WHOLE = Kind("int", _integer)


def _arguments() -> tuple[Argument, ...]:
    parts_of_index = (
        ("at", "take this position and drop the dimension"),
        ("lo", "where the slice begins"),
        ("hi", "where the slice ends, exclusively"),
        ("step", "of the slice; negative goes backwards"),
    )
    return tuple(
        Argument(f"{name}_{axis}", _WHOLE, None, f"dimension {axis}: {doc}", per_sample=True)
        for axis in range(MOST_SUBSCRIPTS)
        for name, doc in parts_of_index
    )


def _indices(count: int, num_subscripts: int, given: Mapping[str, Any]) -> list[Index]:
    items: list[list[int | slice]] = [[] for _ in range(count)]
    for axis in range(num_subscripts):
        at, low, high, step = (given[f"{name}_{axis}"] for name in ("at", "lo", "hi", "step"))
        for position, index in enumerate(items):
            if at[position] is not None:
                index.append(at[position])
                continue
            if step[position] == 0:
                raise ArgumentError(f"the step of a slice is 0 (dimension {axis})")
            index.append(slice(low[position], high[position], step[position]))
    return [tuple(index) for index in items]


def _keeps(axis: int, given: Mapping[str, PerSample]) -> bool:
    """Whether a dimension stays: the same for all samples."""
    return axis >= MOST_SUBSCRIPTS or all(value is None for value in given[f"at_{axis}"])


def _infer(context: Context, values: Spec, *, num_subscripts: int, **given: Any) -> Planned:
    known: dict[Any, Shape] = {}
    shapes = []
    indices = _indices(context.count, num_subscripts, given)
    for shape, index in zip(values.shapes, indices, strict=True):
        key = shape, str(index)
        if key not in known:
            known[key] = tuple(index_tensor(torch.empty(shape, device="meta"), index, 0).shape)
        shapes.append(known[key])
    layout = "".join(axis for at, axis in enumerate(values.layout) if _keeps(at, given))
    return Planned((replace(values, shapes=tuple(shapes), layout=layout),), indices)


@declare(
    "_tensor_subscript",
    inputs=("input",),
    arguments=(
        Argument("num_subscripts", INT, REQUIRED, "dimensions that are indexed", least=1),
        *_arguments(),
    ),
    infer=_infer,
)
def tensor_subscript(context: Context, values: Batch, plan: list[Index]) -> Batch:
    """Index every sample as Python indexes a sequence, negative steps included."""
    taken = [
        index_tensor(values.part(at), (slice(None), *plan[at.start]), 0)
        for at in parts(values, alike=[list(map(str, plan))])
    ]
    if len(taken) == 1 and values.block is not None:
        return Batch(taken[0])
    return Batch([sample for part in taken for sample in part.unbind()])


def _infer_check(context: Context, values: Spec, *, num_subscripts: int) -> Spec:
    for shape in values.shapes:
        _check_count(num_subscripts, shape)
    return values


@declare(
    "_subscript_dim_check",
    inputs=("input",),
    arguments=(Argument("num_subscripts", INT, REQUIRED, "least number of dimensions"),),
    infer=_infer_check,
)
def subscript_dim_check(context: Context, values: Batch, *, num_subscripts: int) -> Batch:
    """Check that samples have this number of dimensions: the index `[:, :]`."""
    return values


def _check_axes(axes: Sequence[int], names: str | None) -> None:
    if any(axis < 0 for axis in axes):
        raise ArgumentError(f"axes must not be negative, got {axes}")
    if len(set(axes)) < len(axes):
        raise ArgumentError(f"axes must differ, got {axes}")
    if names and len(names) != len(axes):
        raise ArgumentError(
            f"new_axis_names {names!r} names {len(names)} dimensions, axes has {len(axes)}"
        )


def _infer_expand(
    context: Context, values: Spec, *, axes: Sequence[int], new_axis_names: str | None
) -> Spec:
    _check_axes(axes, new_axis_names)
    ndim = len(values.shapes[0]) if len(values) else len(values.layout)
    for added, axis in enumerate(sorted(axes)):
        if axis > ndim + added:
            raise ArgumentError(
                f"axis {axis} is out of range: samples of {ndim} dimensions have "
                f"{ndim + added} when it is added"
            )
    if new_axis_names and ndim and not values.layout:
        raise ArgumentError("new_axis_names is given, but the input has no layout")
    layout, shapes = list(values.layout), [list(shape) for shape in values.shapes]
    names: Sequence[str] = new_axis_names or ("",) * len(axes)
    for axis, name in sorted(zip(axes, names, strict=True)):
        layout.insert(axis, name)
        for shape in shapes:
            shape.insert(axis, 1)
    known = "".join(layout) if new_axis_names or not axes else ""
    return replace(values, shapes=tuple(map(tuple, shapes)), layout=known)


@declare(
    "expand_dims",
    inputs=("data",),
    arguments=(
        Argument("axes", INTS, REQUIRED, "where the new dimensions stand in the output"),
        Argument("new_axis_names", TEXT, None, "their letters; without, the layout is dropped"),
    ),
    infer=_infer_expand,
)
def expand_dims(
    context: Context, data: Batch, *, axes: Sequence[int], new_axis_names: str | None
) -> Batch:
    """Insert dimensions of size 1. The data is not copied."""
    if data.block is not None and len(data):
        return Batch(data.block.reshape(len(data), *context.outputs[0].shapes[0]))
    shapes = context.outputs[0].shapes
    return Batch([sample.reshape(shape) for sample, shape in zip(data, shapes, strict=True)])


SUBSCRIPT = OPERATORS["_tensor_subscript"]
DIM_CHECK = OPERATORS["_subscript_dim_check"]
EXPAND_DIMS = OPERATORS["expand_dims"]
