"""General operators on every element type and on all dimensions, beside numpy."""

import numpy as np
import pytest
import torch
from general_cases import DTYPES, numbers

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.tensors import TensorList
from videoloader.errors import VideoError

SHAPES = [(), (5,), (2, 3), (2, 3, 4), (2, 3, 1, 2), (2, 1, 3, 2, 2)]


def tensor(array):
    return torch.from_numpy(np.array(array))


def whole_range(dtype, *shape):
    """Numbers all over the range of a type."""
    rng = np.random.default_rng(3)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return rng.normal(size=shape).astype(dtype) if dtype.kind == "f" else rng.random(shape) < 0.5


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_elements_are_moved_and_not_changed(dtype, shape):
    """Operators that only move elements, on one sample, a dense batch and a ragged one."""
    axis = len(shape) // 2
    array = whole_range(dtype, *shape)
    other = whole_range(dtype, *shape[::-1])
    order = tuple(np.random.default_rng(1).permutation(len(shape)).tolist())
    calls = [
        (lambda x: fn.transpose(x, perm=order), lambda x: x.transpose(order)),
        (lambda x: fn.transpose(x), lambda x: x.T),
        (lambda x: fn.reshape(x, shape=(-1,)), lambda x: x.reshape(-1)),
        (lambda x: fn.stack(x, x, axis=axis), lambda x: np.stack([x, x], axis)),
        (lambda x: fn.copy(x), lambda x: x),
        (lambda x: fn.reinterpret(x, dtype=dtype), lambda x: x),
    ]
    if shape:
        calls.append(
            (lambda x: fn.cat(x, x, x, axis=axis), lambda x: np.concatenate([x, x, x], axis))
        )
    if len(shape) > 1:
        calls += [
            (lambda x: fn.sequence_rearrange(x, new_order=[1, 0, 1]), lambda x: x[[1, 0, 1]]),
            (lambda x: fn.element_extract(x, element_map=[1]), lambda x: x[1]),
        ]
    for call, expected in calls:
        np.testing.assert_array_equal(np.asarray(call(tensor(array))), expected(array))
        dense = TensorList(torch.stack([tensor(array), tensor(array)]))
        for sample in call(dense):
            np.testing.assert_array_equal(np.asarray(sample), expected(array))
        if len(shape) < 2 or shape[-1] < 2 or shape[0] < 2:
            continue
        ragged = TensorList([tensor(array), tensor(other)])
        for sample, own in zip(call(ragged), (array, other), strict=True):
            np.testing.assert_array_equal(np.asarray(sample), expected(own))


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_samples_are_permuted_and_padded_in_every_type(dtype):
    first, second = whole_range(dtype, 2, 3), whole_range(dtype, 1, 4)
    batch = TensorList([tensor(first), tensor(second)])
    swapped = fn.permute_batch(batch, indices=[1, 0])
    np.testing.assert_array_equal(np.asarray(swapped[0]), second)
    np.testing.assert_array_equal(np.asarray(swapped[1]), first)
    padded = fn.pad(batch, fill_value=1)
    for sample, own in zip(padded, (first, second), strict=True):
        room = [(0, side - mine) for side, mine in zip((2, 4), own.shape, strict=True)]
        np.testing.assert_array_equal(np.asarray(sample), np.pad(own, room, constant_values=1))


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("axes", [None, (0,), (1, 2), (-1, 0), ()])
@pytest.mark.parametrize("keep", [False, True])
def test_reductions_are_those_of_numpy(dtype, axes, keep):
    array = whole_range(dtype, 3, 4, 2)
    along = {"axis": axes, "keepdims": keep}
    given = {"axes": axes, "keep_dims": keep}
    exact = array.astype(np.float64)
    kept = {} if dtype.kind == "f" else {"dtype": types.FLOAT64}
    wide = np.uint64 if dtype.kind in "bu" else np.int64
    sums = array.sum(dtype=wide, **along) if dtype.kind != "f" else exact.sum(**along)
    for name, expected in {
        "sum": sums,
        "min": array.min(**along),
        "max": array.max(**along),
        "mean": exact.mean(**along),
        "mean_square": np.square(exact).mean(**along),
        "rms": np.sqrt(np.square(exact).mean(**along)),
    }.items():
        typed = kept if name not in ("sum", "min", "max") else {}
        result = np.asarray(getattr(fn.reductions, name)(tensor(array), **given, **typed))
        if result.dtype.kind == "f":
            tolerance = 1e-2 if dtype == np.float16 else 1e-6
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("ddof", [0, 1])
def test_deviations_are_those_of_numpy(dtype, ddof):
    array = numbers(dtype, 3, 4, 2)
    mean = array.astype(np.float64).mean((0, 1))
    for name, reduce in (("std_dev", np.std), ("variance", np.var)):
        result = getattr(fn.reductions, name)(tensor(array), tensor(mean), axes=(0, 1), ddof=ddof)
        expected = reduce(array.astype(np.float64), axis=(0, 1), ddof=ddof)
        tolerance = 1e-2 if dtype == np.float16 else 1e-6
        np.testing.assert_allclose(np.asarray(result), expected, rtol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("to", DTYPES)
def test_normalized_values_are_those_of_numpy(dtype, to):
    array = numbers(dtype, 3, 4, 2)
    exact = array.astype(np.float64)
    expected = (exact - exact.mean((0, 1))) / exact.std((0, 1)) * 30 + 20
    result = np.asarray(
        fn.normalize(tensor(array), axes=(0, 1), scale=30, shift=20, dtype=getattr(types, to))
    )
    assert result.dtype == DTYPES[to]
    if result.dtype.kind == "f":
        tolerance = 2e-3 if to == "FLOAT16" else 1e-4
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)
    elif result.dtype.kind == "b":
        np.testing.assert_array_equal(result, np.abs(expected) >= 0.5)
    else:
        limits = np.iinfo(result.dtype)
        clipped = expected.clip(float(limits.min), float(limits.max))
        np.testing.assert_allclose(result, clipped, atol=0.51)


def test_a_batch_is_normalized_as_a_whole_whether_dense_or_ragged():
    arrays = [numbers(DTYPES["FLOAT"], 3, 4, seed=seed) for seed in range(4)]
    ragged = [*arrays[:3], arrays[3][:2]]

    for samples in (arrays, ragged):

        def definition(samples=samples):
            data = fn.external_source(lambda: samples)
            return fn.normalize(data, batch=True, axes=0, ddof=1)

        with pipeline_def(definition)(batch_size=4, num_threads=3, seed=1) as pipe:
            (results,) = pipe.run()
        together = np.concatenate(samples)
        mean, deviation = together.mean(0), together.std(0, ddof=1)
        for result, sample in zip(results, samples, strict=True):
            np.testing.assert_allclose(result, (sample - mean) / deviation, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [name for name in DTYPES if "INT" in name])
def test_numbers_beyond_a_table_get_the_default(dtype):
    limits = np.iinfo(DTYPES[dtype])
    values = np.array([limits.min, 3, limits.max], DTYPES[dtype])
    result = fn.lookup_table(tensor(values), keys=[3], values=[7.5], default_value=-1)
    assert result.tolist() == [-1, 7.5, -1]


@pytest.mark.parametrize("dtype", ["UINT8", "UINT16", "INT64"])
@pytest.mark.parametrize("keys", [(), (7, 3, 7), (254,), (255, 0), (256, 255), (300, 1)])
def test_tables_of_any_size_are_dictionaries(dtype, keys):
    numbers = np.arange(256).astype(DTYPES[dtype]).reshape(16, 16).T  # not in the order of memory
    values = [1.5 * at - 3 for at in range(len(keys))]
    result = fn.lookup_table(
        tensor(numbers), keys=keys, values=values, default_value=9.0, dtype=types.FLOAT16
    )
    table = dict(zip(keys, values, strict=True))
    assert result.dtype == torch.float16
    assert result.tolist() == [[table.get(int(each), 9.0) for each in row] for row in numbers]


@pytest.mark.parametrize(
    "call",
    [
        lambda data: fn.squeeze(data, axes=[3]),
        lambda data: fn.squeeze(data, axes=[-4]),
        lambda data: fn.normalize(data, axes=[0, 0]),
        lambda data: fn.reshape(data, (6, -1), shape=(6, -1)),
        lambda data: fn.pad(data, align=-1),
        lambda data: fn.stack(data, torch.zeros(1)),
        lambda data: fn.stack(),
        lambda data: fn.zeros(shape=(-1,)),
        lambda data: fn.ones(shape=(2, 2), layout="A"),
        lambda data: fn.reductions.sum(data, axes=[3]),
        lambda data: fn.reductions.std_dev(data, torch.zeros(5), axes=0),
        lambda data: fn.permute_batch(TensorList([data, data]), indices=[0, 2]),
        lambda data: fn.element_extract(torch.tensor(1), element_map=0),
    ],
)
@pytest.mark.usefixtures("eager")
def test_what_has_no_meaning_is_refused(call):
    with pytest.raises(VideoError):
        call(torch.zeros(1, 3, 2))


def test_dimensions_are_counted_from_the_last_too():
    data = torch.zeros(3, 2, 1)
    assert fn.squeeze(data, axes=[-1]).shape == (3, 2)
    assert fn.reductions.mean(data, axes=-3).shape == (2, 1)


def test_arrays_and_numbers_are_taken_for_tensors():
    array = np.arange(6, dtype=np.uint16).reshape(2, 3)
    np.testing.assert_array_equal(np.asarray(fn.transpose(array)), array.T)
    assert fn.zeros_like(array).dtype == torch.uint16
    stacked = fn.stack(1, 2)
    assert stacked.tolist() == [1, 2]
    assert stacked.dtype == torch.int32
    both = fn.transpose([array, array[:1]])
    assert [each.shape for each in both] == [(3, 2), (3, 1)]


def test_none_is_as_if_an_argument_was_not_given():
    assert fn.reductions.sum(torch.ones(2, 3), axes=None, keep_dims=None).item() == 6
    with pytest.raises(VideoError, match="cast needs dtype"):
        fn.cast(torch.ones(2), dtype=None)
    with pytest.raises(VideoError, match="no argument 'nothing'"):
        fn.copy(torch.ones(2), nothing=None)


@pytest.mark.parametrize("value", [[[1], [0]], np.int32([[1], [0]]), "10"])
def test_a_list_of_numbers_has_one_dimension(value):
    with pytest.raises(VideoError):
        fn.element_extract(torch.ones(2, 3), element_map=value)


def test_an_empty_sample_keeps_its_shape():
    data = torch.zeros(0, 3)
    assert fn.reshape(data, shape=(3, 0)).shape == (3, 0)
    assert fn.transpose(data).shape == (3, 0)
    assert fn.normalize(data).shape == (0, 3)
