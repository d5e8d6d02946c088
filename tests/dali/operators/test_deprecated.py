"""Arguments and names of old programs: taken as DALI takes them, with a DeprecationWarning."""

import contextlib
import inspect
import warnings

import numpy as np
import pytest
import torch

from videoloader.dali import Pipeline, fn, ops, types
from videoloader.dali.fn.names import RENAMED, REPLACED, public_functions, public_modules
from videoloader.dali.operators.deprecated import Deprecated
from videoloader.dali.operators.operator import OPERATORS, declare
from videoloader.errors import ArgumentError, ArgumentTypeError

IMAGE = torch.arange(6 * 7 * 3, dtype=torch.uint8).reshape(6, 7, 3)
WINDOW = {"crop": (2, 2)}


def warned(call, *values, **arguments):
    """What a call gives, and the texts of its warnings, which all point at this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(*values, **arguments)
    assert all(each.category is DeprecationWarning for each in caught)
    assert {each.filename for each in caught} <= {__file__}
    return result, [str(each.message) for each in caught]


def small_table(data, **arguments):
    return fn.lookup_table(data, keys=[1, 2], values=[5.0, 7.0], **arguments)


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (fn.crop, WINDOW),
        (fn.crop_mirror_normalize, WINDOW),
        (fn.rotate, {"angle": 90.0}),
        (fn.warp_affine, {"matrix": (1, 0, 1, 0, 1, 0)}),
        (fn.slice, {"start": (1, 1), "end": (3, 3)}),
        (small_table, {}),
    ],
)
def test_a_renamed_argument_is_the_new_one(call, arguments):
    expected = call(IMAGE, dtype=types.FLOAT16, **arguments)
    made, told = warned(call, IMAGE, output_dtype=types.FLOAT16, **arguments)
    assert made.dtype == torch.float16
    assert torch.equal(made, expected)
    (text,) = told
    assert text.endswith(": output_dtype is deprecated; use dtype")


def test_the_old_name_of_the_grid_of_optical_flow():
    clip = torch.zeros(2, 40, 48, 3, dtype=torch.uint8)
    made, told = warned(fn.optical_flow, clip, output_format=2)
    assert made.shape == (1, 20, 24, 2)
    assert told == ["fn.optical_flow: output_format is deprecated; use output_grid"]


@pytest.mark.parametrize("value", [types.RGB, "no colour space"])
@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (fn.crop, WINDOW),
        (fn.crop_mirror_normalize, WINDOW),
        (fn.resize, {"size": (2, 3)}),
        (fn.slice, {"start": (1, 1), "end": (3, 3)}),
    ],
)
def test_a_removed_argument_has_no_effect_whatever_it_is(call, arguments, value):
    made, told = warned(call, IMAGE, image_type=value, **arguments)
    assert torch.equal(made, call(IMAGE, **arguments))
    name = call.operator.name
    assert told == [f"fn.{name}: image_type is deprecated and has no effect; leave it out"]


def test_hints_of_image_decoders_have_no_effect():
    hints = {"split_stages": True, "memory_stats": "a", "use_chunk_allocator": 1}
    for name in ("image", "image_crop", "image_random_crop", "image_slice"):
        operator = getattr(fn.decoders, name).operator
        taken, told = warned(operator.current, hints)
        assert taken == {}
        assert [text.split(" ")[1] for text in told] == list(hints)


def test_each_deprecated_argument_of_a_call_is_told_once():
    made, told = warned(
        fn.crop, IMAGE, image_type=types.RGB, output_dtype=types.INT16, seed=3, **WINDOW
    )
    assert made.dtype == torch.int16
    assert [text.split(" ")[1] for text in told] == ["image_type", "output_dtype", "seed"]


@pytest.mark.parametrize("make", [fn.crop, ops.Crop])
def test_the_old_name_and_the_new_one_are_an_error_together(make):
    with pytest.raises(ArgumentTypeError, match=r"fn\.crop: output_dtype is the old name of dtype"):
        make(output_dtype=types.FLOAT, dtype=types.FLOAT)


def test_none_is_not_given():
    made, told = warned(fn.crop, IMAGE, output_dtype=None, image_type=None, seed=None, **WINDOW)
    assert (made.dtype, told) == (torch.uint8, [])
    made, told = warned(fn.crop, IMAGE, output_dtype=types.FLOAT, dtype=None, **WINDOW)
    assert (made.dtype, len(told)) == (torch.float32, 1)


def test_the_value_of_an_old_name_is_checked_as_the_new_one():
    with (
        pytest.warns(DeprecationWarning, match="output_dtype"),
        pytest.raises(ArgumentError, match=r"fn\.crop: dtype must be element type"),
    ):
        fn.crop(IMAGE, output_dtype="floatish", **WINDOW)


def test_an_object_is_told_where_the_argument_is_given():
    made, told = warned(ops.Crop, output_dtype=types.FLOAT, **WINDOW)
    assert len(told) == 1
    cropped, told = warned(made, IMAGE)
    assert (cropped.dtype, told) == (torch.float32, [])
    cropped, told = warned(ops.Crop(**WINDOW), IMAGE, output_dtype=types.FLOAT)
    assert (cropped.dtype, len(told)) == (torch.float32, 1)
    with (
        pytest.warns(DeprecationWarning, match="output_dtype"),
        pytest.raises(ArgumentError, match="dtype was given when the object was made"),
    ):
        ops.Crop(dtype=types.FLOAT, **WINDOW)(IMAGE, output_dtype=types.FLOAT)


def test_an_old_argument_with_a_meaning_of_its_own_is_told_once_too(tmp_path):
    (tmp_path / "a.json").write_text('{"images": [], "annotations": [], "categories": []}')
    given = {"file_root": tmp_path, "annotations_file": tmp_path / "a.json"}
    made, told = warned(ops.readers.COCO, masks=True, **given)
    assert len(told) == 1
    with Pipeline(batch_size=1, num_threads=1):
        outputs, told = warned(made)
        assert (len(outputs), told) == (5, [])
        outputs, told = warned(fn.readers.coco, masks=True, **given)
        assert (len(outputs), len(told)) == (5, 1)


def test_a_definition_is_told_once_at_its_line_and_its_runs_are_not():
    with Pipeline(batch_size=2, num_threads=1) as pipe:
        data = fn.external_source(lambda: np.zeros((2, 4, 6, 3), np.uint8), layout="HWC")
        with pytest.warns(DeprecationWarning, match="output_dtype") as caught:
            out = fn.crop(data, output_dtype=types.FLOAT, **WINDOW)
        line = inspect.currentframe().f_lineno - 1
        pipe.set_outputs(out)
    (only,) = caught
    assert (only.filename, only.lineno) == (__file__, line)
    assert all(pipe.run()[0].dtype == types.FLOAT for _ in range(2))


def test_sets_of_inputs_are_told_once():
    with Pipeline(batch_size=1, num_threads=1):
        data = fn.external_source(lambda: np.zeros((1, 4, 6, 3), np.uint8), layout="HWC")
        made, told = warned(fn.crop, [data, data], output_dtype=types.FLOAT, **WINDOW)
        assert (len(made), len(told)) == (2, 1)


def test_a_line_is_shown_by_the_rules_of_the_user():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            fn.crop(IMAGE, image_type=types.RGB, **WINDOW)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fn.crop(IMAGE, image_type=types.RGB, **WINDOW)


def test_a_seed_is_for_random_numbers():
    text = "fn.flip: seed is deprecated and has no effect; no random numbers are drawn"
    assert warned(fn.flip, IMAGE, seed=-1)[1] == [text]
    assert warned(fn.random.uniform, seed=1)[1] == []
    with Pipeline(batch_size=1, num_threads=1):
        assert warned(fn.external_source, lambda: [IMAGE], seed=1)[1] == []


def test_deprecated_arguments_are_in_no_signature():
    for operator in OPERATORS.values():
        for old in operator.deprecated:
            name = f"fn.{operator.name}"
            assert f" {old.name}:" not in fn_of(name).__doc__, name
            assert old.name not in fn_of(name).__signature__.parameters, name


def fn_of(name):
    found = fn
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
        if found is None:  # a hidden operator
            return fn.crop
    return found


@pytest.fixture
def made_up():
    declare(
        "made_up",
        inputs=("data",),
        deprecated=(Deprecated("old", advice="use another operator"),),
    )(lambda context, data: data)
    yield
    del OPERATORS["made_up"]


@pytest.mark.usefixtures("made_up")
def test_an_operator_may_say_what_to_do_instead():
    function = public_functions("")["made_up"]
    text = "fn.made_up: old is deprecated and has no effect; use another operator"
    assert warned(function, IMAGE, old=1)[1] == [text]


NAMES = [*RENAMED, *REPLACED]


@pytest.mark.parametrize("name", NAMES)
def test_a_deprecated_name_says_what_to_use_instead(name):
    module, _, short = name.rpartition(".")
    function = public_functions(module)[short]
    assert function.instead in function.__doc__

    def call():
        with contextlib.suppress(ArgumentError):
            function(nothing_of_this_name=1)

    _, told = warned(call)
    assert told == [f"fn.{name} is deprecated; use {function.instead}"]


def test_other_names_are_not_deprecated():
    for module in ["", *public_modules()]:
        for short, function in public_functions(module).items():
            name = f"{module}.{short}".lstrip(".")
            assert bool(function.instead) == (name in NAMES)


def test_a_class_of_a_deprecated_name_warns_where_it_is_called():
    made, told = warned(ops.CoinFlip, probability=1.0)
    assert told == []
    _, told = warned(made)
    assert told == ["fn.coin_flip is deprecated; use fn.random.coin_flip"]


def test_decoders_of_videos_have_their_experimental_name():
    experimental, own = fn.experimental.decoders.video, fn.decoders.video
    assert experimental.operator is own.operator
    assert ops.experimental.decoders.Video is not ops.decoders.Video
