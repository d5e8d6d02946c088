"""Start, stop, stride and count, against Python's own ranges."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoloader.errors import ArgumentError
from videoloader.sampling import select_frames

small = st.integers(-60, 60)
strides = small.filter(bool)


@given(small, small, strides, st.integers(0, 50))
def test_a_stop_gives_pythons_range(start, stop, stride, num_frames):
    frames = select_frames(num_frames=num_frames, start=start, stop=stop, stride=stride)
    assert frames.tolist() == list(range(start, stop, stride))


@given(small, strides, st.integers(0, 50))
def test_a_count_gives_exactly_that_many_one_stride_apart(start, stride, count):
    frames = select_frames(num_frames=7, start=start, stride=stride, count=count)
    assert len(frames) == count
    assert frames.tolist()[:1] == [start][:count]
    assert {b - a for a, b in pairwise(frames)} <= {stride}


@given(st.integers(0, 49), strides)
def test_without_a_stop_the_video_ends_it(start, stride):
    frames = select_frames(num_frames=50, start=start, stride=stride)
    assert frames.tolist() == list(range(50))[start::stride]


def test_contradictions_are_refused():
    with pytest.raises(ArgumentError, match="stride"):
        select_frames(num_frames=5, stride=0)
    with pytest.raises(ArgumentError, match="not both"):
        select_frames(num_frames=5, stop=3, count=2)
    with pytest.raises(ArgumentError, match="count"):
        select_frames(num_frames=5, count=-1)
