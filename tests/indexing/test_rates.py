"""Raw streams have no times: a rate may be given, and FFmpeg given the same agrees."""

import random
from fractions import Fraction

import av
import numpy as np
import pytest
from typer.testing import CliRunner

import videoloader as vl
from videoloader.cli import app
from videoloader.demo.videos import encode_video, read_frame_number

FRAMES = 30
X265 = "log-level=none:pools=none:frame-threads=1:keyint=12:bframes=3:no-vui-timing-info=1"
# name: (encoder, its options)
CLIPS = {
    "clip.obu": ("libsvtav1", {"preset": "12", "g": "12"}),
    "clip.h264": ("libx264", {"x264-params": "threads=1:keyint=12:bframes=3"}),
    "clip.h265": ("libx265", {"x265-params": X265}),
    "clip.m1v": ("mpeg1video", {"g": "12", "bf": "2"}),
}
RATES = [24000 / 1001, Fraction(30000, 1001), 12.5, 60, np.float64(15), Fraction(5, 2)]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rates")

    def make(name):
        path = folder / name
        if not path.exists():
            codec, options = CLIPS[name]
            encode_video(path, codec=codec, size=(128, 96), frames=FRAMES, options=options)
        return path

    return make


def exact(rate):
    return Fraction(24000, 1001) if rate == 24000 / 1001 else Fraction(rate)


@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize("name", CLIPS)
def test_frames_are_as_far_apart_as_ffmpeg_puts_them(clip, name, rate):
    index = vl.index_video(clip(name), fps=rate)
    with av.open(str(clip(name)), options={"framerate": str(exact(rate))}) as container:
        video = container.streams.video[0]
        assert video.average_rate == exact(rate)
        frames = list(container.decode(video))
        step = 1 / Fraction(video.average_rate)
        tick = Fraction(video.time_base)
    assert index.num_frames == len(frames) == FRAMES
    assert [pts * index.time_base for pts in index.pts.tolist()] == [
        number * step for number in range(FRAMES)
    ]
    if name == "clip.obu":  # of the others FFmpeg says no times, or those of their headers
        for frame, pts in zip(frames, index.pts.tolist(), strict=True):
            assert abs(frame.pts * tick - pts * index.time_base) <= len(frames) * tick
    assert index.average_fps == pytest.approx(float(rate))
    assert (index.packets["dts"] <= index.packets["pts"]).all()
    assert (np.diff(index.packets["dts"]) > 0).all()


@pytest.mark.parametrize("name", CLIPS)
def test_a_rate_changes_nothing_but_times(clip, name):
    plain, given = vl.index_video(clip(name)), vl.index_video(clip(name), fps=24)
    assert given.frame_packets.tolist() == plain.frame_packets.tolist()
    assert given.keyframes.tolist() == plain.keyframes.tolist()
    assert (given.leading == plain.leading).all()
    for field in ("offset", "size", "flags"):
        assert (given.packets[field] == plain.packets[field]).all()
    assert given.exactness == plain.exactness


@pytest.mark.parametrize("name", CLIPS)
def test_a_video_of_a_given_rate_gives_its_frames_at_those_times(clip, name):
    with vl.Video(clip(name), fps=4) as video:
        for number in random.Random(name).sample(range(FRAMES), 4):
            at_time = video.get_frames_at_times([number / 4 + 0.1])
            assert at_time.indices.tolist() == [number]
            assert at_time.times.tolist() == [number / 4]
            assert read_frame_number(at_time.frames[0].numpy()) == number


def test_order_that_only_decoding_tells_has_the_rate_too(clip):
    data = clip("clip.h264").read_bytes()
    plain = vl.index_video(data)
    cut = plain.extradata_of(0) + data[int(plain.packets["offset"][1]) :]
    index = vl.index_video(cut, fps=10)
    assert index.exactness == "decode"
    assert index.pts.tolist() == list(range(index.num_frames))
    assert index.time_base == Fraction(1, 10)


@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv", "clip.ts", "clip.avi", "clip.flv"])
def test_a_container_with_times_refuses_a_rate(tmp_path, name):
    path = encode_video(tmp_path / name, size=(64, 48), frames=5)
    with pytest.raises(vl.errors.ArgumentError, match=f"{name}.*times of their own"):
        vl.index_video(path, fps=25)


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), "fast", None, 1e-9])
def test_what_is_no_rate_is_refused(clip, rate):
    if rate is None:
        with pytest.raises(vl.errors.ArgumentError, match="index"):
            vl.Video(clip("clip.h264"), index=vl.index_video(clip("clip.h264")), fps=25)
    else:
        with pytest.raises(vl.errors.ArgumentError, match="fps"):
            vl.index_video(clip("clip.h264"), fps=rate)


def test_inspect_takes_a_rate(clip):
    done = CliRunner().invoke(app, ["inspect", str(clip("clip.h265")), "--fps", "24000/1001"])
    assert done.exit_code == 0, done.output
    assert "1001/24000" in done.output
    done = CliRunner().invoke(app, ["inspect", str(clip("clip.h265")), "--fps", "fast"])
    assert done.exit_code == 2
