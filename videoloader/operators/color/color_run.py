"""Colour operators that follow each other as one operator, which on a GPU is one kernel.

Its values are those of the operators one by one, bit for bit: the kernel rounds and saturates
behind each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from videoloader.operators.arguments import PerFrame, PerSample
from videoloader.operators.batch import Batch, Context, Spec
from videoloader.operators.color.color_on_gpu import recolor
from videoloader.operators.kernels import ELEMENTS
from videoloader.operators.operator import Operator

__all__ = ["color_run", "name_in_run"]


def name_in_run(number: int, argument: str) -> str:
    """Name of an argument of the operator of a run that has this number."""
    return f"{number}.{argument}"


def color_run(operators: Sequence[Operator]) -> Operator:
    """The operator that does what some do one after the other, each on the output of the last.

    Args:
        operators: that have a `color_stage`.
    """

    def each(given: Mapping[str, Any]) -> list[tuple[Operator, dict[str, Any]]]:
        return [
            (own, {name: given[key] for name, key in keys})
            for own, keys in zip(operators, named, strict=True)
        ]

    def infer(context: Context, frames: Spec, **given: Any) -> Spec:
        return _specs(context, frames, each(given))[-1]

    def run(context: Context, frames: Batch, **given: Any) -> Batch:
        *first, (last, its_own) = each(given)
        for operator, own in first:
            (frames,) = operator.apply(Context(context.count, context.device), [frames], own)
        last_context = Context(context.count, context.device, allocate=context.allocate)
        (frames,) = last.apply(last_context, [frames], its_own)
        return frames

    def run_on_gpu(context: Context, frames: Batch, **given: Any) -> Any:
        specs = _specs(context, frames.spec, each(given))
        if any(spec.dtype not in ELEMENTS for spec in specs):
            return NotImplemented
        stages = []
        for (operator, own), before, after in zip(each(given), specs, specs[1:], strict=False):
            if not all(map(partial(_fits, before), own.values())):
                return NotImplemented  # the operator says what is wrong
            assert operator.color_stage is not None
            stage = operator.color_stage(before, after, own)
            if stage.is_identity and before.dtype != after.dtype:
                return NotImplemented  # no product is computed, so zeros keep their sign
            if not stage.is_identity:
                stages.append(stage)
        return recolor(context, frames, *stages) if stages else NotImplemented

    arguments = [
        [replace(own, name=name_in_run(number, own.name)) for own in operator.arguments]
        for number, operator in enumerate(operators)
    ]
    named = [
        [(own.name, inside.name) for own, inside in zip(operator.arguments, renamed, strict=True)]
        for operator, renamed in zip(operators, arguments, strict=True)
    ]
    return Operator(
        name=" + ".join(operator.name for operator in operators),
        run=run,
        doc="",
        inputs=operators[0].inputs,
        arguments=tuple(own for renamed in arguments for own in renamed),
        infer=infer,
        kernels={"cuda": run_on_gpu},
        is_replayable=True,
    )


def _fits(frames: Spec, values: Any) -> bool:
    """Whether an argument with values for frames has as many as the sample."""
    if not isinstance(values, PerSample) or not values.has_frames:
        return True
    return frames.layout.startswith("F") and all(
        len(own) == shape[0]
        for own, shape in zip(values, frames.shapes, strict=True)
        if isinstance(own, PerFrame)
    )


def _specs(
    context: Context, frames: Spec, each: Sequence[tuple[Operator, Mapping[str, Any]]]
) -> list[Spec]:
    """What goes into the first operator, and what comes out of each."""
    specs = [frames]
    for operator, own in each:
        assert operator.infer is not None
        spec = operator.infer(context, specs[-1], **own)
        assert isinstance(spec, Spec)
        specs.append(spec)
    return specs
