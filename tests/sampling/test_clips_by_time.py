"""Clips at a target rate: grids of times, each with its nearest frame, at any rate of the video."""

from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from corpus_files import corpus_files
from hypothesis import given
from hypothesis import strategies as st

from videoloader.errors import ArgumentError, ArgumentTypeError
from videoloader.indexing import index_video
from videoloader.sampling import (
    DenseClips,
    RandomClip,
    SegmentClip,
    UniformClip,
    generator,
    sample_frames,
)

VARIABLE = {
    "mp4parser__MOV00006.3gp",
    "shaka-player__segment.ts",
    "vali__pts_test_video.mkv",
    "vali__test_rot_90_deg.mp4",
}
TICK = Fraction(1, 1000)
rates = st.sampled_from([0.7, 1, 4, 6.25, 10, 30, 240])
seeds = st.none() | st.integers(0, 99)
# Ticks at which frames begin and the last one ends: variable, some of them far apart.
ticks = st.lists(st.integers(1, 60) | st.integers(500, 2000), min_size=1, max_size=80).map(
    lambda steps: np.cumsum([137, *steps])
)


def video_of(ticks):
    """A video with frames that begin, and a last one that ends, at these ticks."""
    boundaries = np.array(ticks) * float(TICK)
    count = len(ticks) - 1
    average = count / (boundaries[-1] - boundaries[0])
    return SimpleNamespace(num_frames=count, average_fps=average, boundaries=boundaries)


def constant(count, rate):
    return SimpleNamespace(
        num_frames=count, average_fps=float(rate), boundaries=np.arange(count + 1) / float(rate)
    )


def sample(sampler, video, seed=None):
    rng = None if seed is None else generator(seed)
    return sample_frames(sampler, video, rng=rng)


def assert_nearest(frames, times, ticks):
    """Every frame is the nearest to its time; past the end they are not in the video."""
    exact = [int(tick) * TICK for tick in ticks]
    for frame, time in zip(frames.tolist(), map(Fraction, times), strict=True):
        if time >= exact[-1] - Fraction(1, 10**9):
            assert frame >= len(exact) - 1
        else:
            distances = [abs(time - begin) for begin in exact[:-1]]
            assert distances[frame] <= min(distances) + Fraction(1, 10**8)


@given(ticks, st.integers(1, 12), rates, seeds)
def test_a_random_clip_is_a_grid_of_times_that_begins_with_a_frame(ticks, count, rate, seed):
    video = video_of(ticks)
    frames = sample(RandomClip(count, fps=rate), video, seed)
    times = video.boundaries[frames[0]] + np.arange(count) / rate
    assert_nearest(frames, times, ticks)
    if (count - 1) / rate < video.boundaries[-1] - video.boundaries[0] - 1e-6:
        assert frames[-1] < video.num_frames
    else:
        assert frames[0] == 0


def test_every_start_from_which_a_clip_fits_comes_up():
    ticks = [0, 100, 200, 1200, 1300, 1400, 1500, 3000]
    starts = {int(sample(RandomClip(3, fps=2), video_of(ticks), seed)[0]) for seed in range(200)}
    fitting = [n for n, tick in enumerate(ticks[:-1]) if tick * TICK + 1 < ticks[-1] * TICK]
    assert sorted(starts) == fitting


@given(ticks, rates.filter(lambda rate: rate < 100), st.sampled_from(["ends", "centers"]))
def test_uniform_sampling_at_a_rate_is_one_grid_over_the_video(ticks, rate, rule):
    video = video_of(ticks)
    frames = sample(UniformClip(fps=rate, rule=rule), video)
    duration = video.boundaries[-1] - video.boundaries[0]
    assert len(frames) == max(1, round(duration * rate))
    spare = duration - (len(frames) - 1) / rate
    begin = video.boundaries[0] + (spare / 2 if rule == "centers" else 0)
    assert_nearest(frames, begin + np.arange(len(frames)) / rate, ticks)
    assert frames.max() < video.num_frames


@given(ticks, st.integers(1, 6), rates, st.none() | st.integers(1, 9), st.booleans())
def test_dense_clips_at_a_rate_are_grids_that_begin_with_frames(ticks, count, rate, step, partial):
    video = video_of(ticks)
    clips = sample(DenseClips(count, step=step, fps=rate, partial=partial), video)
    expected, start, end = [], 0, video.boundaries[-1] - 1e-9
    grid = np.arange(count) / rate
    while start < video.num_frames:
        times = video.boundaries[start] + grid
        if times[-1] >= end:
            covered = expected[-1][-1] + 1 if expected else 0
            if partial and covered < video.num_frames:
                expected.append(clips[-1].tolist())
                assert_nearest(clips[-1], times, ticks)
            break
        middles = (video.boundaries[1:-1] + video.boundaries[:-2]) / 2 - 1e-9
        expected.append([int((middles <= time).sum()) for time in times])
        start = expected[-1][-1] + 1 if step is None else start + step
    assert clips.tolist() == expected


@given(ticks, st.integers(1, 6), st.integers(1, 4), rates, seeds)
def test_segments_at_a_rate_are_equal_in_time(ticks, segments, length, rate, seed):
    video = video_of(ticks)
    frames = sample(SegmentClip(segments, length, fps=rate), video, seed).reshape(segments, -1)
    edges = np.linspace(video.boundaries[0], video.boundaries[-1], segments + 1)
    span = (length - 1) / rate
    for snippet, (low, high) in zip(frames, pairwise(edges), strict=True):
        inside = [t for t in video.boundaries[:-1] if low - 1e-9 <= t and t + span < high - 1e-9]
        start = video.boundaries[snippet[0]] if inside else low
        assert not inside or start in inside
        assert_nearest(snippet, start + np.arange(length) / rate, ticks)


@given(st.integers(2, 200), st.sampled_from([12, 24, Fraction(30000, 1001), 50]), rates, seeds)
def test_at_a_constant_rate_steps_are_those_by_frame_numbers(count, rate, target, seed):
    video = constant(count, rate)
    by_time = sample(RandomClip(7, fps=target), video, seed)
    by_number = sample(RandomClip(7, fps=target, timing="frames"), video)
    expected = by_number - by_number[0]
    # The last frame is given until it ends; past the end frames are counted on.
    inside = by_time < count - 1
    assert ((by_time - by_time[0]) == expected)[inside].all()
    assert (np.abs(by_time - by_time[0] - expected) <= 1).all()


def test_without_times_the_average_rate_is_taken_for_a_constant_one():
    for sampler in (
        RandomClip(5, fps=4),
        UniformClip(fps=4),
        DenseClips(3, fps=4),
        SegmentClip(3, 2, fps=4),
    ):
        video = constant(100, 29.97)
        given_times = sample(sampler, video)
        assert sampler.frames(100, fps=29.97).tolist() == given_times.tolist()


def test_past_the_end_frames_are_counted_at_the_average_rate():
    assert RandomClip(6, fps=2).frames(4, fps=4).tolist() == [0, 2, 4, 6, 8, 10]
    frames = RandomClip(6, fps=4).frames(3, boundaries=[0, 0.5, 1.4, 1.5])
    assert frames.tolist() == [0, 1, 1, 1, 2, 2]
    frames = RandomClip(10, fps=4).frames(3, boundaries=[0, 0.5, 1.4, 1.5])
    assert frames.tolist() == [0, 1, 1, 1, 2, 2, 3, 4, 4, 5]


def test_a_last_frame_of_unknown_duration_lasts_an_average_one():
    boundaries = [0, 0.1, 0.3, 0.3]
    assert RandomClip(2, fps=10).frames(3, fps=10, boundaries=boundaries).tolist() == [0, 1]
    starts = {
        int(RandomClip(1, fps=5).frames(3, boundaries=boundaries, rng=generator(n))[0])
        for n in range(50)
    }
    assert starts == {0, 1, 2}


def test_timing_by_frames_is_as_if_frames_were_evenly_spaced():
    video = video_of([0, 10, 20, 30, 3000, 6000, 6010, 6020, 8000])
    assert sample(RandomClip(4, fps=0.5), video).tolist() == [1, 4, 4, 6]
    assert sample(RandomClip(4, fps=0.5, timing="frames"), video).tolist() == [0, 2, 4, 6]
    assert sample(UniformClip(fps=0.5), video).tolist() == [0, 4, 4, 5]
    assert sample(UniformClip(fps=0.5, timing="frames"), video).tolist() == [0, 2, 5, 7]


def test_clips_by_frame_numbers_are_the_same_for_ever():
    for sampler, first, second in (
        (RandomClip(4, 3), [7, 10, 13, 16], [7, 10, 13, 16]),
        (SegmentClip(3), [3, 26, 31], [2, 21, 31]),
        (SegmentClip(4, 2, 3), [1, 4, 17, 20, 23, 26, 40, 43], [1, 4, 14, 17, 23, 26, 39, 42]),
        (UniformClip(5), [0, 12, 23, 35, 46], [0, 12, 23, 35, 46]),
    ):
        for number, expected in enumerate((first, second)):
            frames = sample_frames(sampler, constant(47, 30), rng=generator(5, sample=number))
            assert frames.tolist() == expected


class EveryOther:
    """A sampler that knows nothing of times."""

    def frames(self, num_frames, *, fps=None, rng=None):
        assert fps == pytest.approx(4)
        return np.arange(0, num_frames, 2)


class Shown:
    """A sampler that goes by time: the frames that are shown for more than a second."""

    def frames(self, num_frames, *, fps=None, rng=None, boundaries=None):
        assert len(boundaries) == num_frames + 1
        return np.flatnonzero(np.diff(boundaries) > 1)


def test_samplers_of_others_get_the_times_if_they_take_them():
    video = constant(9, 4)
    assert sample_frames(EveryOther(), video).tolist() == [0, 2, 4, 6, 8]
    assert sample_frames(EveryOther(), video, start=3, stop=8).tolist() == [3, 5, 7]
    video = video_of([0, 10, 2000, 2010, 4000, 4010])
    assert sample_frames(Shown(), video).tolist() == [1, 3]
    assert sample_frames(Shown(), video, start=1, stop=3).tolist() == [1]


def test_samplers_of_others_give_whole_numbers_in_any_form():
    video = constant(900, 4)
    video.name = "clip.mp4"
    for numbers in ([0, 3], range(0, 4, 3), np.array([0, 3], np.uint8)):
        sampler = SimpleNamespace(frames=lambda *_, given=numbers, **__: given)
        assert sample_frames(sampler, video, start=300).tolist() == [300, 303]
    for wrong in (np.linspace(0, 8, 3), None, ["first"]):
        sampler = SimpleNamespace(frames=lambda *_, given=wrong, **__: given)
        with pytest.raises(ArgumentTypeError, match=r"^clip\.mp4: frames\(\) of .* whole numbers"):
            sample_frames(sampler, video)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RandomClip(3, timing="even"), "timing must be one of times, frames"),
        (lambda: RandomClip(3, fps=np.inf), "fps must be a number above 0"),
        (lambda: RandomClip(3, fps=np.nan), "fps must be a number above 0"),
        (lambda: RandomClip(3, fps=5).frames(4, boundaries=[0, 1, 2, 3]), "are 5 times"),
        (lambda: RandomClip(3, fps=5).frames(4, boundaries=[7] * 5), "needs the times"),
        (lambda: SegmentClip(3, fps=5).frames(4), "needs the times"),
        (lambda: UniformClip(fps=5, timing="frames").frames(4, boundaries=[0] * 5), "rate"),
    ],
)
def test_what_has_no_meaning_is_refused(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()


@pytest.mark.parametrize("file", corpus_files(lambda file: file.path.name in VARIABLE))
@pytest.mark.parametrize("rate", [1, 4, 25])
def test_clips_of_real_files_of_variable_rate_are_evenly_spaced(file, rate):
    index = index_video(file.path, stream=file.stream)
    time_base = Fraction(file.reference["time_base"])
    shown = np.array([float(f["pts"] * time_base) for f in file.reference["frames"]])
    for seed in range(5):
        clip = sample(RandomClip(8, fps=rate), index, seed)
        clip = clip[clip < len(shown)]
        wanted = shown[clip[0]] + np.arange(len(clip)) / rate
        away = np.abs(shown[:, None] - wanted).min(axis=0)
        assert np.abs(shown[clip] - wanted) == pytest.approx(away, abs=1e-6)
    whole = sample(UniformClip(fps=rate), index)
    wanted = shown[0] + np.arange(len(whole)) / rate
    away = np.abs(shown[:, None] - wanted).min(axis=0)
    assert np.abs(shown[whole] - wanted) == pytest.approx(away, abs=1e-6)
