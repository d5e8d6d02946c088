"""A truncated file is an error, or its index says what is missing: never just a shorter video."""

import json
import random

import pytest
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.demo.videos import encode_video, read_frame_number

FRAMES = 30
VPX = {"g": "10", "deadline": "realtime", "cpu-used": "8"}
X264 = {"x264-params": "threads=1:keyint=10:bframes=2:scenecut=0"}
FRAGMENTED = "frag_keyframe+empty_moov+default_base_moof"
# name: (encoder, its options, options of the container)
CLIPS = {
    "clip.mp4": ("libx264", X264, {}),
    "front.mp4": ("libx264", X264, {"movflags": "faststart"}),
    "segments.mp4": ("libx264", X264, {"movflags": FRAGMENTED + "+global_sidx"}),
    "clip.mkv": ("libx264", X264, {}),
    "clip.webm": ("libvpx", VPX, {}),
    "h264.flv": ("libx264", X264, {}),
    "sorenson.flv": ("flv", {"g": "10"}, {}),
    "h264.avi": ("libx264", X264, {}),
    "mpeg4.avi": ("mpeg4", {"g": "10"}, {}),
    "vp8.ivf": ("libvpx", VPX, {}),
    "av1.ivf": ("libsvtav1", {"preset": "12", "g": "10"}, {}),
    "clip.asf": ("msmpeg4", {"g": "10"}, {}),
}
# Written to where nobody can go back, so a cut between packets does not show.
LIVE = {
    "live.mkv": ("libx264", X264, {"live": "1"}),
    "live.mp4": ("libx264", X264, {"movflags": FRAGMENTED}),
    "clip.ts": ("libx264", X264, {}),
    "clip.obu": ("libsvtav1", {"preset": "12", "g": "10"}, {}),
}


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    folder = tmp_path_factory.mktemp("truncated")

    def make(name):
        path = folder / name
        if not path.exists():
            codec, options, container = (CLIPS | LIVE)[name]
            encode_video(
                path, codec=codec, size=(128, 96), frames=FRAMES, options=options,
                container_options=container,
            )  # fmt: skip
        return path

    return make


def cuts(name, size):
    rng = random.Random(name)
    return sorted({size - 1, size - 3, size // 2, *(rng.randrange(1, size) for _ in range(40))})


def told(data):
    """The warning or error of an index, None if there is neither."""
    try:
        index = vl.index_video(data)
    except vl.VideoError as error:
        return str(error)
    return index.warnings[0] if index.warnings else None


@pytest.mark.parametrize("name", CLIPS | LIVE)
def test_a_whole_file_has_no_warning(clip, name):
    index = vl.index_video(clip(name), strict=True)
    assert index.warnings == ()
    assert index.num_frames == FRAMES


@pytest.mark.parametrize("name", CLIPS)
def test_a_cut_anywhere_is_told(clip, name):
    data = clip(name).read_bytes()
    for size in cuts(name, len(data)):
        assert told(data[:size]), size
        with pytest.raises(vl.VideoError):
            vl.index_video(data[:size], strict=True)


@pytest.mark.parametrize("name", LIVE)
def test_a_cut_within_a_packet_is_told(clip, name):
    data = clip(name).read_bytes()
    packets = vl.index_video(data).packets
    for number in range(5, len(packets), 6):
        size = int(packets["offset"][number] + packets["size"][number] // 2)
        assert told(data[:size]), size


@pytest.mark.parametrize("name", [n for n in CLIPS | LIVE if "mp4" not in n and "asf" not in n])
def test_the_frames_that_are_there_are_those_of_the_whole_file(clip, name, tmp_path):
    data = clip(name).read_bytes()
    path = tmp_path / name
    path.write_bytes(data[: len(data) * 3 // 4 | 1])
    with vl.Video(path) as video:
        assert 5 < len(video) < FRAMES
        assert name in video.index.warnings[0]
        last = len(video) - 1
        if video.index.exactness == "tables":
            assert read_frame_number(video[0].numpy()) == 0
            assert read_frame_number(video[last - 2].numpy()) == last - 2
    with pytest.raises(vl.errors.FormatError, match=name):
        vl.Video(path, strict=True)


def test_what_is_missing_is_kept_with_the_index(clip, tmp_path):
    data = clip("clip.mkv").read_bytes()
    path = tmp_path / "cut.mkv"
    path.write_bytes(data[: len(data) // 2])
    index = vl.index_video(path)
    (warning,) = index.warnings
    assert str(path) in warning
    assert f"{len(data) - len(data) // 2} bytes are missing" in warning
    index.save(tmp_path / "cut.index")
    assert vl.VideoIndex.load(tmp_path / "cut.index").warnings == index.warnings
    with vl.index_dataset([path, clip("clip.mp4")], tmp_path / "set.parquet", workers=0) as dataset:
        assert {i.name: i.warnings for i in (dataset[0], dataset[1])}[str(path)] == (warning,)
        assert sorted(map(str, dataset.table["warnings"].to_pylist())) == sorted([warning, "None"])


def test_inspect_says_what_is_missing(clip, tmp_path):
    data = clip("clip.mkv").read_bytes()
    path = tmp_path / "cut.mkv"
    path.write_bytes(data[: len(data) // 2])
    done = CliRunner().invoke(app, ["inspect", str(path)])
    assert done.exit_code == 0
    assert "bytes are missing" in done.stderr
    done = CliRunner().invoke(app, ["index", "--json", str(path)])
    assert "bytes are missing" in json.loads(done.stdout)["warnings"][0]


def test_sizes_that_a_writer_left_open_are_no_warning(clip):
    """AVI as written to a pipe: no sizes, and no index behind the movie."""
    data = bytearray(clip("h264.avi").read_bytes())
    movie, table = data.find(b"movi"), data.find(b"idx1")
    for place in (4, movie - 4):
        data[place : place + 4] = b"\xff\xff\xff\xff"
    index = vl.index_video(bytes(data[:table]))
    assert index.exactness == "tables"
    assert index.warnings == ()
    whole = vl.index_video(clip("h264.avi")).packets
    assert (index.packets == whole).all()
    cut = vl.index_video(bytes(data[: int(whole["offset"][20]) + 9]))
    assert (cut.packets["offset"] == whole["offset"][:20]).all()
    assert "truncated" in cut.warnings[0]
