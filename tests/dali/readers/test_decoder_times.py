"""Frames of `fn.decoders.video` by time: `times`, and a target rate."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.dali import fn, pipeline_def
from videoloader.demo.videos import encode_video
from videoloader.errors import ArgumentError, FrameRangeError
from videoloader.sampling import DenseClips, sample_frames

UNEVEN = np.cumsum([700] + [4] * 9 + [40] + [20] * 4 + [4] * 9 + [90] + [8] * 10)


@pytest.fixture
def uneven(videos):
    """A video whose frames last from 0.04 to 0.9 s and begin at 7 s."""
    videos.indexes["a.mp4"] = replace(videos.made("a.mp4"), num_frames=len(UNEVEN), pts=UNEVEN)
    return videos.indexes["a.mp4"]


def decoded(**arguments):
    return fn.decoders.video("a.mp4", **arguments)[:, 0, 0, 0].tolist()


def shown(seconds):
    """The frame on screen so many seconds behind the beginning of the first one, in fractions."""
    begun = [Fraction(int(ticks - UNEVEN[0]), 100) for ticks in UNEVEN]
    return sum(begin <= Fraction(seconds) for begin in begun) - 1


def test_times_count_from_the_first_frame(uneven):
    wanted = [Fraction(n, 16) for n in (9, 0, 3, 3, 40, 17, 1)]
    assert decoded(times=[float(time) for time in wanted]) == [shown(time) for time in wanted]
    _, times = fn.decoders.video("a.mp4", frames=[0, 10, 11, 24], enable_timestamps=True)
    assert decoded(times=times) == [0, 10, 11, 24]
    assert decoded(times=times.float()) == [0, 10, 11, 24]


@pytest.mark.parametrize(
    ("pad_mode", "frames"),
    [("constant", [9, 1, 9]), ("edge", [0, 1, 34]), ("wrap", [34, 1, 0])],
)
def test_times_outside_are_padded(uneven, pad_mode, frames):
    assert decoded(times=[-0.5, 0.05, 99.0], pad_mode=pad_mode, fill_value=9) == frames


def test_a_time_outside_is_an_error_that_counts_from_the_first_frame_too(uneven):
    with pytest.raises(FrameRangeError, match=r"a\.mp4: time 99 s requested, .* from 0 to 3\."):
        decoded(times=[0.0, 99.0], pad_mode="none")


def test_every_sample_has_times_of_its_own(videos):
    first, second = fn.decoders.video(["a", "b"], times=[[0.5, 0.1], [0.0]])
    assert (first[:, 0, 0, 0].tolist(), second[:, 0, 0, 0].tolist()) == ([12, 2], [0])
    assert decoded(times=[]) == []


def test_times_of_a_real_video_are_those_of_the_video(tmp_path):
    path = encode_video(tmp_path / "a.mp4", size=(32, 24), frames=20)
    with vl.Video(path, chroma="centered") as video:
        begin = video.get_frames([0]).times[0]
        expected = video.get_frames_at_times(begin + np.array([0.5, 0.11, 0.3]))

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline():
        files = fn.external_source(lambda: [str(path)] * 2)
        times = fn.external_source(lambda: [np.array([0.5, 0.11, 0.3])] * 2)
        return tuple(fn.decoders.video(files, times=times, enable_frame_num="sequence"))

    with pipeline() as made:
        frames, numbers = made.run()
    assert numbers[0].tolist() == expected.indices.tolist()
    assert torch.equal(torch.as_tensor(frames[1]), expected.frames)


def nearest(start, fps, count):
    """Brute force: the frame nearest to each time, the later one of two; until the end."""
    begun = [Fraction(int(ticks), 100) for ticks in UNEVEN]
    times = [begun[start] + n / Fraction(fps) for n in range(count)]
    return [
        max(range(len(begun)), key=lambda frame: (-abs(begun[frame] - time), frame))
        for time in times
    ]


@pytest.mark.parametrize("fps", [5, 20, 30])
@pytest.mark.parametrize("start", [0, 7, 15])
def test_a_rate_goes_by_the_times_of_the_frames(uneven, fps, start):
    expected = nearest(start, fps, 6)
    assert decoded(fps=fps, start_frame=start, sequence_length=6) == expected
    clips = sample_frames(DenseClips(6, fps=fps, step=1), uneven)
    assert clips[start].tolist() == expected
    last = expected[-1] + 3
    end = Fraction(int(UNEVEN[last] - UNEVEN[start]), 100)
    count = -(-end * fps // 1)
    found = decoded(fps=fps, start_frame=start, end_frame=last)
    assert found == np.minimum(nearest(start, fps, count), last - 1).tolist()


def test_a_rate_takes_the_whole_video_by_default(uneven):
    frames = decoded(fps=10)
    duration = (UNEVEN[-1] + 4 - UNEVEN[0]) / 100
    assert len(frames) == np.ceil(duration * 10)
    assert frames == nearest(0, 10, len(frames))
    count = -(-(int(UNEVEN[-1]) + 4 - int(UNEVEN[24])) // 4)
    assert decoded(fps=25, start_frame=24) == nearest(24, 25, count)


@pytest.mark.parametrize(
    ("arguments", "frames"),
    [
        ({"pad_mode": "none"}, [36, 38]),
        ({"pad_mode": "edge"}, [36, 38, 39, 39]),
        ({"pad_mode": "constant"}, [36, 38, 0, 0]),
        ({"pad_mode": "wrap"}, [36, 38, 0, 2]),
    ],
)
def test_a_rate_past_the_end_goes_on_in_frames_of_average_length(videos, arguments, frames):
    assert decoded(fps=12.5, start_frame=36, sequence_length=4, **arguments) == frames
    ended = {"start_frame": 36, "end_frame": 44}
    assert decoded(fps=12.5, **ended, **arguments) == frames
    assert decoded(fps=12.5, start_frame=40, sequence_length=1, pad_mode="edge") == [39]
    with pytest.raises(vl.errors.FrameRangeError, match=r"frame 40 requested, .* has 40"):
        decoded(fps=12.5, **ended)


def test_a_rate_may_differ_between_samples(videos):
    first, second = fn.decoders.video(["a", "b"], fps=[5.0, 12.5], sequence_length=3)
    assert first[:, 0, 0, 0].tolist() == [0, 5, 10]
    assert second[:, 0, 0, 0].tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": [1.0], "frames": [1]}, "times excludes frames"),
        ({"times": [1.0], "sequence_length": 2}, "times excludes sequence_length"),
        ({"times": [1.0], "fps": 5.0}, "times excludes fps"),
        ({"frames": [1], "fps": 5.0}, "frames excludes fps"),
        ({"fps": 5.0, "stride": 2}, "stride or fps, not both"),
        ({"fps": 0.0}, "fps must be"),
        ({"fps": float("inf")}, "fps must be"),
        ({"fps": 5.0, "start_frame": -1}, "start_frame must be at least 0 with fps, got -1"),
        ({"times": [float("inf")]}, "inf is not finite"),
    ],
)
def test_what_contradicts_is_an_error(videos, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        fn.decoders.video("a.mp4", **arguments)


@pytest.mark.parametrize("start", [5, 9])
def test_a_range_at_a_rate_without_a_frame_is_an_error(videos, start):
    with pytest.raises(FrameRangeError, match=r"no frame from start_frame=.* before end_frame=5"):
        fn.decoders.video("a.mp4", fps=5.0, start_frame=start, end_frame=5)
