"""Colour operators that follow each other as one operator, which on a GPU is one kernel.

Its values are those of the operators one by one, bit for bit: the kernel rounds and saturates
behind each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from videoloader.dali.operators.applying import apply_operator
from videoloader.dali.operators.arguments import PerFrame, PerSample
from videoloader.dali.operators.color.color_on_gpu import ColorStage, recolor
from videoloader.dali.operators.context import Context, Planned
from videoloader.dali.operators.kernels import ELEMENTS
from videoloader.dali.operators.operator import Operator
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.machinery.system.forking import cached_property


def name_in_run(number: int, argument: str) -> str:
    """Name of an argument of the operator of a run that has this number."""
    return f"{number}.{argument}"


def color_run(operators: Sequence[Operator]) -> Operator:
    """One operator that runs several in a row, each on the output of the previous one.

    Args:
        operators: that are `is_color_stage`.
    """

    def each(given: Mapping[str, Any]) -> list[tuple[Operator, dict[str, Any]]]:
        return [
            (own, {name: given[key] for name, key in keys})
            for own, keys in zip(operators, named, strict=True)
        ]

    def infer(context: Context, frames: Spec, **given: Any) -> Planned:
        plan = _plan(context, frames, each(given))
        return Planned(plan.specs[-1:], plan)

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
        run=_run,
        doc="",
        inputs=operators[0].inputs,
        arguments=tuple(own for renamed in arguments for own in renamed),
        infer=infer,
        kernels={"cuda": _run_on_gpu},
    )


@dataclass(frozen=True, eq=False)
class _Run:
    """Plan of operators one after the other.

    Attributes:
        each: the operators and their arguments.
        specs: what goes into the first one, and what comes out of each.
        plans: of each.
    """

    each: Sequence[tuple[Operator, Mapping[str, Any]]]
    specs: tuple[Spec, ...]
    plans: tuple[Any, ...]

    @cached_property
    def stages(self) -> list[ColorStage]:
        """The outputs of the launch; none if the kernel cannot replace the operators."""
        if any(spec.dtype not in ELEMENTS for spec in self.specs):
            return []
        stages = []
        pairs = zip(self.specs, self.specs[1:], strict=False)
        for (_, own), (before, after), plan in zip(self.each, pairs, self.plans, strict=True):
            if not all(map(partial(_fits, before), own.values())):
                return []  # the operator says what is wrong
            if plan.stage.is_identity and before.dtype != after.dtype:
                return []  # no product is computed, so zeros keep their sign
            if not plan.stage.is_identity:
                stages.append(plan.stage)
        return stages


def _plan(
    context: Context, frames: Spec, each: Sequence[tuple[Operator, Mapping[str, Any]]]
) -> _Run:
    specs, plans = [frames], []
    for operator, own in each:
        assert operator.infer is not None
        planned = operator.infer(context, specs[-1], **own)
        assert isinstance(planned, Planned)
        specs += planned.outputs
        plans.append(planned.plan)
    return _Run(each, tuple(specs), tuple(plans))


def _run(context: Context, frames: Batch, plan: _Run) -> Batch:
    *first, (last, its_own) = plan.each
    for operator, own in first:
        (frames,) = apply_operator(operator, Context(context.count, context.device), [frames], own)
    last_context = Context(context.count, context.device, allocate=context.allocate)
    (frames,) = apply_operator(last, last_context, [frames], its_own)
    return frames


def _run_on_gpu(context: Context, frames: Batch, plan: _Run) -> Any:
    return recolor(context, frames, *plan.stages) if plan.stages else NotImplemented


def _fits(frames: Spec, values: Any) -> bool:
    """Whether an argument with values for frames has as many as the sample."""
    if not isinstance(values, PerSample) or not values.has_frames:
        return True
    return frames.layout.startswith("F") and all(
        len(own) == shape[0]
        for own, shape in zip(values, frames.shapes, strict=True)
        if isinstance(own, PerFrame)
    )
