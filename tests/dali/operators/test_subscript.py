import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from videoloader.dali import fn, newaxis, types
from videoloader.dali.operators.general.subscript import index_tensor
from videoloader.dali.pipeline import pipeline_def
from videoloader.errors import ArgumentError, ArgumentTypeError, OperatorError

SHAPE = (7, 5, 3)


@given(st.tuples(*(st.one_of(st.integers(-n, n - 1), st.slices(n)) for n in SHAPE)))
def test_indexing_agrees_with_numpy(index):
    values = torch.arange(np.prod(SHAPE)).reshape(SHAPE)
    np.testing.assert_array_equal(index_tensor(values, index, 0), values.numpy()[index])


def indexed(index, layout="HWC"):
    samples = torch.arange(2 * np.prod(SHAPE)).reshape(2, *SHAPE)
    pipe = pipeline_def(lambda: fn.external_source(lambda: samples, layout=layout)[index])
    with pipe(batch_size=2) as pipeline:
        return samples, pipeline.run()[0]


@pytest.mark.parametrize(
    ("index", "layout"),
    [
        (slice(None, None, -1), "HWC"),
        (slice(None, None, 2), "HWC"),
        (slice(-100, 100), "HWC"),
        (slice(100, 200), "HWC"),
        (slice(5, 2), "HWC"),
        (3, "WC"),
        (-1, "WC"),
        (np.int64(3), "WC"),
        ((slice(None), 0), "HC"),
        ((slice(1, 3), slice(None), 2), "HW"),
        ((slice(None), slice(None)), "HWC"),
        ((1, 2, 0), ""),
    ],
)
def test_a_data_node_is_indexed_sample_by_sample(index, layout):
    samples, result = indexed(index)
    rest = index if isinstance(index, tuple) else (index,)
    np.testing.assert_array_equal(result.as_array(), samples.numpy()[(slice(None), *rest)])
    assert result.layout() == layout


@pytest.mark.parametrize(
    ("index", "like", "layout"),
    [
        (newaxis, (np.newaxis,), ""),
        (newaxis("N"), (np.newaxis,), "NHWC"),
        ((slice(None), newaxis("N"), 1), (slice(None), np.newaxis, 1), "HNC"),
        ((0, newaxis("N"), slice(1, 3)), (0, np.newaxis, slice(1, 3)), "NWC"),
        ((slice(None),) * 3 + (newaxis("N"),), (slice(None),) * 3 + (np.newaxis,), "HWCN"),
        ((newaxis, slice(None), newaxis), (np.newaxis, slice(None), np.newaxis), ""),
    ],
)
def test_newaxis_adds_a_dimension_and_its_letter(index, like, layout):
    samples, result = indexed(index)
    np.testing.assert_array_equal(result.as_array(), samples.numpy()[(slice(None), *like)])
    assert result.layout() == layout


def test_data_nodes_are_indices_and_ends_of_slices():
    samples = np.arange(3 * np.prod(SHAPE)).reshape(3, *SHAPE)

    @pipeline_def(batch_size=3)
    def pipe():
        data = fn.external_source(lambda: samples, layout="HWC")
        at = fn.external_source(lambda: np.array([0, -1, 4], np.int32))
        step = fn.external_source(lambda: np.array([1, -2, 3]))
        return (
            data[at],
            data[at:, at],
            data[:at],
            data[::step],
            data[types.Constant(1), at],
        )

    with pipe() as built:
        outputs = built.run()
    for number, (at, step) in enumerate([(0, 1), (-1, -2), (4, 3)]):
        sample = samples[number]
        expected = [sample[at], sample[at:, at], sample[:at], sample[::step], sample[1, at]]
        for output, wanted in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(output[number].numpy(), wanted)
    assert [output.layout() for output in outputs] == ["WC", "HC", "HWC", "HWC", "C"]


def test_what_is_no_index_is_an_error():
    for index in ("a", 1.0, (Ellipsis, 1), [1, 2], slice(0.5, 1)):
        with pytest.raises(ArgumentTypeError, match="index"):
            indexed(index)
    with pytest.raises(ArgumentError, match="either all new axes of an index have names, or none"):
        indexed((newaxis, newaxis("N")))
    with pytest.raises(ArgumentError, match="one letter"):
        newaxis("NM")
    for index, message in [
        (slice(None, None, 0), "step of a slice is 0"),
        ((0, 0, 0, 0), "4 indices for a sample of shape"),
        ((slice(None),) * 4, "4 indices for a sample of shape"),
        (7, r"index 7 is out of range for dimension 0 of shape \(7, 5, 3\)"),
        ((slice(None), -6), "index -6 is out of range for dimension 1"),
        ((*(slice(None),) * 4, newaxis), "4 indices for a sample of shape"),
    ]:
        with pytest.raises(OperatorError, match=message):
            indexed(index)


@pytest.mark.parametrize(
    ("axes", "names", "before", "shape", "after", "layout"),
    [
        ([0, 2], "AB", "XYZ", (2, 3, 4), (1, 2, 1, 3, 4), "AXBYZ"),
        ([4, 3], "AB", "XYZ", (2, 3, 4), (2, 3, 4, 1, 1), "XYZBA"),
        ([0, 3], None, "XYZ", (2, 3, 4), (1, 2, 3, 1, 4), ""),
        ([], None, "XY", (2, 3), (2, 3), "XY"),
        ([], "", "XY", (2, 3), (2, 3), "XY"),
        (1, "A", "XY", (2, 3), (2, 1, 3), "XAY"),
        ([0], "A", "", (), (1,), "A"),
        ([0, 1], None, "", (), (1, 1), ""),
    ],
)
def test_expand_dims_inserts_dimensions(axes, names, before, shape, after, layout):
    data = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    with pipeline_def(
        lambda: fn.expand_dims(
            fn.external_source(lambda: [data] * 2, layout=before or None),
            axes=axes,
            new_axis_names=names,
        )
    )(batch_size=2) as pipe:
        (result,) = pipe.run()
    assert (result.shape(), result.layout()) == ([after] * 2, layout)
    np.testing.assert_array_equal(result.as_array()[0].ravel(), data.ravel())


def test_axes_that_cannot_be_added_are_refused():
    data = torch.zeros(2, 3)
    for arguments, message in [
        ({"axes": [0, -1]}, "must not be negative"),
        ({"axes": [1, 1]}, "must differ"),
        ({"axes": [0, 1], "new_axis_names": "A"}, "names 1 dimensions, axes has 2"),
        ({"axes": [4]}, "axis 4 is out of range: samples of 2 dimensions have 2"),
        ({"axes": [0], "new_axis_names": "A"}, "the input has no layout"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            fn.expand_dims(data, **arguments)
