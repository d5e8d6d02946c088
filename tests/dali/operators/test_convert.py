import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.operators.general import convert
from videoloader.dali.operators.general.convert import scale_and_shift
from videoloader.errors import ArgumentError


@pytest.mark.parametrize("dtype", [types.FLOAT16, torch.float16, np.float16, "float16"])
def test_every_spelling_of_a_type_works(dtype):
    assert fn.cast(torch.tensor([1, 2]), dtype=dtype).dtype == torch.float16


@pytest.mark.parametrize("dtype", ["floaty", torch.complex64, 99])
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
    monkeypatch.setattr(convert, "SCRATCH", 100)
    scale_and_shift(values, factor, offset, pieces)
    assert torch.equal(whole, pieces)
    exact = values.double() * factor + offset
    assert (whole.double() - exact).abs().max() <= (0.5001 if target == torch.uint8 else 0.1)
