"""Several tensors to one: along a new dimension or one that is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from videoloader.dali.operators.arguments import INT, TEXT, Argument
from videoloader.dali.operators.axes import axis_number, check_letter, storable
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError, ArgumentIndexError

_INPUTS = (Input("data", is_repeated=True),)


def _check_alike(specs: Sequence[Spec]) -> None:
    if len({spec.dtype for spec in specs}) > 1:
        kinds = ", ".join(str(spec.dtype) for spec in specs)
        raise ArgumentError(f"the inputs must have one element type, got {kinds}")


def _ndim(spec: Spec) -> int:
    return len(spec.shapes[0]) if len(spec) else 0


def _joined(
    inputs: Sequence[Batch], join: Callable[[list[torch.Tensor], int], torch.Tensor]
) -> Batch:
    """Join inputs sample by sample, or all samples together; `join` is told dimensions in front."""
    dtype = inputs[0].spec.dtype
    blocks = [batch.block for batch in inputs if batch.block is not None]
    if len(blocks) == len(inputs):
        return Batch(join([storable(block) for block in blocks], 1).view(dtype))
    return Batch(
        [
            join([storable(value) for value in values], 0).view(dtype)
            for values in zip(*inputs, strict=True)
        ]
    )


def _stack_axis(axis: int, ndim: int) -> int:
    """The dimension of the output, of which there is one more than of the inputs."""
    if not -ndim <= axis <= ndim:
        raise ArgumentIndexError(f"axis {axis} is out of range ({-ndim} to {ndim})")
    return axis + ndim + 1 if axis < 0 else axis


def _infer_stack(context: Context, *specs: Spec, axis: int, axis_name: str | None) -> Planned:
    _check_alike(specs)
    first = specs[0]
    for shapes in zip(*(spec.shapes for spec in specs), strict=True):
        if len(set(shapes)) > 1:
            raise ArgumentError(f"stacked inputs must have one shape, got {shapes}")
    ndim = _ndim(first)
    place = _stack_axis(axis, ndim)
    layout = ""
    if axis_name is not None:
        own = first.layout
        if len(own) != ndim:
            raise ArgumentError("axis_name needs a first input with a layout")
        layout = own[:place] + axis_name + own[place:]
    stacked = tuple((*shape[:place], len(specs), *shape[place:]) for shape in first.shapes)
    return Planned((replace(first, shapes=stacked, layout=layout),), place)


@declare(
    "stack",
    inputs=_INPUTS,
    arguments=(
        Argument("axis", INT, 0, "of the output, in front of that of the inputs"),
        Argument("axis_name", TEXT, None, "its letter; without, the output has no layout"),
    ),
    infer=_infer_stack,
    check=check_letter("stack"),
)
def stack(context: Context, *inputs: Batch, plan: int) -> Batch:
    """Join inputs of one shape along a new dimension."""
    return _joined(inputs, lambda values, front: torch.stack(values, plan + front))


def _cat_axis(specs: Sequence[Spec], axis: int, axis_name: str | None) -> int:
    if axis_name is None:
        return axis_number(axis, _ndim(specs[0]))
    layout = specs[0].layout
    if axis_name not in layout:
        raise ArgumentError(f"axis {axis_name!r} is not in the layout {layout!r} of the inputs")
    return layout.index(axis_name)


def _infer_cat(context: Context, *specs: Spec, axis: int | None, axis_name: str | None) -> Planned:
    _check_alike(specs)
    first = specs[0]
    if len({_ndim(spec) for spec in specs}) > 1:
        raise ArgumentError("the inputs must have one number of dimensions")
    place = _cat_axis(specs, axis or 0, axis_name)
    joined = []
    for shapes in zip(*(spec.shapes for spec in specs), strict=True):
        if len({(*shape[:place], *shape[place + 1 :]) for shape in shapes}) > 1:
            raise ArgumentError(f"the inputs must be alike but for axis {place}, got {shapes}")
        length = sum(shape[place] for shape in shapes)
        joined.append((*shapes[0][:place], length, *shapes[0][place + 1 :]))
    return Planned((replace(first, shapes=tuple(joined)),), place)


@declare(
    "cat",
    inputs=_INPUTS,
    arguments=(
        Argument("axis", INT, None, "number of the dimension; the first by default"),
        Argument("axis_name", TEXT, None, "the dimension by its letter in the layout"),
    ),
    infer=_infer_cat,
    exclusive=(("axis", "axis_name"),),
    check=check_letter("cat"),
)
def cat(context: Context, *inputs: Batch, plan: int) -> Batch:
    """Join inputs along a dimension, in which alone their shapes may differ."""
    return _joined(inputs, lambda values, front: torch.cat(values, plan + front))
