"""Arrays of NPY files in memory, written by numpy."""

import io

import numpy as np
import pytest
import torch

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.tensors import TensorList
from videoloader.errors import FormatError, OperatorError, VideoError


def stored(array, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)


@pytest.mark.parametrize("version", [None, (2, 0), (3, 0)])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.float32).reshape(3, 4),
        np.asfortranarray(np.arange(12, dtype=np.int64).reshape(3, 4)),
        np.array([1, 258], ">i2"),
        np.array([True, False]),
        np.array(3.5),
        np.zeros((0, 3), np.float16),
    ],
    ids=lambda array: f"{array.dtype} {array.shape}",
)
def test_arrays_are_those_that_were_written(array, version):
    out = fn.decoders.numpy(stored(array, version)).numpy()
    assert out.dtype == array.dtype.newbyteorder("=")
    assert out.shape == array.shape
    assert np.array_equal(out, array)


def test_dtype_rounds_and_saturates():
    out = fn.decoders.numpy(stored(np.array([-3.5, 2.5, 300.5], np.float32)), dtype=types.UINT8)
    assert out.tolist() == [0, 3, 255]


def test_arrays_of_a_batch_are_alike_or_made_so():
    files = TensorList([stored(np.ones((2, 2), kind)) for kind in (np.float32, np.int32)])
    with pytest.raises(VideoError, match="dtype"):
        fn.decoders.numpy(files)
    out = fn.decoders.numpy(files, dtype=types.FLOAT)
    assert [each.dtype for each in out] == [torch.float32] * 2
    shapes = TensorList([stored(np.ones((2, 2))), stored(np.ones(3))])
    with pytest.raises(VideoError, match="dimensions"):
        fn.decoders.numpy(shapes)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-4],
        lambda data: torch.cat([data, data[:5]]),
        lambda data: data[:20],
        lambda data: data[:0],
        lambda data: data.flip(0),
    ],
)
def test_a_damaged_file_is_an_error_that_names_its_sample(damage):
    data = stored(np.arange(6.0))

    @pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def pipeline():
        return fn.decoders.numpy(fn.external_source(source=lambda: [data, data, damage(data)]))

    with pytest.raises(FormatError):
        fn.decoders.numpy(damage(data))
    with pipeline() as pipe, pytest.raises(OperatorError, match="sample 2 of batch 0"):
        pipe.run()
