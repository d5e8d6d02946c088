"""Arrow arrays are those of `pyarrow.array`, made without pandas."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.demo.videos import encode_video
from videoloader.indexing.dataset.arrow import as_array

KINDS = {
    pa.string(): st.text(st.characters(exclude_categories=["Cs"])),
    pa.large_binary(): st.binary(),
    pa.bool_(): st.booleans(),
    pa.int32(): st.integers(-(1 << 31), (1 << 31) - 1),
    pa.int64(): st.integers(-(1 << 63), (1 << 63) - 1),
    pa.float64(): st.floats(allow_nan=False) | st.integers(-9, 9),
}


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(data=st.data())
def test_an_array_is_that_of_pyarrow(kind, data):
    values = data.draw(st.lists(st.none() | KINDS[kind], max_size=20))
    made = as_array(values, kind)
    made.validate(full=True)
    assert made.equals(pa.array(values, kind))
    assert made.null_count == values.count(None)


def test_an_array_of_numpy_is_taken_as_it_is():
    assert as_array(np.array([2, -1]), pa.int64()).equals(pa.array([2, -1]))


def test_a_number_that_does_not_fit_is_an_error():
    with pytest.raises(OverflowError):
        as_array([1 << 31], pa.int32())


def test_a_data_set_is_indexed_without_pandas(tmp_path):
    clip = encode_video(tmp_path / "clip.mp4", frames=5)
    program = (
        "import sys, videoloader as vl\n"
        f"dataset = vl.index_dataset([{str(clip)!r}], {str(tmp_path / 'set.parquet')!r}, 0)\n"
        "assert dataset.errors.num_rows == 0\n"
        "sys.exit('pandas' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
