"""Indexing of data nodes: `clips[::2]`, `clips[0]`, `frames[:, 10:20]`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from videoloader.errors import ArgumentError
from videoloader.operators.arguments import REQUIRED, Argument, Kind
from videoloader.operators.batch import Batch, Context, Spec
from videoloader.operators.operator import declare

__all__ = ["index_tensor", "subscript"]


def _index(value: Any) -> tuple[int | slice, ...]:
    items = value if isinstance(value, tuple) else (value,)
    for item in items:
        if not isinstance(item, int | slice) or (isinstance(item, slice) and item.step == 0):
            raise TypeError
    return items


def index_tensor(values: torch.Tensor, index: tuple[int | slice, ...], first: int) -> torch.Tensor:
    """Index dimensions of a tensor, from number `first` on; a view unless a step is negative."""
    if len(index) > values.ndim - first:
        shape = tuple(values.shape[first:])
        raise ArgumentError(f"{len(index)} indices for a sample of shape {shape}")
    for axis in reversed(range(first, first + len(index))):
        item = index[axis - first]
        if isinstance(item, int):
            values = values.select(axis, item)
            continue
        start, stop, step = item.indices(values.shape[axis])
        if step > 0:
            values = values[(slice(None),) * axis + (item,)]
        else:  # torch has no negative steps
            values = values.index_select(
                axis, torch.arange(start, stop, step, device=values.device)
            )
    return values


def _infer(context: Context, values: Spec, *, index: tuple[int | slice, ...]) -> Spec:  # noqa: ARG001
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    for shape in values.shapes:
        if shape not in known:
            known[shape] = tuple(index_tensor(torch.empty(shape, device="meta"), index, 0).shape)
    axes = zip(values.layout, index, strict=False)
    kept = "".join(axis for axis, item in axes if isinstance(item, slice))
    layout = kept + values.layout[len(index) :]
    return replace(values, shapes=tuple(map(known.__getitem__, values.shapes)), layout=layout)


@declare(
    "subscript",
    inputs=("input",),
    arguments=(
        Argument(
            "index",
            Kind("int, slice (its step is not 0) or tuple of them", _index),
            REQUIRED,
            "for each dimension of a sample, from the first on",
        ),
    ),
    infer=_infer,
)
def subscript(context: Context, values: Batch, *, index: tuple[int | slice, ...]) -> Batch:  # noqa: ARG001
    """Index every sample as Python indexes a sequence, negative steps included."""
    first = 0 if values.block is None else 1
    return values.each(lambda value: index_tensor(value, index, first))
