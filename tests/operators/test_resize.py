import cv2
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from videoloader import fn, types
from videoloader.errors import ArgumentError, UnsupportedError
from videoloader.operators.resize import output_size
from videoloader.tensors import TensorList


def smooth(height, width, frames=2):
    """A clip of gradients and waves, uint8."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    waves = [
        [128 + 100 * np.sin(x / 7 + c + f) * np.cos(y / 5 + f) for c in range(3)]
        for f in range(frames)
    ]
    return torch.as_tensor(np.array(waves).transpose(0, 2, 3, 1).round().astype(np.uint8))


def weights(source, target, *, antialias):
    """Row i: the weights of the source pixels in target pixel i; linear, in float64."""
    scale = source / target
    support = max(scale, 1.0) if antialias else 1.0
    centers = (np.arange(target) + 0.5) * scale - 0.5
    if not antialias:
        centers = centers.clip(0, source - 1)
    distance = np.abs(np.arange(source)[None, :] - centers[:, None]) / support
    rows = np.maximum(0.0, 1.0 - distance)
    return rows / rows.sum(axis=1, keepdims=True)


def exact_resize(clip, rows, columns, *, antialias=True):
    picture = clip.double().numpy()
    vertical = weights(picture.shape[1], rows, antialias=antialias)
    horizontal = weights(picture.shape[2], columns, antialias=antialias)
    return np.einsum("ry,fyxc,wx->frwc", vertical, picture, horizontal)


SIZES = [(17, 23), (48, 40), (90, 120), (31, 200)]


@pytest.mark.parametrize(("rows", "columns"), SIZES)
@pytest.mark.parametrize("antialias", [True, False])
def test_linear_agrees_with_float64(rows, columns, antialias):
    clip = smooth(48, 64)
    resized = fn.resize(clip, size=(rows, columns), antialias=antialias)
    exact = exact_resize(clip, rows, columns, antialias=antialias)
    assert resized.dtype == torch.uint8
    # Two passes with weights of about 8 bits, each rounded to a byte: off by one at most.
    assert np.abs(resized.numpy() - exact).max() <= 1.05
    as_float = fn.resize(clip.float(), size=(rows, columns), antialias=antialias)
    assert np.abs(as_float.numpy() - exact).max() <= 1e-3


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_linear_without_antialiasing_agrees_with_opencv(rows, columns):
    clip = smooth(48, 64)
    resized = fn.resize(clip, size=(rows, columns), antialias=False).numpy().astype(int)
    expected = np.stack([cv2.resize(f, (columns, rows)) for f in clip.numpy()]).astype(int)
    assert np.abs(resized - expected).max() <= 1


def test_nearest_takes_the_pixel_under_the_center():
    clip = smooth(48, 64)
    resized = fn.resize(clip, size=(17, 200), interp_type=types.INTERP_NN)
    rows = np.floor((np.arange(17) + 0.5) * 48 / 17).astype(int)
    columns = np.floor((np.arange(200) + 0.5) * 64 / 200).astype(int)
    np.testing.assert_array_equal(resized.numpy(), clip.numpy()[:, rows][:, :, columns])


def test_cubic_is_catmull_rom_away_from_the_border():
    clip = smooth(24, 32).float()
    resized = fn.resize(clip, size=(48, 64), interp_type=types.INTERP_CUBIC).double().numpy()
    taps = [-0.0234375, 0.2265625, 0.8671875, -0.0703125]  # a quarter before a pixel, a = -0.5
    rows = clip.double().numpy()
    even = sum(w * rows[:, 6 + k - 2 : 18 + k - 2] for k, w in enumerate(taps))
    both = sum(w * even[:, :, 6 + k - 2 : 26 + k - 2] for k, w in enumerate(taps))
    np.testing.assert_allclose(resized[:, 12:36:2, 12:52:2], both, atol=2e-3)


def test_cubic_overshoot_is_cut_off_once_at_the_end():
    noise = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (1, 60, 80, 3), np.uint8))
    arguments = {"size": (40, 50), "interp_type": types.INTERP_CUBIC}
    exact = fn.resize(noise.float(), **arguments).clamp(0, 255)
    assert (exact - fn.resize(noise, **arguments).float()).abs().max() <= 0.501


def test_cubic_that_shrinks_without_antialiasing_says_that_it_is_not_there_yet():
    with pytest.raises(UnsupportedError, match="cannot shrink yet"):
        fn.resize(smooth(24, 32), size=8, interp_type=types.INTERP_CUBIC, antialias=False)


def test_triangular_is_linear_that_always_antialiases():
    clip = smooth(48, 64)
    triangular = fn.resize(clip, size=9, interp_type=types.INTERP_TRIANGULAR, antialias=False)
    assert torch.equal(triangular, fn.resize(clip, size=9))


@pytest.mark.parametrize(
    ("arguments", "size"),
    [
        ({}, (360, 640)),
        ({"resize_x": 320}, (180, 320)),
        ({"resize_y": 180}, (180, 320)),
        ({"resize_x": 256, "resize_y": 256}, (256, 256)),
        ({"size": (100,)}, (100, 100)),
        ({"size": (0, 320)}, (180, 320)),
        ({"resize_x": 320, "mode": "stretch"}, (360, 320)),
        ({"resize_shorter": 256}, (256, 455)),
        ({"resize_longer": 256}, (144, 256)),
        ({"size": (480, 640), "mode": "not_larger"}, (360, 640)),
        ({"size": (480, 640), "mode": "not_smaller"}, (480, 853)),
        ({"resize_shorter": 720, "max_size": (1000,)}, (563, 1000)),
        ({"resize_x": 2000, "max_size": (500, 1000)}, (500, 1000)),
        ({"resize_x": 1}, (1, 1)),
    ],
)
def test_the_size_follows_the_modes(arguments, size):
    assert output_size(360, 640, **arguments) == size


@given(st.integers(1, 4000), st.integers(1, 4000), st.integers(1, 2000))
def test_shorter_and_longer_are_met_exactly_and_keep_the_aspect(height, width, side):
    shorter = output_size(height, width, resize_shorter=side)
    longer = output_size(height, width, resize_longer=side)
    assert min(shorter) == side
    assert max(longer) == side
    for rows, columns in (shorter, longer):
        scale = side / (min(height, width) if (rows, columns) == shorter else max(height, width))
        assert abs(rows - height * scale) <= 0.5 + 1e-6 or rows == 1
        assert abs(columns - width * scale) <= 0.5 + 1e-6 or columns == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"resize_x": 8, "resize_shorter": 8}, "resize_x and resize_shorter exclude each other"),
        ({"size": 8, "resize_y": 8}, "exclude each other"),
        ({"resize_longer": 8, "mode": "stretch"}, "mode has no meaning beside resize_longer"),
        ({"resize_x": -8}, r"resize_x must be float, at least 0, got -8"),
        ({"resize_x": "wide"}, r"got 'wide'"),
        ({"size": (1, 2, 3)}, r"size must be one number or \(height, width\)"),
        ({"size": 8, "mode": "fill"}, "mode must be one of 'default', 'stretch'"),
        ({"resize_w": 8}, "did you mean .*resize_x"),
        ({"size": 8, "interp_type": "lanczos"}, "interp_type must be InterpType"),
    ],
)
def test_arguments_without_a_meaning_are_errors(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        fn.resize(smooth(8, 8), **arguments)


@pytest.mark.parametrize("name", ["roi_start", "subpixel_scale", "mag_filter"])
def test_what_dali_has_and_we_not_yet_says_so(name):
    with pytest.raises(UnsupportedError, match=f"fn.resize: {name} is not supported yet"):
        fn.resize(smooth(8, 8), size=4, **{name: True})


def test_a_ragged_batch_becomes_dense():
    batch = TensorList([smooth(20, 30), smooth(40, 25)], "FHWC")
    assert not batch.is_dense_tensor()
    resized = fn.resize(batch, size=(8, 9))
    assert resized.as_tensor().shape == (2, 2, 8, 9, 3)
    assert torch.equal(resized[1], fn.resize(batch[1], size=(8, 9)))


@pytest.mark.parametrize("dtype", [torch.int16, torch.float16, torch.float32, torch.float64])
def test_every_type_keeps_itself(dtype):
    clip = smooth(20, 30)
    resized = fn.resize(clip.to(dtype), size=(8, 9))
    assert resized.dtype == dtype
    assert np.abs(resized.double().numpy() - exact_resize(clip, 8, 9)).max() <= 0.6


def test_an_empty_clip_is_resized_too():
    assert fn.resize(smooth(20, 30)[:0], size=(8, 9)).shape == (0, 8, 9, 3)


@pytest.mark.parametrize("interp_type", [types.INTERP_LANCZOS3, types.INTERP_GAUSSIAN])
def test_a_filter_that_is_not_there_is_refused_by_name(interp_type):
    with pytest.raises(UnsupportedError, match=interp_type.name):
        fn.resize(smooth(20, 30), size=(8, 9), interp_type=interp_type)


@pytest.mark.parametrize("interp_type", ["nearest", "linear", "triangular", "cubic"])
def test_the_kernel_runs_wherever_torch_runs(interp_type):
    clip = torch.empty(2, 20, 30, 3, dtype=torch.uint8, device="meta")
    assert fn.resize(clip, size=(8, 9), interp_type=interp_type).shape == (2, 8, 9, 3)
