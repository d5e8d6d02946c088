"""Operators behind conditions on data nodes: predicates, and the merge of two branches."""

from __future__ import annotations

from dataclasses import replace

import torch

from videoloader.dali.operators.arguments import BOOL, TEXT, Argument, PerSample
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import OPERATORS, declare
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError, ArgumentTypeError


def check_truth(value: object, what: str, *, only_bool: bool) -> None:
    """Fail unless a value is a scalar, or a scalar of type bool."""
    shape = tuple(getattr(value, "shape", (0,)))
    dtype = getattr(value, "dtype", None)
    if not isinstance(value, torch.Tensor) or shape != ():
        hint = "; an index takes a number out of it: label[0]" if shape == (1,) else ""
        raise ArgumentError(f"{what} must be a scalar for each sample, got shape {shape}{hint}")
    if only_bool and dtype != torch.bool:
        raise ArgumentTypeError(
            f"{what} must be of type BOOL, got {dtype}; fn.cast or a comparison makes it one"
        )


def _infer_truth(context: Context, values: Spec, **arguments: object) -> Spec:
    return Spec.alike(context.count, (), torch.bool)


@declare(
    "predicate",
    inputs=("value",),
    devices=("cpu",),
    arguments=(
        Argument("what", TEXT, "a condition", "what the value is, for errors"),
        Argument("only_bool", BOOL, default=False, doc="fail for other types than BOOL"),
    ),
    infer=_infer_truth,
)
def predicate(context: Context, values: Batch, *, what: str, only_bool: bool) -> Batch:
    """Say of each sample, which is a scalar, whether it is true: not 0."""
    for value in values:
        check_truth(value, what, only_bool=only_bool)
    return values.each(lambda value: value != 0)


@declare("not", inputs=("value",), devices=("cpu",), infer=_infer_truth)
def not_(context: Context, values: Batch) -> Batch:
    """Say of each sample, which is a scalar, whether it is false: 0."""
    for value in values:
        check_truth(value, "an operand of `not`", only_bool=False)
    return values.each(lambda value: value == 0)


def _infer_merge(context: Context, true: Spec, false: Spec, *, predicate: PerSample) -> Spec:
    if not len(true) or not len(false):
        filled = true if len(true) else false
        return replace(filled, device=context.device)
    check_alike(kind_of(true), kind_of(false))
    sides = {True: iter(true.shapes), False: iter(false.shapes)}
    shapes = tuple(next(sides[bool(outcome)]) for outcome in predicate)
    return replace(true, shapes=shapes)


def kind_of(spec: Spec) -> tuple[object, ...]:
    """The common element type, dimensions and layout of both sides of a merge."""
    return spec.dtype, len(spec.shapes[0]), spec.layout


def check_alike(*kinds: tuple[object, ...]) -> None:
    """Fail unless two sides of a merge are of one kind; see `kind_of`."""
    what = ("types", "numbers of dimensions", "layouts")
    for name, *both in zip(what, *kinds, strict=True):
        if both[0] != both[1]:
            here, there = sorted(str(each or "none") for each in both)
            raise ArgumentTypeError(
                f"the branches of a condition have different {name}: {here} and {there}; they are "
                "merged into one batch, so they have to be alike"
            )


@declare(
    "merge",
    inputs=("true", "false"),
    arguments=(Argument("predicate", BOOL, doc="which it is", per_sample=True),),
    infer=_infer_merge,
    is_elementwise=True,
)
def merge(context: Context, true: Batch, false: Batch, *, predicate: PerSample) -> Batch:
    """Put the samples of two batches in order: the next one of `true`, or of `false`."""
    if len(true) + len(false) != context.count or len(true) != sum(map(bool, predicate)):
        raise ArgumentError(
            f"{len(true)} and {len(false)} samples do not make the {context.count} that "
            f"the predicate is about, of which {sum(map(bool, predicate))} are true"
        )
    if not len(true) or not len(false):
        return true if len(true) else false
    order = [bool(outcome) for outcome in predicate]
    sides = {True: iter(true), False: iter(false)}
    infos = {
        outcome: iter(side.source_info or [""] * len(side))
        for outcome, side in ((True, true), (False, false))
    }
    return Batch(
        [next(sides[outcome]) for outcome in order],
        context.outputs[0].layout,
        [next(infos[outcome]) for outcome in order],
    )


MERGE, NOT, PREDICATE = OPERATORS["merge"], OPERATORS["not"], OPERATORS["predicate"]
