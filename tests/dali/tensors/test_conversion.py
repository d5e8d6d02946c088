"""`saturate` against exact arithmetic: fractions rounded and clamped by hand, and numpy."""

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from videoloader.dali import types
from videoloader.dali.tensors import saturate

NUMERIC = [dtype for dtype in types.DataType if dtype.is_numeric]
INTEGERS = [dtype for dtype in NUMERIC if dtype.is_integer]
LIMITS = {
    dtype: (int(np.iinfo(dtype.numpy).min), int(np.iinfo(dtype.numpy).max)) for dtype in INTEGERS
}
FLOATS = [dtype for dtype in NUMERIC if dtype.is_floating_point]


@functools.cache
def rounded(value):
    """The nearest integer, halves away from zero; 2**200 for infinity, None for NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else int(math.copysign(2**200, value))
    whole = math.floor(abs(Fraction(value)) + Fraction(1, 2))
    return whole if value >= 0 else -whole


def exactly(value, dtype):
    """One Python number in an integer type or bool."""
    whole = rounded(value)
    if dtype is types.BOOL:
        return whole != 0
    limits = LIMITS[dtype]
    return min(max(whole or 0, limits[0]), limits[1])


def edges(dtype):
    """Values of a type where a conversion may go wrong, as an array of it."""
    if dtype is types.BOOL:
        return np.array([False, True])
    bounds = [bound for limits in LIMITS.values() for bound in limits]
    if dtype.is_integer:
        low, high = LIMITS[dtype]
        near = sorted({bound + step for bound in (*bounds, 0) for step in (-1, 0, 1)})
        return np.array([x for x in near if low <= x <= high], dtype.numpy)
    kind = dtype.numpy
    with np.errstate(over="ignore"):
        starts = np.array([*bounds, *range(-5, 6), 2.0**23, 2.0**24, 2.0**52, 2.0**53], kind)
        values = np.concatenate([starts, starts + kind(0.5), starts - kind(0.5), [kind(0.49)]])
        values = np.concatenate(
            [values, np.nextafter(values, kind(np.inf)), np.nextafter(values, kind(-np.inf))]
        )
    return np.concatenate([values, np.array([np.nan, np.inf, -np.inf], kind)]).astype(kind)


@pytest.mark.parametrize("target", [*INTEGERS, types.BOOL])
@pytest.mark.parametrize("source", NUMERIC)
def test_integers_are_the_nearest_ones_inside_their_range(source, target):
    values = edges(source)
    converted = saturate(torch.from_numpy(values), target.torch)
    assert converted.dtype == target
    assert converted.tolist() == [exactly(value, target) for value in values.tolist()]


@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("source", NUMERIC)
def test_floating_point_is_the_nearest_number_as_in_numpy(source, target):
    values = edges(source)
    with np.errstate(over="ignore"):
        expected = values.astype(target.numpy)
    np.testing.assert_array_equal(saturate(torch.from_numpy(values), target.torch), expected)


@pytest.mark.parametrize("target", [*INTEGERS, types.BOOL])
def test_every_half_precision_number_is_converted_exactly(target):
    values = np.arange(2**16, dtype=np.uint16).view(np.float16)
    converted = saturate(torch.from_numpy(values), target.torch).tolist()
    assert converted == [exactly(value, target) for value in values.tolist()]


@given(st.floats(width=32), st.sampled_from([*INTEGERS, types.BOOL]))
def test_single_precision_is_converted_exactly(value, target):
    assert saturate(torch.tensor([value]), target.torch).item() == exactly(value, target)


@given(st.floats(), st.sampled_from([*INTEGERS, types.BOOL]))
def test_double_precision_is_converted_exactly(value, target):
    values = torch.tensor([value], dtype=torch.float64)
    assert saturate(values, target.torch).item() == exactly(value, target)


def test_what_is_converted_stays_as_it_is():
    values = torch.tensor([1.5, -2.5, 300.0])
    saturate(values, torch.uint8)
    saturate(values.to(torch.int32), torch.uint8)
    assert values.tolist() == [1.5, -2.5, 300.0]
    assert saturate(values, torch.float32) is values
