"""Misspelled names: errors suggest the names that there are."""

import importlib
from functools import partial

import numpy as np
import pytest

import videoloader
from videoloader.dali import fn, ops, pipeline_def
from videoloader.dali.experimental import dynamic
from videoloader.errors import ArgumentTypeError
from videoloader.indexing.dataset.filtering import Limits
from videoloader.machinery.system.spelling import did_you_mean, suggests_attributes


@pytest.mark.parametrize(
    ("module", "name", "right"),
    [
        (videoloader, "Laoder", "Loader"),
        (fn, "resiz", "resize"),
        (fn, "reader", "readers"),
        (fn.readers, "vidio", "video"),
        (fn.io.file, "reed", "read"),
        (fn.experimental, "decoder", "decoders"),
        (ops, "Resise", "Resize"),
        (ops.random, "CoinFlop", "CoinFlip"),
        (dynamic, "resiz", "resize"),
        (dynamic.math, "sqtr", "sqrt"),
    ],
)
def test_a_misspelled_name_in_a_module_is_told_with_the_right_one(module, name, right):
    message = rf"^module '{module.__name__}' has no attribute '{name}'; did you mean .*\b{right}\b"
    with pytest.raises(AttributeError, match=message):
        getattr(module, name)


def test_names_that_are_like_no_other_bring_no_suggestion():
    with pytest.raises(AttributeError, match=r"has no attribute 'zzzz'$"):
        fn.zzzz  # noqa: B018
    assert not hasattr(fn, "__wrapped__")


@pytest.mark.parametrize(
    ("call", "wrong", "right"),
    [
        (videoloader.RandomClip, "num_frames", "count"),
        (videoloader.RandomClip, "strid", "stride"),
        (videoloader.RandomClip, "step", "stride"),
        (videoloader.EvenClips, "num_clips", "clips"),
        (videoloader.DenseClips, "num_frames", "count"),
        (videoloader.SegmentClip, "num_frames", "segments"),
        (videoloader.Loader, "num_clips", "clips_per_video"),
        (videoloader.SegmentClip, "num_clips", "segments"),
        (videoloader.Packing, "tokens", "max_tokens"),
        (videoloader.Buckets, "shape", "shapes"),
        (videoloader.Video.get_frames, "num_frames", "count"),
        (videoloader.Video.get_frames, "step", "stride"),
        (videoloader.Video.get_frames, "height", "size"),
        (videoloader.Video.get_frames, "width", "size"),
        (videoloader.Video, "num_threads", "threads"),
        (videoloader.Loader, "num_threads", "workers"),
        (videoloader.Loader, "num_workers", "workers"),
        (videoloader.Loader, "drop_last", 'remainder="drop"'),
        (videoloader.Loader, "world_size", "num_ranks"),
        (videoloader.Loader, "normalize", "mean=... and std=..."),
        (videoloader.cut, "start_seconds", "times"),
        (videoloader.Loader, "pin_memory", 'device="cuda"'),
        (videoloader.Loader, "sampler", "clips"),
        (videoloader.RandomClip, "clip_len", "count"),
        (videoloader.RandomClip, "frames", "count"),
        (videoloader.RandomClip, "frame_interval", "stride"),
        (videoloader.write_video, "crf", "quality"),
        (videoloader.transcode, "shorter", "resize_shorter"),
        (videoloader.Audio, "sr", "sample_rate"),
        (videoloader.Audio, "mono", "num_channels=1"),
    ],
)
def test_arguments_as_other_libraries_call_them_are_told_with_our_name(call, wrong, right):
    message = rf"\b{call.__name__}.*\(\) got an unexpected keyword argument '{wrong}'"
    with pytest.raises(TypeError, match=rf"{message}; did you mean {right}\?$"):
        call(**{wrong: 8})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("batch_size", "that is for torch's DataLoader, or videoloader.Loader"),
        ("drop_last", "that is for torch's DataLoader, or videoloader.Loader"),
        ("device", "samples are decoded on the CPU, videoloader.Loader decodes on a GPU"),
    ],
)
def test_arguments_that_a_data_set_lacks_are_told_with_what_has_them(wrong, words):
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '{wrong}'; {words}$"):
        videoloader.ClipDataset("my_videos", videoloader.RandomClip(2), **{wrong: 8})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("start", r"Segments\(table\) has parts of videos: videos, starts and ends"),
        ("end", r"Segments\(table\) has parts of videos: videos, starts and ends"),
        (
            "collate_fn",
            r"sample_transform= is called .*; torch's DataLoader takes a ClipDataset .*",
        ),
        ("frames_per_clip", r"the sampler chooses frames, such as RandomClip\(16, stride=4\)"),
        ("epochs", "each iteration of the loader is an epoch"),
    ],
)
def test_arguments_that_a_loader_lacks_are_told_with_what_has_them(wrong, words):
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '{wrong}'; {words}$"):
        videoloader.Loader("my_videos", videoloader.RandomClip(2), batch_size=2, **{wrong: 8})


@pytest.mark.parametrize("sampler", [videoloader.RandomClip, videoloader.UniformClip])
def test_several_clips_of_a_video_are_told_where_a_sampler_takes_one(sampler):
    with pytest.raises(TypeError, match=r"argument 'num_clips'; EvenClips takes several clips"):
        sampler(count=8, num_clips=3)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("average_fps", "; it is video.fps"),
        ("codec", "; it is video.metadata.codec"),
        ("get_batch", "; video.get_frames takes frame numbers"),
        ("get_frames_played_at", "; video.get_frames_at_times takes seconds"),
        ("zzzz", ""),
    ],
)
def test_attributes_of_other_libraries_videos_are_told_with_ours(name, words):
    video = videoloader.Video.__new__(videoloader.Video)
    assert not hasattr(video, name)
    with pytest.raises(AttributeError, match=rf"^'Video' object has no attribute '{name}'{words}$"):
        getattr(video, name)


@pytest.mark.parametrize("name", ["VideoReader", "VideoDecoder", "VideoLoader", "read_video"])
def test_classes_of_other_libraries_are_told_with_our_modules(name):
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; did you mean") as error:
        getattr(videoloader, name)
    module, _, told = str(error.value).split()[-1].rstrip("?").rpartition(".")
    assert hasattr(importlib.import_module(module), told)


def test_limits_as_other_libraries_call_them_are_told_with_our_names():
    assert did_you_mean(Limits.__annotations__, "min_length") == (
        "did you mean min_frames or min_duration?"
    )
    assert did_you_mean(["num_ranks", "labels"], "num_frames") == ""


def test_a_misspelled_argument_of_a_pipeline_function_is_told_with_the_right_one():
    @pipeline_def(batch_size=1)
    def clips(sequence_length):
        raise AssertionError("not called")

    for wrong, right in [("squence_length", "sequence_length"), ("num_thread", "num_threads")]:
        message = rf"^clips\(\) has no argument '{wrong}'; did you mean {right}"
        with pytest.raises(ArgumentTypeError, match=message):
            clips(**{wrong: 8})


def test_a_definition_may_have_no_name():
    make = pipeline_def(partial(fn.external_source, lambda: [np.zeros(2)]))
    with make(batch_size=1) as pipe:
        assert len(pipe.run()[0]) == 1
    with pytest.raises(ArgumentTypeError, match=r"^the definition\(\) has no argument 'batchsize'"):
        make(batchsize=1)


@suggests_attributes
class Film:
    @property
    def length(self):
        return {}.missing


def test_an_error_inside_a_property_is_that_of_the_property():
    with pytest.raises(AttributeError, match="'dict' object has no attribute 'missing'"):
        _ = Film().length
    with pytest.raises(AttributeError, match="'Film' object has no attribute 'width'"):
        _ = Film().width
