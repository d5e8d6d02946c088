"""Colour operators against DALI's results, formulas in float64 and other layouts."""

import color_cases
import numpy as np
import pytest
import torch
from color_cases import CASES, NUMBERS, inputs
from references_of import called, stored

from videoloader.dali import fn, types
from videoloader.dali.operators.operator import OPERATORS
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError


@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=lambda n: f"{CASES[n][0]}-{CASES[n][1][0]}"
)
def test_results_are_those_of_dali(number):
    expected, result = stored("color")[number], called(color_cases, *CASES[number])
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    # Ours and DALI's sums differ by rounding of float32; where that crosses a half, by one level.
    scale = np.abs(expected).max(initial=1)
    tolerance = 1 if expected.dtype.kind in "iu" else 1e-6 * scale
    assert np.abs(result.astype(float) - expected).max() <= tolerance
    if expected.dtype.kind in "iu":
        assert (result != expected).mean() <= 0.03


@pytest.mark.parametrize(("name", "numbers"), NUMBERS)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.float16, torch.float32])
def test_every_layout_gives_the_same_values(name, numbers, dtype):
    clip = torch.from_numpy(inputs()["clip"][0])
    clip = clip.to(dtype) / 255 if dtype.is_floating_point else clip.to(dtype)
    operator = getattr(fn, name)
    expected = operator(clip, layout="FHWC", dtype=dtype, **numbers)
    assert expected.dtype == dtype
    planar = operator(clip.movedim(-1, -3).contiguous(), layout="FCHW", dtype=dtype, **numbers)
    assert torch.equal(planar.movedim(-3, -1), expected)
    picture = operator(clip[1], layout="HWC", dtype=dtype, **numbers)
    assert torch.equal(picture, expected[1])
    planar = operator(clip[1].movedim(-1, 0).contiguous(), layout="CHW", dtype=dtype, **numbers)
    assert torch.equal(planar.movedim(0, -1), expected[1])


@pytest.mark.parametrize(("name", "numbers"), NUMBERS)
def test_values_for_each_sample_and_frame_are_those_of_each_alone(name, numbers):
    clip = torch.from_numpy(inputs()["clip"][0])
    key, value = next(iter(numbers.items()))
    operator, values = getattr(fn, name), [[value, value * 0.5], [value * 0.8, value]]
    batch = operator(TensorList([clip, clip], "FHWC"), **{**numbers, key: values})
    for sample, own in zip(batch, values, strict=True):
        for number, each in enumerate(own):
            alone = operator(clip[number], **{**numbers, key: each})
            assert torch.equal(sample[number], alone)


@pytest.mark.parametrize(("name", "numbers"), NUMBERS)
def test_opencv_agrees_with_the_reference_in_torch(name, numbers, monkeypatch):
    array = torch.from_numpy(inputs()["uint8"][0])
    fast = getattr(fn, name)(array, **numbers)
    monkeypatch.setattr("videoloader.dali.operators.color.brightness_contrast._TABLES", ())
    monkeypatch.setattr("videoloader.dali.operators.color.color_matrix._BY_OPENCV", ())
    slow = getattr(fn, name)(array, **numbers)
    assert (fast.int() - slow.int()).abs().max() <= (0 if name.startswith(("br", "con")) else 1)


def test_ragged_batches_keep_their_shapes():
    pictures = [torch.zeros(4, 5, 3, dtype=torch.uint8), torch.zeros(7, 2, 3, dtype=torch.uint8)]
    out = fn.color_twist(TensorList(pictures, "HWC"), hue=[10.0, 20.0], contrast=0.5)
    assert out.shape() == [(4, 5, 3), (7, 2, 3)]
    assert all((each == 64).all() for each in out)


def test_equalising_by_torch_is_that_of_opencv():
    for kind in ("uint8", "clip", "grey"):
        array, layout = inputs()[kind]
        batch = TensorList([torch.from_numpy(array)], layout)
        expected = fn.equalize(batch)[0]
        operator = OPERATORS["equalize"]
        from videoloader.dali.operators.context import Context
        from videoloader.dali.tensors.batch import Batch

        context = Context(1)
        context.outputs = (Batch([torch.from_numpy(array)], layout).spec,)
        made = operator.run(context, Batch([torch.from_numpy(array)], layout))
        assert torch.equal(made[0], expected)


def test_colours_there_and_back_are_the_same():
    pixels = torch.rand(5, 6, 3)
    for space in (types.BGR, types.YCbCr):
        there = fn.color_space_conversion(pixels, image_type=types.RGB, output_type=space)
        back = fn.color_space_conversion(there, image_type=space, output_type=types.RGB)
        assert torch.allclose(back, pixels, atol=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda pixels: fn.hue(pixels[..., :1], hue=3),
        lambda pixels: fn.color_space_conversion(
            pixels, image_type=types.GRAY, output_type=types.RGB
        ),
        lambda pixels: fn.jpeg_compression_distortion(pixels.float()),
        lambda pixels: fn.equalize(pixels.float()),
        lambda pixels: fn.debayer(pixels, blue_position=[0, 0]),
        lambda pixels: fn.debayer(pixels[..., :1], blue_position=[0, 2]),
        lambda pixels: fn.debayer(pixels[..., :1]),
    ],
)
def test_pixels_of_another_kind_are_an_error(call):
    with pytest.raises(ArgumentError):
        call(torch.zeros(4, 5, 3, dtype=torch.uint8))
