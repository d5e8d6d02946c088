"""`EvenClips`: views for testing, spread evenly over a video."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.errors import ArgumentError
from videoloader.sampling import EvenClips

some = st.integers(1, 40)


@given(st.integers(1, 300), st.integers(2, 12), some, st.integers(1, 5))
def test_clips_go_from_the_first_frame_to_the_last_in_steps_that_differ_by_one(n, clips, count, by):
    frames = EvenClips(clips, count, by).frames(n)
    assert frames.shape == (clips, count)
    assert (np.diff(frames, axis=1) == by).all()
    fits = n > (count - 1) * by
    assert frames[0, 0] == 0
    assert frames[-1, -1] == max(n - 1, (count - 1) * by)
    steps = np.diff(frames[:, 0])
    assert steps.max() - steps.min() <= 1 if fits else not steps.any()


@given(st.integers(1, 200), some)
def test_a_single_clip_is_in_the_middle(n, count):
    (frames,) = EvenClips(1, count).frames(n)
    before, after = frames[0], n - 1 - frames[-1]
    assert frames[0] == 0 if n < count else 0 <= after - before <= 1


@given(st.integers(20, 200), st.integers(1, 6), st.sampled_from([5, 10, 25]))
def test_at_the_rate_of_frames_evenly_spaced_in_time_frames_and_times_agree(n, clips, rate):
    by_time = EvenClips(clips, 4, fps=rate).frames(n, fps=25.0)
    by_number = EvenClips(clips, 4, fps=rate, timing="frames").frames(n, fps=25.0)
    if 25 % rate == 0:
        assert by_time.tolist() == by_number.tolist()
    assert by_time.min() == 0 if clips > 1 else by_time.min() >= 0
    assert by_time.max() < n


@pytest.mark.parametrize("wrong", [{"clips": 0}, {"count": 0}, {"stride": 0}, {"fps": -1}])
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(ArgumentError):
        EvenClips(**{"clips": 2, "count": 2, **wrong})
