"""Indexing of data nodes: `clips[::2]`, `clips[0]`, `frames[:, 10:20]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from videoloader.errors import ArgumentError
from videoloader.operators.arguments import REQUIRED, Argument, Kind
from videoloader.operators.operator import declare

__all__ = ["subscript"]


def _index(value: Any) -> tuple[int | slice, ...]:
    items = value if isinstance(value, tuple) else (value,)
    for item in items:
        if not isinstance(item, int | slice) or (isinstance(item, slice) and item.step == 0):
            raise TypeError
    return items


def _remaining(layout: str, arguments: Mapping[str, Any]) -> str:
    index = arguments["index"]
    kept = [axis for axis, item in zip(layout, index, strict=False) if isinstance(item, slice)]
    return "".join(kept) + layout[len(index) :]


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
    result_layout=_remaining,
)
def subscript(values: torch.Tensor, *, index: tuple[int | slice, ...]) -> torch.Tensor:
    """Index every sample as Python indexes a sequence, negative steps included."""
    if len(index) > values.ndim:
        raise ArgumentError(f"{len(index)} indices for a sample of shape {tuple(values.shape)}")
    for axis in reversed(range(len(index))):
        item = index[axis]
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
