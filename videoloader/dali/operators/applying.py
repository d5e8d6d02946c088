"""How operators run on batches: their inputs as declared, plans kept, kernels or plain torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from videoloader.dali.operators.arguments import PerFrame, PerSample
from videoloader.dali.operators.context import Context, Inferred, Planned, allocate
from videoloader.dali.operators.kernels import Launch
from videoloader.dali.operators.launches import Launches
from videoloader.dali.operators.operator import Operator
from videoloader.dali.operators.unfolding import has_frames, run_on_frames
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError

_spec_of = attrgetter("spec")


def apply_operator(
    operator: Operator, context: Context, inputs: Sequence[Batch], arguments: Mapping[str, Any]
) -> tuple[Batch, ...]:
    """Run a map on a batch.

    Args:
        operator: the map.
        context: of the call; its `outputs` are set here.
        inputs: one batch an input, of `context.count` samples each.
        arguments: a converted value or a `PerSample` for every argument, without the seed.
    """
    if operator.by_frames and has_frames(inputs, arguments):
        return run_on_frames(
            operator.name, partial(apply_operator, operator), context, inputs, arguments
        )
    seen: list[Batch] = []
    channel = -1
    declared = operator.inputs
    declared = declared if len(inputs) == len(declared) else operator.inputs_for(len(inputs))
    for each, batch in zip(declared, inputs, strict=True):
        viewed, moved = each.view(batch, operator.name)
        if not seen and operator.returns_channels:
            channel = moved
        seen.append(viewed)
    if channel != -1:  # the memory of the caller has another order
        context.allocate = allocate
    if operator.infer is None:
        arguments = per_sample(operator, context, seen, arguments)
        made: tuple[Batch, ...] = operator.run(context, *seen, **arguments)
        _set_origins(operator, made, inputs, arguments)
        return made
    specs = tuple(map(_spec_of, seen))
    known = context.inferred.get(context.count) if context.inferred else None
    is_repeated = known is not None and known.inputs == specs
    if known is None or not is_repeated:
        known = _infer(operator, context, seen, specs, arguments)
    context.outputs = known.outputs
    results: Any = NotImplemented
    if known.launches is not None:
        results = known.launches.repeat(context.empty, seen[0])
    kernel = operator.kernels.get("cpu" if context.device == "cpu" else "cuda")
    if results is NotImplemented and kernel is not None:
        results = _by_kernel(kernel, context, seen, known, is_repeated=is_repeated)
    if results is NotImplemented:
        results = operator.run(context, *seen, **known.taken)
    results = results if isinstance(results, tuple) else (results,)
    given = []
    for batch, spec in zip(results, context.outputs, strict=True):
        given.append(_given(batch, spec.layout, channel))
    for batch in inputs:
        if batch.source_info:
            _set_origins(operator, given, inputs, known.arguments)
            break
    return tuple(given)


def _infer(
    operator: Operator,
    context: Context,
    inputs: Sequence[Batch],
    specs: tuple[Spec, ...],
    arguments: Mapping[str, Any],
) -> Inferred:
    """Call `infer`; the context keeps its result for calls like this one."""
    assert operator.infer is not None
    arguments = per_sample(operator, context, inputs, arguments)
    found = operator.infer(context, *specs, **arguments)
    if isinstance(found, Planned):
        known = Inferred(specs, found.outputs, arguments, {"plan": found.plan})
    else:
        outputs = found if isinstance(found, tuple) else (found,)
        known = Inferred(specs, outputs, arguments, arguments)
    if context.inferred is not None:
        context.inferred[context.count] = known
    return known


def _set_origins(
    operator: Operator,
    outputs: Sequence[Batch],
    inputs: Sequence[Batch],
    arguments: Mapping[str, Any],
) -> None:
    """Say of outputs where their samples come from, if it is known of any input."""
    count = len(outputs[0]) if outputs else 0
    infos = [batch.source_info for batch in inputs if len(batch) == count]
    if any(infos):
        info = operator.origins(infos, arguments)
        for output in outputs:
            output.source_info = info


def _by_kernel(
    kernel: Callable[..., Any],
    context: Context,
    inputs: Sequence[Batch],
    known: Inferred,
    *,
    is_repeated: bool,
) -> Any:
    """Run the kernel of the device; NotImplemented where it does not take the inputs.

    Its launch is kept in `known`, if a call like this one was made before.
    """
    made = kernel(context, *inputs, **known.taken)
    if not isinstance(made, Launch):
        return made
    queued = made.queue()
    if is_repeated and len(inputs) == 1:
        known.launches = Launches.of(made, queued, inputs[0])
    return made.out


def per_sample(
    operator: Operator, context: Context, inputs: Sequence[Batch], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments, as `PerSample` where they may vary; checks the numbers of frames."""
    arguments = dict(arguments)
    for name in operator.per_sample:
        value = arguments.get(name, operator)
        if not isinstance(value, PerSample):
            if value is not operator:
                arguments[name] = PerSample((value,) * context.count)
        elif value.has_frames:
            _check_frames(operator, inputs[0], name, value)
    return arguments


def _check_frames(operator: Operator, first: Batch, name: str, values: PerSample) -> None:
    """Fail if an argument has values for other frames than the first input has."""
    for position, value in enumerate(values):
        if not isinstance(value, PerFrame):
            continue
        shape = tuple(first[position].shape)
        if not first.layout.startswith("F") or shape[0] != len(value):
            raise ArgumentError(
                f"fn.{operator.name}: {name} has values for {len(value)} frames; the sample "
                f"has layout {first.layout or 'unknown'} and shape {shape}"
            )


def _given(batch: Batch, layout: str, channel: int) -> Batch:
    """An output as the caller gets it: with the layout that was inferred, if it fits.

    Its channels go where those of the first input are, counted from the end.
    """
    if batch.block is not None:
        ndim = batch.block.ndim - 1
    else:
        ndim = getattr(batch.samples[0], "ndim", -1) if len(batch) else len(layout)
    if len(layout) != ndim:
        layout = ""
    if channel != -1 and layout.endswith("C"):
        at = len(layout) + channel
        named = f"{layout[:at]}C{layout[at:-1]}"
        return batch.each(lambda value: value.movedim(-1, channel), named)
    if layout == batch.layout:
        return batch
    return Batch(batch.data, layout)
