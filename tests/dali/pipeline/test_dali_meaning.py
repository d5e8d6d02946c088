"""What DALI's programs expect of data nodes, samples of outputs, constants and fed sources."""

from collections.abc import Iterable

import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.dali import fn, ops, types
from videoloader.dali.auto_aug.core import augmentation
from videoloader.dali.pipeline import Pipeline, pipeline_def
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, NoGpuError


def outputs_of(definition):
    with Pipeline(3, 1, None, seed=7) as pipe:
        made = definition()
        pipe.set_outputs(*(made if isinstance(made, tuple | list) else (made,)))
    return pipe.run()


def test_a_data_node_is_not_iterable():
    node = fn.external_source(name="x")
    assert not isinstance(node, Iterable)
    with pytest.raises(TypeError, match="not iterable"):
        iter(node)


def test_a_sample_has_the_layout_of_dali_and_that_of_torch():
    sample = TensorList([torch.zeros(2, 3, 1)], "HWC")[0]
    assert sample.layout() == "HWC"
    assert sample.layout == torch.strided
    assert torch.strided == sample.layout
    assert sample.layout in {torch.strided}
    sample.set_layout("CHW")
    assert sample.layout() == "CHW"
    with pytest.raises(ArgumentError, match="names 2 dimensions"):
        sample.set_layout("HW")
    assert sample.device_id() is None
    assert torch.utils.data.default_collate([sample, sample]).shape == (2, 2, 3, 1)


def test_gaussian_noise_is_that_of_random_normal_with_its_seed():
    noisy, input_, drawn = outputs_of(
        lambda: (
            fn.noise.gaussian(fn.zeros(shape=[4, 5]) + 2.0, mean=1.0, stddev=3.0, seed=5),
            fn.zeros(shape=[4, 5]) + 2.0,
            fn.random.normal(shape=[4, 5], mean=1.0, stddev=3.0, seed=5),
        )
    )
    assert np.array_equal(noisy.as_array(), input_.as_array() + drawn.as_array())


CONSTANTS = [types.Constant(True), types.Constant(np.array(False)), np.array(True)]  # noqa: FBT003


@pytest.mark.parametrize("constant", CONSTANTS, ids=repr)
def test_constants_stand_on_both_sides_of_and_and_or(constant):
    flags = [np.array(flag) for flag in (True, False, True)]
    own = bool(getattr(constant, "value", getattr(constant, "array", constant)))

    @pipeline_def(batch_size=3, num_threads=1, device_id=None, enable_conditionals=True)
    def combined():
        flag = fn.external_source(lambda: flags, batch=True)
        return flag and constant, flag or constant

    both, either = (np.asarray(output.as_array()) for output in combined().run())
    assert both.tolist() == [bool(flag) and own for flag in flags]
    assert either.tolist() == [bool(flag) or own for flag in flags]


def test_several_fed_outputs_are_nodes_that_are_fed_each():
    with Pipeline(2, 1, None) as pipe:
        images, labels = fn.external_source(num_outputs=2, layout=["HW", ""])
        (more,) = ops.ExternalSource(num_outputs=1)()
        pipe.set_outputs(images, labels, more)
    pipe.build()
    pipe.feed_input(images, np.ones((2, 3, 4)))
    pipe.feed_input(labels, np.array([5, 6]))
    pipe.feed_input(more, np.zeros((2, 1)))
    first, second, third = pipe.run()
    assert (first.layout(), second.as_array().tolist(), third.shape()) == ("HW", [5, 6], [(1,)] * 2)


def test_several_fed_outputs_have_no_name_of_one():
    with Pipeline(2, 1, None), pytest.raises(ArgumentError, match="is of one source"):
        fn.external_source(num_outputs=2, name="x")
    with Pipeline(2, 1, None), pytest.raises(ArgumentError, match="3 values for 2 outputs"):
        fn.external_source(num_outputs=2, layout=["A", "B", "C"])


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is there")
def test_a_missing_gpu_is_an_error_of_the_kind_that_users_of_dali_and_of_ours_catch():
    for kind in (RuntimeError, vl.errors.UnsupportedError):
        with pytest.raises(kind) as caught:
            outputs_of(lambda: fn.zeros(shape=[2]).gpu())
        assert isinstance(caught.value, NoGpuError)
        assert str(caught.value).endswith("; drop the call of gpu()")
    with pytest.raises(NoGpuError, match='use device="cpu"'):
        outputs_of(lambda: fn.zeros(shape=[2], device="gpu"))


@augmentation(mag_range=(0, 10), mag_to_param=lambda magnitude: 2 * magnitude)
def doubled(data, parameter):
    return fn.cast(data, dtype=types.FLOAT) + parameter


@pytest.mark.parametrize("data", [7, types.Constant(7), np.full((2,), 7, np.uint8)], ids=repr)
def test_augmentations_take_constants_for_data_and_bin(data):
    (made,) = outputs_of(
        lambda: doubled(data, magnitude_bin=types.Constant(2), num_magnitude_bins=5)
    )
    assert (made.as_array() == 17).all()


def test_magnitudes_and_parameters_follow_from_the_number_of_bins():
    magnitudes = doubled._get_magnitudes(5)
    assert magnitudes.tolist() == [0, 2.5, 5, 7.5, 10]
    assert doubled._map_mags_to_params(magnitudes).tolist() == [0, 5, 10, 15, 20]
