"""Rates of videos whose time stamps are rounded: those of FFmpeg, which reads what is stated."""

import math
from fractions import Fraction

import av
import numpy as np
import pytest

import videoloader as vl
from videoloader.compat.opening import frame_rate
from videoloader.demo.videos import encode_video
from videoloader.indexing.rates import even_rate, rate_of_duration

MS = Fraction(1, 1000)
RATES = [Fraction(rate) for rate in (5, 10, 12, 15, 24, 25, 30, 50, 60, 120)]
RATES += [Fraction(1000 * rate, 1001) for rate in (24, 30, 60)]


@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize("rounded", [math.floor, math.ceil, round])
@pytest.mark.parametrize("tick", [MS, Fraction(1, 600), Fraction(1, 90_000)], ids=str)
def test_the_rate_is_the_one_that_was_rounded(rate, rounded, tick):
    for begin in (Fraction(0), Fraction(1, 3)):
        times = [rounded(begin + number / (rate * tick)) for number in range(301)]
        assert even_rate(np.array(times[:-1]), times[-1], tick) == rate


def test_few_frames_have_the_simplest_rate_that_explains_them():
    assert even_rate(np.array([0, 33, 67]), 100, MS) == 30
    assert even_rate(np.array([7, 47]), 87, MS) == 25
    assert even_rate(np.array([7]), 47, MS) is None
    assert even_rate(np.empty(0, np.int64), 0, MS) is None


@pytest.mark.parametrize(
    ("pts", "end", "tick"),
    [
        ([0, 33, 67, 133, 167], 200, MS),  # a frame is left out
        ([0, 33, 67, 100, 133], 500, MS),  # the last is shown longer
        ([*range(0, 3300, 33)], 3300, MS),  # 30.30 frames a second, without any rounding
        ([0, 1, 3, 4], 5, Fraction(1, 30)),  # ticks as long as a frame are not rounded
        ([0, 0, 0], 0, MS),
    ],
)
def test_frames_that_are_not_even_have_no_such_rate(pts, end, tick):
    assert even_rate(np.array(pts), end, tick) is None


def test_a_usual_duration_that_the_frames_do_not_have_is_not_believed():
    pts = np.array([0, 33, 67, 133])
    assert rate_of_duration(33_333_333, pts, MS) == 30
    assert rate_of_duration(41_708_333, np.array([0, 42, 83]), MS) == Fraction(24000, 1001)
    for wrong in (0, 1, 1_000_000, 1 << 51):
        assert rate_of_duration(wrong, pts, MS) is None


def ffmpeg_rate(path):
    with av.open(str(path)) as container:
        return float(container.streams.video[0].average_rate)


@pytest.mark.parametrize("rate", [Fraction(30), Fraction(24000, 1001), Fraction(25)], ids=str)
@pytest.mark.parametrize("ending", ["mkv", "flv", "mp4", "ts", "avi"])
def test_rates_are_those_of_ffmpeg(tmp_path, ending, rate):
    path = encode_video(tmp_path / f"a.{ending}", fps=rate, frames=61, size=(64, 48))
    index = vl.index_video(path)
    assert index.average_fps == pytest.approx(
        ffmpeg_rate(path), rel=1e-4 if ending == "flv" else 1e-9
    )
    with vl.Video(path, index=index) as video:
        assert frame_rate(video) == pytest.approx(float(ffmpeg_rate(path)), rel=1e-9)


def test_a_stated_rate_is_given_where_frames_are_left_out(tmp_path):
    pts = [number for number in range(70) if number % 9]
    path = tmp_path / "a.mkv"
    encode_video(path, pts=pts, time_base=Fraction(1, 30), frames=len(pts), size=(64, 48))
    index = vl.index_video(path)
    assert index.average_fps == pytest.approx(
        len(pts) / (index.boundaries[-1] - index.boundaries[0])
    )
    assert index.average_fps < 28
    with vl.Video(path, index=index) as video:
        assert frame_rate(video) == ffmpeg_rate(path) == 30
    index.save(tmp_path / "a.index")
    assert vl.VideoIndex.load(tmp_path / "a.index").stated_rate == 30
    plain = vl.index_video(encode_video(tmp_path / "a.mp4", frames=9, size=(64, 48)))
    plain.save(tmp_path / "b.index")
    assert vl.VideoIndex.load(tmp_path / "b.index").stated_rate is None
