"""The CUDA kernels of noise draw by Philox, from the distributions of the CPU."""

import math

import numpy as np
import pytest
import torch
from general_cases import DTYPES as ALL_DTYPES
from kernel_batches import LAYOUTS, batch_of
from kernel_machines import OperatorKernels, OperatorKernelsOnGpu

from videoloader.dali import fn
from videoloader.dali.tensors import TensorList
from videoloader.sampling import generator


@pytest.fixture(params=["c++", pytest.param("gpu", marks=pytest.mark.gpu)])
def machine(request, monkeypatch):
    return (OperatorKernelsOnGpu if request.param == "gpu" else OperatorKernels)(monkeypatch)


# ---- gaussian and shot noise

COUNT = 1 << 16


def philox(counters, key):
    """Philox4x32 with 10 rounds of counters (n, 4), in whole numbers of Python's size."""
    a, b, c, d = (counters[:, at].astype(np.uint64) for at in range(4))
    k, m = map(int, key)
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        first, second = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b, c, d = (
            (second >> shift) ^ b ^ np.uint64(k),
            second & low,
            (first >> shift) ^ d ^ np.uint64(m),
            first & low,
        )
        k, m = (k + 0x9E3779B9) & 0xFFFFFFFF, (m + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([a, b, c, d], axis=1)


def test_the_oracle_is_philox():
    """By the known answers that its authors published."""
    zeros = philox(np.zeros((1, 4), np.uint64), (0, 0))
    assert [f"{word:08x}" for word in zeros[0]] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]
    ones = philox(np.full((1, 4), 0xFFFFFFFF, np.uint64), (0xFFFFFFFF, 0xFFFFFFFF))
    assert [f"{word:08x}" for word in ones[0]] == ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"]


def normals(count, seed, sample):
    """What gaussian noise is made of: two numbers of a pair of words, by their radius and angle."""
    key = generator(seed, sample=sample).bit_generator.random_raw(2).view(np.uint32)
    counters = np.zeros((-(-count // 4), 4), np.uint64)
    counters[:, 0] = np.arange(len(counters))
    counters[:, 2:] = key[2:]
    words = philox(counters, key[:2]).reshape(-1, 2).astype(np.float64)
    radius = np.sqrt(-2 * np.log((words[:, 0] + 0.5) / 2**32))
    angle = 2 * np.pi * words[:, 1] / 2**32
    return (radius * np.exp(1j * angle)).view(np.float64)[:count]


def noisy(machine, name, data, **arguments):
    made = machine.run(name, [data], arguments)[0]
    assert machine.launched[name.rpartition(".")[2]]
    return [np.asarray(sample) for sample in made]


def distance(values, below):
    """Of Kolmogorov and Smirnov, times the root of the count; above 1.95 once in a thousand."""
    values = np.sort(np.asarray(values, np.float64).ravel())
    found, first = np.unique(values, return_index=True)
    behind = np.append(first[1:], len(values)) / len(values)
    return np.sqrt(len(values)) * np.abs(behind - below(found)).max()


def is_normal(value):
    return np.array([0.5 * math.erfc(-each / math.sqrt(2)) for each in value])


def poisson_below(mean):
    most = int(mean + 40 * math.sqrt(mean) + 40)
    logs = [k * math.log(mean) - mean - math.lgamma(k + 1) for k in range(most)]
    return np.cumsum(np.exp(logs))


def test_gaussian_noise_is_made_of_philox_by_the_element(machine):
    """In a ragged batch, in one launch, samples that are not contiguous among them."""
    data = batch_of("HWC", torch.float32, memory="views")
    means, deviations = [0.0, 1.0, 2.0, 3.0, -4.0], [1.0, 0.0, 2.5, 1e-3, 30.0]
    before = machine.launched.total()
    made = noisy(machine, "noise.gaussian", data, mean=means, stddev=deviations, seed=5)
    assert machine.launched.total() - before == 1
    for at, (sample, value) in enumerate(zip(made, data, strict=True)):
        noise = means[at] + deviations[at] * normals(sample.size, 5, at)
        wanted = value.numpy().astype(np.float64) + noise.reshape(sample.shape)
        np.testing.assert_allclose(sample, wanted, rtol=1e-6, atol=2e-5 * (1 + deviations[at]))


def test_gaussian_noise_has_the_distribution_of_the_cpu(machine):
    data = TensorList([torch.full((COUNT, 1), 5.0), torch.full((COUNT // 2, 3), -1.0)], "")
    ours = noisy(machine, "noise.gaussian", data, mean=2.0, stddev=3.0, seed=1)
    theirs = fn.noise.gaussian(data, mean=2.0, stddev=3.0, seed=1)
    for made, cpu, value in zip(ours, theirs, (5.0, -1.0), strict=True):
        for noise in (made - value, np.asarray(cpu) - value):
            unit = (noise.astype(np.float64) - 2) / 3
            assert distance(unit, is_normal) < 1.95
            for power, wanted in ((1, 0), (2, 1), (3, 0), (4, 3)):
                deviation = math.sqrt({1: 1, 2: 2, 3: 15, 4: 96}[power] / unit.size)
                assert abs((unit**power).mean() - wanted) < 4 * deviation


def test_noise_of_neighbours_samples_and_seeds_is_independent(machine):
    data = TensorList([torch.zeros(COUNT)] * 2, "")
    first, second = noisy(machine, "noise.gaussian", data, seed=1)
    other, _ = noisy(machine, "noise.gaussian", data, seed=2)
    pairs = [(first[:-step], first[step:]) for step in (1, 2, 3, 4)]
    for one, another in [*pairs, (first, second), (first, other)]:
        assert abs(np.corrcoef(one, another)[0, 1]) < 4 / math.sqrt(COUNT)
        sizes = np.corrcoef(np.abs(one), np.abs(another))[0, 1]
        assert abs(sizes) < 4 / math.sqrt(COUNT)


@pytest.mark.parametrize("mean", [0.02, 0.7, 4.0, 9.99, 10.01, 13.0, 40.0, 250.0, 4100.0])
def test_shot_noise_has_the_distribution_of_the_cpu(machine, mean):
    factor = 0.25
    data = TensorList([torch.full((COUNT,), mean * factor)], "")
    (made,) = noisy(machine, "noise.shot", data, factor=factor, seed=3)
    mean = float(np.float32(mean * factor)) / factor
    below = poisson_below(mean)
    cpu = np.asarray(fn.noise.shot(data, factor=factor, seed=3)[0])
    for own in (made, cpu):
        events = own / factor
        assert (events == np.round(events)).all()
        whole = events.astype(int)
        assert distance(whole, lambda values: below[values.astype(int)]) < 1.95
        assert abs(whole.mean() - mean) < 4 * math.sqrt(mean / COUNT)
        spread = math.sqrt((mean + 2 * mean**2) / COUNT)
        assert abs(whole.var() - mean) < 4 * spread


def test_shot_noise_of_neighbours_on_both_sides_of_the_change_of_method_is_independent(machine):
    data = torch.tensor([9.0, 11.0, 11.0, 9.0]).repeat(COUNT // 4)
    (made,) = noisy(machine, "noise.shot", TensorList([data], ""), factor=1.0, seed=4)
    events = made.reshape(-1, 4)
    for one in range(4):
        for other in range(one):
            assert abs(np.corrcoef(events[:, one], events[:, other])[0, 1]) < 4 / math.sqrt(
                COUNT / 4
            )


def test_shot_noise_leaves_what_it_must_alone(machine):
    data = TensorList([torch.linspace(-50, 50, 999).reshape(27, 37)] * 3, "HW")
    same, none, few = noisy(machine, "noise.shot", data, factor=[0.0, 1e9, 1.0], seed=1)
    np.testing.assert_array_equal(same, data[0])
    assert not none.any()
    assert not few[data[2].numpy() <= 0].any()
    assert few.any()


@pytest.mark.parametrize("name", ["noise.gaussian", "noise.shot"])
def test_noise_is_that_of_the_seed(machine, name):
    """Noise depends on the seed and the sample's number, not on other samples, types or shapes."""
    data = batch_of("FHWC", torch.uint8)
    given = {"stddev": 20.0} if name.endswith("n") else {"factor": 7.0}
    first = noisy(machine, name, data, **given, seed=9)
    again = noisy(machine, name, data, **given, seed=9)
    other = noisy(machine, name, data, **given, seed=10)
    alone = noisy(machine, name, TensorList([data[0]], "FHWC"), **given, seed=9)
    for one, another in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, another)
    np.testing.assert_array_equal(first[0], alone[0])
    assert any((one != another).any() for one, another in zip(first, other, strict=True))


@pytest.mark.parametrize("dtype", ALL_DTYPES.values(), ids=ALL_DTYPES)
@pytest.mark.parametrize("shape", [(), (7,), (3, 4, 2), (0, 5)])
def test_noise_keeps_every_type_and_shape_and_saturates(machine, dtype, shape):
    data = TensorList([torch.from_numpy(np.ones(shape, dtype))] * 2, "")
    for name, given in (
        ("noise.gaussian", {"mean": [1e6, -1e6], "stddev": 0}),
        ("noise.shot", {"factor": [1e-3, 0.0]}),
    ):
        (made,) = machine.run(name, [data], {**given, "seed": 1})
        wanted = getattr(fn.noise, name.partition(".")[2])(data, **given, seed=1)
        for own, cpu in zip(made, wanted, strict=True):
            assert (own.dtype, own.shape) == (cpu.dtype, cpu.shape)
            if name == "noise.gaussian" or dtype == np.bool_:
                np.testing.assert_array_equal(np.asarray(own), np.asarray(cpu))
        np.testing.assert_array_equal(np.asarray(made[1]), np.asarray(wanted[1]))


# ---- salt and pepper

SALT = "noise.salt_and_pepper"


def drawn_for(count, seed, sample):
    """Two numbers between 0 and 1 for each of the first elements or pixels."""
    key = generator(seed, sample=sample).bit_generator.random_raw(2).view(np.uint32)
    counters = np.zeros((-(-count // 2), 4), np.uint64)
    counters[:, 0] = np.arange(len(counters))
    counters[:, 2:] = key[2:]
    return philox(counters, key[:2]).reshape(-1, 2)[:count] / 2**32


@pytest.mark.parametrize("layout", [*LAYOUTS, "HW", "CFHW", "HCW", ""])
@pytest.mark.parametrize("memory", ["ragged", "dense", "views"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_pixels_change_by_their_numbers(machine, layout, memory, per_channel):
    """One by one in the order of memory; all channels of a pixel at once, or each by itself."""
    data = batch_of(layout or "HWC", memory=memory, frames=3)
    data = TensorList(data.tensors, layout)
    probs, shares = [0.5, 0.05, 0.3, 1.0, 0.9], [0.5, 0.1, 0.7, 1.0, 0.4]
    before = machine.launched.total()
    given = {"prob": probs, "salt_vs_pepper": shares, "per_channel": per_channel}
    made = noisy(machine, SALT, data, **given, seed=12345)
    assert machine.launched.total() - before == 1
    for at, (sample, value) in enumerate(zip(made, data, strict=True)):
        wanted = np.array(value)
        axis = layout.find("C") if layout else wanted.ndim - 1
        together = wanted if per_channel or axis < 0 else np.moveaxis(wanted, axis, -1)[..., 0]
        numbers = drawn_for(together.size, 12345, at).reshape(*together.shape, 2)
        hits, salts = numbers[..., 0] < probs[at], numbers[..., 1] < shares[at]
        if together.ndim < wanted.ndim:
            hits, salts = (np.expand_dims(each, axis) for each in (hits, salts))
        wanted = np.where(hits, np.where(salts, 255, 0), wanted)
        np.testing.assert_array_equal(sample, wanted)


@pytest.mark.parametrize("dtype", ALL_DTYPES.values(), ids=ALL_DTYPES)
def test_salt_and_pepper_of_every_type_are_those_of_the_cpu(machine, dtype):
    data = TensorList([torch.from_numpy(np.ones((5, 7, 3), dtype))] * 5, "HWC")
    for given in ({}, {"salt_val": 300.7, "pepper_val": [-3.2, 0.4, 1.5, 2.5, 9.0]}):
        for share in (0, 1):
            arguments = {"prob": 1, "salt_vs_pepper": share, **given, "seed": 7}
            made = noisy(machine, SALT, data, **arguments)
            for own, cpu in zip(made, fn.noise.salt_and_pepper(data, **arguments), strict=True):
                assert own.dtype == dtype
                np.testing.assert_array_equal(own, np.asarray(cpu))


def test_salt_and_pepper_have_the_shares_of_the_cpu(machine):
    data = TensorList([torch.full((COUNT, 3), 7, dtype=torch.uint8)] * 2, "")
    given = {"prob": [0.2, 0.01], "salt_vs_pepper": 0.75}
    for values in (
        noisy(machine, SALT, data, **given, seed=3),
        [np.asarray(each) for each in fn.noise.salt_and_pepper(data, **given, seed=3)],
    ):
        for sample, prob in zip(values, given["prob"], strict=True):
            assert (sample == sample[:, :1]).all()
            for share, wanted in ((sample == 255, 0.75 * prob), (sample == 0, 0.25 * prob)):
                deviation = math.sqrt(wanted * (1 - wanted) / COUNT)
                assert abs(share[:, 0].mean() - wanted) < 4 * deviation
