"""Converts element types as DALI does: with rounding and saturation, without wrap-around."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch

# The largest number below one half: adding it rounds halves away from zero, and nothing else up.
_BELOW_HALF = {torch.float32: 0.5 - 2.0**-25, torch.float64: 0.5 - 2.0**-54}

# Torch can store and convert these types, but not compare or clamp them.
_STORED_ONLY = (torch.uint16, torch.uint32, torch.uint64)
_LOWEST = torch.iinfo(torch.int64).min


def to_ordered(values: torch.Tensor) -> torch.Tensor:
    """Values in the same order, of a type that torch compares; see `from_ordered`."""
    if values.dtype == torch.uint64:  # flipping the first bit keeps the order in the signed type
        return values.view(torch.int64) ^ _LOWEST
    return values.to(torch.int64) if values.dtype in _STORED_ONLY else values


def from_ordered(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Undo `to_ordered`: the values in their own type, which is `dtype`."""
    return (values ^ _LOWEST).view(dtype) if dtype == torch.uint64 else values.to(dtype)


def copy_here(source: torch.Tensor, target: torch.Tensor) -> None:
    """Copy, in this thread where both are of one type on the CPU.

    For so little work torch's threads cost more than they gain (they wait for each other where
    others use the processors), and its loop takes longer than that of NumPy.
    """
    is_plain = source.is_cpu and target.is_cpu and source.dtype == target.dtype
    if is_plain and source.dtype != torch.bfloat16:  # which NumPy does not have
        np.copyto(target.numpy(), source.detach().numpy())
    else:
        target.copy_(source)


def saturate(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Convert to `dtype` by DALI's rule, the same on the CPU and on a GPU.

    - To an integer type: rounded to the nearest integer, halves away from zero, and clamped to the
      range of the type. NaN becomes 0.
    - To bool: floating point is rounded first, so what is smaller than 0.5 in magnitude is False;
      NaN is True, as in Python. Any integer but 0 is True.
    - To floating point: the nearest value, halves to even; what is too large becomes infinity.

    A tensor that has the type already is returned unchanged.

    >>> saturate(torch.tensor([-3.0, 0.5, 2.5, 300.0, torch.nan]), torch.uint8)
    tensor([  0,   1,   3, 255,   0], dtype=torch.uint8)
    >>> saturate(torch.tensor([-0.7, -0.4, 0.4, 0.5]), torch.bool)
    tensor([ True, False, False,  True])
    """
    if values.dtype == dtype:
        return values
    if values.dtype == torch.bool:
        return values.to(dtype)
    if values.dtype.is_floating_point:
        if dtype.is_floating_point:
            return values.to(dtype)
        if dtype == torch.bool:
            return ~(values.abs() < 0.5)
        return _from_float(values, dtype)
    if dtype.is_floating_point or dtype == torch.bool or _fits(values.dtype, dtype):
        return values.to(dtype)
    return _from_integer(values, dtype)


def saturate_numbers(numbers: Sequence[float], dtype: torch.dtype) -> tuple[float, ...]:
    """`saturate` for a few numbers, such as the values of an argument; cached.

    >>> saturate_numbers((2.5, -1.0), torch.uint8)
    (3.0, 0.0)
    """
    return _saturated(struct.pack(f"{len(numbers)}d", *numbers), dtype)  # 0.0 is not -0.0


@lru_cache(maxsize=256)
def _saturated(packed: bytes, dtype: torch.dtype) -> tuple[float, ...]:
    numbers = struct.unpack(f"{len(packed) // 8}d", packed)
    values = saturate(torch.tensor(numbers, dtype=torch.float64), dtype)
    return tuple(map(float, values.tolist()))


def truncate(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Convert like `saturate`, but truncate towards zero instead of rounding.

    >>> truncate(torch.tensor([-3.7, 0.9, 2.5, 300.0]), torch.uint8)
    tensor([  0,   0,   2, 255], dtype=torch.uint8)
    """
    is_cut = values.dtype.is_floating_point and not dtype.is_floating_point
    return saturate(values.trunc() if is_cut else values, dtype)


def _from_float(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    limits = torch.iinfo(dtype)
    # float32 holds the limits of up to 16 bits, float64 those of up to 32.
    wide = torch.float64 if limits.bits > 16 or values.dtype == torch.float64 else torch.float32
    exact = values.to(wide)
    half = torch.tensor(_BELOW_HALF[wide], dtype=wide, device=values.device)
    rounded = (exact + half.copysign(exact)).trunc_().nan_to_num_(0.0, torch.inf, -torch.inf)
    if limits.bits < 64:
        return rounded.clamp_(limits.min, limits.max).to(dtype)
    # float64 cannot represent the largest 64-bit integers: fill these in.
    above = rounded >= float(limits.max)
    rounded = rounded.clamp_(min=float(limits.min)).masked_fill_(above, 0)
    if dtype == torch.int64:
        return rounded.to(dtype).masked_fill_(above, limits.max)
    upper = rounded >= 2.0**63  # as int64 they are 2**64 smaller, with the same bits
    signed = torch.where(upper, rounded - 2.0**64, rounded).to(torch.int64)
    return signed.masked_fill_(above, -1).view(torch.uint64)


def _from_integer(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    source, limits = torch.iinfo(values.dtype), torch.iinfo(dtype)
    most = torch.iinfo(torch.int64).max
    if values.dtype == torch.uint64:
        signed = values.view(torch.int64)
        signed = signed.masked_fill(signed < 0, most)  # beyond int64, so beyond every other type
    else:
        signed = values.to(torch.int64) if values.dtype in _STORED_ONLY else values
    low, high = max(limits.min, source.min), min(limits.max, source.max, most)
    return signed.clamp(low, high).to(dtype)


def _fits(source: torch.dtype, dtype: torch.dtype) -> bool:
    own, limits = torch.iinfo(source), torch.iinfo(dtype)
    return limits.min <= own.min and own.max <= limits.max
