"""Columns that describe videos; the oracles are PyAV and what was encoded."""

import struct
from dataclasses import replace
from fractions import Fraction

import av
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from corpus_files import corpus_files

import videoloader as vl
from videoloader.demo.videos import encode_video
from videoloader.indexing.containers.matroska.ebml import Element
from videoloader.indexing.containers.matroska.traits import read_audio as read_matroska_audio
from videoloader.indexing.containers.matroska.traits import read_light as read_matroska_light
from videoloader.indexing.containers.mp4.boxes import Box
from videoloader.indexing.containers.mp4.traits import read_audio, read_light
from videoloader.indexing.dataset.measures import measures_of
from videoloader.indexing.dataset.rows import schema
from videoloader.indexing.traits import Audio, Light, StreamTraits

X264 = {"preset": "ultrafast", "threads": "1"}


def of_file(path):
    return measures_of(vl.index_video(path))


def with_sound(path, video, audio, *, rate=48000, layout="stereo", frames=30):
    """A file of one video stream and one of silence; the silence may be its first one."""
    with av.open(str(path), "w") as file:
        pictures = file.add_stream(video, rate=25)
        pictures.width, pictures.height, pictures.pix_fmt = 64, 48, "yuv420p"
        sound = file.add_stream(audio, rate=rate)
        sound.layout = layout
        for _ in range(frames):
            file.mux(pictures.encode(av.VideoFrame(64, 48, "yuv420p")))
        file.mux(pictures.encode())
        context = sound.codec_context
        context.open(strict=False)
        size = context.frame_size or 1024
        for number in range(20):
            frame = av.AudioFrame(context.format.name, layout, size)
            frame.sample_rate, frame.pts = rate, number * size
            for plane in frame.planes:
                plane.update(bytes(plane.buffer_size))
            file.mux(sound.encode(frame))
        file.mux(sound.encode())
    return path


@pytest.mark.parametrize(
    ("name", "video", "audio", "options"),
    [
        ("a.mp4", "libx264", "aac", {"layout": "mono", "rate": 22050}),
        ("b.mov", "libx264", "pcm_s16le", {}),
        ("c.mp4", "mpeg4", "libmp3lame", {"rate": 44100}),
        ("d.mkv", "libx264", "aac", {"rate": 44100}),
        ("e.webm", "libvpx", "libopus", {"layout": "mono"}),
        ("f.mkv", "libx264", "pcm_s16le", {"rate": 8000}),
        ("g.avi", "mpeg4", "libmp3lame", {"rate": 44100}),
        ("h.flv", "libx264", "aac", {"rate": 44100}),
        ("i.mp4", "libx264", "libopus", {}),
        ("j.mp4", "libx264", "ac3", {}),
        ("k.mkv", "libx264", "flac", {}),
    ],
)
def test_audio_is_that_of_the_stream(tmp_path, name, video, audio, options):
    path = with_sound(tmp_path / name, video, audio, **options)
    found = of_file(path)
    with av.open(str(path)) as file:
        context = file.streams.audio[0].codec_context
        expected = True, context.codec.canonical_name, context.sample_rate, context.channels
    names = ("has_audio", "audio_codec", "audio_sample_rate", "audio_channels")
    assert tuple(found[name] for name in names) == expected


def test_transport_streams_state_the_codec_alone(tmp_path):
    found = of_file(with_sound(tmp_path / "a.ts", "libx264", "aac"))
    assert (found["has_audio"], found["audio_codec"]) == (True, "aac")
    assert found["audio_sample_rate"] is None
    silent = of_file(encode_video(tmp_path / "b.ts", frames=10))
    assert (silent["has_audio"], silent["audio_codec"]) == (False, None)


@pytest.mark.parametrize("file", corpus_files(lambda file: not file.is_damaged))
def test_columns_of_the_corpus_are_what_ffmpeg_says(file):
    """Where the tables say it, audio and the shape of pixels are FFmpeg's."""
    try:
        index = vl.index_video(file.path)
    except vl.VideoError:
        return
    found = measures_of(index)
    with av.open(str(file.path), metadata_errors="ignore") as opened:
        audio = opened.streams.audio[0].codec_context if opened.streams.audio else None
        ratio = opened.streams[index.stream].sample_aspect_ratio
        assert found["has_audio"] == bool(opened.streams.audio)
        if audio is not None and found["audio_codec"] is not None:
            assert found["audio_codec"] == audio.codec.canonical_name
            assert found["audio_sample_rate"] in (None, audio.sample_rate)
            assert found["audio_channels"] in (None, audio.channels)
    if found["sample_aspect_ratio"] is not None:
        assert ratio is not None
        assert found["sample_aspect_ratio"] == float(Fraction(ratio.numerator, ratio.denominator))
    num_open = found["open_gops"]
    if num_open is not None:  # the law of `VideoIndex.leading`, GOP by GOP
        leading = index.frame_packets[index.leading]
        keys = np.sort(index.frame_packets[index.keyframes])
        led = np.unique(np.searchsorted(keys, leading, side="right")) if len(leading) else []
        assert num_open == len(led)


@pytest.mark.parametrize("is_open", [False, True])
def test_groups_are_those_of_the_packets(tmp_path, is_open):
    options = X264 | {"g": "12", "bf": "2", "sc_threshold": "0", "b-adapt": "0"}
    options["x264-params"] = f"open-gop={int(is_open)}:keyint=12:min-keyint=12:scenecut=0"
    path = encode_video(tmp_path / "a.mp4", frames=50, options=options)
    found = of_file(path)
    with av.open(str(path)) as file:
        packets = [packet for packet in file.demux(video=0) if packet.size]
        rate = sum(packet.size for packet in packets) * 8 / (50 / 30)
        led = sum(
            packet.is_keyframe and any(later.pts < packet.pts for later in packets[at + 1 :])
            for at, packet in enumerate(packets)
        )
        file.seek(0)
        shown = [bool(frame.key_frame) for frame in file.decode(video=0)]
    places = np.flatnonzero(shown)
    lengths = np.diff([*places, len(shown)])
    assert found["mean_gop"] == pytest.approx(lengths.mean())
    assert found["max_gop"] == lengths.max()
    assert found["keyframe_interval"] == pytest.approx(np.diff(places).max() / 30)
    assert found["open_gops"] == led
    assert (led > 0) == is_open
    assert found["bit_rate"] == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize(
    ("pts", "base", "varies"),
    [
        (range(0, 600, 20), 600, False),
        ([0, 20, 40, 90, 110, 130], 600, True),
        ([0, 33, 67, 100, 133, 167, 200], 1000, False),  # rounded to milliseconds
        ([0, 1, 2, 4, 5, 6], 30, True),  # a frame is left out
        ([0, 85, 171, 256], 1000, False),  # no usual rate, but even
    ],
)
def test_rates_vary_where_steps_differ_by_more_than_rounding(tmp_path, pts, base, varies):
    path = encode_video(
        tmp_path / "a.mkv" if base == 1000 else tmp_path / "a.mp4",
        frames=len(pts),
        pts=list(pts),
        time_base=Fraction(1, base),
        options=X264 | {"bf": "0"},
    )
    found = of_file(path)
    assert found["variable_rate"] is varies
    assert found["max_gap"] == pytest.approx(np.diff(pts).max() / base)


def test_one_frame_has_no_gap_and_no_interval(tmp_path):
    found = of_file(encode_video(tmp_path / "a.mp4", frames=1))
    assert (found["variable_rate"], found["max_gap"], found["keyframe_interval"]) == (
        *(False, None, None),
    )
    assert (found["mean_gop"], found["max_gop"], found["open_gops"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("codec", "params"), [("libx264", "x264-params"), ("libx265", "x265-params")]
)
def test_shape_of_pixels_and_fields_are_those_of_the_encoder(tmp_path, codec, params):
    still = of_file(encode_video(tmp_path / "a.mkv", codec=codec, frames=5, size=(128, 96)))
    assert still["interlaced"] is False
    assert still["is_hdr"] is False
    options = {params: "tff=1:sar=4\\:3" if codec == "libx264" else "sar=4\\:3:pools=none"}
    path = encode_video(tmp_path / "b.mp4", codec=codec, frames=5, size=(128, 96), options=options)
    found = of_file(path)
    assert found["sample_aspect_ratio"] == pytest.approx(4 / 3)
    assert found["interlaced"] is (codec == "libx264")


def box(kind, content):
    return Box(kind, content, 0, len(content))


def element(kind, content):
    wide = kind.to_bytes(4, "big").lstrip(b"\0")
    return wide + bytes([0x80 | len(content)]) + content


def test_light_of_hdr_is_read_from_both_containers():
    """The values of x265's documentation of master-display."""
    text = "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)"
    points = (13250, 34500, 7500, 3000, 34000, 16000, 15635, 16450)
    boxes = {
        b"mdcv": box(b"mdcv", struct.pack(">8HII", *points, 10_000_000, 1)),
        b"clli": box(b"clli", struct.pack(">HH", 1000, 400)),
    }
    assert read_light(boxes) == (text, 1000, 400)
    assert read_light({}) == (None, None, None)
    order = [points[at] / 50_000 for at in (4, 5, 0, 1, 2, 3, 6, 7)]  # red, green, blue, white
    inside = b"".join(element(0x55D1 + at, struct.pack(">d", x)) for at, x in enumerate(order))
    inside += element(0x55D9, struct.pack(">d", 1000.0)) + element(0x55DA, struct.pack(">d", 1e-4))
    color = element(0x55BC, b"\x03\xe8") + element(0x55BD, b"\x01\x90") + element(0x55D0, inside)
    assert read_matroska_light(Element(0x55B0, color, 0)) == (text, 1000, 400)


def older_file(path, out):
    """The file as an earlier version wrote it."""
    table = pq.read_table(path)
    later = schema().names[schema().names.index("has_audio") : schema().names.index("warnings")]
    table = table.drop_columns(later)
    metadata = {**table.schema.metadata, b"videoloader": b"4"}
    pq.write_table(table.replace_schema_metadata(metadata), out)
    return later


def test_older_files_open_with_nulls_and_are_completed_by_the_next_job(tmp_path):
    folder = tmp_path / "videos"
    folder.mkdir()
    with_sound(folder / "a.mp4", "libx264", "aac")
    encode_video(folder / "b.mp4", frames=10)
    vl.index_dataset(folder, tmp_path / "new.parquet", 0).close()
    later = older_file(tmp_path / "new.parquet", tmp_path / "old.parquet")
    assert len(later) == 19
    with vl.open_dataset(tmp_path / "old.parquet", root=folder) as old:
        assert old.table.schema.names == [name for name in schema().names if name != "index"]
        assert all(old.table[name].null_count == 2 for name in later)
        assert len(old.filter(pc.field("has_audio"))) == 0
        assert len(old.filter(pc.field("codec") == "h264")) == 2
        assert old[0].num_frames == 30
        with old.write(tmp_path / "part.parquet") as part:
            assert part.table["has_audio"].null_count == 2
    with vl.index_dataset(folder, tmp_path / "old.parquet", 0) as again:
        assert again.table["has_audio"].to_pylist() == [True, False]
        assert again.filter(pc.field("has_audio")).rows.tolist() == [0]
    assert (tmp_path / "old.parquet").read_bytes() == (tmp_path / "new.parquet").read_bytes()


def test_columns_that_others_added_are_kept_and_others_that_miss_are_refused(tmp_path):
    folder = tmp_path / "videos"
    folder.mkdir()
    encode_video(folder / "a.mp4", frames=10)
    vl.index_dataset(folder, tmp_path / "set.parquet", 0).close()
    table = pq.read_table(tmp_path / "set.parquet")
    pq.write_table(table.append_column("scenes", pa.array([3])), tmp_path / "more.parquet")
    with vl.open_dataset(tmp_path / "more.parquet", root=folder) as more:
        assert more.select(["scenes"])[0].to_pylist() == [3]
        assert more.column_names[-1] == "scenes"
    pq.write_table(table.drop_columns(["codec"]), tmp_path / "less.parquet")
    with pytest.raises(vl.errors.FormatError, match="no data set index"):
        vl.open_dataset(tmp_path / "less.parquet")


def test_numbers_that_no_column_holds_are_null(tmp_path):
    index = vl.index_video(encode_video(tmp_path / "a.mp4", frames=10))
    traits = StreamTraits(
        Audio("aac", 1 << 40, 1 << 31), light=Light(None, 1 << 63, -1 + (1 << 31))
    )
    found = measures_of(replace(index, traits=traits))
    names = ("audio_sample_rate", "audio_channels", "max_cll")
    assert [found[name] for name in names] == [None] * 3
    assert found["max_fall"] == (1 << 31) - 1
    packets = index.packets.copy()
    packets["size"], packets["pts"], packets["duration"] = (1 << 31) - 1, 0, 0
    packets["duration"][-1] = 1
    short = replace(index, packets=packets, time_base=Fraction(1, 1 << 60))
    assert measures_of(short)["bit_rate"] is None


def test_damaged_traits_leave_the_video_readable():
    broken = Element(0, bytes([0x9F, 0x89, *bytes(9)]), 0)  # channels of 9 bytes
    assert read_matroska_audio({0xE1: broken}, "A_OPUS") == Audio("opus", 48000, 1)
    cut = Element(0, bytes([0x9F, 0x88, 1]), 0)
    assert read_matroska_audio({0xE1: cut}, "A_PCM/INT/LIT") == Audio("pcm_s16le", 8000, 1)
    assert read_audio(box(b"stbl", struct.pack(">I4s", 24, b"stsd") + bytes(16))) == Audio()
    assert read_audio(None) == Audio()


@pytest.mark.parametrize("ratio", [(12, 11), (80, 33), (3, 2), (2, 1), (7, 5)])
def test_shapes_of_pixels_by_number_and_as_stated_are_those_of_ffmpeg(tmp_path, ratio):
    options = X264 | {"x264-params": f"sar={ratio[0]}\\:{ratio[1]}"}
    path = encode_video(tmp_path / "a.h264", frames=3, options=options)  # no container
    assert of_file(path)["sample_aspect_ratio"] == ratio[0] / ratio[1]


@pytest.mark.parametrize(("pts", "varies"), [([0, 1, 2, 4, 5, 6], True), ([0, 9, 19, 28], False)])
def test_a_step_of_one_coarse_tick_more_is_a_frame_that_is_left_out(tmp_path, pts, varies):
    index = vl.index_video(encode_video(tmp_path / "a.mp4", frames=len(pts), options={"bf": "0"}))
    packets = index.packets.copy()
    packets["pts"] = packets["dts"] = pts
    found = measures_of(replace(index, packets=packets, time_base=Fraction(1, 30)))
    assert found["variable_rate"] is varies
