"""How operators run on batches: inputs as declared, plans kept, kernels or torch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import torch

from videoloader.dali.operators.arguments import PerFrame, PerSample
from videoloader.dali.operators.context import Context, Inferred, Planned, allocate
from videoloader.dali.operators.kernels import Launch
from videoloader.dali.operators.launches import Launches
from videoloader.dali.operators.operator import Operator
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
    if operator.by_frames and _has_frames(inputs, arguments):
        return _run_on_frames(operator, context, inputs, arguments)
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


def _has_frames(inputs: Sequence[Batch], arguments: Mapping[str, Any]) -> bool:
    """Whether an argument, or an input behind the first, has a value for each frame."""
    if any(batch.layout.startswith("F") for batch in inputs[1:]):
        return True
    return any(isinstance(value, PerSample) and value.has_frames for value in arguments.values())


def _run_on_frames(
    operator: Operator, context: Context, inputs: Sequence[Batch], arguments: Mapping[str, Any]
) -> tuple[Batch, ...]:
    """Run an operator on every frame, and put the results of a sample together again.

    Args:
        operator: the map.
        context: of the call; its random numbers and its memory are not used.
        inputs: batches; the first has frames. Another one without frames is the same for all frames
            of a sample.
        arguments: constants and `PerSample`s, whose `PerFrame`s have a value for each frame.
    """
    name = operator.name
    counts = [_count(name, position, inputs, arguments) for position in range(context.count)]
    frames = [_unfolded(batch, counts) for batch in inputs]
    given = {
        key: PerSample(
            tuple(
                itertools.chain.from_iterable(
                    value.frames(position, count) for position, count in enumerate(counts)
                )
            )
        )
        if isinstance(value, PerSample)
        else value
        for key, value in arguments.items()
    }
    inner = Context(sum(counts), context.device, workers=context.workers)
    outputs = apply_operator(operator, inner, frames, given)
    return tuple(_folded(name, output, counts) for output in outputs)


def _count(name: str, position: int, inputs: Sequence[Batch], arguments: Mapping[str, Any]) -> int:
    """The number of frames of a sample; inputs and arguments with several must agree on it."""
    lengths = {
        len(value[position])
        for value in arguments.values()
        if isinstance(value, PerSample) and isinstance(value[position], PerFrame)
    }
    if inputs and not inputs[0].layout.startswith("F"):
        raise ArgumentError(
            f"fn.{name} has values for each frame; its first input has layout "
            f"{inputs[0].layout or 'unknown'}, without frames"
        )
    for batch in inputs[1:]:
        if batch.layout.startswith("F") and len(batch[position]) != 1:
            lengths.add(len(batch[position]))
    if inputs:
        lengths.add(len(inputs[0][position]))
    if len(lengths) > 1:
        raise ArgumentError(
            f"fn.{name}: inputs and arguments of one sample have different numbers of frames: "
            f"{', '.join(map(str, sorted(lengths)))}"
        )
    count = max(lengths, default=1)
    if not count:
        raise ArgumentError(f"fn.{name}: a sample without frames has no values for each frame")
    return count


def _unfolded(batch: Batch, counts: Sequence[int]) -> Batch:
    info = _repeated(batch.source_info, counts) if batch.source_info else ()
    if not batch.layout.startswith("F"):
        return Batch(_repeated(batch.samples, counts), batch.layout, info)
    if batch.block is not None and batch.block.shape[1] == counts[0]:
        return Batch(batch.block.flatten(0, 1), batch.layout[1:], info)
    frames = [
        frame
        for sample, count in zip(batch, counts, strict=True)
        for frame in sample.expand(count, *sample.shape[1:])
    ]
    return Batch(frames, batch.layout[1:], info)


def _repeated(values: Sequence[Any], counts: Sequence[int]) -> list[Any]:
    return [value for value, count in zip(values, counts, strict=True) for _ in range(count)]


def _folded(name: str, frames: Batch, counts: Sequence[int]) -> Batch:
    layout = f"F{frames.layout}" if frames.layout else ""
    starts = [0, *itertools.accumulate(counts)]
    info = [frames.source_info[at] for at in starts[:-1]] if frames.source_info else ()
    if frames.block is not None:
        if len(set(counts)) == 1:
            block = frames.block.reshape(len(counts), counts[0], *frames.block.shape[1:])
            return Batch(block, layout, info)
        return Batch(list(frames.block.split_with_sizes(list(counts))), layout, info)
    samples = []
    for start, stop in itertools.pairwise(starts):
        own = frames.samples[start:stop]
        if len({frame.shape for frame in own}) > 1:
            raise ArgumentError(
                f"fn.{name}: the frames of a sample get different shapes: "
                f"{', '.join(str(tuple(frame.shape)) for frame in own)}"
            )
        samples.append(torch.stack(own))
    return Batch(samples, layout, info)
