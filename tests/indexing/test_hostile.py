"""A few hundred bytes that once cost too much, or would: a result or our error, soon."""

import struct

import pytest
from mp4_files import box, full, ints, movie, read_clip
from processor_time import MILLION, at_most_steps

import videoloader as vl
from videoloader.demo.videos import encode_video


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def clip(folder):
    return read_clip(encode_video(folder / "clip.mp4", frames=8, size=(64, 48)))


@pytest.fixture(scope="module")
def avi(folder):
    return encode_video(folder / "clip.avi", codec="mpeg4", frames=8, size=(64, 48)).read_bytes()


@pytest.fixture(scope="module")
def flv(folder):
    return encode_video(folder / "clip.flv", codec="flv", frames=8, size=(64, 48)).read_bytes()


@pytest.fixture(scope="module")
def ivf(folder):
    return encode_video(folder / "clip.ivf", codec="libvpx", frames=8, size=(64, 48)).read_bytes()


def taken(data):
    """The index, or None for an error of ours; soon."""
    with at_most_steps(400 * MILLION):
        try:
            index = vl.index_video(data)
            index.pts, index.keyframes, index.duration  # noqa: B018
        except vl.VideoError:
            index = None
    return index


@pytest.mark.parametrize(
    "content",
    [
        b"",
        bytes(8),
        ints("5I", 0, 1, 1000, 0, 0),
        ints("5IHH", 0, 1, 1000, 0, 0, 0, 0xFFFF),
        ints("5IHH", 0, 1, 1000, 0, 0xFFFFFFFF, 0, 2) + ints("3I", 0x7FFFFFFF, 1, 0) * 2,
        ints("3IQQHH", 1 << 24, 1, 1000, 1 << 63, 1 << 63, 0, 1) + ints("3I", 0xFFFFFFFF, 1, 0),
    ],
    ids=["none", "short", "no count", "no rows", "far", "farther"],
)
def test_segment_indexes_that_lie_are_refused_or_told(clip, content):
    index = taken(movie(clip, clip.samples) + box(b"sidx", content))
    if len(content) > 24:  # a whole one
        assert index.num_frames == len(clip.samples)
        assert "truncated" in index.warnings[0]
    else:
        assert index is None or index.num_frames == len(clip.samples)


@pytest.mark.parametrize("size", [1, 2, 8, 0xFFFFFFF0])
def test_media_boxes_of_any_size_behind_the_movie_leave_the_frames_alone(clip, size):
    """Twenty thousand of them: each costs a look at its header at most."""
    whole = movie(clip, clip.samples)
    tail = struct.pack(">I4s", size, b"mdat") * 20_000
    index = taken(whole + tail)
    assert index is None or index.num_frames == len(clip.samples)


@pytest.mark.parametrize(
    "chunk",
    [
        b"LIST\0\0\0\0",
        b"LIST\xff\xff\xff\xff",
        b"00dc\0\0\0\0",
        b"RIFF\0\0\0\0",
        b"RIFF\4\0\0\0AVIX",
    ],
)
@pytest.mark.parametrize("has_table", [True, False])
def test_a_megabyte_of_empty_chunks_of_avi(avi, chunk, has_table):
    table = avi.find(b"idx1")
    filler = chunk * ((1 << 20) // len(chunk))
    index = taken(avi[:table] + filler + (avi[table:] if has_table else b""))
    assert index is None or index.num_frames <= 8


@pytest.mark.parametrize("count", [0xFFFFFFFF, 0x0FFFFFFF, 1 << 20])
def test_an_opendml_index_that_claims_much(avi, count):
    upper = struct.pack("<HBBI4sIII", 4, 0, 0, count, b"00dc", 0, 0, 0)
    room = avi.find(b"JUNK")
    (size,) = struct.unpack_from("<I", avi, room + 4)
    lying = avi[:room] + b"indx" + avi[room + 4 : room + 8] + upper.ljust(size, b"\xff")
    index = taken(lying + avi[room + 8 + size :])
    assert index is not None
    assert index.num_frames == 8


@pytest.mark.parametrize("size", [float("nan"), float("inf"), -1.0, 1e300, 2.0**61])
def test_the_metadata_of_flv_may_claim_any_size(flv, size):
    at = flv.find(b"filesize\0") + 9
    index = taken(flv[:at] + struct.pack(">d", size) + flv[at + 8 :])
    assert index.num_frames == 8
    assert bool(index.warnings) == (size == 2.0**61)


@pytest.mark.parametrize("length", [0, 1, 8, 9, 0x7FFFFFFF, 0xFFFFFFFF])
def test_the_header_of_ivf_may_claim_any_length(ivf, length):
    index = taken(ivf[:24] + struct.pack("<I", length) + ivf[28:])
    assert index.num_frames == 8
    assert bool(index.warnings) == (8 < length < 0xFFFFFFFF)


def test_a_tag_of_flv_that_claims_the_rest_of_the_file_is_damage(flv):
    """FFmpeg finds the tags behind it again, so it is not taken for the end of a cut file."""
    index = vl.index_video(flv)
    at = int(index.packets["offset"][3]) - 12
    assert flv[at] == 9
    broken = flv[: at + 1] + b"\xff\xff\xff" + flv[at + 4 :]
    assert vl.index_video(broken).exactness != "tables"


def test_a_movie_in_fragments_cut_within_a_head_says_so(clip):
    from mp4_files import Part, Run

    whole = movie(clip, fragments=[[Part([Run(clip.samples)])]])
    for tail in (b"\0", b"\0\0\1", b"\0\0\1\0moo"):
        index = taken(whole + tail)
        assert index.num_frames == len(clip.samples)
        assert "truncated" in index.warnings[0]
    assert taken(whole + full(b"free", 0, 0)).warnings == ()
