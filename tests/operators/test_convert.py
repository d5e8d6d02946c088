import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from videoloader import fn, types
from videoloader.errors import ArgumentError
from videoloader.operators import convert
from videoloader.operators.convert import saturate, scale_and_shift

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


@given(
    st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=8),
    st.sampled_from(INTEGERS),
)
def test_floats_are_rounded_half_to_even_and_clamped(values, dtype):
    limits = torch.iinfo(dtype)
    expected = []
    for value in values:
        whole = round(value) if np.isfinite(value) else (limits.max if value > 0 else limits.min)
        expected.append(min(max(whole, limits.min), limits.max))
    assert saturate(torch.tensor(values), dtype).tolist() == expected


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8), st.sampled_from(INTEGERS)
)
def test_integers_are_clamped(values, dtype):
    limits = torch.iinfo(dtype)
    expected = [min(max(value, limits.min), limits.max) for value in values]
    assert saturate(torch.tensor(values, dtype=torch.int64), dtype).tolist() == expected


@pytest.mark.parametrize("dtype", INTEGERS)
def test_nan_becomes_zero(dtype):
    assert saturate(torch.tensor([float("nan")]), dtype).tolist() == [0]


def test_a_signed_type_does_not_wrap_into_an_unsigned_one():
    assert saturate(torch.tensor([-5], dtype=torch.int8), torch.uint8).tolist() == [0]


@pytest.mark.parametrize("dtype", [types.FLOAT16, torch.float16, np.float16, "float16"])
def test_every_spelling_of_a_type_works(dtype):
    assert fn.cast(torch.tensor([1, 2]), dtype=dtype).dtype == torch.float16


@pytest.mark.parametrize("dtype", ["floaty", torch.complex64, 3, None])
def test_what_is_no_type_is_an_error_that_names_operator_and_argument(dtype):
    with pytest.raises(ArgumentError, match=r"fn\.cast: dtype must be element type"):
        fn.cast(torch.zeros(2), dtype=dtype)


@pytest.mark.parametrize("source", [torch.uint8, torch.int16, torch.float32])
@pytest.mark.parametrize("target", [torch.uint8, torch.int16, torch.float32, torch.float16])
@pytest.mark.parametrize("shape", [(5, 4, 3), (2, 5, 4, 3)])
def test_scale_and_shift_agrees_with_float64(source, target, shape):
    values = torch.randint(0, 256, shape, generator=torch.Generator().manual_seed(1)).to(source)
    before = values.clone()
    out = torch.empty(shape, dtype=target)
    scale_and_shift(values, 1.7, -40.0, out)
    exact = values.double().numpy() * 1.7 - 40.0
    if not target.is_floating_point:
        limits = torch.iinfo(target)
        exact = np.rint(exact).clip(limits.min, limits.max)
    # A float32 sum that lands on a half may round to the other side, by 1; float16 has 11 bits.
    bound = {torch.float32: 1e-4, torch.float16: 0.2}.get(target, 1.0)
    assert np.abs(out.double().numpy() - exact).max() <= bound
    assert torch.equal(values, before)


@pytest.mark.parametrize("target", [torch.uint8, torch.float16])
def test_a_large_batch_is_scaled_in_pieces_by_the_values_of_each_sample(monkeypatch, target):
    values = torch.randint(0, 256, (3, 2, 5, 4, 3), generator=torch.Generator().manual_seed(1))
    factor, offset = torch.rand(3, 1, 1, 1, 1), torch.rand(1, 1, 1, 1, 3)
    whole, pieces = torch.empty(values.shape, dtype=target), torch.empty(values.shape, dtype=target)
    scale_and_shift(values, factor, offset, whole)
    monkeypatch.setattr(convert, "_SCRATCH", 100)
    scale_and_shift(values, factor, offset, pieces)
    assert torch.equal(whole, pieces)
    exact = values.double() * factor + offset
    assert (whole.double() - exact).abs().max() <= (0.5001 if target == torch.uint8 else 0.1)
