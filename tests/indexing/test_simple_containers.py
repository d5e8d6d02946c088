"""IVF, FLV, AVI and raw streams: read natively, as FFmpeg demuxes and decodes them."""

import contextlib
import io
import random
import struct
from fractions import Fraction

import av
import numpy as np
import pytest
from corpus_files import corpus_files, has_reference
from hypothesis import given, settings
from hypothesis import strategies as st

import videoloader as vl
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.indexing import PacketFlags, open_source
from videoloader.indexing.containers.registry import index_by_tables
from videoloader.indexing.demuxing import index_by_demuxing
from videoloader.indexing.order.decode_scan import scan_order
from videoloader.indexing.payloads import read_packets

SUFFIXES = (".avi", ".ivf", ".flv", ".h264", ".264", ".jsv", ".h265")
NATIVE = corpus_files(
    lambda file: has_reference(file) and not file.is_damaged and file.path.suffix in SUFFIXES
)

X264 = "threads=1:no-mbtree=1:scenecut=0"
X265 = "log-level=none:pools=none:frame-threads=1:scenecut=0"
VPX = {"g": "20", "deadline": "good", "cpu-used": "5", "lag-in-frames": "16"}

# name: (encoder, its options)
CLIPS = {
    "vp8.ivf": ("libvpx", VPX | {"auto-alt-ref": "1"}),
    "vp9.ivf": ("libvpx-vp9", VPX | {"auto-alt-ref": "1"}),
    "av1.ivf": ("libsvtav1", {"preset": "12", "g": "12"}),
    "h264.flv": ("libx264", {"x264-params": X264 + ":keyint=12:bframes=3"}),
    "h264_open.flv": ("libx264", {"x264-params": X264 + ":keyint=12:bframes=3:open-gop=1"}),
    "hevc.flv": ("libx265", {"x265-params": X265 + ":keyint=12"}),
    "av1.flv": ("libsvtav1", {"preset": "12", "g": "12"}),
    "vp9.flv": ("libvpx-vp9", VPX | {"auto-alt-ref": "1"}),
    "sorenson.flv": ("flv", {"g": "12"}),
    "h264.avi": ("libx264", {"x264-params": X264 + ":keyint=12:bframes=3"}),
    "mpeg4.avi": ("mpeg4", {"g": "12"}),
    "mpeg4_b.avi": ("mpeg4", {"g": "12", "bf": "2"}),
    "av1.obu": ("libsvtav1", {"preset": "12", "g": "12"}),
    "plain.h264": ("libx264", {"x264-params": X264 + ":bframes=0"}),
    "pyramid.h264": ("libx264", {"x264-params": X264 + ":keyint=24:bframes=5:b-pyramid=normal"}),
    "slices.h264": ("libx264", {"x264-params": X264 + ":keyint=16:slices=3:aud=1"}),
    "weights.h264": ("libx264", {"x264-params": X264 + ":weightp=2:weightb=1:ref=4:keyint=20"}),
    "open.h264": ("libx264", {"x264-params": X264 + ":keyint=12:bframes=3:open-gop=1"}),
    "baseline.h264": ("libx264", {"profile": "baseline", "x264-params": X264}),
    "closed.h265": ("libx265", {"x265-params": X265 + ":keyint=12:open-gop=0"}),
    "open.h265": ("libx265", {"x265-params": X265 + ":keyint=12:bframes=4"}),
    "layers.h265": ("libx265", {"x265-params": X265 + ":keyint=24:temporal-layers=2:aud=1"}),
}


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simple")

    def make(name):
        path = folder / name
        if not path.exists():
            codec, options = CLIPS[name]
            encode_video(path, codec=codec, size=(128, 96), frames=40, options=options)
        return path

    return make


def demuxed(path):
    with open_source(path) as source:
        index, is_told = index_by_demuxing(source)
        return index if is_told else scan_order(index, read_packets(index, source))


def assert_same(native, other):
    """The same packets at the same places, becoming the same frames."""
    for name in ("offset", "size"):
        assert native.packets[name].tolist() == other.packets[name].tolist()
    assert native.frame_packets.tolist() == other.frame_packets.tolist()
    assert native.keyframes.tolist() == other.keyframes.tolist()
    assert native.time_base == other.time_base
    for name in ("codec", "container", "stream", "width", "height", "pixel_format", "bit_depth"):
        assert getattr(native, name) == getattr(other, name), name
    assert (native.length_size, native.sub_layers) == (other.length_size, other.sub_layers)


@pytest.mark.parametrize("file", NATIVE)
def test_corpus_files_are_read_from_their_own_tables(file):
    index = vl.index_video(file.path)
    assert index.exactness == "tables"
    assert_same(index, demuxed(file.path))
    frames = file.reference["frames"]
    assert index.num_frames == len(frames)
    assert index.keyframes.tolist() == [i for i, f in enumerate(frames) if f["key_frame"]]


@pytest.mark.parametrize("name", CLIPS)
def test_generated_streams_are_those_of_the_demuxer(clip, name):
    index, other = vl.index_video(clip(name)), demuxed(clip(name))
    assert index.exactness == "tables"
    assert_same(index, other)
    if index.container == "avi":  # FFmpeg gives decoding times
        assert index.pts.tolist() == list(range(40))
    else:
        assert index.pts.tolist() == other.pts.tolist()
    assert index.num_frames == 40


@pytest.mark.parametrize("name", CLIPS)
def test_every_frame_says_its_number_from_a_cold_decoder(clip, name):
    order = random.Random(name).sample(range(40), 8)
    for number in order:
        with vl.Video(clip(name)) as video:
            assert read_frame_number(video[number].numpy()) == number


@pytest.mark.parametrize("name", CLIPS)
def test_a_truncated_file_gives_a_result_or_our_error(clip, name):
    data = clip(name).read_bytes()
    rng = random.Random(name)
    for size in [1, 4, 9, 13, 33, 45, *(rng.randrange(len(data)) for _ in range(6))]:
        try:
            index = vl.index_video(data[:size])
            assert index.num_frames <= 40
        except vl.VideoError:
            pass


@settings(max_examples=300)
@given(st.sampled_from(sorted(CLIPS)), st.integers(0, 1 << 32))
def test_mutations_give_a_result_or_our_error(clip, name, seed):
    """By the native readers alone: what they leave to FFmpeg is another test."""
    rng = random.Random(seed)
    data = bytearray(clip(name).read_bytes())
    for _ in range(rng.randint(1, 8)):
        place = rng.randrange(min(len(data), rng.choice([64, 1024, len(data)])))
        match rng.randrange(4):
            case 0:
                data[place] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            case 1:
                del data[place : place + rng.randrange(8)]
            case 2:
                data[place:place] = rng.choice([b"\0\0\1", b"\xff\xff\xff\xff", b"\0\0\0\1\x67"])
            case _:
                other = rng.randrange(len(data))
                data[place : place + 64] = data[other : other + 64]
    with open_source(bytes(data)) as source, contextlib.suppress(vl.VideoError):
        found = index_by_tables(source)
        if found is not None:
            index, _ = found
            table = index.packets
            assert (table["offset"] >= 0).all()
            assert (table["offset"] + table["size"] <= len(data)).all()
            index.pts, index.keyframes, index.seek_packets, index.duration  # noqa: B018


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\1\x67" * 50_000,
        b"\0\0\1\x65\x88" * 50_000,
        b"\0\0\0\1\x40\x01" + b"\0\0\1\x02\x01\x80" * 50_000,
        b"FLV\1\5\0\0\0\x09" + bytes(200_000),
        b"FLV\1\5\0\0\0\x09\0\0\0\0" + b"\x09\0\0\0\0\0\0\0\0\0\0\0\0\0\0" * 20_000,
        b"RIFF\0\0\0\0AVI " + b"LIST\4\0\0\0hdrl" * 20_000,
        b"DKIF\0\0\x20\0VP80" + bytes(4) + b"\1\0\0\0" * 2 + bytes(200_000),
    ],
    ids=["starts", "slices", "hevc", "zeros", "tags", "lists", "ivf"],
)
def test_hostile_files_are_refused_soon(data):
    with open_source(data) as source, contextlib.suppress(vl.VideoError):
        assert index_by_tables(source) is None


def test_a_stream_that_does_not_begin_with_a_keyframe_is_decoded_to_be_known(clip):
    data = clip("pyramid.h264").read_bytes()
    index = vl.index_video(data)
    sets, second = index.extradata_of(0), index.packets[1]
    cut = vl.index_video(sets + data[int(second["offset"]) :])
    assert cut.exactness == "decode"
    assert 0 < cut.num_frames < 40


def test_what_only_looks_like_a_first_picture_is_found_out_by_decoding(clip):
    """A phone's clip begins with a message whose type was damaged into that of an IDR slice."""
    data = clip("pyramid.h264").read_bytes()
    picture = data.find(b"\0\0\1\x65")
    broken = data[:picture] + b"\0\0\1\x05\xff\xff\xab\xdc" + bytes(range(40)) + data
    index = vl.index_video(broken)
    assert index.exactness == "decode"
    assert index.num_frames == 40
    assert index.keyframes.tolist() == vl.index_video(data).keyframes.tolist()


def test_parameter_sets_that_change_go_to_each_keyframe(tmp_path):
    parts = []
    for number, size in enumerate([(128, 96), (96, 64)]):
        path = tmp_path / f"{number}.h264"
        encode_video(path, size=size, frames=20)
        parts.append(path.read_bytes())
    path = tmp_path / "both.h264"
    path.write_bytes(b"".join(parts))
    index = vl.index_video(path)
    assert index.exactness == "tables"
    assert [first for first, _ in index.extradata] == [0, 20]
    assert_same(index, demuxed(path))
    with vl.Video(path) as video:
        shapes = [dict(video.decode([n]))[n].planes[0].shape for n in (5, 30)]
    assert shapes == [(96, 128), (64, 96)]


def test_raw_streams_have_the_rate_they_say(tmp_path):
    path = tmp_path / "clip.h264"
    encode_video(path, size=(64, 48), frames=10, fps=Fraction(30000, 1001))
    index = vl.index_video(path)
    assert index.average_fps == pytest.approx(30000 / 1001)
    assert (np.diff(index.pts) == 40040).all()
    assert (index.packets["dts"] <= index.packets["pts"]).all()


def test_hidden_packets_of_ivf_are_told(clip):
    data = bytearray(clip("vp8.ivf").read_bytes())
    place = int(vl.index_video(bytes(data)).packets["offset"][5])
    data[place] &= ~0x10  # show_frame
    index = vl.index_video(bytes(data))
    assert np.flatnonzero(index.packets["flags"] & PacketFlags.HIDDEN).tolist() == [5]
    with av.open(io.BytesIO(data)) as container:
        assert sum(1 for _ in container.decode(video=0)) == index.num_frames == 39


def test_an_opendml_index_is_followed(clip):
    """The same file with its old index taken out and an index of indexes put behind the end."""
    data = clip("h264.avi").read_bytes()
    plain = vl.index_video(data)
    entries = b"".join(
        struct.pack("<II", int(packet["offset"]), int(packet["size"])) for packet in plain.packets
    )
    count = len(plain.packets)
    piece = struct.pack("<HBBI4sQI", 2, 0, 1, count, b"00dc", 0, 0) + entries
    piece = b"ix00" + struct.pack("<I", len(piece)) + piece
    upper = struct.pack("<HBBI4sIII", 4, 0, 0, 1, b"00dc", 0, 0, 0)
    upper += struct.pack("<QII", len(data), len(piece), count)
    chunk = b"indx" + struct.pack("<I", len(upper)) + upper
    junk = data.find(b"JUNK", data.find(b"strf"))
    (room,) = struct.unpack_from("<I", data, junk + 4)
    assert room > len(chunk) + 8
    fill = b"JUNK" + struct.pack("<I", room - len(chunk)) + bytes(room - len(chunk) - 8 + 8)
    changed = data[:junk] + chunk + fill + data[junk + 8 + room :] + piece
    changed = changed.replace(b"idx1", b"none")
    assert len(changed) == len(data) + len(piece)
    index = vl.index_video(changed)
    assert index.exactness == "tables"
    assert (index.packets == plain.packets).all()


def test_flv_streams_are_numbered_as_ffmpeg_numbers_them(tmp_path):
    path = tmp_path / "both.flv"
    with av.open(str(path), "w") as container:
        audio = container.add_stream("aac", rate=44100)
        video = container.add_stream("libx264", rate=25)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        for number in range(10):
            sound = av.AudioFrame.from_ndarray(np.zeros((2, 1024), "f4"), "fltp", "stereo")
            sound.sample_rate, sound.pts = 44100, 1024 * number
            container.mux(audio.encode(sound))
            picture = av.VideoFrame.from_ndarray(np.zeros((72, 64), "u1"), "yuv420p")
            container.mux(video.encode(picture))
        container.mux([*audio.encode(), *video.encode()])
    index = vl.index_video(path)
    assert_same(index, demuxed(path))
    assert vl.index_video(path, stream=index.stream).num_frames == 10
    with pytest.raises(vl.errors.FormatError, match="stream 7"):
        vl.index_video(path, stream=7)
