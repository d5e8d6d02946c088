"""The values of containers: what they claim holds for FFmpeg and for files of its muxers."""

import av
import numpy as np
import pytest
from pyav_versions import IS_BEFORE_16

import videoloader as vl
from videoloader.indexing.containers.container import Container
from videoloader.indexing.containers.registry import CONTAINERS, VIDEO_SUFFIXES, container_of

PARSED = [one for one in CONTAINERS if one.parser is not None]


def test_a_container_is_found_by_its_name_and_by_its_demuxer():
    for one in CONTAINERS:
        assert container_of(one.name) is one
        assert container_of(one.demuxer or one.name) is one


def test_ffmpeg_knows_their_demuxers():
    known = {name for names in av.formats_available for name in names.split(",")}
    later = {"apv"} if IS_BEFORE_16 else set()
    assert {one.demuxer or one.name for one in CONTAINERS} - later <= known


def test_an_unknown_container_claims_nothing():
    unknown, plain = container_of("invented"), Container(name="invented")
    for field in Container.__dataclass_fields__:
        assert getattr(unknown, field) == getattr(plain, field)
    assert container_of("png_pipe").times == "none"


def test_an_ending_belongs_to_one_container():
    endings = [ending for one in CONTAINERS for ending in one.endings]
    assert len(endings) == len(set(endings)) == len(VIDEO_SUFFIXES)
    assert all(ending == ending.lower() and ending.startswith(".") for ending in endings)


def write(path):
    """Five frames of H.264 in the container of the file's ending."""
    with av.open(str(path), "w") as opened:
        stream = opened.add_stream("libx264", rate=25, options={"x264-params": "log-level=none"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for _ in range(5):
            picture = np.zeros((72, 64), dtype=np.uint8)
            opened.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="yuv420p")))
        opened.mux(stream.encode())
    return path


@pytest.mark.parametrize("ending", ["mp4", "mkv", "ts", "avi", "flv", "h264"])
def test_files_of_ffmpegs_muxers_are_known_by_their_first_bytes(tmp_path, ending):
    path = write(tmp_path / f"clip.{ending}")
    head, index = path.read_bytes()[:4096], vl.index_video(path)
    told = [one for one in CONTAINERS if one.begins is not None and one.begins(head)]
    assert [one.name for one in told] == [index.container]
    assert path.suffix in told[0].endings
    assert index.exactness == "tables"
    for length in range(0, 64, 7):  # no parser's check fails on a short file
        for one in PARSED:
            one.begins(head[:length])


@pytest.mark.parametrize("ending", ["mp4", "mkv", "h264"])
def test_a_rate_is_taken_where_packets_have_no_times(tmp_path, ending):
    path = write(tmp_path / f"clip.{ending}")
    if container_of(vl.index_video(path).container).times == "none":
        assert vl.index_video(path, fps=12).average_fps == 12
    else:
        with pytest.raises(vl.errors.ArgumentError, match="times of their own"):
            vl.index_video(path, fps=12)
