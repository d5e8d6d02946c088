"""Hostile files cost little: a result or an error of ours, soon and in little memory."""

import pytest
from bounded import run_bounded
from hostile_files import HOSTILE, make
from processor_time import MILLION
from pyav_versions import IS_BEFORE_17

SIZES = dict.fromkeys(HOSTILE, 200_000) | {"a huge picture.mp4": 250_000_000}
SIZES |= {name: 8 << 20 for name in HOSTILE if name.startswith("sparse")}


@pytest.fixture(scope="module")
def costs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    paths = [make(name, folder, size) for name, size in SIZES.items()]
    return dict(zip(SIZES, run_bounded("vl.index_video(argument)", *paths), strict=True))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_costs_little(costs, name):
    """Each of those that once cost seconds or gigabytes, or would."""
    if name == "a huge picture.mp4" and IS_BEFORE_17:  # FFmpeg decodes it, up to its own limit
        assert costs[name].memory < 2 << 30
        return
    assert costs[name].steps < 400 * MILLION
    assert costs[name].memory < 160 << 20
