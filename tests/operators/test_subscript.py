import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from videoloader import fn
from videoloader.errors import ArgumentError, OperatorError
from videoloader.operators.subscript import index_tensor
from videoloader.pipeline import pipeline_def

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
        (3, "WC"),
        ((slice(None), 0), "HC"),
        ((slice(1, 3), slice(None), 2), "HW"),
    ],
)
def test_a_data_node_is_indexed_sample_by_sample(index, layout):
    samples, result = indexed(index)
    rest = index if isinstance(index, tuple) else (index,)
    np.testing.assert_array_equal(result.as_array(), samples.numpy()[(slice(None), *rest)])
    assert result.layout() == layout


def test_what_is_no_index_is_an_error():
    for index in ("a", slice(None, None, 0), (Ellipsis, 1)):
        with pytest.raises(ArgumentError, match="index must be int, slice"):
            indexed(index)
    with pytest.raises(OperatorError, match="4 indices for a sample of shape"):
        indexed((0, 0, 0, 0))
    with pytest.raises(OperatorError, match="IndexError"):
        indexed(7)
