"""Noise: its distribution, what it leaves alone, and its values in every type."""

import numpy as np
import pytest
import torch
from general_cases import DTYPES

from videoloader.dali import fn, types
from videoloader.dali.tensors import TensorList

COUNT = 40000


def test_gaussian_noise_has_its_moments():
    data = torch.full((COUNT,), 5.0)
    noise = (fn.noise.gaussian(data, mean=2, stddev=3, seed=1) - data).double()
    assert abs(noise.mean() - 2) < 6 * 3 / np.sqrt(COUNT)
    assert abs(noise.std() - 3) < 0.05


def test_shot_noise_keeps_the_mean_in_whole_events():
    data = torch.full((COUNT,), 50.0)
    noisy = fn.noise.shot(data, factor=10, seed=1).double()
    assert (noisy % 10 == 0).all()
    assert abs(noisy.mean() - 50) < 6 * np.sqrt(500 / COUNT)  # of a variance of mean * factor
    assert abs(noisy.var() / 500 - 1) < 0.05
    assert torch.equal(fn.noise.shot(data, factor=0, seed=1), data)
    assert not fn.noise.shot(-data, seed=1).any()


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("layout", ["HWC", "CHW"])
def test_salt_and_pepper_fall_on_pixels_or_channels(per_channel, layout):
    shape = (200, 100, 3) if layout == "HWC" else (3, 200, 100)
    data = TensorList([torch.full(shape, 7, dtype=torch.uint8)], layout=layout)
    (noisy,) = fn.noise.salt_and_pepper(
        data, prob=0.2, salt_vs_pepper=0.75, per_channel=per_channel, seed=1
    )
    noisy = np.asarray(noisy)
    assert set(np.unique(noisy)) == {0, 7, 255}
    deviation = np.sqrt(0.25 / (noisy.size if per_channel else noisy.size / 3))
    assert abs((noisy != 7).mean() - 0.2) < 6 * deviation
    assert abs((noisy == 255).mean() - 0.15) < 6 * deviation
    channels = np.moveaxis(noisy, layout.index("C"), 0)
    assert (channels == channels[0]).all() != per_channel


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("shape", [(), (7,), (3, 4, 2)])
def test_noise_keeps_type_and_shape_and_saturates(dtype, shape):
    data = torch.from_numpy(np.ones(shape, dtype))
    for call, given in (
        (fn.noise.gaussian, {"mean": 1e6, "stddev": 0}),
        (fn.noise.shot, {"factor": 1}),
        (fn.noise.salt_and_pepper, {"prob": 1, "salt_vs_pepper": 1}),
    ):
        noisy = np.asarray(call(data, seed=1, **given))
        assert (noisy.dtype, noisy.shape) == (dtype, shape)
        if dtype.kind in "iu" and call is not fn.noise.shot:
            limit = np.iinfo(dtype).max
            wanted = limit if call is fn.noise.salt_and_pepper else min(1000001, limit)
            np.testing.assert_array_equal(noisy, wanted)


def test_values_of_salt_and_pepper_may_be_given():
    data = torch.zeros(1000, 2)
    noisy = fn.noise.salt_and_pepper(data, prob=1, salt_val=3, pepper_val=-4, seed=1)
    assert set(noisy.unique().tolist()) == {3, -4}
    plain = fn.noise.salt_and_pepper(data, prob=1, seed=1)
    assert set(plain.unique().tolist()) == {1, -1}
    assert plain.dtype == types.FLOAT
