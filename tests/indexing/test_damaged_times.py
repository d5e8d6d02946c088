"""One bad timestamp or a repeated picture: FFmpeg's frames in its order, or a word about it."""

import random

import pytest
from damaged_times import (
    CASES,
    access_units,
    changes,
    clips,
    is_told_or_right,
    raw_streams,
    repeated,
)

import videoloader as vl
from videoloader.demo.videos import encode_video

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


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    return raw_streams(tmp_path_factory.mktemp("raw"))


@pytest.mark.parametrize("name", ["h264", "forward", "open", "hevc"])
@pytest.mark.parametrize("kind", ["picture", "unit"])
@pytest.mark.parametrize("is_next", [True, False])
def test_a_repeated_part_of_a_raw_stream_never_passes_in_silence(streams, name, kind, is_next):
    parts = access_units(streams[name])[kind == "unit"]
    rng = random.Random(f"{name} {kind} {is_next}")
    for _ in range(8):
        number = rng.randrange(len(parts))
        place = number + 1 if is_next else rng.randrange(1, len(parts))
        try:
            right, warned, index = is_told_or_right(repeated(parts, number, place))
        except vl.errors.DecodeError:
            continue  # the frame that is damaged is named
        assert right or warned, (number, place, index)


def test_pictures_that_come_too_late_are_told(tmp_path):
    """Two B-frames in each other's place: a decoder has shown others by then."""
    options = {"x264-params": "threads=1:keyint=12:scenecut=0:bframes=3:b-adapt=0:b-pyramid=none"}
    path = encode_video(tmp_path / "clip.h264", frames=24, size=(64, 48), options=options)
    parts, _ = access_units(path.read_bytes())
    told = 0
    for first, second in [(2, 4), (6, 8), (14, 16)]:
        swapped = list(parts)
        swapped[first], swapped[second] = parts[second], parts[first]
        right, warned, index = is_told_or_right(b"".join(swapped))
        assert right or warned
        told += warned
        assert index.exactness == "decode"
    assert told == 3


def test_a_repeated_picture_is_told(streams):
    parts, _ = access_units(streams["h264"])
    index = vl.index_video(repeated(parts, 7, 8))
    assert index.exactness == "decode"
    (warning,) = index.warnings
    assert "repeated" in warning
    with pytest.raises(vl.errors.FormatError, match="repeated"):
        vl.index_video(repeated(parts, 7, 8), strict=True)


def test_the_warning_names_the_file_and_the_packet(paths):
    change, clip = CASES["mp4 ctts h264"]
    index = vl.index_video(change(paths[clip], 6, 9))
    (warning,) = index.warnings
    assert warning.startswith(f"{index.name}: damaged timestamps")
    assert "first at packet" in warning
    with pytest.raises(vl.errors.FormatError, match="damaged timestamps"):
        vl.index_video(change(paths[clip], 6, 9), strict=True)


def test_even_times_are_not_checked_against_pictures(paths, monkeypatch):
    """Nor are times as uneven as the decoding of packets, which the tables tell."""

    def refuse(*_):
        raise AssertionError("pictures were read")

    for reader in ("all_slice_heads", "some_slice_heads", "picture_order", "scan_order"):
        monkeypatch.setattr(f"videoloader.indexing.order.time_check.{reader}", refuse)
    for name in ("mp4 ctts h264", "mp4 ctts hevc", "mkv h264", "ts h264", "flv h264"):
        change, clip = CASES[name]
        vl.index_video(change(paths[clip], 0, 0))
