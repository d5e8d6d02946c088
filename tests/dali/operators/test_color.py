from dataclasses import replace

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.operators.applying import apply_operator
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import OPERATORS
from videoloader.dali.tensors import TensorList
from videoloader.dali.tensors.batch import Batch
from videoloader.errors import ArgumentError, UnsupportedError

MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


def frames(*shape):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)


def exact(clip, rows, columns, *, mirror=False, scale=1.0, shift=0.0):
    window = clip.double().numpy()[..., rows, columns, :]
    if mirror:
        window = window[..., ::-1, :]
    return scale * (window - np.array(MEAN)) / np.array(STD) + shift


@pytest.mark.parametrize("mirror", [0, 1])
def test_crop_mirror_normalize_agrees_with_float64(mirror):
    clip = frames(4, 20, 30, 3)
    out = fn.crop_mirror_normalize(
        clip, crop_h=10, crop_w=16, mean=MEAN, std=STD, mirror=mirror, scale=2.0, shift=0.5
    )
    expected = exact(clip, slice(5, 15), slice(7, 23), mirror=mirror, scale=2.0, shift=0.5)
    assert out.shape == (4, 3, 10, 16)
    assert out.dtype == torch.float32
    assert out.is_contiguous()
    # float32 has 24 bits; the largest intermediate is about 2 * 255 / 57.
    np.testing.assert_allclose(out.numpy(), np.moveaxis(expected, -1, -3), atol=3e-6)


def test_the_defaults_are_a_transposed_float_copy():
    picture = frames(5, 7, 3)
    assert torch.equal(fn.crop_mirror_normalize(picture), picture.float().permute(2, 0, 1))


@pytest.mark.parametrize(
    ("layout", "order", "shape"),
    [
        ("HWC", "CHW", (3, 6, 8)),
        ("HWC", "HWC", (6, 8, 3)),
        ("FHWC", "CHW", (2, 3, 6, 8)),
        ("FHWC", "FCHW", (2, 3, 6, 8)),
        ("FHWC", "HWC", (2, 6, 8, 3)),
        ("FHWC", "FHWC", (2, 6, 8, 3)),
    ],
)
def test_output_layout(layout, order, shape):
    batch = TensorList(frames(1, 2, 6, 8, 3) if layout == "FHWC" else frames(1, 6, 8, 3), layout)
    out = fn.crop_mirror_normalize(batch, output_layout=order)
    assert out.shape() == [shape]
    assert out.layout() == ("F" if layout == "FHWC" else "") + order.removeprefix("F")


@pytest.mark.parametrize("dtype", [types.UINT8, types.INT16])
def test_integer_outputs_are_rounded_and_clamped(dtype):
    clip = frames(2, 6, 8, 3)
    out = fn.crop_mirror_normalize(clip, mean=100.0, scale=3.0, dtype=dtype)
    limits = torch.iinfo(dtype.torch)
    expected = ((clip.double() - 100) * 3).round().clamp(limits.min, limits.max)
    assert torch.equal(out.double(), expected.permute(0, 3, 1, 2))


def test_float16_agrees_with_float64():
    clip = frames(2, 6, 8, 3)
    out = fn.crop_mirror_normalize(clip, mean=MEAN, std=STD, dtype=types.FLOAT16)
    expected = np.moveaxis(exact(clip, slice(None), slice(None)), -1, -3)
    np.testing.assert_allclose(out.double().numpy(), expected, atol=2e-3)  # 11 bits up to 2.7


def test_padded_channels_are_zero():
    out = fn.crop_mirror_normalize(frames(2, 6, 8, 3), mean=[5.0], pad_output=True)
    assert out.shape == (2, 4, 6, 8)
    assert not out[:, 3].any()
    assert out[:, :3].any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mean": [1, 2]}, "mean must have 1 value or one for each of 3 channels"),
        ({"std": [1, 0, 1]}, "std must not be 0"),
        ({"output_layout": "ABC"}, "output_layout='ABC' does not fit layout HWC"),
        ({"mirror": 2}, "mirror must be bool"),
    ],
)
def test_arguments_without_a_meaning_are_errors(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        fn.crop_mirror_normalize(frames(6, 8, 3), **arguments)


def test_the_input_is_never_written_to():
    clip = frames(2, 6, 8, 3).float()
    before = clip.clone()
    fn.crop_mirror_normalize(clip, mean=3.0, dtype=types.UINT8)
    fn.brightness_contrast(clip, brightness=2.0)
    assert torch.equal(clip, before)


@pytest.mark.parametrize("source", [torch.uint8, torch.int16, torch.float32])
@pytest.mark.parametrize("target", [None, types.UINT8, types.FLOAT])
def test_brightness_contrast_agrees_with_float64(source, target):
    clip = frames(3, 5, 6, 3).to(source)
    out = fn.brightness_contrast(
        clip, brightness=1.3, brightness_shift=-0.1, contrast=0.7, dtype=target
    )
    dtype = target.torch if target else source
    middle = {torch.uint8: 128, torch.int16: 16384, torch.float32: 0.5}[source]
    high = {torch.uint8: 255, torch.int16: 32767, torch.float32: 1.0}[dtype]
    expected = -0.1 * high + 1.3 * (middle + 0.7 * (clip.double().numpy() - middle))
    if not dtype.is_floating_point:
        expected = np.rint(expected).clip(torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    assert out.dtype == dtype
    # Integers: a float32 sum next to a half may round to the other side.
    bound = 2e-3 if dtype.is_floating_point else 1.0
    assert np.abs(out.double().numpy() - expected).max() <= bound


@pytest.mark.parametrize("width", [1, 5, 130])
@pytest.mark.parametrize("brightness", [1.2, 0.5, -1.0, 2.0, 0.0])
@pytest.mark.parametrize("contrast", [0.8, 0.5, 1.7, -0.3])
def test_brightness_contrast_of_bytes_rounds_once_and_halves_up(width, brightness, contrast):
    values = np.arange(256, dtype=np.uint8)
    picture = np.resize(values, (256, width, 3))
    stored = [float(np.float32(each)) for each in (brightness, contrast)]  # arguments are float32
    factor = np.float32(stored[0] * stored[1])
    offset = np.float32(stored[0] * 128.0 * (1 - stored[1]))
    line = (values.astype(np.float32) * factor + offset).astype(np.float64)
    expected = np.clip(np.floor(line + 0.5), 0, 255).astype(np.uint8)[picture]
    out = fn.brightness_contrast(picture, brightness=brightness, contrast=contrast, layout="HWC")
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("contrast", [0.8, 0.5, 1.7])
def test_brightness_contrast_of_bytes_is_computed_not_looked_up(contrast, monkeypatch):
    monkeypatch.setattr("cv2.LUT", _never)
    fn.brightness_contrast(frames(4, 5, 3), brightness=1.2, contrast=contrast)


def test_contrast_leaves_its_center_alone():
    picture = torch.full((2, 2, 3), 90, dtype=torch.uint8)
    assert torch.equal(fn.brightness_contrast(picture, contrast=3.0, contrast_center=90), picture)


def test_the_negative_of_a_picture():
    picture = frames(4, 5, 3)
    negative = fn.brightness_contrast(picture, brightness=-1.0, brightness_shift=1.0)
    assert torch.equal(negative, 255 - picture)


def test_a_brightness_for_each_sample():
    batch = TensorList(frames(2, 4, 5, 3), "HWC")
    out = fn.brightness_contrast(batch, brightness=[1.0, 0.0])
    assert torch.equal(out[0], batch[0])
    assert not out[1].any()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_the_kernels_run_wherever_torch_runs(dtype):
    clip = torch.empty(2, 6, 8, 3, dtype=dtype, device="meta")
    assert fn.brightness_contrast(clip, contrast=2.0).shape == clip.shape
    assert fn.crop_mirror_normalize(clip, crop=(4, 4), mirror=1).shape == (2, 3, 4, 4)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_named():
    with pytest.raises(UnsupportedError, match=r"fn\.flip .* needs a GPU"):
        fn.flip(frames(4, 5, 3), layout="HWC", device="gpu")


@pytest.mark.parametrize(
    "arguments",
    [
        {"mirror": [0, 1, 1]},
        {"mirror": 1, "output_layout": "HWC"},
        {"crop": (100, 110), "crop_pos_x": [0.0, 0.3, 1.0], "pad_output": True},
        {"crop": (100, 110), "mirror": [[0, 1], [1, 1], [1, 0]]},
        {"mean": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], "scale": 2.0, "shift": 0.3},
    ],
)
@pytest.mark.parametrize("clip", [(120, 130, 3), (2, 120, 130, 3)])
def test_crop_mirror_normalize_of_bytes_is_exactly_the_reference(arguments, clip):
    operator = OPERATORS["crop_mirror_normalize"]
    given = {"std": [60.0, 61.0, 62.0], **arguments}
    if len(clip) == 3 and given.get("mirror") == [[0, 1], [1, 1], [1, 0]]:
        given["mirror"] = [0, 1, 1]  # an image has no frames
    bound = operator.bind(given)
    noise = np.random.default_rng(0).integers(0, 256, (3, *clip), np.uint8)
    batch = Batch(list(torch.from_numpy(noise)), "FHWC"[-len(clip) :])
    kernel, plain = replace(operator, run=_never), replace(operator, kernels={})
    (fast,) = apply_operator(kernel, Context(3), [batch], bound)
    (expected,) = apply_operator(plain, Context(3), [batch], bound)
    for ours, theirs in zip(fast, expected, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("channels", [1, 2, 4, 5])
def test_crop_mirror_normalize_of_bytes_takes_any_number_of_channels(channels):
    bound = OPERATORS["crop_mirror_normalize"].bind({"mirror": [0, 1, 1], "mean": 3.0, "std": 7.0})
    noise = np.random.default_rng(0).integers(0, 256, (3, 120, 130, channels), np.uint8)
    operator = replace(OPERATORS["crop_mirror_normalize"], run=_never)
    (made,) = apply_operator(
        operator, Context(3), [Batch(list(torch.from_numpy(noise)), "HWC")], bound
    )
    expected = (noise.astype(np.float64) - 3) / 7
    expected[1:] = expected[1:, :, ::-1]
    for ours, theirs in zip(made, expected.transpose(0, 3, 1, 2), strict=True):
        assert np.allclose(ours.numpy(), theirs, rtol=1e-6, atol=1e-6)


def _never(*batches, **arguments):
    pytest.fail("the kernel left the batch to the reference")
