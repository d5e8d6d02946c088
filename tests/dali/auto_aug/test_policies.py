"""AutoAugment, RandAugment, TrivialAugment: what they choose, how often, for whom."""

from collections import Counter

import numpy as np
import pytest
from first_outputs import run

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.auto_aug import auto_augment as aa
from videoloader.dali.auto_aug import rand_augment as ra
from videoloader.dali.auto_aug import trivial_augment as ta
from videoloader.dali.auto_aug.core import Policy, augmentation
from videoloader.dali.pipeline.graph.graph import reached
from videoloader.errors import ArgumentError

COUNT = 2000
POLICIES = ["image_net", "reduced_image_net", "svhn", "reduced_cifar10"]


def pictures(shape=(20, 24, 3)):
    """A source that gives pictures number 0, 1, ... one by one."""

    def picture(info):
        return np.random.default_rng(info.idx_in_epoch).integers(0, 256, shape, np.uint8)

    layout = "HWC" if len(shape) == 3 else "FHWC"
    return fn.external_source(source=picture, batch=False, layout=layout)


def appends(name, **settings):
    """An augmentation of a number that appends a digit: its code."""

    @augmentation(name=name, **settings)
    def digit(data, parameter):
        return data * 100 + (int(name) if parameter is None else int(name) * 10 + parameter)

    return digit


def chosen(apply, count=COUNT, seed=5):
    """How often each number came out of augmentations that append digits."""

    def define():
        zeros = types.Constant(np.zeros((), np.int32), device="cpu") + 0
        return apply(zeros)

    return Counter(int(each) for each in run(define, batch_size=count, seed=seed))


def assert_alike(counted, expected, count=COUNT):
    """Counts lie within five deviations of what is expected, and nothing else was counted."""
    assert set(counted) <= set(expected)
    for value, chance in expected.items():
        slack = 5 * np.sqrt(count * chance * (1 - chance)) + 1
        assert abs(counted[value] - count * chance) <= slack, value


def test_rand_augment_draws_each_operation_alike_every_time():
    suite = [appends(str(digit)) for digit in (1, 2, 3)]
    counted = chosen(lambda data: ra.apply_rand_augment(suite, data, n=2, m=0))
    pairs = {first * 100 + second: 1 / 9 for first in (1, 2, 3) for second in (1, 2, 3)}
    assert_alike(counted, pairs)


def test_rand_augment_uses_one_bin_with_signs_drawn_apart():
    suite = [appends("0", mag_range=(0, 6), randomly_negate=True, mag_to_param=np.int32)]
    counted = chosen(lambda data: ra.apply_rand_augment(suite, data, 2, 3, num_magnitude_bins=7))
    assert_alike(counted, {first * 100 + second: 1 / 4 for first in (3, -3) for second in (3, -3)})


def test_trivial_augment_draws_operation_bin_and_sign():
    suite = [
        appends("1", mag_range=(1, 3), mag_to_param=np.int32),
        appends("2"),
        appends("3", mag_range=(1, 3), mag_to_param=np.int32, randomly_negate=True),
    ]
    counted = chosen(lambda data: ta.apply_trivial_augment(suite, data, num_magnitude_bins=3))
    expected = {10 + magnitude: 1 / 9 for magnitude in (1, 2, 3)}
    expected |= {2: 1 / 3}
    expected |= {30 + magnitude * sign: 1 / 18 for magnitude in (1, 2, 3) for sign in (1, -1)}
    assert_alike(counted, expected)


def test_auto_augment_applies_the_steps_of_a_sequence_with_their_probabilities():
    first = appends("1")
    second = appends("2", mag_range=(0, 4), mag_to_param=np.int32)
    policy = Policy(
        "two",
        5,
        [[(first, 0.25, None), (second, 0.5, 3)], [(second, 1.0, 1)], [(first, 0.0, None)]],
    )
    counted = chosen(lambda data: aa.apply_auto_augment(policy, data))
    both, only_first, only_second, neither = 0.125, 0.125, 0.375, 0.375
    assert_alike(
        counted,
        {
            123: both / 3,
            1: only_first / 3,
            23: only_second / 3,
            0: neither / 3 + 1 / 3,
            21: 1 / 3,
        },
    )


def test_a_seed_fixes_the_choices_wherever_the_operator_stands():
    suite = [appends(str(digit)) for digit in range(1, 8)]

    def twice(data):
        once = ra.apply_rand_augment(suite, data, 3, 0, seed=7)
        again = ra.apply_rand_augment(suite, data, 3, 0, seed=7)
        return once - again

    def with_seed(seed):
        return lambda data: ra.apply_rand_augment(suite, data, 3, 0, seed=seed)

    count = 200
    assert set(chosen(twice, count)) == {0}
    other = chosen(with_seed(7), count, seed=6)
    assert other == chosen(with_seed(7), count)
    assert other != chosen(with_seed(8), count)


AUGMENTED = {
    "auto": lambda data: aa.auto_augment(data, shape=(20, 24)),
    "rand": lambda data: ra.rand_augment(data, n=2, m=17, max_translate_abs=9),
    "trivial": lambda data: ta.trivial_augment_wide(data, fill_value=None),
}


@pytest.mark.parametrize("shape", [(20, 24, 3), (3, 12, 14, 3)], ids=["images", "clips"])
@pytest.mark.parametrize("kind", AUGMENTED)
def test_pixels_depend_on_the_sample_and_the_seed_alone(kind, shape):
    def define():
        return AUGMENTED[kind](pictures(shape))

    in_one = run(define, batch_size=12)
    assert all(each.shape == shape and each.dtype == np.uint8 for each in in_one)
    for batch_size in (4, 1):
        apart = run(define, batch_size=batch_size, iterations=12 // batch_size)
        assert all((a == b).all() for a, b in zip(in_one, apart, strict=True))
    with_conditionals = run(define, batch_size=12, conditionals=True)
    assert all((a == b).all() for a, b in zip(in_one, with_conditionals, strict=True))
    other = run(define, batch_size=12, seed=6)
    assert not all((a == b).all() for a, b in zip(in_one, other, strict=True))


@pytest.mark.parametrize("name", POLICIES)
def test_policies_of_the_paper_run_on_pictures_of_any_shape(name):
    def define():
        data = fn.external_source(
            source=lambda: [np.full((5 + at, 30 - at, 3), 9 * at, np.uint8) for at in range(16)],
            batch=True,
            layout="HWC",
        )
        return aa.auto_augment(data, name, shape=data.shape()[:2], interp_type=types.INTERP_NN)

    found = run(define, batch_size=16)
    assert [each.shape for each in found] == [(5 + at, 30 - at, 3) for at in range(16)]


@pytest.mark.parametrize("name", POLICIES)
def test_policies_of_the_paper_have_25_sequences_of_11_bins(name):
    policy = getattr(aa, f"get_{name}_policy")()
    assert len(policy.sub_policies) == 25
    assert policy.num_magnitude_bins == 11
    assert name.replace("_", "") in policy.name.lower()
    for steps in policy.sub_policies:
        for each, _, magnitude_bin in steps:
            assert (magnitude_bin is None) == (each.mag_range is None)
            assert each is policy.augmentations[each.name]


def test_suites_without_a_shape_shift_by_pixels():
    names = [each.name for each in ra.get_rand_augment_suite()]
    assert names == [each.name for each in ra.get_rand_augment_non_monotonic_suite()]
    assert names == [each.name for each in ta.get_trivial_augment_wide_suite(use_shape=True)]
    assert len(names) == 14
    by_name = {each.name: each for each in ra.get_rand_augment_suite(max_translate_abs=(3, 7))}
    assert by_name["translate_x"].mag_range == (0, 7)
    assert by_name["translate_y"].mag_range == (0, 3)
    with pytest.raises(ArgumentError, match="max_translate_rel is given"):
        ra.get_rand_augment_suite(max_translate_rel=0.5)
    with pytest.raises(ArgumentError, match="max_translate_abs is given"):
        ta.get_trivial_augment_wide_suite(use_shape=True, max_translate_abs=0.5)


def test_excluded_operations_do_not_run():
    def define():
        data = fn.external_source(
            source=lambda: [np.full((8, 9, 3), 40, np.uint8)] * 64, batch=True, layout="HWC"
        )
        names = [each.name for each in ta.get_trivial_augment_wide_suite()]
        return ta.trivial_augment_wide(data, excluded=[name for name in names if name != "rotate"])

    found = run(define, batch_size=64)
    assert all(set(np.unique(each)) <= set(range(40, 129)) for each in found)
    assert any((each != 40).any() for each in found)
    with pytest.raises(ArgumentError, match="blur"):
        run(lambda: ra.rand_augment(pictures(), 1, 1, excluded=["blur"]), batch_size=1)


def test_keywords_that_nothing_takes_are_errors():
    suite = [appends("1")]
    with pytest.raises(ArgumentError, match="no augmentation takes fil_value"):
        chosen(lambda data: ra.apply_rand_augment(suite, data, 1, 0, fil_value=3))
    with pytest.raises(ArgumentError, match="translate_x needs shape"):
        chosen(
            lambda data: ta.apply_trivial_augment(
                ta.get_trivial_augment_wide_suite(use_shape=True), data
            )
        )


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([[("brightness", 0.5, 1)]], "made of augmentations"),
        ([[(appends("1"), 1.5, None)]], "probability"),
        ([[(appends("1", mag_range=(0, 1)), 0.5, None)]], "needs a magnitude bin"),
        ([[(appends("1", mag_range=(0, 1)), 0.5, 11)]], "bin.* got 11"),
        ([[(appends("1"), 0.5)]], "a step of a policy"),
    ],
)
def test_policies_check_their_steps(steps, told):
    with pytest.raises((ArgumentError, TypeError), match=told):
        Policy("wrong", 11, steps)


def test_a_policy_shows_its_sequences():
    alike = [appends("1"), appends("1")]
    policy = Policy("p", 3, [[(alike[0], 0.5, None)], [(alike[1], 1, None)]])
    assert list(policy.augmentations) == ["1__0", "1__1"]
    assert "('1__1', 1, None)" in repr(policy)


@pytest.mark.parametrize("kind", AUGMENTED)
def test_pictures_on_the_gpu_stay_there(kind):
    @pipeline_def(batch_size=2, num_threads=1, device_id=0)
    def pipeline():
        data = fn.external_source(source=list, layout="HWC").gpu()
        return AUGMENTED[kind](data)

    (output,) = pipeline()._outputs
    assert output.device == "gpu"
    nodes = reached([output.node])
    on_gpu = {node.operator.name for node in nodes if node.device == "gpu"}
    assert {"equalize", "rotate", "warp_affine", "saturation", "merge"} <= on_gpu
    for node in nodes:
        if node.operator.name != "copy":
            continue
        (taken,) = node.inputs
        is_source = taken.node.operator.kind == "source"
        assert is_source or (taken.device, node.device) == ("cpu", "gpu"), node.describe()
