"""MP4 tables of times that are of another number of samples than there are: told, and FFmpeg's
order."""

import pytest
from damaged_times import clips, is_told_or_right

import videoloader as vl


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return {
        name: path.read_bytes() for name, path in clips(tmp_path_factory.mktemp("clips")).items()
    }


def with_count(data, kind, run, change):
    """The file with another count in a run of a table of times."""
    at = data.index(kind) + 12 + 8 * run
    count = int.from_bytes(data[at : at + 4], "big") + change
    return data[:at] + count.to_bytes(4, "big") + data[at + 4 :]


@pytest.mark.parametrize("name", ["h264", "open", "hevc", "mpeg2", "mpeg4", "vfr"])
@pytest.mark.parametrize(("run", "change"), [(0, 1), (1, 3), (3, 40 << 24), (4, 1 << 16), (5, -1)])
def test_a_run_of_offsets_that_is_too_long_or_short_changes_no_frame(files, name, run, change):
    right, warns, index = is_told_or_right(with_count(files[name], b"ctts", run, change))
    assert right
    assert warns
    assert "box 'ctts' is of" in index.warnings[0]


def test_a_run_of_durations_that_is_too_long_is_told(files):
    data = with_count(files["h264"], b"stts", 0, 5)
    right, _, index = is_told_or_right(data)
    assert right
    assert index.warnings == (
        f"{index.name}: damaged timestamps: box 'stts' is of 29 samples, but there are 24",
    )
    with pytest.raises(vl.errors.FormatError, match="box 'stts' is of 29 samples"):
        vl.index_video(data, strict=True)


def test_sound_tables_are_not_doubted(files):
    for data in files.values():
        index = vl.index_video(data)
        assert not index.warnings
        assert index.exactness == "tables"
