"""Misspelled names: errors suggest the names that there are."""

from functools import partial

import numpy as np
import pytest

import videoloader
from videoloader import fn, ops, pipeline_def
from videoloader.errors import ArgumentTypeError
from videoloader.experimental import dynamic
from videoloader.indexing.dataset.filtering import Limits
from videoloader.system.spelling import did_you_mean


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
        (videoloader.Video.get_frames, "num_frames", "count"),
        (videoloader.Video.get_frames, "step", "stride"),
    ],
)
def test_arguments_as_other_libraries_call_them_are_told_with_our_name(call, wrong, right):
    message = rf"\b{call.__name__}.*\(\) got an unexpected keyword argument '{wrong}'"
    with pytest.raises(TypeError, match=rf"{message}; did you mean {right}\?$"):
        call(**{wrong: 8})


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
