"""Frames of a sampler: clips are counted without a list of them, one is made by itself."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processor_time import MILLION, at_most_steps

from videoloader.sampling import DenseClips, EvenClips, sample_frames
from videoloader.sampling.several_clips import clip_at, count_clips, count_clips_by_length


@dataclass
class Even:
    """A video of 25 frames a second."""

    num_frames: int
    name: str = "even.mp4"
    average_fps: Fraction = Fraction(25)

    @property
    def boundaries(self):
        return np.arange(self.num_frames + 1) / 25


COUNTS, STRIDES = st.integers(1, 6), st.integers(1, 3)
SAMPLERS = st.one_of(
    st.builds(DenseClips, COUNTS, STRIDES, st.none() | st.integers(1, 40), partial=st.booleans()),
    st.builds(DenseClips, COUNTS, fps=st.sampled_from([4.0, 10.0, 25.0]), partial=st.booleans()),
    st.builds(EvenClips, st.integers(1, 4), COUNTS, STRIDES),
)


@given(SAMPLERS, st.integers(1, 60), st.data())
def test_each_clip_is_that_of_the_list_and_there_is_none_behind_the_last(sampler, length, data):
    start = data.draw(st.integers(0, length - 1))
    stop = data.draw(st.integers(start + 1, length))
    video, scope = Even(length), {"start": start, "stop": stop}
    clips = sample_frames(sampler, video, **scope).tolist()
    assert count_clips(sampler, video, **scope) == len(clips)
    assert [clip_at(sampler, video, n, **scope).tolist() for n in range(len(clips))] == clips
    assert all(clip_at(sampler, video, len(clips) + n, **scope) is None for n in range(3))


@given(SAMPLERS, st.lists(st.integers(0, 60)))
def test_clips_are_counted_by_length(sampler, lengths):
    if isinstance(sampler, DenseClips) and sampler.fps is None:
        counts = count_clips_by_length(sampler, np.array(lengths, dtype=np.int64))
        assert counts.tolist() == [len(sampler.frames(n)) if n else 0 for n in lengths]


@pytest.mark.parametrize("partial", [False, True])
def test_videos_of_as_many_lengths_are_counted_at_once(partial):
    lengths = np.arange(200_000)
    with at_most_steps(200 * MILLION):
        counts = count_clips_by_length(DenseClips(16, step=1, partial=partial), lengths)
    assert counts[-1] == 199_999 - 15


@dataclass
class Listening:
    """A function of frame numbers that has no hash, as values that can change have none."""

    times: list

    def __call__(self, num_frames, *, fps=None, rng=None, boundaries=None):
        self.times = boundaries.tolist()
        return np.arange(num_frames)


def test_the_frames_of_a_sampler_may_be_any_callable():
    class Sampler:
        frames = Listening([])

    assert sample_frames(Sampler(), Even(4), start=1).tolist() == [1, 2, 3]
    assert Sampler.frames.times == [1 / 25, 2 / 25, 3 / 25, 4 / 25]
