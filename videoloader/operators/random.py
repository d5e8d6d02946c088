"""Random numbers for a pipeline: one draw a sample, whatever its number of frames."""

from __future__ import annotations

import numpy as np
import torch

from videoloader.errors import ArgumentError
from videoloader.operators.arguments import DTYPE, FLOAT, FLOATS, INT, INTS, Argument
from videoloader.operators.convert import saturate
from videoloader.operators.operator import declare

__all__ = ["coin_flip", "uniform"]

SEED = Argument("seed", INT, None, "in place of the pipeline's; -1: the pipeline's", least=-1)
SHAPE = Argument("shape", INTS, (), "shape of the output; a scalar by default", per_sample=True)


@declare(
    "random.uniform",
    kind="draw",
    arguments=(
        Argument("range", FLOATS, None, "[low, high); (-1, 1) by default", per_sample=True),
        Argument("values", FLOATS, None, "draw one of these in place of a range", per_sample=True),
        SHAPE,
        Argument("dtype", DTYPE, torch.float32, "element type of the output"),
        SEED,
    ),
)
def uniform(
    rng: np.random.Generator,
    *,
    range: tuple[float, ...] | None,  # noqa: A002  (DALI's name)
    values: tuple[float, ...] | None,
    shape: tuple[int, ...],
    dtype: torch.dtype,
) -> torch.Tensor:
    """Draw numbers from a range, each equally likely, or from a list of values."""
    if values is not None:
        if range is not None or not values:
            raise ArgumentError("give either range or a list of values that is not empty")
        return saturate(torch.as_tensor(rng.choice(values, shape)), dtype)
    low, high = range if range is not None and len(range) == 2 else (-1.0, 1.0)
    if (range is not None and len(range) != 2) or not low < high:
        raise ArgumentError(f"range must be (low, high) with low < high, got {range}")
    drawn = saturate(torch.as_tensor(low + (high - low) * rng.random(shape)), dtype)
    if dtype.is_floating_point:  # rounding to fewer bits must not reach the open end
        drawn = drawn.clamp(max=_below(high, dtype))
    return drawn


@declare(
    "random.coin_flip",
    kind="draw",
    arguments=(
        Argument("probability", FLOAT, 0.5, "of a 1", per_sample=True, least=0, most=1),
        SHAPE,
        Argument("dtype", DTYPE, torch.int32, "element type of the output"),
        SEED,
    ),
)
def coin_flip(
    rng: np.random.Generator, *, probability: float, shape: tuple[int, ...], dtype: torch.dtype
) -> torch.Tensor:
    """Draw 1 with a probability, otherwise 0."""
    return torch.as_tensor(rng.random(shape) < probability).to(dtype)


def _below(high: float, dtype: torch.dtype) -> float:
    end = torch.tensor(high, dtype=dtype)
    if end.item() < high:
        return end.item()
    return torch.nextafter(end, torch.tensor(-torch.inf, dtype=dtype)).item()
