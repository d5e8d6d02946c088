"""Every real file: the index says what FFmpeg's full decode found."""

import av
import pytest
from corpus_files import corpus_files, has_reference

import videoloader as vl

REFERENCED = corpus_files(lambda file: has_reference(file) and not file.is_damaged)
DAMAGED = corpus_files(lambda file: file.is_damaged)
SHOWN = corpus_files(
    lambda file: has_reference(file) and not file.is_damaged and file.reference["frames"]
)
SMALL = corpus_files(
    lambda file: has_reference(file) and not file.is_damaged and file.facts["size"] < 1_000_000
)
# MP4 and MOV are read from their tables, progressive or in fragments; Matroska and transport
# streams of these codecs from the headers of their blocks and packets.
MATROSKA_CODECS = {"h264", "hevc", "av1", "vp8", "vp9"}
TRANSPORT_CODECS = {"h264", "hevc", "mpeg2video", "mpeg1video"}
# Not read from tables, by name: one phone clip leaves the composition times of its B-frames out,
# so that only decoding tells; one transport stream ends before its first picture.
NOT_FROM_TABLES = {"opencv__box.mp4": "decode", "androidx-media__sample_with_sdt.ts": "demux"}


def is_native(file):
    if not has_reference(file) or file.is_damaged:
        return False
    if "mp4" in file.facts["container"]:
        return True
    if "matroska" in file.facts["container"]:
        return file.facts["codec"] in MATROSKA_CODECS
    return file.facts["container"] == "mpegts" and file.facts["codec"] in TRANSPORT_CODECS


NATIVE = corpus_files(is_native)


@pytest.mark.parametrize("file", REFERENCED)
def test_frames_times_and_keyframes_are_those_of_a_full_decode(file):
    index = vl.index_video(file.path, stream=file.stream)
    frames = file.reference["frames"]
    assert index.num_frames == len(frames)
    told = [i for i, frame in enumerate(frames) if frame.get("pts") is not None]
    assert index.pts[told].tolist() == [frames[i]["pts"] for i in told]
    assert index.keyframes.tolist() == [i for i, f in enumerate(frames) if f["key_frame"]]
    assert str(index.time_base) == file.reference["time_base"].removesuffix("/1")
    assert index.codec == file.reference["codec"]


@pytest.mark.parametrize("file", SHOWN)
def test_the_description_is_ffprobes(file):
    index = vl.index_video(file.path, stream=file.stream)
    reference, facts = file.reference, file.facts
    assert (index.width, index.height) == (reference["width"], reference["height"])
    assert index.pixel_format == reference["pix_fmt"]
    assert (index.rotation - (facts["rotation"] or 0)) % 360 == 0
    unsaid = {"unknown", "reserved", None}
    expected = [None if value in unsaid else value for value in facts["color"]]
    color = index.color
    assert [color.range, color.matrix, color.transfer, color.primaries] == expected


@pytest.mark.parametrize("file", NATIVE)
def test_what_can_be_read_without_a_demuxer_is(file):
    index = vl.index_video(file.path, stream=file.stream)
    assert index.exactness == NOT_FROM_TABLES.get(file.path.name, "tables")


@pytest.mark.parametrize("file", REFERENCED)
def test_the_stream_taken_is_the_one_ffmpeg_calls_best(file):
    with av.open(str(file.path)) as container:
        best = container.streams.best("video").index
    assert vl.index_video(file.path).stream == best


@pytest.mark.parametrize("file", DAMAGED)
def test_a_damaged_file_is_refused_by_name_or_indexed(file):
    try:
        index = vl.index_video(file.path)
    except vl.VideoError as error:
        assert file.path.name in str(error)
    else:
        assert index.num_frames >= 0


@pytest.mark.parametrize("file", SMALL)
def test_bytes_paths_and_files_give_the_same_index(file):
    data = file.path.read_bytes()
    by_path = vl.index_video(file.path)
    with open(file.path, "rb") as opened:
        others = [vl.index_video(data), vl.index_video(opened)]
    for other in others:
        assert (other.packets == by_path.packets).all()
        assert other.pts.tolist() == by_path.pts.tolist()
        assert other.fingerprint.size == len(data)


@pytest.mark.parametrize("file", REFERENCED)
def test_a_saved_index_is_the_same_index(file, tmp_path):
    index = vl.index_video(file.path, headers=True)
    index.save(tmp_path / "index")
    loaded = vl.VideoIndex.load(tmp_path / "index")
    assert (loaded.packets == index.packets).all()
    assert loaded.frame_packets.tolist() == index.frame_packets.tolist()
    for name in vl.VideoIndex.__dataclass_fields__:
        if name not in ("packets", "order", "traits"):
            assert getattr(loaded, name) == getattr(index, name), name
