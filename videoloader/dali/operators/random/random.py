"""Random numbers: one draw a sample, keyed by the identity of the sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from videoloader.dali.operators.arguments import (
    DTYPE,
    FLOAT,
    FLOATS,
    INT,
    INTS,
    Argument,
    PerSample,
)
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.inputs import Input
from videoloader.dali.operators.operator import declare
from videoloader.dali.tensors import saturate
from videoloader.dali.tensors.batch import Batch, Spec
from videoloader.errors import ArgumentError

SEED = Argument(
    "seed",
    INT,
    None,
    "of these draws, wherever the operator stands; -1: by the pipeline's and its place there",
    least=-1,
)
SHAPE = Argument("shape", INTS, None, "of the output; a scalar by default", per_sample=True)
SHAPE_LIKE = Input("shape_like", is_optional=True)

_FLOAT32 = torch.finfo(torch.float32)


def drawn_shapes(context: Context, like: Sequence[Spec], shape: PerSample) -> tuple[Any, ...]:
    """The shapes of the output: as given, else as the input, else scalars."""
    if like and any(each is not None for each in shape):
        raise ArgumentError("give a shape or an input that has it, not both")
    if like:
        return like[0].shapes
    for each in shape:
        if each is not None and any(side < 0 for side in each):
            raise ArgumentError(f"shape must not be negative, got {each}")
    return tuple(each or () for each in shape) or ((),) * context.count


def _infer(
    context: Context, *like: Spec, shape: PerSample, dtype: torch.dtype, **others: Any
) -> Spec:
    return Spec(drawn_shapes(context, like, shape), dtype, device=context.device)


def _draw(
    context: Context,
    draw: Callable[[np.random.Generator, int, tuple[int, ...]], Any],
    convert: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> Batch:
    """Draw the numbers of each sample by `draw`; convert them together where shapes are alike.

    Args:
        context: of the call.
        draw: gives an array by the generator of a sample.
        convert: to the element type of the output; saturates by default.
    """
    spec = context.outputs[0]
    shapes = spec.shapes
    drawn: list[NDArray[Any]] = [
        np.asarray(draw(rng, position, shapes[position]))
        for position, rng in enumerate(context.draws())
    ]
    finish = convert or (lambda values: saturate(values, spec.dtype))
    if context.count and not spec.is_ragged:
        stacked = np.stack(drawn) if shapes[0] else np.array(drawn)  # of scalars: 18 us faster
        return Batch(finish(torch.from_numpy(stacked)).to(context.device))
    return Batch([finish(torch.from_numpy(each)).to(context.device) for each in drawn])


def _dtype(default: torch.dtype) -> Argument:
    return Argument("dtype", DTYPE, default, "element type of the output, rounded and saturated")


@declare(
    "random.uniform",
    draws=True,
    inputs=(SHAPE_LIKE,),
    arguments=(
        Argument(
            "range",
            FLOATS,
            None,
            "[low, high); by default (-1, 1), or all values of an integer type",
            per_sample=True,
        ),
        Argument("values", FLOATS, None, "draw one of these in place of a range", per_sample=True),
        SHAPE,
        _dtype(torch.float32),
        SEED,
    ),
    infer=_infer,
)
def uniform(
    context: Context,
    *like: Batch,
    range: PerSample,  # noqa: A002  (DALI's name)
    values: PerSample,
    shape: PerSample,
    dtype: torch.dtype,
) -> Batch:
    """Draw numbers from a range, each equally likely, or from a list of values."""
    highs: list[float] = []
    is_integer = not dtype.is_floating_point and dtype != torch.bool

    def draw(rng: np.random.Generator, position: int, sides: tuple[int, ...]) -> Any:
        given, listed = range[position], values[position]
        highs.append(math.inf)
        if listed is not None:
            if given is not None or not listed:
                raise ArgumentError("give either range or a list of values that is not empty")
            return rng.choice(listed, sides)
        if given is None and is_integer:
            limits = torch.iinfo(dtype)
            kind = np.uint64 if limits.max > torch.iinfo(torch.int64).max else np.int64
            return rng.integers(limits.min, limits.max, sides, dtype=kind, endpoint=True)
        low, high = given if given is not None and len(given) == 2 else (-1.0, 1.0)
        if (given is not None and len(given) != 2) or not low < high:
            raise ArgumentError(f"range must be (low, high) with low < high, got {given}")
        highs[-1] = high
        return low + (high - low) * rng.random(sides)

    drawn = _draw(context, draw)
    if dtype.is_floating_point:  # rounding to fewer bits must not reach the open end
        for sample, high in zip(drawn, highs, strict=True):
            if high < math.inf:
                sample.clamp_(max=_below(high, dtype))
    return drawn


@declare(
    "random.normal",
    draws=True,
    inputs=(SHAPE_LIKE,),
    arguments=(
        Argument("mean", FLOAT, 0.0, "of the numbers", per_sample=True),
        Argument("stddev", FLOAT, 1.0, "their standard deviation", per_sample=True),
        SHAPE,
        _dtype(torch.float32),
        SEED,
    ),
    infer=_infer,
)
def normal(
    context: Context, *like: Batch, mean: PerSample, stddev: PerSample, **others: Any
) -> Batch:
    """Draw numbers of a normal distribution."""

    def draw(rng: np.random.Generator, position: int, sides: tuple[int, ...]) -> Any:
        return mean[position] + stddev[position] * rng.standard_normal(sides)

    return _draw(context, draw)


@declare(
    "random.coin_flip",
    draws=True,
    inputs=(SHAPE_LIKE,),
    arguments=(
        Argument("probability", FLOAT, 0.5, "of a 1", per_sample=True, least=0, most=1),
        SHAPE,
        _dtype(torch.int32),
        SEED,
    ),
    infer=_infer,
)
def coin_flip(
    context: Context, *like: Batch, probability: PerSample, dtype: torch.dtype, **others: Any
) -> Batch:
    """Draw 1 with a probability, otherwise 0."""

    def draw(rng: np.random.Generator, position: int, sides: tuple[int, ...]) -> Any:
        return rng.random(sides) < probability[position]

    return _draw(context, draw, lambda drawn: drawn.to(dtype))


def _check_beta(given: Collection[str], arguments: Mapping[str, Any]) -> None:
    dtype = arguments.get("dtype", torch.float32)
    if dtype not in (torch.float32, torch.float64):
        raise ArgumentError(f"fn.random.beta gives FLOAT or FLOAT64, not {dtype}")


@declare(
    "random.beta",
    draws=True,
    inputs=(SHAPE_LIKE,),
    arguments=(
        Argument("alpha", FLOAT, 1.0, "first parameter, positive", per_sample=True),
        Argument("beta", FLOAT, 1.0, "second parameter, positive", per_sample=True),
        SHAPE,
        _dtype(torch.float32),
        SEED,
    ),
    infer=_infer,
    check=_check_beta,
)
def beta(context: Context, *like: Batch, alpha: PerSample, beta: PerSample, **others: Any) -> Batch:
    """Draw numbers from 0 to 1 of a beta distribution."""

    def draw(rng: np.random.Generator, position: int, sides: tuple[int, ...]) -> Any:
        parameters = (alpha[position], beta[position])
        if not all(0 < value <= _FLOAT32.max for value in parameters):
            raise ArgumentError(f"alpha and beta must be positive float32, got {parameters}")
        return rng.beta(*parameters, sides)

    return _draw(context, draw)


def _infer_choice(
    context: Context, values: Spec, *like: Spec, shape: PerSample, p: PerSample
) -> Spec:
    outer = drawn_shapes(context, like, shape)
    shapes = tuple((*sides, *own[1:]) for sides, own in zip(outer, values.shapes, strict=True))
    has_given = bool(like) or any(each is not None for each in shape)
    depth = {len(sides) for sides in outer}
    layout = values.layout[1:] if not has_given else values.layout if depth == {1} else ""
    return Spec(shapes, values.dtype, layout, context.device)


@declare(
    "random.choice",
    draws=True,
    inputs=("a", SHAPE_LIKE),
    arguments=(
        Argument("p", FLOATS, None, "probability of each; by default all alike", per_sample=True),
        SHAPE,
        SEED,
    ),
    infer=_infer_choice,
)
def choice(context: Context, values: Batch, *like: Batch, p: PerSample, shape: PerSample) -> Batch:
    """Draw elements: slices along the first dimension of the input, or numbers below a scalar.

    Elements may come more than once.
    """
    specs = [batch.spec for batch in like]
    outer = drawn_shapes(context, specs, shape)
    results = []
    for position, value in enumerate(values):
        count = _count(value)
        chances = p[position]
        if chances is not None:
            _check_chances(chances, count)
            chances = np.array(chances) / math.fsum(chances)
        drawn = context.random(position).choice(count, outer[position], p=chances)
        index = torch.from_numpy(np.asarray(drawn, dtype=np.int64)).to(value.device)
        results.append(saturate(index, value.dtype) if value.ndim == 0 else value[index])
    return Batch(results)


def _count(value: torch.Tensor) -> int:
    """Number of elements to choose from."""
    if value.ndim:
        if not len(value):
            raise ArgumentError("there is nothing to choose from: the input is empty")
        return len(value)
    if value.dtype.is_floating_point or value.item() < 1:
        raise ArgumentError(f"a scalar must be a positive integer, got {value.item()}")
    return int(value.item())


def _check_chances(chances: Sequence[float], count: int) -> None:
    if len(chances) != count:
        raise ArgumentError(f"p has {len(chances)} probabilities for {count} elements")
    if min(chances) < 0 or abs(math.fsum(chances) - 1) > 1e-3:
        raise ArgumentError(f"probabilities are not negative and their sum is 1, got {chances}")


def _below(high: float, dtype: torch.dtype) -> float:
    end = torch.tensor(high, dtype=dtype)
    if end.item() < high:
        return end.item()
    return torch.nextafter(end, torch.tensor(-torch.inf, dtype=dtype)).item()
