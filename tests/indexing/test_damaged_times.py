"""One bad timestamp: FFmpeg's frames in its order, or a word about it."""

import pytest
from damaged_times import CASES, changes, clips, is_told_or_right

FORWARD = ("forward", "vp9", "av1")  # clips whose pictures are shown as they are decoded


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return clips(tmp_path_factory.mktemp("times"))


@pytest.mark.parametrize("name", CASES)
def test_one_bad_timestamp_never_passes_in_silence(paths, name):
    change, clip = CASES[name]
    for packet, shift in changes(12, name):
        right, warned, index = is_told_or_right(change(paths[clip], packet, shift))
        assert right or warned, (packet, shift)
        assert right or clip not in FORWARD, (packet, shift, index)


@pytest.mark.parametrize("name", CASES)
def test_a_sound_file_has_no_warning(paths, name):
    change, clip = CASES[name]
    right, _, index = is_told_or_right(change(paths[clip], 0, 0))
    assert right
    assert index.warnings == ()
    assert index.exactness == "tables"
