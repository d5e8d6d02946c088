"""Regions of `fn.readers.numpy` that data nodes give, one for each sample."""

import numpy as np
import pytest

from videoloader.dali import fn
from videoloader.dali.pipeline import Pipeline
from videoloader.errors import VideoError


@pytest.fixture
def arrays(tmp_path):
    made = [np.arange(n * 8 * 2, dtype=np.float32).reshape(n, 8, 2) for n in (5, 6, 7)]
    for number, array in enumerate(made):
        np.save(tmp_path / f"{number}.npy", array)
    return tmp_path, made


def source_of(value):
    return fn.external_source(lambda: value, batch=True)


def read(folder, **region):
    with Pipeline(3, 1, None) as pipe:
        given = {
            name: source_of(value) if isinstance(value, np.ndarray) else value
            for name, value in region.items()
        }
        pipe.set_outputs(fn.readers.numpy(file_root=str(folder), **given))
    return [np.asarray(sample) for sample in pipe.run()[0]]


def test_each_sample_has_its_region(arrays):
    folder, made = arrays
    starts = np.array([[0, 1], [1, 2], [3, 0]])
    found = read(folder, roi_start=starts, roi_shape=[2, 3], roi_axes=[0, 1])
    for array, part, (row, column) in zip(made, found, starts, strict=True):
        assert (part == array[row : row + 2, column : column + 3]).all()


def test_ends_may_be_parts_where_starts_are_positions(arrays):
    folder, made = arrays
    ends = np.array([[0.5], [1.0], [0.25]], np.float32)
    found = read(folder, roi_start=[1], rel_roi_end=ends, roi_axes=[1])
    for array, part, (end,) in zip(made, found, ends, strict=True):
        assert (part == array[:, 1 : int(end * 8)]).all()


def test_what_a_region_has_outside_is_padded_or_an_error(arrays):
    folder, _ = arrays
    sizes = np.array([[5], [6], [9]])
    found = read(folder, roi_shape=sizes, roi_axes=[0], out_of_bounds_policy="pad", fill_value=-1.0)
    assert [len(part) for part in found] == [5, 6, 9]
    assert (found[2][7:] == -1).all()
    with pytest.raises(VideoError, match=r"out of bounds|outside"):
        read(folder, roi_shape=sizes, roi_axes=[0])
