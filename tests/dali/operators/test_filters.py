"""Filters against DALI's results, sums written out, and the reference against OpenCV."""

import itertools

import filter_cases
import numpy as np
import pytest
import torch
from references_of import called, stored

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.operators.filters import filter as correlation
from videoloader.dali.operators.filters import separable as filters
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError

CASES = filter_cases.CASES


@pytest.mark.parametrize(
    "number", range(len(CASES)), ids=lambda n: f"{CASES[n][0]}-{CASES[n][1][0]}"
)
def test_results_are_those_of_dali(number):
    expected, result = stored("filters")[number], called(filter_cases, *CASES[number])
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    # Sums of float32 in another order; an integer where that crosses a half.
    scale = np.abs(expected.astype(float)).max(initial=1)
    tolerance = 1 if expected.dtype.kind in "iu" else 1e-5 * scale
    difference = np.abs(result.astype(float) - expected.astype(float))
    assert difference.max() <= tolerance
    if expected.dtype.kind in "iu":
        assert (difference > 0).mean() <= 0.02


@pytest.mark.parametrize("number", range(0, len(CASES), 3))
def test_the_reference_in_torch_agrees_with_opencv(number, monkeypatch):
    fast = called(filter_cases, *CASES[number]).astype(float)
    monkeypatch.setattr(filters, "_by_opencv", filters._by_torch)
    monkeypatch.setattr(correlation, "_are_pictures", lambda *values: False)
    slow = called(filter_cases, *CASES[number]).astype(float)
    scale = np.abs(slow).max(initial=1)
    assert np.abs(fast - slow).max() <= (1 if scale > 1.5 else 1e-5 * scale)


@pytest.mark.parametrize("border", correlation.BORDERS)
@pytest.mark.parametrize("layout", ["HWC", "FHWC", "CHW", "HW"])
def test_a_window_in_one_pass_of_opencv_is_one_over_a_border_that_was_added(
    layout, border, monkeypatch
):
    rng = np.random.default_rng(7)
    passes = []
    in_one = correlation._same_by_opencv

    def counted(*given):
        passes.append(in_one(*given) is not None)
        return in_one(*given)

    for dtype, (height, width) in itertools.product(
        ("uint8", "int16", "uint16", "float32"), ((1, 9), (6, 2), (8, 11))
    ):
        shape = {"HWC": (height, width, 3), "CHW": (3, height, width), "HW": (height, width)}
        sides = shape[layout.removeprefix("F")]
        values = torch.from_numpy((rng.random((2, *sides)) * 200).astype(dtype))
        values = values if layout.startswith("F") else values[0]
        window = torch.from_numpy(rng.normal(size=(3, 4)).astype(np.float32))
        given = {"layout": layout, "border": border, "anchor": [2, 1], "dtype": torch.float32}
        monkeypatch.setattr(correlation, "_same_by_opencv", counted)
        found = fn.filter(values, window, **given)
        monkeypatch.setattr(correlation, "_same_by_opencv", lambda *values: None)
        torch.testing.assert_close(found, fn.filter(values, window, **given), rtol=0, atol=1e-3)
    assert set(passes) == {border != "wrap"}


def test_a_blur_of_an_image_is_not_one_of_its_channels():
    pixels = torch.zeros(9, 9, 3)
    pixels[4, 4, 1] = 1
    out = fn.gaussian_blur(pixels, sigma=1.0)
    assert out[..., 0].abs().sum() == 0
    assert out[..., 1].sum() == pytest.approx(1, abs=1e-5)
    assert out[4, 5, 1] == out[5, 4, 1] == out[4, 3, 1]


@pytest.mark.parametrize("name", ["sigma", "window_size"])
def test_frames_have_windows_of_their_own(name):
    clip = torch.from_numpy(filter_cases.inputs()["clip"][0])
    values = [[1.0, 2.0], [3.0, 0.5]] if name == "sigma" else [[3, 5], [7, 1]]
    each_of = [[[value] for value in own] for own in values]
    batch = fn.gaussian_blur(TensorList([clip, clip], "FHWC"), **{name: each_of})
    for sample, own in zip(batch, values, strict=True):
        for number, each in enumerate(own):
            assert torch.equal(sample[number], fn.gaussian_blur(clip[number], **{name: each}))


@pytest.mark.parametrize("shape", [(2,), (2, 1), (2, 2)])
def test_frames_of_a_pipeline_have_windows_of_their_own(shape):
    clip = filter_cases.inputs()["clip"][0]

    @pipeline_def(batch_size=2, num_threads=2, device_id=None, seed=1)
    def pipeline():
        data = fn.external_source(source=lambda: [clip, clip], batch=True, layout="FHWC")
        sigma = fn.random.uniform(range=[0.5, 3], shape=shape)
        return fn.gaussian_blur(data, sigma=fn.per_frame(sigma)), sigma

    running = pipeline()
    running.build()
    try:
        blurred, sigmas = running.run()
    finally:
        running.close()
    for sample, own in zip(blurred, sigmas, strict=True):
        for frame, image, sigma in zip(sample, clip, own.tolist(), strict=True):
            expected = fn.gaussian_blur(torch.from_numpy(image.copy()), sigma=sigma)
            assert torch.equal(torch.as_tensor(frame), expected)


def test_samples_of_a_pipeline_have_windows_of_their_own():
    images = [np.random.default_rng(n).integers(0, 256, (8 + n, 9, 3), np.uint8) for n in range(3)]

    @pipeline_def(batch_size=3, num_threads=2, device_id=None, seed=1)
    def pipeline():
        data = fn.external_source(source=lambda: images, batch=True, layout="HWC")
        sigma = fn.random.uniform(range=[0.5, 3], shape=[2])
        return fn.gaussian_blur(data, sigma=sigma), sigma

    running = pipeline()
    running.build()
    try:
        blurred, sigmas = running.run()
    finally:
        running.close()
    for image, sample, sigma in zip(images, blurred, sigmas, strict=True):
        expected = fn.gaussian_blur(torch.from_numpy(image), sigma=sigma.tolist())
        assert torch.equal(torch.as_tensor(sample), expected)


@pytest.mark.parametrize("border", ["constant", "replicate", "reflect101", "wrap"])
@pytest.mark.parametrize("name", ["dilate", "erode"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_morphology_is_the_extreme_of_a_rectangle(border, name, dtype):
    array = np.random.default_rng(2).integers(0, 200, (2, 7, 9, 2)).astype(dtype)
    width, height, x, y = 4, 3, 1, 2
    clip = TensorList([torch.from_numpy(array)], "FHWC")
    operator = getattr(fn.experimental, name)
    out = operator(clip, mask_size=[width, height], anchor=[x, y], border_mode=border)[0].numpy()
    modes = {"constant": "constant", "replicate": "edge", "reflect101": "reflect", "wrap": "wrap"}
    sides = ((0, 0), (y, height - 1 - y), (x, width - 1 - x), (0, 0))
    fill = {"constant_values": 0 if name == "dilate" else 255} if border == "constant" else {}
    wide = np.pad(array, sides, modes[border], **fill)
    view = np.lib.stride_tricks.sliding_window_view(wide, (height, width), (1, 2))
    expected = view.max((-1, -2)) if name == "dilate" else view.min((-1, -2))
    assert out.dtype == dtype
    assert np.array_equal(out, expected)
    twice = operator(clip, mask_size=3, iterations=2, border_mode=border)
    once = operator(clip, mask_size=3, border_mode=border)
    assert torch.equal(twice[0], operator(once, mask_size=3, border_mode=border)[0])


@pytest.mark.parametrize("border", ["constant", "replicate"])
@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64, np.int64])
def test_the_whole_range_of_a_type_is_compared(dtype, border):
    limits = np.iinfo(dtype)
    row = np.array([limits.min, limits.max, limits.max // 2, limits.max - 1, 3], dtype)
    frames = TensorList([torch.from_numpy(row.reshape(1, 5, 1))], "HWC")
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(row, 1, "edge"), 3)
    made = {
        "dilate": fn.experimental.dilate(frames, mask_size=[3, 1], border_mode=border),
        "erode": fn.experimental.erode(frames, mask_size=[3, 1], border_mode=border),
        "median": fn.experimental.median_blur(frames, window_size=[3, 1]),
    }
    assert {name: found[0].numpy().ravel().tolist() for name, found in made.items()} == {
        "dilate": windows.max(axis=1).tolist(),
        "erode": windows.min(axis=1).tolist(),
        "median": np.sort(windows, axis=1)[:, 1].tolist(),
    }


@pytest.mark.parametrize("shape", [(0, 5, 6, 3), (2, 0, 6, 3), (2, 5, 0, 3)])
def test_what_is_empty_has_empty_extremes_and_medians(shape):
    frames = TensorList([torch.zeros(shape, dtype=torch.uint8)], "FHWC")
    for made in (
        fn.experimental.dilate(frames),
        fn.experimental.erode(frames, border_mode="reflect"),
        fn.experimental.median_blur(frames),
    ):
        assert made.shape() == [shape]


@pytest.mark.parametrize("size", [(3, 3), (1, 5), (7, 3), (1, 1)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_a_median_is_that_of_the_window(size, dtype):
    array = np.random.default_rng(3).integers(0, 200, (7, 9, 3)).astype(dtype)
    out = fn.experimental.median_blur(torch.from_numpy(array), window_size=list(size)).numpy()
    width, height = size
    sides = ((height // 2, height // 2), (width // 2, width // 2), (0, 0))
    view = np.lib.stride_tricks.sliding_window_view(
        np.pad(array, sides, "edge"), (height, width), (0, 1)
    )
    assert np.array_equal(out, np.median(view, (-1, -2)).astype(dtype))


@pytest.mark.parametrize(
    ("call", "layout"),
    [
        (lambda data: fn.gaussian_blur(data), "HWC"),
        (lambda data: fn.gaussian_blur(data, sigma=-1.0), "HWC"),
        (lambda data: fn.gaussian_blur(data, window_size=4), "HWC"),
        (lambda data: fn.gaussian_blur(data, window_size=-3), "HWC"),
        (lambda data: fn.gaussian_blur(data, sigma=[1.0, 1.0, 1.0]), "HWC"),
        (lambda data: fn.gaussian_blur(data, sigma=1.0), "HCW"),
        (lambda data: fn.gaussian_blur(data, sigma=1.0), "HFW"),
        (lambda data: fn.gaussian_blur(data, sigma=1.0, dtype=types.INT16), "HWC"),
        (lambda data: fn.laplacian(data, window_size=4), "HWC"),
        (lambda data: fn.laplacian(data, window_size=1), "HWC"),
        (lambda data: fn.laplacian(data, smoothing_size=2), "HWC"),
        (lambda data: fn.laplacian(data, normalized_kernel=True, scale=0.5), "HWC"),
        (lambda data: fn.filter(data, [torch.ones(3)]), "HWC"),
        (lambda data: fn.filter(data, [torch.ones(3, 3)], anchor=3), "HWC"),
        (lambda data: fn.filter(data, [torch.ones(99, 3)], mode="valid"), "HWC"),
        (lambda data: fn.experimental.dilate(data, anchor=[5, 0]), "HWC"),
        (lambda data: fn.experimental.median_blur(data, window_size=4), "HWC"),
    ],
)
def test_what_has_no_meaning_is_an_error(call, layout):
    with pytest.raises(ArgumentError):
        call(TensorList([torch.zeros(6, 7, 3, dtype=torch.uint8)], layout))


def test_an_argument_that_is_none_is_not_given():
    pixels = torch.from_numpy(filter_cases.inputs()["uint8"][0])
    expected = fn.gaussian_blur(pixels, sigma=1.0)
    assert torch.equal(fn.gaussian_blur(pixels, sigma=1.0, window_size=None), expected)
