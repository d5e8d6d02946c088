"""Operators that put dimensions, frames or samples into another order, or take some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from videoloader.dali.operators.arguments import (
    BOOL,
    INT,
    INTS,
    REQUIRED,
    TEXT,
    Argument,
    PerSample,
)
from videoloader.dali.operators.axes import by_block, storable
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.operator import declare
from videoloader.dali.operators.random.random import SEED
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError, ArgumentIndexError


def _permutation(perm: Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    if perm is None:
        return tuple(reversed(range(ndim)))
    if sorted(perm) != list(range(ndim)):
        raise ArgumentError(f"perm must have each of 0 to {ndim - 1} once, got {tuple(perm)}")
    return tuple(perm)


def _infer_transpose(
    context: Context,
    values: Spec,
    *,
    perm: Sequence[int] | None,
    transpose_layout: bool,
    output_layout: str | None,
) -> Planned:
    ndim = len(values.shapes[0]) if len(values) else len(values.layout)
    order = _permutation(perm, ndim)
    layout = values.layout
    if output_layout is not None:
        if len(output_layout) != ndim:
            raise ArgumentError(f"output_layout {output_layout!r} does not fit {ndim} dimensions")
        layout = output_layout
    elif layout and transpose_layout:
        layout = "".join(layout[axis] for axis in order)
    shapes = tuple(tuple(shape[axis] for axis in order) for shape in values.shapes)
    return Planned((replace(values, shapes=shapes, layout=layout),), order)


@declare(
    "transpose",
    inputs=("data",),
    arguments=(
        Argument("perm", INTS, None, "dimension of the input for each; by default reversed"),
        Argument(
            "transpose_layout", BOOL, default=True, doc="permute the letters of the layout as well"
        ),
        Argument("output_layout", TEXT, None, "of the output, whatever the input's is"),
    ),
    infer=_infer_transpose,
)
def transpose(context: Context, values: Batch, plan: Sequence[int]) -> Batch:
    """Put the dimensions of samples into another order. The output shares the input's memory."""

    def turn(value: torch.Tensor, front: int) -> torch.Tensor:
        return value.permute((*range(front), *[axis + front for axis in plan]))

    return by_block(values, turn)


def _check_frames(values: Spec) -> None:
    if values.layout and not values.layout.startswith("F"):
        raise ArgumentError(f"the first dimension must be frames (F), got layout {values.layout!r}")
    if any(len(shape) < 2 for shape in values.shapes):
        raise ArgumentError(
            "the first dimension must be frames, of at least one more dimension; got samples of "
            f"shape {min(values.shapes, key=len)}"
        )


def _check_positions(positions: Sequence[int], count: int, what: str) -> None:
    for position in positions:
        if not 0 <= position < count:
            raise ArgumentIndexError(f"{what} has {position}, there are {count} (0 to {count - 1})")


def _count(arguments: Mapping[str, Any]) -> int:
    return len(arguments["element_map"])


def _infer_elements(
    context: Context, values: Spec, *, element_map: Sequence[int]
) -> tuple[Spec, ...]:
    _check_frames(values)
    for shape in values.shapes:
        _check_positions(element_map, shape[0], "element_map")
    shapes = tuple(shape[1:] for shape in values.shapes)
    return (replace(values, shapes=shapes, layout=values.layout[1:]),) * len(element_map)


def _check_map(given: Any, arguments: Mapping[str, Any]) -> None:
    if not arguments["element_map"]:
        raise ArgumentError("fn.element_extract: element_map is empty")


@declare(
    "element_extract",
    inputs=("data",),
    arguments=(Argument("element_map", INTS, REQUIRED, "numbers of frames, one for each output"),),
    infer=_infer_elements,
    num_outputs=_count,
    check=_check_map,
)
def element_extract(
    context: Context, values: Batch, *, element_map: Sequence[int]
) -> tuple[Batch, ...]:
    """Take single frames of each sample: as many outputs as numbers."""

    def take(frame: int) -> Batch:
        return by_block(values, lambda value, front: value.select(front, frame))

    return tuple(map(take, element_map))


def _infer_rearranged(context: Context, values: Spec, *, new_order: PerSample) -> Spec:
    _check_frames(values)
    shapes = []
    for shape, order in zip(values.shapes, new_order, strict=True):
        if not order:
            raise ArgumentError("new_order is empty; a sequence has at least one frame")
        _check_positions(order, shape[0], "new_order")
        shapes.append((len(order), *shape[1:]))
    return replace(values, shapes=tuple(shapes))


@declare(
    "sequence_rearrange",
    inputs=("data",),
    arguments=(
        Argument(
            "new_order",
            INTS,
            REQUIRED,
            "number of the frame that stands at each place; repeated or left out as wished",
            per_sample=True,
        ),
    ),
    infer=_infer_rearranged,
)
def sequence_rearrange(context: Context, values: Batch, *, new_order: PerSample) -> Batch:
    """Put the frames of each sample into another order."""
    first = next(iter(new_order), ())
    if values.block is not None and all(order == first for order in new_order):
        index = torch.tensor(first, device=values.block.device)
        return Batch(storable(values.block).index_select(1, index).view(values.block.dtype))
    out = context.empty()
    for sample, target, order in zip(values, out, new_order, strict=True):
        index = torch.tensor(order, device=sample.device)
        target.copy_(storable(sample).index_select(0, index).view(sample.dtype))
    return out


def _infer_permuted(context: Context, values: Spec, *, indices: PerSample) -> Spec:
    _check_positions(indices.values, context.count, "indices")
    return replace(values, shapes=tuple(values.shapes[index] for index in indices))


def _permuted_origins(
    infos: Sequence[Sequence[str]], arguments: Mapping[str, Any]
) -> Sequence[str]:
    return [infos[0][index] for index in arguments["indices"]]


@declare(
    "permute_batch",
    inputs=("data",),
    arguments=(
        Argument(
            "indices", INT, REQUIRED, "number of the sample that each one is", per_sample=True
        ),
    ),
    infer=_infer_permuted,
    whole_batch=True,
    origins=_permuted_origins,
)
def permute_batch(context: Context, values: Batch, *, indices: PerSample) -> Batch:
    """Put the samples of a batch into another order; some may come twice and others not at all."""
    if values.block is not None:
        index = torch.tensor(indices.values, device=values.block.device)
        return Batch(storable(values.block).index_select(0, index).view(values.block.dtype))
    return Batch([values[index] for index in indices])


@declare(
    "batch_permutation",
    draws=True,
    whole_batch=True,
    devices=("cpu",),
    arguments=(
        Argument(
            "allow_repetitions", BOOL, default=False, doc="draw each position on its own instead"
        ),
        Argument(
            "no_fixed_points", BOOL, default=False, doc="no position may stand at its own place"
        ),
        SEED,
    ),
    infer=lambda context, **_: Spec.alike(context.count, (), torch.int32),
)
def batch_permutation(context: Context, *, allow_repetitions: bool, no_fixed_points: bool) -> Batch:
    """Give the samples of a batch its positions in random order, for `fn.permute_batch`.

    It depends on the first sample of the batch, and on the size of the batch. A batch of one sample
    has a fixed point.
    """
    count = context.count
    if not count:
        return Batch([])
    rng, own = context.random(0), np.arange(count)
    if allow_repetitions:
        if no_fixed_points and count > 1:
            drawn = (own + rng.integers(1, count, count)) % count
        else:
            drawn = rng.integers(0, count, count)
    else:
        drawn = rng.permutation(count)
        while no_fixed_points and count > 1 and (drawn == own).any():
            drawn = rng.permutation(count)
    return Batch(torch.from_numpy(drawn).to(torch.int32))
