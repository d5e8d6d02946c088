"""Random numbers for a pipeline: one draw a sample, whatever its number of frames."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.errors import ArgumentError
from videoloader.operators.arguments import DTYPE, FLOAT, FLOATS, INT, INTS, Argument, PerSample
from videoloader.operators.batch import Batch, Context, Spec
from videoloader.operators.operator import declare
from videoloader.tensors import saturate

__all__ = ["coin_flip", "uniform"]

SEED = Argument("seed", INT, None, "in place of the pipeline's; -1: the pipeline's", least=-1)
SHAPE = Argument("shape", INTS, (), "shape of the output; a scalar by default", per_sample=True)


def _infer(context: Context, *, shape: PerSample, dtype: torch.dtype, **others: Any) -> Spec:  # noqa: ARG001
    return Spec(shape.values, dtype, device=context.device)


def _draw(
    context: Context, draw: Callable[[int], Any], convert: Callable[[torch.Tensor], torch.Tensor]
) -> Batch:
    """What `draw` gives for each sample, converted together where the shapes are alike."""
    drawn: list[NDArray[Any]] = [np.asarray(draw(position)) for position in range(context.count)]
    if context.count and not context.outputs[0].is_ragged:
        return Batch(convert(torch.from_numpy(np.stack(drawn))))
    return Batch([convert(torch.from_numpy(each)) for each in drawn])


@declare(
    "random.uniform",
    draws=True,
    arguments=(
        Argument("range", FLOATS, None, "[low, high); (-1, 1) by default", per_sample=True),
        Argument("values", FLOATS, None, "draw one of these in place of a range", per_sample=True),
        SHAPE,
        Argument("dtype", DTYPE, torch.float32, "element type of the output"),
        SEED,
    ),
    infer=_infer,
)
def uniform(
    context: Context,
    *,
    range: PerSample,  # noqa: A002  (DALI's name)
    values: PerSample,
    shape: PerSample,
    dtype: torch.dtype,
) -> Batch:
    """Draw numbers from a range, each equally likely, or from a list of values."""
    highs: list[float] = []

    def draw(position: int) -> Any:
        rng = context.random(position)
        given, listed = range[position], values[position]
        highs.append(math.inf)
        if listed is not None:
            if given is not None or not listed:
                raise ArgumentError("give either range or a list of values that is not empty")
            return rng.choice(listed, shape[position])
        low, high = given if given is not None and len(given) == 2 else (-1.0, 1.0)
        if (given is not None and len(given) != 2) or not low < high:
            raise ArgumentError(f"range must be (low, high) with low < high, got {given}")
        highs[-1] = high
        return low + (high - low) * rng.random(shape[position])

    drawn = _draw(context, draw, lambda drawn: saturate(drawn, dtype))
    if dtype.is_floating_point:  # rounding to fewer bits must not reach the open end
        for sample, high in zip(drawn, highs, strict=True):
            if high < math.inf:
                sample.clamp_(max=_below(high, dtype))
    return drawn.each(lambda value: value.to(context.device))


@declare(
    "random.coin_flip",
    draws=True,
    arguments=(
        Argument("probability", FLOAT, 0.5, "of a 1", per_sample=True, least=0, most=1),
        SHAPE,
        Argument("dtype", DTYPE, torch.int32, "element type of the output"),
        SEED,
    ),
    infer=_infer,
)
def coin_flip(
    context: Context, *, probability: PerSample, shape: PerSample, dtype: torch.dtype
) -> Batch:
    """Draw 1 with a probability, otherwise 0."""

    def draw(position: int) -> Any:
        return context.random(position).random(shape[position]) < probability[position]

    return _draw(context, draw, lambda drawn: drawn.to(context.device, dtype))


def _below(high: float, dtype: torch.dtype) -> float:
    end = torch.tensor(high, dtype=dtype)
    if end.item() < high:
        return end.item()
    return torch.nextafter(end, torch.tensor(-torch.inf, dtype=dtype)).item()
