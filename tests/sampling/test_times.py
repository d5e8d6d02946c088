"""Times to frames: rounded times, exact times, the nearest frame, tolerance, odd timestamps."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from corpus_files import corpus_files
from hypothesis import given, settings
from hypothesis import strategies as st

from videoloader.errors import ArgumentError, FrameRangeError
from videoloader.indexing import PacketFlags, VideoIndex, index_video
from videoloader.indexing.packets import packet_table
from videoloader.sampling import frames_at_times
from videoloader.sampling.times import frames_between

TIME_BASES = [
    Fraction(1, ticks) for ticks in (600, 1000, 10240, 12800, 15360, 16000, 30000, 60000, 90000)
] + [Fraction(1, 10**6), Fraction(1, 10**9)]
RATES = [Fraction(rate) for rate in (1, 5, 10, 12.5, 15, 24, 25, 30, 50, 60, 100, 120, 240)]
RATES += [Fraction(rate * 1000, 1001) for rate in (24, 30, 60, 120)]
REAL = {
    "opencv__box.mp4",  # later frames have earlier timestamps
    "androidx-media__bbb_2500ms.ts",
    "intel-sample-videos__brother.mkv",
    "mp4ff__ed_hevc.mp4",
    "mp4parser__MOV00006.3gp",
    "shaka-player__segment.ts",
    "vali__test_rot_90_deg.mp4",
}


def make_index(pts, time_base, last=None, order=None):
    """An index of frames at `pts`; the last lasts `last` ticks, or as long as the one before."""
    pts = np.asarray(pts, dtype=np.int64)
    table = packet_table(
        np.arange(len(pts)),
        np.ones(len(pts)),
        pts=pts,
        dts=np.arange(len(pts)),
        flags=np.full(len(pts), PacketFlags.KEY),
    )
    if last is not None:
        table["duration"][-1] = last
    return VideoIndex(
        table, time_base, "h264", 64, 48, "tables", 0, "mp4", order=order, name="clip.mp4"
    )


@st.composite
def videos(draw, least=Fraction(1, 240)):
    """Indexes of videos of constant and of variable rate that begin anywhere in two hours."""
    time_base = draw(st.sampled_from(TIME_BASES))
    start = Fraction(draw(st.integers(0, 7200_000)), 1000) * draw(st.sampled_from([0, 1]))
    count = draw(st.integers(2, 60))
    if draw(st.booleans()):
        rate = draw(st.sampled_from(RATES))
        times = [start + i / rate for i in range(count)]
    else:
        steps = st.integers(0, 2000).map(lambda part: least + Fraction(part, 1000))
        times = np.cumsum([start, *(draw(steps) for _ in range(count - 1))]).tolist()
    return make_index([round(time / time_base) for time in times], time_base)


def seconds(index):
    return [int(pts) * index.time_base for pts in index.pts]


def rounded(times):
    """Times as data sets store them."""
    yield np.array(times)
    yield np.array(times, dtype=np.float32)
    for digits in (4, 6):
        yield [round(time, digits) for time in times]
        yield np.array([round(time, digits) for time in times], dtype=np.float32)


@given(videos())
def test_times_that_were_rounded_find_their_frame(index):
    times = [float(time) for time in seconds(index)]
    for given_times in rounded(times):
        for nearest in (False, True):
            frames = frames_at_times(given_times, index, nearest=nearest)
            assert frames.tolist() == list(range(len(index)))


@pytest.mark.parametrize(
    ("ticks", "rate"),
    [
        *((ticks, rate) for ticks in (1000, 90000) for rate in RATES if rate <= 120),
        *((600, rate) for rate in RATES if rate <= 60),
    ],
    ids=str,
)
def test_times_that_the_container_rounded_find_their_frame(ticks, rate):
    count = int(100 * rate)
    index = make_index([round(i * ticks / rate) for i in range(count)], Fraction(1, ticks))
    for given_times in rounded((np.arange(count) / float(rate)).tolist()):
        assert (frames_at_times(given_times, index) == np.arange(count)).all()


@settings(max_examples=200)
@given(videos(), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 87)), min_size=1, max_size=20))
def test_a_time_well_inside_a_frame_gives_the_frame_on_screen(index, places):
    exact = seconds(index)
    for place, percent in places:
        frame = round(place * (len(index) - 2))
        time = exact[frame] + (exact[frame + 1] - exact[frame]) * percent / 100
        (found,) = frames_at_times([float(time)], index)
        assert found == max(i for i, begin in enumerate(exact) if begin <= time) == frame


@settings(max_examples=200)
@given(videos(), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_nearest_frame_is_the_nearest(index, places):
    exact = seconds(index)
    for place in places:
        time = float(exact[0]) + place * float(exact[-1] - exact[0])
        (found,) = frames_at_times([time], index, nearest=True)
        distances = [abs(Fraction(time) - begin) for begin in exact]
        assert distances[found] <= min(distances) + Fraction(1, 10**9)


@given(videos())
def test_in_the_middle_between_two_the_nearest_frame_is_the_later(index):
    exact = seconds(index)
    middles = [float(a + b) / 2 for a, b in pairwise(exact)]
    frames = frames_at_times(middles, index, nearest=True)
    assert frames.tolist() == list(range(1, len(index)))


def test_a_frame_is_given_from_a_little_before_its_start():
    at_90k = make_index(np.arange(60) * 3000, Fraction(1, 90000))
    at_1k = make_index(np.arange(60) * 40, Fraction(1, 1000))
    late = make_index(54_000_000 + np.arange(60) * 3000, Fraction(1, 90000))  # from 600 s on
    for index, start, before, frame in (
        (at_90k, 0.5, 5e-5, 15),
        (at_90k, 0.5, 7e-5, 14),
        (at_1k, 0.4, 5.4e-4, 10),
        (at_1k, 0.4, 1e-3, 9),  # a tick
        (late, 600.5, 600e-6, 15),
        (late, 600.5, 700e-6, 14),
        (at_90k, 0.0, 5e-5, 0),
    ):
        assert frames_at_times([start - before], index).tolist() == [frame]


def test_what_counts_as_the_start_of_a_frame_is_a_small_part_of_the_one_before():
    """Where a tick is a whole frame, half of it is not rounding."""
    index = make_index(np.arange(50), Fraction(1, 25))
    assert frames_at_times([0.04 - 0.006], index).tolist() == [0]
    assert frames_at_times([0.04 - 0.004], index).tolist() == [1]
    short = make_index([0, 1, 2, 90000], Fraction(1, 90000))
    assert frames_at_times([0.5 / 90000, 1.5 / 90000, 2 / 90000], short).tolist() == [0, 1, 2]


def test_times_outside_are_marked_or_refused():
    index = make_index([100, 200, 300], Fraction(1, 1000))
    times = [-5, 0.0999999, 0.1, 0.3999, 0.4, 1e300]
    for nearest in (False, True):
        frames = frames_at_times(times, index, nearest=nearest, pad_mode="edge")
        assert frames.tolist() == [-1, 0, 0, 2, 3, 3]
        for time in (-5, 0.4, -1e300):
            with pytest.raises(FrameRangeError, match=r"v\.mp4: time .* from 0\.1 to 0\.4 s"):
                frames_at_times([0.1, time], index, nearest=nearest, name="v.mp4")


def test_a_last_frame_of_unknown_duration_is_on_screen_at_its_own_time():
    index = make_index([0, 1000, 2001], Fraction(1, 30000), last=0)
    time = 2001 / 30000
    for given_times in rounded([time, 0.0]):
        assert frames_at_times(given_times, index).tolist() == [2, 0]
    assert frames_at_times([time + 0.001], index, pad_mode="edge").tolist() == [3]
    single = make_index([7], Fraction(1, 10), last=0)
    assert frames_at_times([0.7], single).tolist() == [0]


def test_a_video_of_no_frames_has_none_at_any_time():
    index = make_index([], Fraction(1, 10))
    assert index.boundaries.tolist() == [0]
    assert frames_at_times([0, 1], index, pad_mode="constant", nearest=True).tolist() == [-1, -1]
    with pytest.raises(FrameRangeError):
        frames_at_times([0], index)


def test_of_frames_at_one_time_the_last_is_given():
    index = make_index([0, 10, 10, 10, 20], Fraction(1, 100), order=np.arange(5))
    for nearest in (False, True):
        times = np.float32([0, 0.1, 0.15, 0.2])
        assert frames_at_times(times, index, nearest=nearest).tolist()[:2] == [0, 3]
        assert frames_at_times([0.0999999], index, nearest=nearest).tolist() == [3]


def test_frames_with_damaged_timestamps_are_found_by_them():
    index = make_index([0, 40, 20, 10, 60, 50], Fraction(1, 100), order=np.arange(6))
    times = np.float32([0, 0.4, 0.2, 0.1, 0.6, 0.5])
    for nearest in (False, True):
        frames = frames_at_times(times, index, nearest=nearest, tolerance=1e-4)
        assert frames.tolist() == list(range(6))
    assert frames_at_times([0.39], index).tolist() == [2]
    with pytest.raises(FrameRangeError, match=r"nearest frame is 1 at 0\.4 s"):
        frames_at_times([0.39], index, nearest=True, tolerance=1e-4)


def test_a_range_of_damaged_timestamps_ends_behind_the_frame_on_screen():
    index = make_index([0, 40, 20, 10, 60, 50], Fraction(1, 100), order=np.arange(6))
    for frame, begin in enumerate([0, 0.4, 0.2, 0.1, 0.6, 0.5]):
        assert frames_between(0, begin + 0.05, index) == (0, frame + 1)
        assert frames_between(0, begin, index) == (0, max(frame, 1))


def test_the_tolerance_holds_for_the_frame_that_is_given():
    index = make_index(np.arange(30) * 3000, Fraction(1, 90000))
    for nearest in (False, True):
        frames = frames_at_times([0.1001, 0.5], index, nearest=nearest, tolerance=1e-3)
        assert frames.tolist() == [3, 15]
        found = r"clip: time 0\.109 s .* nearest frame is 3 at 0\.1 s, 0\.009 s away"
        with pytest.raises(FrameRangeError, match=found):
            frames_at_times([0.1, 0.109], index, nearest=nearest, tolerance=8e-3, name="clip")
        assert frames_at_times([0.109], index, nearest=nearest, tolerance=9e-3).tolist() == [3]
    # Frame 4 is near enough to 0.132 s, but frame 3 is on screen.
    with pytest.raises(FrameRangeError, match=r"frame is 4 at 0\.1333.* nearest=True"):
        frames_at_times([0.132], index, tolerance=0.01)
    assert frames_at_times([0.132], index, nearest=True, tolerance=0.01).tolist() == [4]


def test_the_tolerance_leaves_times_outside_to_the_pad_mode():
    index = make_index(np.arange(30) * 3000, Fraction(1, 90000))
    frames = frames_at_times([-3, 0.5, 9], index, nearest=True, tolerance=0.0, pad_mode="edge")
    assert frames.tolist() == [-1, 15, 30]


@pytest.mark.parametrize("times", [[np.nan], [0, np.inf], ["soon"], [None], [[0], [1, 2]]])
def test_times_that_are_no_numbers_are_refused(times):
    index = make_index([0, 1], Fraction(1, 10))
    with pytest.raises(ArgumentError, match="clip: time"):
        frames_at_times(times, index, pad_mode="edge", name="clip")


@pytest.mark.parametrize("tolerance", [-0.1, np.nan])
def test_a_tolerance_is_not_negative(tolerance):
    with pytest.raises(ArgumentError, match="tolerance"):
        frames_at_times([0], make_index([0, 1], Fraction(1, 10)), tolerance=tolerance)


def test_no_times_give_no_frames():
    assert frames_at_times([], make_index([0, 1], Fraction(1, 10))).tolist() == []


@pytest.mark.parametrize("file", corpus_files(lambda file: file.path.name in REAL))
def test_every_frame_of_real_files_is_found_by_its_rounded_time(file):
    index = index_video(file.path, stream=file.stream)
    time_base = Fraction(file.reference["time_base"])
    times = [float(frame["pts"] * time_base) for frame in file.reference["frames"]]
    for given_times in rounded(times):
        assert frames_at_times(given_times, index).tolist() == list(range(len(times)))


def test_boundaries_are_when_frames_begin_and_the_last_one_ends():
    index = make_index([3, 7, 8], Fraction(1, 30), last=5)
    assert index.boundaries.tolist() == [3 / 30, 7 / 30, 8 / 30, 13 / 30]
    assert index.boundaries[:-1].tolist() == index.seconds(np.arange(3)).tolist()
    damaged = make_index([3, 9, 7], Fraction(1, 30), order=np.arange(3))
    damaged.packets["duration"] = [4, 1, 2]
    assert damaged.boundaries.tolist() == [3 / 30, 7 / 30, 9 / 30, 10 / 30]
    with pytest.raises(FrameRangeError, match=r"from 0\.1 to 0\.333333 s"):
        frames_at_times([0.4], damaged)
