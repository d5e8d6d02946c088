"""Tensors of any dimensions resized, as DALI's, which stores its results."""

from pathlib import Path

import numpy as np
import pytest
import torch
from references.tensor_resize import CASES, array

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.tensors import TensorList
from videoloader.errors import VideoError

STORED = Path(__file__).parents[1] / "references" / "tensor_resize.npz"


@pytest.mark.parametrize("case", CASES)
def test_values_are_those_of_dali(case):
    with np.load(STORED) as stored:
        expected = stored[case]
    made = fn.tensor_resize(array(case), **CASES[case]).numpy()
    assert made.dtype == expected.dtype
    assert made.shape == expected.shape
    assert np.abs(made - expected).max() < 0.02


def test_every_sample_has_its_sizes_in_pipelines():
    samples = [array("sizes"), array("sizes")[:4]]

    @pipeline_def(batch_size=2, num_threads=2, device_id=None)
    def pipeline():
        data = fn.external_source(source=lambda: samples, layout="HW")
        sizes = fn.external_source(source=lambda: [np.float32([3]), np.float32([8])])
        return fn.tensor_resize(data, sizes=sizes, axis_names="W", dtype=types.FLOAT)

    with pipeline() as pipe:
        (out,) = pipe.run()
        assert out.shape() == [(7, 3), (4, 8)]
        for mine, sample, width in zip(out, samples, (3, 8), strict=True):
            own = fn.tensor_resize(sample, sizes=[width], axes=[1]).numpy()
            assert np.array_equal(mine.numpy(), own)


def test_nearest_keeps_integers_of_any_type():
    values = torch.arange(24).reshape(2, 3, 4) * 10**9
    out = fn.tensor_resize(values, scales=[1, 2, 1], interp_type=types.INTERP_NN)
    assert torch.equal(out, values.repeat_interleave(2, dim=1))
    assert fn.tensor_resize(TensorList([values[:0]]), scales=[2]).shape() == [(0, 6, 8)]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"sizes": [5, 6], "scales": [1, 1]},
        {"sizes": [5, 6, 7]},
        {"scales": [1, 1, 1]},
        {"scales": [0.5, 2], "mode": "not_larger"},
        {"sizes": [5], "axes": [4]},
        {"sizes": [5, 5], "axes": [0, 0]},
        {"sizes": [5, 6], "roi_start": [1, 1]},
        {"sizes": [5, 6], "size_rounding": "floor"},
        {"sizes": [5, 6], "alignment": [0.1, 0.2, 0.3]},
    ],
)
def test_what_it_cannot_do_is_an_error(given):
    with pytest.raises(VideoError):
        fn.tensor_resize(array("sizes"), **given)
