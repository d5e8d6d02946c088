"""Clip samplers: what they may give, how often, and the published rules by hand."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.errors import ArgumentError
from videoloader.sampling import (
    ClipSampler,
    DenseClips,
    EvenClips,
    RandomClip,
    SegmentClip,
    UniformClip,
    generator,
)

counts = st.integers(1, 20)
lengths = st.integers(1, 300)


@given(counts, st.integers(1, 9), lengths, st.integers(0, 99))
def test_a_random_clip_is_evenly_spaced_and_fits_where_it_can(count, stride, length, seed):
    clip = RandomClip(count, stride).frames(length, rng=generator(seed))
    assert (np.diff(clip) == stride).all()
    assert len(clip) == count
    if (count - 1) * stride < length:
        assert 0 <= clip[0] <= clip[-1] < length
    else:
        assert clip[0] == 0


def test_every_start_of_a_random_clip_comes_up():
    rng = generator(1)
    starts = Counter(int(RandomClip(3, 2).frames(10, rng=rng)[0]) for _ in range(3000))
    assert sorted(starts) == [0, 1, 2, 3, 4, 5]
    assert min(starts.values()) > 400


@given(st.integers(1, 40), lengths)
def test_uniform_ends_is_dalis_rule(count, length):
    frames = UniformClip(count).frames(length).tolist()
    if count == 1:
        assert frames == [0]
        return
    step = Fraction(length - 1, count - 1)
    assert frames == [math.floor(i * step + Fraction(1, 2)) for i in range(count)]


@given(st.integers(1, 40), lengths)
def test_uniform_centers_are_the_middles_of_equal_parts(count, length):
    frames = UniformClip(count, rule="centers").frames(length).tolist()
    part = Fraction(length, count)
    assert frames == [math.floor((i + Fraction(1, 2)) * part) for i in range(count)]


@given(st.integers(1, 8), st.integers(1, 4), st.integers(1, 12), lengths)
def test_dense_clips_are_all_that_fit(count, stride, step, length):
    clips = DenseClips(count, stride, step).frames(length)
    starts = [s for s in range(0, length, step) if s + (count - 1) * stride < length]
    assert clips[:, 0].tolist() == starts
    assert all((np.diff(clip) == stride).all() for clip in clips)


@given(st.integers(1, 8), st.integers(1, 4), lengths)
def test_partial_dense_clips_cover_every_place(count, stride, length):
    clips = DenseClips(count, stride, partial=True).frames(length)
    span = (count - 1) * stride + 1
    assert clips[-1, 0] + span >= length
    assert clips[-1, 0] < length
    assert len(clips) == math.ceil(length / span)


@given(st.integers(1, 12), lengths, st.integers(0, 20))
def test_segments_each_give_one_frame_of_their_own(segments, length, seed):
    frames = SegmentClip(segments).frames(length, rng=generator(seed))
    bounds = [Fraction(i * length, segments) for i in range(segments + 1)]
    for frame, low, high in zip(frames, bounds[:-1], bounds[1:], strict=True):
        assert math.floor(low) <= frame < max(math.floor(high), math.floor(low) + 1)


def test_snippets_of_a_segment_are_consecutive():
    frames = SegmentClip(2, length=3, stride=2).frames(20)
    assert frames.tolist() == [2, 4, 6, 12, 14, 16]


@pytest.mark.parametrize("sampler", [RandomClip(8, fps=5), SegmentClip(1, length=8, fps=5)])
def test_a_target_rate_spaces_frames_in_time(sampler):
    frames = sampler.frames(300, fps=29.97)
    seconds = (frames - frames[0]) / 29.97
    assert np.abs(seconds - np.arange(8) / 5).max() <= 0.5 / 29.97 + 1e-9


def test_uniform_at_a_rate_takes_as_many_as_the_duration_gives():
    assert len(UniformClip(fps=2).frames(300, fps=30)) == 20
    assert len(DenseClips(4, fps=10).frames(120, fps=30)) == 12


def test_no_generator_means_the_middle():
    assert RandomClip(2, 1).frames(11).tolist() == [4, 5]
    assert SegmentClip(2, center=True).frames(10, rng=generator(3)).tolist() == [2, 7]


def test_samplers_are_plain_values():
    for sampler in (RandomClip(4), UniformClip(4), DenseClips(4), SegmentClip(4)):
        assert isinstance(sampler, ClipSampler)
        assert sampler == type(sampler)(4)
        assert hash(sampler) == hash(type(sampler)(4))


def test_what_has_no_meaning_is_refused():
    for wrong in (
        lambda: RandomClip(0),
        lambda: RandomClip(4, stride=0),
        lambda: RandomClip(4, stride=2, fps=3),
        lambda: RandomClip(4, fps=-1),
        lambda: UniformClip(),
        lambda: UniformClip(3, fps=2),
        lambda: UniformClip(3, rule="middle"),
        lambda: DenseClips(3, step=0),
        lambda: RandomClip(3).frames(0),
        lambda: RandomClip(3, fps=2).frames(9),
        lambda: RandomClip(2.5),
        lambda: RandomClip(2, stride=1.5),
        lambda: UniformClip("8"),
        lambda: DenseClips(2, step=1.5),
        lambda: EvenClips(1.5, count=4),
        lambda: SegmentClip(2.5),
    ):
        with pytest.raises(ArgumentError):
            wrong()


def test_streams_of_different_samples_differ_and_repeat():
    draws = {
        (seed, stage, sample, epoch): generator(
            seed, stage=stage, sample=sample, epoch=epoch
        ).integers(1 << 62)
        for seed in (0, 1, -1)
        for stage in range(3)
        for sample in range(5)
        for epoch in range(3)
    }
    assert len(set(draws.values())) == len(draws)
    for (seed, stage, sample, epoch), value in draws.items():
        again = generator(seed, stage=stage, sample=sample, epoch=epoch).integers(1 << 62)
        assert again == value
