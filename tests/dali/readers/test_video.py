from dataclasses import replace

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.pipeline import DataNode, pipeline_def
from videoloader.errors import (
    ArgumentError,
    FormatError,
    FrameRangeError,
    OperatorError,
)
from videoloader.sampling import (
    DenseClips,
    RandomClip,
    SegmentClip,
    UniformClip,
    sample_frames,
)

pytestmark = pytest.mark.usefixtures("no_threads_left")

FILES = ["a.mp4", "b.mp4", "c.mp4"]


def reader(batch_size=2, seed=0, **arguments):
    arguments = {"filenames": FILES, "name": "Reader"} | arguments
    return pipeline_def(lambda: fn.readers.video(**arguments))(batch_size=batch_size, seed=seed)


def epoch(pipe, output=None):
    """Frame numbers of the clips of the first epoch, or another output."""
    with pipe:
        size = pipe.epoch_size("Reader")
        samples = []
        while len(samples) < size:
            outputs = pipe.run()
            if output is None:
                samples += [sample[:, 0, 0, 0].tolist() for sample in outputs[0]]
            else:
                samples += [sample.tolist() for sample in outputs[output]]
        return samples[:size]


def test_clips_lie_end_to_end_and_those_that_do_not_fit_are_left_out(videos):
    videos.lengths = {"a.mp4": 10, "b.mp4": 3, "c.mp4": 4}
    assert epoch(reader(sequence_length=4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3]]


def test_the_last_clip_that_fits_is_kept(videos):
    videos.length = 7
    assert epoch(reader(filenames=["a"], sequence_length=3, stride=3)) == [[0, 3, 6]]


def test_step_and_stride(videos):
    clips = epoch(reader(filenames=["a"], sequence_length=3, stride=2, step=15))
    assert clips == [[0, 2, 4], [15, 17, 19], [30, 32, 34]]


@pytest.mark.parametrize(
    ("arguments", "starts"),  # those of DALI 2.4 for a video of 40 frames
    [
        ({}, list(range(0, 39, 3))),
        ({"stride": 2}, [0, 6, 12, 18, 24, 30]),
        ({"stride": 5}, [0, 15]),
        ({"stride": 5, "pad_mode": "edge"}, [0, 15, 30]),
        ({"stride": 20, "sequence_length": 4, "pad_mode": "constant"}, [0]),
    ],
)
def test_clips_begin_where_dalis_do_by_default(videos, arguments, starts):
    clips = epoch(reader(**{"filenames": ["a"], "sequence_length": 3} | arguments))
    assert [clip[0] for clip in clips] == starts


def test_a_negative_stride_plays_the_same_clips_backwards(videos):
    forward = epoch(reader(sequence_length=4, stride=3))
    backward = epoch(reader(sequence_length=4, stride=-3))
    assert backward == [clip[::-1] for clip in forward]


@pytest.mark.parametrize(
    ("pad_mode", "last"),
    [
        ("edge", [4, 5, 5, 5]),
        ("constant", [4, 5, 9, 9]),
        ("reflect_1001", [4, 5, 5, 4]),
        ("reflect", [4, 5, 4, 3]),
        ("wrap", [4, 5, 0, 1]),
    ],
)
def test_padding_keeps_one_last_clip(videos, pad_mode, last):
    videos.length = 6
    clips = epoch(reader(filenames=["a"], sequence_length=4, pad_mode=pad_mode, fill_value=9))
    assert clips == [[0, 1, 2, 3], last]


def test_padding_stays_inside_the_range_of_a_list(videos, tmp_path):
    (tmp_path / "list.txt").write_text("a 7 10 13\n")
    arguments = {"file_list": tmp_path / "list.txt", "file_list_format": "frames"}
    pipe = reader(filenames=None, sequence_length=6, pad_mode="reflect", **arguments)
    assert epoch(pipe) == [[10, 11, 12, 11, 10, 11]]


def test_the_end_of_a_range_in_a_list_is_not_in_it(videos, tmp_path):
    (tmp_path / "list.txt").write_text("a 7 10 50\n")
    videos.length = 100
    arguments = {"file_list": tmp_path / "list.txt", "file_list_format": "frames"}
    arguments |= {"filenames": None, "sequence_length": 6, "step": 7}
    starts = [clip[0] for clip in epoch(reader(**arguments))]
    assert starts == [10, 17, 24, 31, 38]  # as in DALI 2.4
    starts = [clip[0] for clip in epoch(reader(**arguments, file_list_include_end=True))]
    assert starts == [10, 17, 24, 31, 38, 45]


def test_uniform_sampling_follows_dalis_rule(videos):
    videos.length = 11
    clips = epoch(reader(filenames=["a"], sequence_length=5, uniform_sample=True))
    assert clips == [[int(np.floor(i * 10 / 4 + 0.5)) for i in range(5)]]


@pytest.mark.parametrize(
    "sampler", [UniformClip(3), DenseClips(3, stride=2, step=9), SegmentClip(4)]
)
def test_any_sampler_can_take_the_place_of_the_rules(videos, sampler):
    clips = epoch(reader(filenames=["a"], sampler=sampler, batch_size=1))
    if isinstance(sampler, SegmentClip):
        assert all(10 * part <= frame < 10 * part + 10 for part, frame in enumerate(clips[0]))
    else:
        assert clips == np.atleast_2d(sampler.frames(40)).tolist()


@pytest.mark.parametrize(
    "sampler",
    [
        DenseClips(3, fps=4),
        DenseClips(3, fps=7, step=2, partial=True),
        UniformClip(fps=5),
        SegmentClip(4, 2, fps=9, center=True),
    ],
)
@pytest.mark.parametrize("range_of", ["", " 5 32"])
def test_samplers_at_a_rate_go_by_the_times_of_the_frames(videos, tmp_path, sampler, range_of):
    steps = [4] * 20 + [90] + [20] * 4 + [4] * 9 + [150] + [8] * 10
    video = replace(videos.made("a"), num_frames=45, pts=np.cumsum(steps))
    videos.indexes["a"] = video
    (tmp_path / "list.txt").write_text(f"a 7{range_of}\n")
    arguments = {"file_list": tmp_path / "list.txt", "file_list_format": "frames"}
    clips = epoch(reader(filenames=None, sampler=sampler, pad_mode="constant", **arguments))
    first, stop = map(int, range_of.split() or (0, 45))
    expected = np.atleast_2d(sample_frames(sampler, video, start=first, stop=stop))
    by_number = np.atleast_2d(
        sample_frames(replace(sampler, timing="frames"), video, start=first, stop=stop)
    )
    assert clips == np.where(expected >= stop, 0, expected).tolist()
    assert expected.tolist() != by_number.tolist()


def test_a_random_sampler_draws_anew_in_every_epoch_and_the_same_for_one_seed(videos):
    runs = []
    for threads in (1, 3):
        sampler = RandomClip(4)
        pipe = pipeline_def(lambda s=sampler: fn.readers.video(filenames=FILES, sampler=s))(
            batch_size=3, seed=2, num_threads=threads
        )
        with pipe:
            runs.append([pipe.run()[0].as_tensor()[:, :, 0, 0, 0] for _ in range(5)])
    assert all(torch.equal(one, other) for one, other in zip(*runs, strict=True))
    assert len({tuple(batch.flatten().tolist()) for batch in runs[0]}) == 5


def test_a_random_clip_of_a_short_file_says_how_to_pad(videos):
    videos.length = 3
    pipe = reader(sampler=RandomClip(4))
    with pipe, pytest.raises(OperatorError, match="frame 3 requested") as caught:
        pipe.run()
    assert isinstance(caught.value.__cause__, FrameRangeError)


def test_shuffling_permutes_the_shard_anew_in_every_epoch(videos):
    arguments = {"sequence_length": 4, "enable_frame_num": "scalar", "labels": []}
    with reader(10, seed=3, random_shuffle=True, **arguments) as pipe:
        epochs = []
        for _ in range(3):
            seen = []
            for _ in range(3):
                _, labels, first = pipe.run()
                seen += zip(
                    labels.as_tensor()[:, 0].tolist(), first.as_tensor()[:, 0].tolist(), strict=True
                )
            epochs.append(seen)
    everything = [(label, 4 * clip) for label in range(3) for clip in range(10)]
    assert all(sorted(seen) == everything for seen in epochs)
    assert len({tuple(seen) for seen in [everything, *epochs]}) == 4


def test_outputs_stand_in_dalis_order(videos):
    pipe = reader(
        filenames=["a"],
        labels=[5],
        sequence_length=4,
        step=38,
        pad_mode="constant",
        enable_frame_num="sequence",
        enable_timestamps=True,
    )
    with pipe:
        clips, labels, frames, times = pipe.run()
    assert clips.layout() == "FHWC"
    assert (labels.dtype, frames.dtype, times.dtype) == (types.INT32, types.INT32, types.FLOAT64)
    assert labels.as_tensor().tolist() == [[5], [5]]
    assert frames.as_tensor().tolist() == [[0, 1, 2, 3], [38, 39, -1, -1]]
    np.testing.assert_allclose(times.as_tensor()[1], [1.52, 1.56, -1, -1])


def test_files_are_indexed_once_and_closed_again(videos):
    pipe = reader(filenames=["a", "b", "a"], sequence_length=20)
    epoch(pipe)
    assert sorted(videos.indexed) == ["a", "b"]


def test_shards_part_the_clips(videos):
    clips = [
        epoch(reader(1, sequence_length=4, shard_id=shard, num_shards=3, stick_to_shard=True))[:10]
        for shard in range(3)
    ]
    assert [clip[0] for clip in clips[0]] == list(range(0, 40, 4))
    assert clips[0] == clips[1] == clips[2]  # one file each


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"filenames": None},
            "needs one of filenames, file_root, file_list, dataset, index, got none",
        ),
        ({"file_root": "x"}, "got filenames and file_root"),
        ({"labels": [1]}, "1 labels for 3 filenames"),
        ({"sequence_length": None}, r"needs sequence_length \(or a sampler\)"),
        ({"sequence_length": 0}, "sequence_length must be int, at least 1, got 0"),
        ({"stride": 0}, "stride must not be 0"),
        ({"step": 0}, "step must be at least 1, or -1, got 0"),
        ({"pad_mode": "mirror"}, "pad_mode must be one of"),
        ({"sampler": UniformClip(3)}, "sampler excludes sequence_length"),
        ({"sampler": 3, "sequence_length": None}, "sampler must be a clip sampler"),
        ({"uniform_sample": True, "stride": 2}, "uniform_sample excludes stride, step"),
        ({"fps": 5, "stride": 2}, "give stride or fps"),
        ({"fps": 5, "uniform_sample": True}, "uniform_sample excludes stride, step, fps"),
        ({"clips_per_video": 2, "step": 3}, "clips_per_video excludes step"),
        (
            {"clips_per_video": 2, "sampler": DenseClips(3), "sequence_length": None},
            "give a sampler that draws",
        ),
        ({"shuffle_buffer": 8}, "shuffle_buffer goes with clips_per_decode"),
        ({"shuffle_buffer": 3, "clips_per_decode": 4}, "at least that many clips"),
        ({"filter": {"min_frames": 3}}, "filter goes with a data set index"),
        ({"weights": [1, 2]}, "3 videos, but 2 weights"),
        ({"weights": [1, 2, 3], "balanced": True}, "give weights or balanced"),
        ({"balanced": True}, "balanced needs labels"),
        ({"sequence_length": 41}, "none of the 3 videos is long enough"),
        ({"num_shards": 31}, "30 samples are too few for 31 shards"),
        ({"sequence_lenght": 3}, "did you mean .*sequence_length"),
    ],
)
def test_arguments_without_a_meaning_are_errors(videos, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        reader(**{"sequence_length": 4} | arguments).build()


@pytest.mark.parametrize(
    ("limits", "older", "expected"),  # frames have 1/25 s; DALI leaves the end out
    [
        ("0.1 0.5", {"file_list_include_preceding_frame": False}, range(3, 12)),
        ("0.1 0.5", {"file_list_include_preceding_frame": True}, range(2, 13)),
        ("0.12 0.48", {"file_list_include_preceding_frame": True}, range(3, 12)),
        ("2.3 9.7", {"file_list_frame_num": True}, range(3, 9)),
        (
            "2.3 9.7",
            {"file_list_frame_num": True, "file_list_include_preceding_frame": True},
            range(3, 9),
        ),
        ("30 -4", {"file_list_frame_num": True}, range(30, 36)),
        ("0.1 0.5", {"file_list_frame_num": False}, range(3, 12)),
    ],
)
def test_limits_of_lists_in_dalis_older_form(videos, tmp_path, limits, older, expected):
    (tmp_path / "list.txt").write_text(f"a 7 {limits}\n")
    arguments = {"filenames": None, "file_list": tmp_path / "list.txt", **older}
    clips = epoch(reader(sequence_length=1, **arguments))
    assert [number for (number,) in clips] == list(expected)


def test_padded_sequences_are_clips_filled_with_zeros(videos):
    videos.length = 6
    arguments = {"filenames": ["a"], "sequence_length": 4, "enable_frame_num": "sequence"}
    with reader(pad_sequences=True, enable_timestamps=True, **arguments) as pipe:
        clips, numbers, times = pipe.run()
    assert numbers.as_array().tolist() == [[0, 1, 2, 3], [4, 5, -1, -1]]
    assert times.as_array()[1, 2:].tolist() == [-1, -1]
    assert clips.as_array()[1, :, 0, 0, 0].tolist() == [4, 5, 0, 0]


@pytest.mark.parametrize("with_operator", [False, True])
def test_clips_of_floats(videos, with_operator):
    """Operators behind see the floats; the decoder does not take them over."""

    def clip(**arguments):
        def definition():
            clips = fn.readers.video(filenames=["a"], sequence_length=4, **arguments)
            return fn.crop_mirror_normalize(clips, mean=3, std=2) if with_operator else clips

        with pipeline_def(definition)(batch_size=2) as pipe:
            (clips,) = pipe.run()
        return clips.as_array()

    plain = clip().astype(np.float32)
    floats = clip(dtype=types.FLOAT)
    assert floats.dtype == np.float32
    assert np.array_equal(floats, plain)
    small = clip(normalized=True)
    assert small.dtype == np.float32
    expected = (2 * plain + 3) / 255 if with_operator else plain / 255
    assert np.allclose(2 * small + 3 if with_operator else small, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"normalized": True, "dtype": types.UINT8}, "normalized gives float32"),
        ({"dtype": types.INT16}, "dtype"),
        ({"channels": 1}, "channels"),
        ({"pad_sequences": True, "pad_mode": "edge"}, "give one"),
        ({"file_list_frame_num": True, "file_list_rounding": "all_up"}, "older form"),
    ],
)
def test_formats_that_are_not_there_are_errors(videos, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        reader(sequence_length=4, **arguments)


def test_arguments_that_have_no_effect_are_taken(videos):
    reader(sequence_length=4, initial_fill=16, read_ahead=True, dtype=types.UINT8).build()


def test_a_reader_outside_a_definition_is_a_node():
    assert isinstance(fn.readers.video(filenames=FILES, sequence_length=4), DataNode)


def decoded(*inputs, **arguments):
    clip = fn.decoders.video(*inputs, **arguments)
    return clip[:, 0, 0, 0].tolist()


@pytest.mark.parametrize(
    ("arguments", "frames"),
    [
        ({}, list(range(10))),
        ({"frames": [5, 0, 5]}, [5, 0, 5]),
        ({"frames": []}, []),
        ({"frames": [8, 12], "fill_value": 99, "pad_mode": "constant"}, [8, 99]),
        ({"frames": [8, 12], "pad_mode": "edge"}, [8, 9]),
        ({"start_frame": 2, "end_frame": 9, "stride": 3}, [2, 5, 8]),
        ({"stride": -4}, [9, 5, 1]),
        ({"start_frame": 8, "sequence_length": 4, "pad_mode": "none"}, [8, 9]),
        ({"start_frame": 8, "sequence_length": 4, "pad_mode": "wrap"}, [8, 9, 0, 1]),
        ({"start_frame": 8, "sequence_length": 4, "pad_mode": "constant"}, [8, 9, 0, 0]),
        ({"start_frame": 8, "end_frame": 13, "pad_mode": "none"}, [8, 9]),
        ({"start_frame": 8, "end_frame": 13, "pad_mode": "none", "stride": 2}, [8]),
        ({"start_frame": 7, "sequence_length": 5, "pad_mode": "none", "stride": 2}, [7, 9]),
        ({"start_frame": 2, "sequence_length": 5, "pad_mode": "none", "stride": -2}, [2, 0]),
        ({"end_frame": 13, "pad_mode": "none"}, list(range(10))),
        ({"end_frame": 12, "pad_mode": "constant"}, [*range(10), 0, 0]),
        ({"start_frame": -2, "end_frame": 2, "pad_mode": "edge"}, [0, 0, 0, 1]),
    ],
)
def test_a_decoder_gives_the_frames_asked_for(videos, arguments, frames):
    videos.length = 10
    assert decoded("a.mp4", **arguments) == frames
    assert decoded(torch.zeros(7, dtype=torch.uint8), **arguments) == frames


def test_a_decoder_gives_numbers_and_times_and_a_size(videos):
    clip, numbers, times = fn.decoders.video(
        "a.mp4",
        frames=[3, 99],
        pad_mode="constant",
        size=(2, 5),
        enable_frame_num="sequence",
        enable_timestamps=True,
    )
    assert clip.shape == (2, 2, 5, 3)
    assert numbers.tolist() == [3, -1]
    np.testing.assert_allclose(times, [0.12, -1])


def test_a_decoder_takes_a_list_of_frames_for_each_sample(videos):
    first, second = fn.decoders.video(["a", "b"], frames=[[1, 2], [3]])
    assert (first[:, 0, 0, 0].tolist(), second[:, 0, 0, 0].tolist()) == ([1, 2], [3])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"frames": [1], "stride": 2}, ArgumentError, "frames excludes stride"),
        ({"end_frame": 1, "sequence_length": 2}, ArgumentError, "end_frame or sequence_length"),
        ({"stride": 0}, ArgumentError, "stride must not be 0"),
        ({"frames": [99], "pad_mode": "none"}, FrameRangeError, "frame 99 requested"),
        ({"start_frame": 40}, FrameRangeError, "a.mp4: no frame from start_frame=40"),
        ({"start_frame": 5, "end_frame": 5}, FrameRangeError, "before end_frame=5"),
        ({"start_frame": 5, "end_frame": 3}, FrameRangeError, "before end_frame=3"),
        (
            {"start_frame": 40, "sequence_length": 3, "pad_mode": "none"},
            FrameRangeError,
            "no frame from start_frame=40",
        ),
        (
            {"start_frame": -2, "end_frame": 2, "pad_mode": "none"},
            FrameRangeError,
            "frame -2 requested",
        ),
    ],
)
def test_arguments_of_a_decoder_are_checked(videos, arguments, error, message):
    with pytest.raises(error, match=message):
        fn.decoders.video("a.mp4", **arguments)


def test_what_is_no_file_is_an_error(videos):
    with pytest.raises(ArgumentError, match="takes the bytes of a file as 1-D uint8, or a path"):
        fn.decoders.video(torch.zeros(2, 2))


def test_a_clip_that_fails_is_replaced_by_the_next_and_told(videos):
    videos.broken.add("b.mp4")
    videos.length = 4
    pipe = reader(batch_size=3, sequence_length=4, on_error="replace", enable_frame_num=True)
    with pipe:
        pipe.run()
        stats = pipe.stats()["Reader"]
    assert videos.opened[:3].count("b.mp4") == 1
    assert {path for path, _ in stats.failures} == {"b.mp4"}
    assert "packet 3" in stats.failures[0][1]
    assert stats.samples >= 3
    assert stats.seconds > 0


def test_clips_tell_their_file_through_operators_that_decoding_absorbs(videos):
    """The file of the replacement, where a clip was replaced."""
    videos.broken.add("b.mp4")
    videos.length = 4

    @pipeline_def(batch_size=2)
    def definition(fuse_with):
        clips = fn.readers.video(filenames=FILES, sequence_length=4, on_error="replace")
        small = fn.resize(clips, size=4)
        return small * 2, small.source_info(), *([clips] if fuse_with else [])

    for fuse_with in (False, True):
        with definition(fuse_with) as pipe:
            doubled, texts, *_ = pipe.run()
        assert doubled.source_info() == ["a.mp4", "c.mp4"]
        assert [bytes(text.tolist()) for text in texts] == [b"a.mp4", b"c.mp4"]


def test_a_file_that_cannot_be_indexed_is_left_out_or_an_error(videos):
    videos.lengths = {"b.mp4": 0}
    with pytest.raises(FormatError, match=r"b\.mp4: there is no frame"):
        reader(sequence_length=4).build()
    with reader(batch_size=2, sequence_length=40, on_error="replace") as pipe:
        pipe.run()
        assert pipe.epoch_size("Reader") == 2
        assert [path for path, _ in pipe.stats()["Reader"].failures] == ["b.mp4"]


def test_when_every_clip_fails_the_error_says_so(videos):
    videos.broken.update(FILES)
    with (
        reader(sequence_length=4, on_error="replace") as pipe,
        pytest.raises(OperatorError, match="none of the 30 clips"),
    ):
        pipe.run()


def test_what_fails_in_every_epoch_is_told_once(videos):
    videos.broken.add("b.mp4")
    with reader(batch_size=6, sequence_length=20, on_error="replace") as pipe:
        for _ in range(6):
            pipe.run()
        failures = pipe.stats()["Reader"].failures
    assert [path for path, _ in failures] == ["b.mp4"]
    assert videos.opened.count("b.mp4") > 6
