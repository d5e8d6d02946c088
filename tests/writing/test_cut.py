"""Cuts have exactly the frames, times and sound of the source, here and in FFmpeg."""

import io
import os
import random
import signal
import sys
import tarfile
import time
from contextlib import closing

import av
import numpy as np
import pytest
from audio_files import make_signal, write_sound
from corpus_files import corpus_files, has_reference, md5_of
from programs import Program, run_program

import videoloader as vl
from videoloader.decoding.pictures.surface import Surface
from videoloader.demo.videos import encode_video, read_frame_number
from videoloader.indexing.packets import Orientation
from videoloader.sampling.times import frames_between
from videoloader.writing import copying

CUTS = 4  # of each file of the corpus
X264 = "threads=1:keyint=12:min-keyint=12:scenecut=0"


def by_ffmpeg(path, stream=None):
    """Hashes of all frames that FFmpeg shows."""
    with av.open(str(path)) as container:
        video = container.streams.best("video") if stream is None else container.streams[stream]
        video.thread_count = 1
        return [md5_of(Surface(frame)) for frame in container.decode(video)]


def by_us(path):
    with vl.Video(path) as video:
        found = {number: md5_of(surface) for number, surface in video.decode(range(len(video)))}
        return [found[number] for number in range(len(video))]


def ranges(count, name):
    """Some random ranges of frames; the same for every run."""
    rng = random.Random(name)
    for _ in range(CUTS):
        start = rng.randrange(count)
        yield start, rng.randrange(start + 1, min(count, start + 40) + 1)


def is_small(file):
    """Whether decoding all of it takes a few hundredths of a second."""
    facts, frames = file.facts, file.facts.get("decoded_frames") or 0
    is_copied = facts["codec"] in ("h264", "hevc", "av1", "vp9", "mpeg4", "mpeg2video")
    is_whole = not file.is_damaged and has_reference(file)
    return is_copied and is_whole and frames > 3 and facts["width"] * facts["height"] * frames < 5e6


@pytest.mark.parametrize("file", corpus_files(is_small))
def test_cuts_of_real_files_are_bit_exact(tmp_path, file):
    index = vl.index_video(file.path)
    if index.num_frames != len(file.hashes) or not file.has_comparable_hashes:
        pytest.skip("the reference has other frames")
    for start, stop in ranges(index.num_frames, file.path.name):
        path = tmp_path / "cut.mp4"
        made = vl.cut(file.path, path, start, stop, index=index, quality="lossless", audio=False)
        if made.method == "copy" or index.orientation == Orientation():
            assert by_us(path) == file.hashes[start:stop], (start, stop, made)
            assert by_ffmpeg(path) == file.hashes[start:stop], (start, stop, made)
        found = vl.index_video(path)
        times = index.boundaries[start:stop] - index.boundaries[start]
        if (np.diff(times) > 0).all():
            assert np.abs(found.boundaries[:-1] - times).max() < 1e-9
        assert found.color.is_hdr == index.color.is_hdr
    encoded = vl.cut(
        file.path,
        tmp_path / "cut.mkv",
        start,
        min(start + 5, stop),
        index=index,
        method="encode",
        codec="ffv1",
        audio=False,
    )
    if index.orientation == Orientation():
        assert by_us(encoded.path) == file.hashes[encoded.start : encoded.stop]
    found = vl.index_video(encoded.path)
    for name in ("primaries", "transfer", "matrix"):
        assert getattr(index.color, name) in (None, getattr(found.color, name))


SOURCES = {
    "b_frames.mp4": ("libx264", {"x264-params": X264}),
    "open_gop.mp4": ("libx264", {"x264-params": f"{X264}:open-gop=1"}),
    "b_frames.mkv": ("libx264", {"x264-params": X264}),
    "stream.ts": ("libx264", {"x264-params": X264}),
    "hevc.mp4": (
        "libx265",
        {"x265-params": "log-level=none:pools=none:keyint=12:min-keyint=12:open-gop=1"},
    ),
    "mpeg4.mp4": ("mpeg4", {"bf": "2", "g": "12", "threads": "1"}),
    "vp9.webm": ("libvpx-vp9", {"deadline": "realtime", "cpu-used": "8", "g": "12"}),
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    for name, (codec, options) in SOURCES.items():
        encode_video(folder / name, codec=codec, options=options, frames=40, size=(128, 96))
    return folder


@pytest.mark.parametrize("name", SOURCES)
def test_every_cut_of_every_kind_of_stream_is_copied_exactly(sources, tmp_path, name):
    wanted = by_ffmpeg(sources / name)
    for start, stop in [(0, 40), (0, 1), (39, 40), (12, 24), (11, 13), (13, 14), (17, 31), (5, 12)]:
        made = vl.cut(sources / name, tmp_path / "cut.mp4", start, stop, method="copy")
        assert by_us(made.path) == wanted[start:stop]
        assert by_ffmpeg(made.path) == wanted[start:stop]
        assert (made.start, made.stop, made.method) == (start, stop, "copy")
        assert made.num_packets >= stop - start
        index = vl.index_video(made.path)
        assert len(index.packets) == made.num_packets
        assert index.pts[0] == 0
        late = 0.00051 if name.endswith((".mkv", ".webm")) else 0.00002
        ends = np.arange(stop - start + 1) / 30
        assert np.abs(index.boundaries - ends).max() < 2 * late


@pytest.mark.parametrize("name", ["b_frames.mp4", "hevc.mp4", "b_frames.mkv"])
def test_the_last_frame_is_shown_as_long_as_in_the_source(sources, tmp_path, name):
    index = vl.index_video(sources / name)
    for stop in (7, 8, 16, 18):  # decoding some of these leaves out pictures between
        vl.cut(sources / name, tmp_path / "cut.mp4", 5, stop, index=index, method="copy")
        ends = index.boundaries[5 : stop + 1] - index.boundaries[5]
        assert np.abs(vl.index_video(tmp_path / "cut.mp4").boundaries - ends).max() < 1e-9


@pytest.mark.parametrize("suffix", [".mov", ".mkv"])
def test_prores_keeps_its_form(tmp_path, suffix):
    path = tmp_path / "source.mov"
    encode_video(path, codec="prores_ks", pixel_format="yuv444p10le", frames=2, size=(64, 48))
    made = vl.cut(path, tmp_path / f"cut{suffix}", 1, 2, method="copy")
    assert by_ffmpeg(made.path) == by_ffmpeg(path)[1:]


def test_matroska_copies_between_closed_groups_and_encodes_elsewhere(sources, tmp_path):
    source = sources / "b_frames.mkv"
    wanted = by_ffmpeg(source)
    made = vl.cut(source, tmp_path / "a.mkv", 12, 36)
    assert (made.method, made.num_packets) == ("copy", 24)
    assert by_us(made.path) == by_ffmpeg(made.path) == wanted[12:36]
    with pytest.raises(
        vl.errors.UnsupportedError, match=r"frames 13 to 35 .* \.mkv has no edit list"
    ):
        vl.cut(source, tmp_path / "b.mkv", 13, 36, method="copy")
    made = vl.cut(source, tmp_path / "b.mkv", 13, 36, codec="ffv1")
    assert made.method == "encode"
    assert "no edit list" in made.reason
    assert by_us(made.path) == by_ffmpeg(made.path) == wanted[13:36]


def test_frames_that_are_encoded_look_like_the_source(sources, tmp_path):
    with vl.Video(sources / "vp9.webm") as video:
        made = vl.cut(sources / "vp9.webm", tmp_path / "cut.webm", 5, 17)
        assert (made.method, vl.index_video(made.path).codec) == ("encode", "vp9")
        with vl.Video(made.path) as found:
            error = found[:].numpy().astype(float) - video[5:17].numpy()
            assert [read_frame_number(frame) for frame in found] == list(range(5, 17))
    assert 10 * np.log10(255**2 / (error**2).mean()) > 32


def test_another_codec_is_taken_where_the_container_refuses_that_of_the_source(sources, tmp_path):
    made = vl.cut(sources / "vp9.webm", tmp_path / "cut.mov", 5, 9)
    assert (made.method, vl.index_video(made.path).codec) == ("encode", "h264")
    assert made.reason.startswith("FFmpeg does not write this file")


def test_what_was_written_is_looked_at_before_it_is_kept(sources, tmp_path, monkeypatch):
    """Without the end of the edit list, pictures behind the cut would be shown."""
    wrong = copying.Shown
    monkeypatch.setattr(copying, "Shown", lambda skipped, duration: wrong(skipped, duration + 1))
    with pytest.raises(vl.errors.UnsupportedError, match="muxer loses frames or times"):
        vl.cut(sources / "b_frames.mp4", tmp_path / "cut.mp4", 3, 8, method="copy")
    assert not os.listdir(tmp_path)
    made = vl.cut(sources / "b_frames.mp4", tmp_path / "cut.mp4", 3, 8)
    assert made.method == "encode"
    assert len(by_us(made.path)) == 5


def test_colours_that_the_muxer_loses_are_found(sources, tmp_path, monkeypatch):
    colors = iter([("bt709", "tv"), ("smpte170m", "tv")])
    monkeypatch.setattr(copying, "_colors", lambda index: next(colors))
    made = vl.cut(sources / "b_frames.mp4", tmp_path / "cut.mp4", 3, 8)
    assert made.method == "encode"
    assert "loses the colour tags" in made.reason


@pytest.mark.parametrize("codec", ["mpeg1video", "mpeg2video"])
def test_what_ffmpeg_would_not_hide_is_encoded(tmp_path, codec):
    """FFmpeg shows the last frame of MPEG-1 that an edit list hides, and none of MPEG-2."""
    source = tmp_path / "source.mkv"
    encode_video(source, codec=codec, options={"bf": "2", "g": "12"}, frames=30, size=(128, 96))
    wanted = by_ffmpeg(source)
    methods = set()
    for start, stop in [(0, 30), (3, 11), (5, 12), (14, 19), (1, 5)]:
        made = vl.cut(source, tmp_path / "cut.mp4", start, stop, quality="lossless")
        assert by_us(made.path) == by_ffmpeg(made.path) == wanted[start:stop], made
        methods.add(made.method)
    assert methods == ({"copy", "encode"} if codec == "mpeg1video" else {"copy"})


def test_times_choose_the_frames_on_screen(sources, tmp_path):
    path = tmp_path / "cut.mp4"
    for times, wanted in [
        ((0.5, 1.0), (15, 30)),  # 30 frames a second
        ((0.51, 1.01), (15, 31)),
        ((0.5, 0.5001), (15, 16)),
        ((-1, 0.1), (0, 3)),
        ((1.2, 9), (36, 40)),
    ]:
        made = vl.cut(sources / "b_frames.mp4", path, times=times)
        assert (made.start, made.stop) == wanted, times


@pytest.mark.parametrize("name", ["b_frames.mp4", "b_frames.mkv"])
def test_rounded_times_of_frames_choose_these_frames(sources, name):
    index = vl.index_video(sources / name)
    edges = index.boundaries
    for begin, end in [(0, 1), (3, 7), (10, 29), (38, 40)]:
        for kind in (float, np.float32, lambda time: round(time, 4)):
            times = float(kind(edges[begin])), float(kind(edges[end]))
            assert frames_between(*times, index) == (begin, end)


@pytest.mark.parametrize("rotation", [-90, 90, 180])
def test_rotated_videos_stay_so_or_become_upright(tmp_path, rotation):
    source = tmp_path / "rotated.mp4"
    encode_video(source, size=(96, 64), frames=6, rotation=rotation)
    with vl.Video(source) as video:
        wanted = video[2:5].numpy()
    made = vl.cut(source, tmp_path / "copy.mp4", 2, 5)
    assert (made.method, vl.index_video(made.path).rotation) == (
        "copy",
        rotation % 360 - 360 * (rotation == -90),
    )
    with vl.Video(made.path) as video:
        assert np.array_equal(video[:].numpy(), wanted)
    made = vl.cut(source, tmp_path / "upright.mkv", 2, 5, codec="ffv1")
    with vl.Video(made.path) as video:
        assert video.index.rotation == 0
        found = video[:].numpy()
    assert found.shape == wanted.shape
    assert np.abs(found.astype(int) - wanted).mean() < 4  # chroma lies half a pixel elsewhere


@pytest.mark.parametrize(
    ("given", "made", "method", "error", "late"),
    [
        ("mp4", "mp4", "copy", 0, 0),
        ("mp4", "mp4", "encode", 0, 0),
        ("mp4", "mkv", "encode", 2**-23, 0),
        ("mkv", "mp4", "copy", 1, 44),  # times in Matroska are milliseconds
        ("mp4", "webm", "encode", 0.05, 0),
    ],
)
def test_sound_is_that_of_the_frames(tmp_path, given, made, method, error, late):
    source = tmp_path / f"source.{given}"
    signal = make_signal(seconds=5.5, rate=48000)
    # Noise that AAC does not code but describes is another one in each decode.
    options = {"aac_pns": "0"}
    write_sound(source, signal, 48000, "aac", options=options, with_video=True)
    result = vl.cut(source, tmp_path / f"cut.{made}", 103, 127, method=method)
    if made == "mp4":  # and not the rest of the file
        assert result.path.stat().st_size < 0.4 * source.stat().st_size
    with closing(vl.Audio(source)) as whole, closing(vl.Audio(result.path)) as part:
        assert part.begin_seconds <= late / 48000
        if made == "mp4":
            assert part.header.duration == pytest.approx(24 / 25)
        wanted = whole.get_samples(103 / 25, 127 / 25).numpy()
        found = part.get_samples(0.0, 24 / 25, pad=True).numpy()
    assert found.shape == wanted.shape == (2, 46080)
    inside = slice(100, -100)
    errors = {
        lag: np.abs(np.roll(found, lag, axis=1) - wanted)[:, inside].mean()
        for lag in range(-late - 2, late + 3)
    }
    best = min(errors, key=errors.__getitem__)
    assert abs(best) <= late
    assert errors[best] <= error


@pytest.mark.parametrize(
    ("name", "method"), [("12:30.mp4", "copy"), ("http:a.mkv", "encode"), ("a:b/c.mp4", "encode")]
)
def test_a_name_may_look_like_a_url(sources, tmp_path, monkeypatch, name, method):
    monkeypatch.chdir(tmp_path)
    vl.cut(sources / "b_frames.mp4", name, 3, 9, method=method)
    assert len(vl.index_video(tmp_path / name)) == 6


def test_sound_can_be_left_out(tmp_path):
    write_sound(tmp_path / "a.mp4", make_signal(seconds=1.0), 44100, "aac", with_video=True)
    vl.cut(tmp_path / "a.mp4", tmp_path / "b.mp4", 3, 9, audio=False)
    with av.open(str(tmp_path / "b.mp4")) as container:
        assert [stream.type for stream in container.streams] == ["video"]


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((5, 5), {}, vl.errors.FrameRangeError, "stop 5 is not after start 5$"),
        ((7, 3), {}, vl.errors.FrameRangeError, "stop 3 is not after start 7$"),
        ((30, 41), {}, vl.errors.FrameRangeError, "frames 30 to 40 requested"),
        ((-1, 4), {}, vl.errors.FrameRangeError, "requested"),
        ((1, 4), {"times": (0, 1)}, vl.errors.ArgumentError, "not both"),
        ((), {"times": (1, 1)}, vl.errors.ArgumentError, "begin before end"),
        (
            (),
            {"times": (8, 9)},
            vl.errors.FrameRangeError,
            "8 to 9 s requested, the video runs from 0 to",
        ),
        ((1.5, 4), {}, TypeError, "start must be a whole number, got 1.5"),
        ((1, 4), {"codec": "h263"}, vl.errors.ArgumentError, "codec must be one of h264"),
        ((1, 4), {"method": "smart"}, vl.errors.ArgumentError, "method must be one of auto, copy"),
    ],
)
def test_wrong_arguments_are_told_and_nothing_is_written(
    sources, tmp_path, arguments, options, error, message
):
    with pytest.raises(error, match=message):
        vl.cut(sources / "b_frames.mp4", tmp_path / "cut.mp4", *arguments, **options)
    assert not os.listdir(tmp_path)


def test_sources_are_of_any_kind(sources, tmp_path):
    data = (sources / "b_frames.mp4").read_bytes()
    with tarfile.open(tmp_path / "in.tar", "w") as tar:
        tar.add(sources / "b_frames.mp4", "a.mp4")
    with vl.index_dataset(tmp_path / "in.tar", tmp_path / "set.parquet", 0) as dataset:
        given = [data, io.BytesIO(data), dataset.item(0)]
        for number, source in enumerate(given):
            vl.cut(
                source, tmp_path / f"{number}.mp4", 5, 9, index=dataset[0] if number == 2 else None
            )
    files = {(tmp_path / f"{number}.mp4").read_bytes() for number in range(3)}
    assert len(files) == 1


def test_the_source_is_not_overwritten(sources):
    with pytest.raises(vl.errors.ArgumentError, match="is the source itself"):
        vl.cut(sources / "b_frames.mp4", sources / "b_frames.mp4", 1, 3)


def test_a_killed_cut_leaves_no_file_under_its_name(tmp_path):
    source, path = tmp_path / "source.mkv", tmp_path / "cut.mkv"
    encode_video(source, frames=90, options={"preset": "ultrafast"})
    words = "import sys, videoloader as vl\nsource, path, preset = sys.argv[1:]\n"
    words += "vl.cut(source, path, 1, 89, quality=0, gop=1, options={'preset': preset})"
    command = [sys.executable, "-c", words, str(source), str(path)]
    process = Program([*command, "placebo"])
    while not (begun := list(tmp_path.glob("*.partial"))) or not begun[0].stat().st_size:
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not path.exists()
    run_program([*command, "ultrafast"], check=True)
    assert len(vl.index_video(path)) == 88
