"""`fn.slice` against numpy: views inside the data, `np.pad` and index arithmetic outside."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from videoloader.dali import fn, pipeline_def
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, OperatorError

DATA = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)

# Names of DALI, and the mode of numpy's `pad` that means the same.
NUMPY_MODES = {
    "pad": "constant",
    "constant": "constant",
    "edge": "edge",
    "clamp": "edge",
    "reflect": "symmetric",
    "reflect_1001": "symmetric",
    "reflect_101": "reflect",
    "wrap": "wrap",
}


def sliced(*values, data=DATA, layout="HWC", **arguments):
    """The slice of one sample in a pipeline, and its layout."""

    @pipeline_def(batch_size=1)
    def pipe():
        return fn.slice(fn.external_source(lambda: data[None], layout=layout), *values, **arguments)

    with pipe() as built:
        result = built.run()[0]
    return result.as_array()[0], result.layout()


@given(
    st.sampled_from(sorted(NUMPY_MODES)),
    st.tuples(st.integers(-9, 9), st.integers(-9, 9)),
    st.tuples(st.integers(0, 12), st.integers(0, 12)),
)
def test_outside_of_the_data_stands_what_numpy_pads_with(policy, start, size):
    values = torch.from_numpy(DATA)
    result = fn.slice(
        values, start=start, shape=size, axes=(0, 1), out_of_bounds_policy=policy, layout="HWC"
    )
    margin = ((24, 24), (24, 24), (0, 0))
    padded = np.pad(DATA, margin, mode=NUMPY_MODES[policy])
    (y, x), (height, width) = start, size
    expected = padded[24 + y : 24 + y + height, 24 + x : 24 + x + width]
    np.testing.assert_array_equal(result.numpy(), expected)


@given(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), st.integers(0, 12))
def test_a_slice_is_trimmed_to_the_data(start, size):
    policy = {"out_of_bounds_policy": "trim_to_shape"}
    values = torch.from_numpy(DATA)
    result = fn.slice(values, start=start, shape=size, axes=(0, 1), layout="HWC", **policy)
    rows, columns = (slice(max(at, 0), max(at + size, 0)) for at in start)
    np.testing.assert_array_equal(result.numpy(), DATA[rows, columns])


@pytest.mark.parametrize(
    ("arguments", "start", "stop"),
    [
        ({"start": 2, "shape": 3}, 2, 5),
        ({"start": 2, "end": 5}, 2, 5),
        ({"start": 3}, 3, 10),
        ({"end": 3}, 0, 3),
        ({"shape": 3}, 0, 3),
        ({"rel_start": 0.25, "rel_end": 0.75}, 3, 8),
        ({"rel_start": 0.35, "rel_end": 1.0}, 4, 10),
        ({"rel_start": 0.05, "rel_shape": 0.6}, 1, 7),
        ({"rel_start": 0.25, "shape": 3}, 3, 6),
        ({"start": 2, "rel_shape": 0.35}, 2, 6),
        ({"start": 2, "rel_end": 0.35}, 2, 4),
        ({"rel_shape": 0.5}, 0, 5),
        ({"rel_end": 0.5}, 0, 5),
    ],
)
def test_named_coordinates_are_rounded_halves_away_from_zero(arguments, start, stop):
    """The expected positions are DALI 2.4's."""
    data = np.arange(10)
    result, _ = sliced(data=data, layout=None, axes=[0], **arguments)
    np.testing.assert_array_equal(result, data[start:stop])


@pytest.mark.parametrize(
    ("anchor", "size", "arguments", "start", "stop"),
    [
        ([2], [3], {}, 2, 5),
        (2, 3, {}, 2, 5),
        ([0.25], [0.5], {}, 2, 6),
        ([0.3125], [0.4375], {"normalized_anchor": False}, 0, 4),
        ([1.5], [0.4375], {"normalized_anchor": False}, 2, 5),
        ([0.1875], [1.5], {"normalized_shape": False}, 2, 3),
        ([2.5], [2.5], {"normalized_anchor": False, "normalized_shape": False}, 3, 5),
        (np.array([2]), np.array([3]), {"normalized_anchor": True}, 2, 5),
    ],
)
def test_positions_are_absolute_and_fractions_relative(anchor, size, arguments, start, stop):
    """The expected positions are DALI 2.4's."""
    data = np.arange(8)
    result, _ = sliced(anchor, size, data=data, layout=None, axes=[0], **arguments)
    np.testing.assert_array_equal(result, data[start:stop])


def test_coordinates_are_for_the_named_dimensions():
    rows, columns = slice(1, 3), slice(2, 6)
    expected = DATA[rows, columns]
    for arguments in (
        {"start": (2, 1), "end": (6, 3)},
        {"start": (2, 1), "end": (6, 3), "axes": (1, 0)},
        {"start": (1, 2), "end": (3, 6), "axis_names": "HW"},
        {"start": (1, 2), "end": (3, 6), "axes": (-3, -2)},
        {"start": (1, 2, 0), "end": (3, 6, 3), "axes": ()},
    ):
        result, layout = sliced(**arguments)
        np.testing.assert_array_equal(result, expected)
        assert layout == "HWC"
    result, layout = sliced(start=1, end=2, axis_names="C")
    np.testing.assert_array_equal(result, DATA[:, :, 1:2])
    clip = np.stack([DATA, DATA + 1])
    result, layout = sliced(data=clip, layout="FHWC", start=(2, 1), end=(6, 3))
    np.testing.assert_array_equal(result, clip[:, rows, columns])
    assert layout == "FHWC"


def test_each_channel_has_its_fill_value_and_values_saturate():
    pad = {"axes": (0,), "out_of_bounds_policy": "pad"}
    result, _ = sliced(start=5, shape=1, fill_values=(7, 8, 300), **pad)
    np.testing.assert_array_equal(result, np.broadcast_to([7, 8, 255], (1, 7, 3)))
    first = np.moveaxis(DATA, -1, 0)
    result, _ = sliced(
        data=first, layout="CHW", start=5, shape=1, fill_values=(7, 8, 9), axis_names="H",
        out_of_bounds_policy="pad",
    )  # fmt: skip
    np.testing.assert_array_equal(result, np.broadcast_to([[[7]], [[8]], [[9]]], (3, 1, 7)))
    with pytest.raises(OperatorError, match="2 fill_values for 3 channels"):
        sliced(start=5, shape=1, fill_values=(7, 8), **pad)


def test_every_sample_has_its_own_slice():
    values = np.stack([DATA, DATA + 1])

    @pipeline_def(batch_size=2)
    def pipe():
        data = fn.external_source(lambda: values, layout="HWC")
        start = fn.external_source(lambda: np.array([[0], [2]], np.int32))
        size = fn.external_source(lambda: np.array([[3], [1]], np.int32))
        axes = fn.external_source(lambda: np.array([[0], [1]], np.int32))
        return (
            fn.slice(data, start, size, axes=[0]),
            fn.slice(data, start=start, shape=size, axes=[1], dtype="float32"),
            fn.slice(data, start=start, shape=1, axes=axes),
        )

    with pipe() as built:
        rows, columns, mixed = built.run()
    np.testing.assert_array_equal(rows[0].numpy(), values[0, :3])
    np.testing.assert_array_equal(rows[1].numpy(), values[1, 2:3])
    np.testing.assert_array_equal(columns[1].numpy(), values[1, :, 2:3].astype(np.float32))
    np.testing.assert_array_equal(mixed[0].numpy(), values[0, :1])
    np.testing.assert_array_equal(mixed[1].numpy(), values[1, :, 2:3])
    batch = fn.slice(TensorList(values, "HWC"), start=[[0], [2]], end=[[3], [3]], axes=[0])
    assert batch.shape() == [(3, 7, 3), (1, 7, 3)]


def test_positions_beside_data_on_the_gpu_may_be_there_too():
    data, at = fn.external_source(name="data"), fn.external_source(name="at")
    sliced = fn.slice(data.gpu(), at.gpu(), at, axes=[0])
    assert sliced.device == "gpu"
    assert {node.device for node in sliced.source.varying.values()} == {"cpu"}
    with pytest.raises(ArgumentError, match="arguments come from the CPU"):
        fn.slice(data, at.gpu(), at, axes=[0])
    with pytest.raises(ArgumentError, match="arguments come from the CPU"):
        fn.slice(data.gpu(), start=at.gpu(), axes=[0])


def test_a_slice_inside_is_a_view():
    values = torch.from_numpy(DATA.copy())
    result = fn.slice(values, start=(1, 1), end=(3, 3), axes=(0, 1), layout="HWC")
    assert result.untyped_storage().data_ptr() == values.untyped_storage().data_ptr()


def test_what_is_no_slice_is_refused():
    for values, arguments, message in [
        ((), {}, "needs either anchor and shape .* got neither"),
        ((), {"axes": [0]}, "needs either anchor and shape .* got neither"),
        (([1], [1]), {"start": 1}, "needs either anchor and shape .* got both"),
        (([1],), {}, "go together"),
        ((), {"start": 1, "rel_start": 0.5}, "start and rel_start exclude each other"),
        ((), {"end": 1, "rel_shape": 0.5}, "end and rel_shape exclude each other"),
        ((), {"start": 1, "axes": [0], "axis_names": "H"}, "axes and axis_names exclude"),
        ((), {"start": 1, "out_of_bounds_policy": "ignore"}, "out_of_bounds_policy must be one of"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            sliced(*values, **arguments)
    for arguments, message in [
        ({"start": (1, 2, 3)}, "start must have 1 value or one for each of 2 dimensions"),
        ({"start": 3, "end": 2}, "ends before it begins: 3 to 2"),
        ({"start": 3, "shape": -1}, "ends before it begins"),
        ({"start": -1}, r"-1 to 7 of dimension 1 is outside of shape \(5, 7, 3\)"),
        ({"start": 6, "shape": 2, "axes": [1]}, "6 to 8 of dimension 1 is outside"),
        ({"start": 1, "axes": [3]}, "axis 3 is out of range for a sample of 3 dimensions"),
        ({"start": 1, "axes": [0, -3]}, "name a dimension twice"),
        ({"start": 1, "axis_names": "D"}, "axis 'D' is not in the layout 'HWC'"),
    ]:
        with pytest.raises(OperatorError, match=message):
            sliced(**arguments)
    nothing = np.zeros((0, 2), np.uint8)
    with pytest.raises(OperatorError, match="nothing to repeat"):
        sliced(data=nothing, layout="HW", shape=1, axes=[0], out_of_bounds_policy="edge")


def test_positions_and_parts_of_the_size_may_stand_side_by_side():
    sample = torch.arange(20).reshape(4, 5, 1)
    places = [(1, 1), (1.0, 0.0)]
    batch, sizes = TensorList([sample] * 2, "HWC"), [(2, 2)] * 2
    made = fn.slice(batch, places, sizes, out_of_bounds_policy="edge")
    assert made[0].flatten().tolist() == [6, 7, 11, 12]
    assert made[1].flatten().tolist() == [4, 4, 9, 9]
