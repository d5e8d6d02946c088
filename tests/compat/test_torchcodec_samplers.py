"""torchcodec's samplers on this library: which frames each clip has, by arithmetic in the test."""

import pytest
import torch

from videoloader.compat.torchcodec.decoders import VideoDecoder
from videoloader.compat.torchcodec.samplers import (
    clips_at_random_indices,
    clips_at_random_timestamps,
    clips_at_regular_indices,
    clips_at_regular_timestamps,
)
from videoloader.demo.videos import encode_video

FRAMES, FPS = 30, 10
INDEX_SAMPLERS = [clips_at_random_indices, clips_at_regular_indices]


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    path = tmp_path_factory.mktemp("samplers") / "clip.mp4"
    options = {"g": "10", "threads": "1"}
    return VideoDecoder(encode_video(path, size=(64, 48), fps=FPS, frames=FRAMES, options=options))


def numbers(clips):
    """Frame numbers of clips, by their times."""
    return (clips.pts_seconds * FPS).round().int().tolist()


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("repeat_last", [[26, 28, 28, 28], [29] * 4]), ("wrap", [[26, 28, 26, 28], [29] * 4])],
)
def test_policies_replace_what_lies_beyond_the_video(decoder, policy, expected):
    options = {"num_clips": 2, "num_frames_per_clip": 4, "num_indices_between_frames": 2}
    clips = clips_at_regular_indices(
        decoder, **options, sampling_range_start=-4, sampling_range_end=FRAMES, policy=policy
    )
    assert numbers(clips) == expected
    assert clips.data.shape == (2, 4, 3, 48, 64)
    assert clips.duration_seconds.shape == (2, 4)
    for clip, frames in zip(clips, expected, strict=True):
        assert torch.equal(clip.data, decoder.get_frames_at(frames).data)
    with pytest.raises(ValueError, match="beyond the number of frames"):
        clips_at_regular_indices(
            decoder, **options, sampling_range_start=-4, sampling_range_end=999, policy="error"
        )


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("repeat_last", [[25, 27, 29, 29], [28] * 4]), ("wrap", [[25, 27, 29, 25], [28] * 4])],
)
def test_policies_hold_for_times_as_well(decoder, policy, expected):
    options = {"num_frames_per_clip": 4, "seconds_between_frames": 0.2}
    clips = clips_at_regular_timestamps(
        decoder,
        seconds_between_clip_starts=0.3,
        sampling_range_start=2.55,
        sampling_range_end=9.0,
        policy=policy,
        **options,
    )
    assert numbers(clips) == expected
    with pytest.raises(ValueError, match="beyond the number of frames"):
        clips_at_random_timestamps(
            decoder, sampling_range_start=2.95, sampling_range_end=9, policy="error", **options
        )


def test_regular_clips_are_evenly_spaced_and_end_with_the_video(decoder):
    assert numbers(clips_at_regular_indices(decoder, num_clips=3, num_frames_per_clip=2)) == [
        [0, 1],
        [14, 15],
        [28, 29],
    ]
    many = numbers(clips_at_regular_indices(decoder, num_clips=20, sampling_range_end=10))
    assert {number for (number,) in many} == set(range(10))
    assert many == sorted(many)
    clips = clips_at_regular_timestamps(
        decoder, seconds_between_clip_starts=1, num_frames_per_clip=3
    )
    assert numbers(clips) == [[0, 1, 2], [10, 11, 12], [20, 21, 22]]


def test_random_clips_are_those_that_torchs_generator_draws_for_torchcodec(decoder):
    torch.manual_seed(3)
    clips = clips_at_random_indices(decoder, num_clips=6, num_frames_per_clip=5)
    times = clips_at_random_timestamps(decoder, num_clips=6, sampling_range_end=2.0)
    torch.manual_seed(3)
    starts = torch.randint(low=0, high=FRAMES - 5 + 1, size=(6,)).tolist()
    assert numbers(clips) == [list(range(start, start + 5)) for start in starts]
    drawn = torch.rand(6, dtype=torch.float64) * 2.0
    assert numbers(times) == [[int(time * FPS)] for time in drawn.tolist()]


@pytest.mark.parametrize("sampler", INDEX_SAMPLERS)
def test_a_range_bounds_where_clips_begin(decoder, sampler):
    options = {"num_clips": 8, "num_frames_per_clip": 2}
    clips = sampler(decoder, **options, sampling_range_start=-10, sampling_range_end=-9)
    assert numbers(clips) == [[20, 21]] * 8
    starts = {first for first, _ in numbers(sampler(decoder, **options, sampling_range_start=25))}
    assert starts <= {25, 26, 27, 28}


@pytest.mark.parametrize("sampler", INDEX_SAMPLERS)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_frames_per_clip": 0}, r"num_frames_per_clip \(0\) must be strictly positive"),
        ({"num_clips": 0}, r"num_clips \(0\) must be"),
        ({"num_indices_between_frames": 0}, r"\(0\) must be strictly positive"),
        ({"policy": "BAD"}, "Invalid policy"),
        ({"sampling_range_start": 1000}, r"sampling_range_start \(1000\) must be smaller than"),
        (
            {"sampling_range_start": 4, "sampling_range_end": 4},
            r"sampling_range_start \(4\) must be smaller than sampling_range_end",
        ),
        (
            {"sampling_range_start": FRAMES - 1, "num_frames_per_clip": 10},
            "We determined that sampling_range_end should",
        ),
    ],
)
def test_wrong_arguments_are_refused(decoder, sampler, options, words):
    with pytest.raises(ValueError, match=words):
        sampler(decoder, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sampling_range_start": -1}, r"sampling_range_start \(-1\) must be at least 0.0"),
        ({"sampling_range_end": -1}, r"sampling_range_end \(-1\) must be at least 0.0"),
        ({"sampling_range_start": 1000}, "must be smaller than"),
        ({"sampling_range_start": 2, "sampling_range_end": 2}, "must be smaller than"),
        ({"seconds_between_clip_starts": -1}, r"seconds_between_clip_starts \(-1\) must be > 0"),
        ({"seconds_between_frames": 0}, r"\(0\) must be > 0"),
        ({"num_frames_per_clip": 0}, "must be strictly positive"),
    ],
)
def test_wrong_times_are_refused(decoder, options, words):
    with pytest.raises(ValueError, match=words):
        clips_at_regular_timestamps(decoder, **{"seconds_between_clip_starts": 1, **options})


@pytest.mark.parametrize("number", [1.5, "a", None, float("nan")])
@pytest.mark.parametrize("name", ["num_clips", "num_frames_per_clip", "num_indices_between_frames"])
def test_numbers_of_frames_are_integers(decoder, name, number):
    with pytest.raises(TypeError, match="Expected a value of type 'int'"):
        clips_at_regular_indices(decoder, **{name: number})


def test_steps_may_be_tensors(decoder):
    clips = clips_at_regular_indices(
        decoder, num_frames_per_clip=2, num_indices_between_frames=torch.tensor(2)
    )
    assert clips.pts_seconds.diff().tolist() == [[pytest.approx(0.2)]]
    timed = clips_at_regular_timestamps(
        decoder,
        seconds_between_clip_starts=torch.tensor(1.0),
        num_frames_per_clip=2,
        seconds_between_frames=torch.tensor(0.2),
    )
    assert timed.data.shape[:2] == (3, 2)


@pytest.mark.parametrize(
    ("field", "words"), [("average_fps", "average fps"), ("end_stream_seconds", "stream end")]
)
def test_times_need_metadata(decoder, field, words, monkeypatch):
    monkeypatch.setattr(decoder.metadata, field, None)
    with pytest.raises(ValueError, match=f"Could not infer {words}"):
        clips_at_regular_timestamps(decoder, seconds_between_clip_starts=1)
