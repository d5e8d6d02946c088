"""Augmentations: compared with stored results of DALI, and with Pillow's formulas."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from first_outputs import run
from references_of import stored

from videoloader import dali
from videoloader.dali import fn
from videoloader.dali.auto_aug import augmentations, auto_augment, rand_augment, trivial_augment
from videoloader.dali.auto_aug.core import augmentation, select, signed_bin
from videoloader.errors import ArgumentError

REFERENCES = Path(__file__).parents[1] / "references" / "auto_aug.py"


def load_references():
    spec = importlib.util.spec_from_file_location("auto_aug_references", REFERENCES)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


references = load_references()
CASES = references.CASES
INTERPOLATING = ("shear_x", "shear_y", "rotate", "translate_x", "translate_y")


def images(shape=(20, 24, 3), seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def augmented(name, data, layout="HWC", *, magnitude_bin, bins=11, **given):
    def define():
        source = fn.external_source(source=lambda: [data], batch=True, layout=layout)
        return getattr(augmentations, name)(
            source, magnitude_bin=magnitude_bin, num_magnitude_bins=bins, **given
        )

    return run(define)[0]


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda at: f"{at}-{CASES[at].name}")
def test_augmentations_give_what_dali_gives(number):
    case, expected = CASES[number], stored("auto_aug")[number]
    found = case.run(dali, augmentations, signed_bin)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    difference = np.abs(found.astype(int) - expected)
    assert difference.max() <= (case.name in INTERPOLATING)
    assert difference.mean() <= 0.05


def test_suites_and_policies_are_those_of_dali():
    expected = json.loads(REFERENCES.with_suffix(".json").read_text(encoding="utf-8"))
    found = references.described(auto_augment, rand_augment, trivial_augment)
    assert found.keys() == expected.keys()
    for name in found:
        for own, theirs in zip(flat(found[name]), flat(expected[name]), strict=True):
            close = pytest.approx(theirs, rel=1e-6) if isinstance(theirs, float) else theirs
            assert own == close, name


def flat(values):
    """The items of nested lists, and the lengths of the lists."""
    if not isinstance(values, list | tuple):
        return [values]
    return [len(values), *(item for each in values for item in flat(each))]


@pytest.mark.parametrize("bits", [8, 6, 4, 1])
def test_posterize_keeps_as_many_bits_as_the_magnitude_says(bits):
    picture = images()
    from_eight = augmentations.posterize.augmentation((8, 0))

    def define():
        source = fn.external_source(source=lambda: [picture], batch=True, layout="HWC")
        return from_eight(source, magnitude_bin=8 - bits, num_magnitude_bins=9)

    assert (run(define)[0] == picture >> (8 - bits) << (8 - bits)).all()


@pytest.mark.parametrize("magnitude_bin", [0, 3, 10])
def test_solarize_inverts_from_the_threshold_on(magnitude_bin):
    picture = images()
    threshold = 256 * (1 - magnitude_bin / 10)
    found = augmented("solarize", picture, magnitude_bin=magnitude_bin)
    assert (found == np.where(picture < threshold, picture, 255 - picture)).all()


def test_a_channel_of_one_value_has_no_contrast_to_stretch():
    picture = images()
    picture[..., 1] = 77
    found = augmented("auto_contrast", picture, magnitude_bin=0)
    low, high = picture.min((0, 1)).astype(float), picture.max((0, 1)).astype(float)
    span = np.where(high > low, high - low, 255)
    expected = np.floor((picture - np.where(high > low, low, 0)) * 255 / span + 0.5)
    assert (found == expected).all()


def test_every_sample_may_have_its_own_magnitude_and_sign():
    picture = images()
    bins, signs = [0, 3, 7, 10], [0, 1, 1, 0]

    def define():
        count = len(bins)
        source = fn.external_source(source=lambda: [picture] * count, batch=True, layout="HWC")
        each = fn.external_source(source=lambda: np.array(bins, np.int32), batch=True)
        sign = fn.external_source(source=lambda: np.array(signs, np.int32), batch=True)
        return augmentations.brightness(
            source, magnitude_bin=signed_bin(each, sign), num_magnitude_bins=11
        )

    for found, magnitude_bin, sign in zip(run(define, batch_size=4), bins, signs, strict=True):
        factor = 1 + 0.9 * magnitude_bin / 10 * (-1) ** sign
        expected = np.floor(picture * np.float32(factor) + 0.5).clip(0, 255)
        assert np.abs(found - expected).max() <= 1
        assert (found != expected).mean() < 0.02


@pytest.mark.parametrize("conditionals", [False, True])
def test_a_decorated_function_gets_the_parameter_of_its_magnitude(conditionals):
    @augmentation(mag_range=(0, 20), randomly_negate=True, mag_to_param=lambda m: np.int32(2 * m))
    def added(data, parameter, times=1):
        return data + parameter * times

    def define():
        source = fn.external_source(source=lambda: [np.int32(100)] * 3, batch=True)
        sign = fn.external_source(source=lambda: np.array([0, 1, 0], np.int32), batch=True)
        return added(
            source, magnitude_bin=signed_bin(3, sign), num_magnitude_bins=5, times=2, unknown=9
        )

    found = run(define, batch_size=3, conditionals=conditionals)
    assert [int(each) for each in found] == [160, 40, 160]


def test_conditions_in_a_decorated_function_see_each_sample():
    @augmentation(mag_range=np.array([1, 5, 9]))
    def guarded(data, parameter):
        if data > 10:
            data = data + parameter
        return data

    def define():
        source = fn.external_source(source=lambda: np.array([4, 11, 30], np.int32), batch=True)
        return guarded(source, magnitude_bin=2)

    found = run(define, batch_size=3, conditionals=True)
    assert [int(each) for each in found] == [4, 20, 39]


def test_select_runs_for_each_sample_the_function_of_its_index():
    order = [4, 0, 2, 1, 3, 3, 0]

    def define():
        source = fn.external_source(source=lambda: np.arange(7, dtype=np.int32), batch=True)
        index = fn.external_source(source=lambda: np.array(order, np.int32), batch=True)
        ops = [lambda data, by, factor=factor: data * by + factor for factor in range(5)]
        return select(ops, index, source, by=source)

    found = run(define, batch_size=7)
    assert [int(each) for each in found] == [at * at + number for at, number in enumerate(order)]


def test_clips_are_augmented_as_their_frames_would_be():
    clip = images((3, 20, 24, 3))
    for name, magnitude_bin in (("posterize", 5), ("equalize", 0), ("contrast", 10)):
        sign = {"magnitude_bin": magnitude_bin}
        plain = getattr(augmentations, name).augmentation(randomly_negate=False)

        def define(data, layout, plain=plain, sign=sign):
            source = fn.external_source(source=lambda: [data], batch=True, layout=layout)
            return plain(source, num_magnitude_bins=11, **sign)

        found = run(lambda define=define: define(clip, "FHWC"))[0]
        frames = [run(lambda define=define, each=each: define(each, "HWC"))[0] for each in clip]
        assert (found == np.stack(frames)).all()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"magnitude_bin": 11}, "data node, must be a whole number from 0 to 10, got 11"),
        ({"magnitude_bin": -1}, "bin.* got -1"),
        ({}, "needs a magnitude_bin"),
        ({"magnitude_bin": 1, "num_magnitude_bins": None}, "needs num_magnitude_bins"),
        ({"magnitude_bin": 1.5}, "unless a data node, must be a whole number"),
        ({"magnitude_bin": 1, "name": "translate_x"}, "translate_x needs shape"),
    ],
)
def test_wrong_magnitudes_and_missing_arguments_are_errors(given, told):
    given = {"num_magnitude_bins": 11, "name": "brightness", **given}

    def define():
        source = fn.external_source(source=lambda: [images()], batch=True, layout="HWC")
        return getattr(augmentations, given.pop("name"))(source, **given)

    with pytest.raises((ArgumentError, TypeError), match=told):
        run(define)


def test_settings_of_an_augmentation_can_be_changed_one_by_one():
    changed = augmentations.shear_x.augmentation((0, 0.5), name="sheared")
    assert changed.mag_range == (0, 0.5)
    assert changed.name == "sheared"
    assert changed.randomly_negate
    assert changed.mag_to_param is augmentations.shear_x.mag_to_param
    assert augmentations.shear_x.mag_range == (0, 0.3)
