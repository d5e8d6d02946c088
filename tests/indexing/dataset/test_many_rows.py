"""Data set indexes of many rows: memory does not grow with their number."""

import numpy as np
import pyarrow as pa
import pytest
from synthetic_index import write_index

import videoloader as vl
from videoloader.indexing.dataset import cache
from videoloader.indexing.dataset.part import read_rows

ROWS, INDEX = 16_384, 2000
PART = 4096 * INDEX  # bytes of the indexes in a row group


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """40 MB of indexes that do not compress."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("many") / "set.parquet"
    indexes = pa.array([rng.bytes(INDEX) for _ in range(ROWS)], pa.large_binary())
    write_index(path, ROWS, {"index": indexes})
    return path


@pytest.mark.parametrize("read", [cache._records, read_rows])
def test_rows_are_read_a_group_at_a_time(path, read):
    before, most = pa.total_allocated_bytes(), 0
    for number, _ in enumerate(read(path)):
        if number % 256 == 0:
            most = max(most, pa.total_allocated_bytes() - before)
    assert number == ROWS - 1
    assert most < 3 * PART < ROWS * INDEX


def test_every_row_is_found_again(path):
    dataset = vl.open_dataset(path)
    assert len(dataset) == ROWS
    for row in (0, 1, 4095, 4096, ROWS - 1):
        assert dataset.item(row).path == f"/nowhere/{row:07}.mp4"
