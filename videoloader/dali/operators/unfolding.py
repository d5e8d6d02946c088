"""Operators on the frames of clips: each frame is a sample of its own, with its own arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from videoloader.dali.operators.arguments import PerFrame, PerSample
from videoloader.dali.operators.context import Context
from videoloader.dali.tensors.batch import Batch
from videoloader.errors import ArgumentError

Apply = Callable[[Context, Sequence[Batch], Mapping[str, Any]], tuple[Batch, ...]]


def has_frames(inputs: Sequence[Batch], arguments: Mapping[str, Any]) -> bool:
    """Whether an argument, or an input behind the first, has a value for each frame."""
    if any(batch.layout.startswith("F") for batch in inputs[1:]):
        return True
    return any(isinstance(value, PerSample) and value.has_frames for value in arguments.values())


def run_on_frames(
    name: str, apply: Apply, context: Context, inputs: Sequence[Batch], arguments: Mapping[str, Any]
) -> tuple[Batch, ...]:
    """Run an operator on every frame, and put the results of a sample together again.

    Args:
        name: of the operator, for errors.
        apply: runs it on a batch, here of frames.
        context: of the call; its random numbers and its memory are not used.
        inputs: batches; the first has frames. Another one without frames is the same for all frames
            of a sample.
        arguments: constants and `PerSample`s, in which a `PerFrame` has as many values as there are
            frames.
    """
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
    outputs = apply(Context(sum(counts), context.device, workers=context.workers), frames, given)
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
