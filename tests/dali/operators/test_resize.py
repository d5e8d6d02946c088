import cv2
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from videoloader.dali import fn, types
from videoloader.dali.operators.geometry.bytes_on_cpu import grid_of, resample_bytes
from videoloader.dali.operators.geometry.resampling import Axis, resample, taps_of
from videoloader.dali.operators.geometry.sizes import output_size, part_axis, resize_axes
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError


def smooth(height, width, frames=2):
    """A clip of gradients and waves, uint8."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    waves = [
        [128 + 100 * np.sin(x / 7 + c + f) * np.cos(y / 5 + f) for c in range(3)]
        for f in range(frames)
    ]
    return torch.as_tensor(np.array(waves).transpose(0, 2, 3, 1).round().astype(np.uint8))


def weights(source, target, *, antialias):
    """Row i: the weights of the source pixels in target pixel i; linear, in float64.

    The weights of what lies outside go to the pixel at the border.
    """
    scale = source / target
    support = max(scale, 1.0) if antialias else 1.0
    centers = (np.arange(target) + 0.5) * scale - 0.5
    padded = np.arange(-source, 2 * source)
    rows = np.maximum(0.0, 1.0 - np.abs(padded[None, :] - centers[:, None]) / support)
    rows /= rows.sum(axis=1, keepdims=True)
    inside = rows[:, source : 2 * source].copy()
    inside[:, 0] += rows[:, :source].sum(axis=1)
    inside[:, -1] += rows[:, 2 * source :].sum(axis=1)
    return inside


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
    # Bytes on the CPU: two passes, each rounded, and grids that meet within 1/256 of a pixel.
    assert np.abs(resized.numpy() - exact).max() <= 1.6
    assert np.abs(resized.numpy() - exact).mean() <= 0.5
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


NEAREST_OF_DALI = [  # nvidia-dali-cuda130 2.4.0, CPU: height, width, arguments, rows, columns
    (24, 32, {"resize_shorter": 13}, [0, 2, 4, 6, 8, 10, 12, 13, 15, 17, 19, 21, 23], None),
    (24, 11, {"resize_shorter": 7}, [0, 2, 4, 5, 7, 8, 10, 12, 13, 15, 16, 18, 19, 21, 22], None),
    (20, 24, {"resize_shorter": 7}, [1, 4, 7, 10, 12, 15, 18], [1, 4, 7, 10, 13, 16, 19, 22]),
    (20, 24, {"resize_longer": 13}, [0, 2, 4, 6, 8, 9, 11, 13, 15, 17, 19], None),
    (26, 24, {"resize_shorter": 23}, [*range(13), *range(14, 26)], [*range(11), *range(12, 24)]),
    (24, 26, {"resize_shorter": 23}, [*range(12), *range(13, 24)], [*range(13), *range(14, 26)]),
    (24, 32, {"resize_shorter": 12, "max_size": [13]}, [0, 3, 5, 8, 10, 13, 15, 18, 20, 23], None),
]


@pytest.mark.parametrize(("height", "width", "wanted", "rows", "columns"), NEAREST_OF_DALI)
def test_nearest_pixels_at_a_tie_are_those_of_dali(height, width, wanted, rows, columns):
    places = torch.cartesian_prod(torch.arange(height), torch.arange(width)).to(torch.uint8)
    picture = places.reshape(height, width, 2)
    resized = fn.resize(picture, interp_type=types.INTERP_NN, **wanted)
    assert resized[:, 0, 0].tolist() == rows
    if columns is not None:
        assert resized[0, :, 1].tolist() == columns


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


@pytest.mark.parametrize("antialias", [True, False])
def test_triangular_is_linear(antialias):
    clip = smooth(48, 64)
    triangular = fn.resize(clip, size=9, interp_type=types.INTERP_TRIANGULAR, antialias=antialias)
    assert torch.equal(triangular, fn.resize(clip, size=9, antialias=antialias))


def test_a_negative_side_mirrors():
    clip = smooth(20, 30).float()
    mirrored, plain = fn.resize(clip, size=(8, -9)), fn.resize(clip, size=(8, 9))
    # Sums in reverse order have other roundings.
    torch.testing.assert_close(mirrored, plain.flip(-2), rtol=0, atol=1e-4)
    nearest = {"interp_type": types.INTERP_NN}
    mirrored, plain = (fn.resize(clip, size=(8, side), **nearest) for side in (-9, 9))
    assert torch.equal(mirrored, plain.flip(-2))


@pytest.mark.parametrize("sides", [(7, 11), (37, 53), (64, 50)])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_a_picture_is_the_same_in_any_batch_and_anywhere_in_memory(sides, channels, dtype):
    """To the last bit: libraries round sums by their number and by their place in memory."""
    noise = torch.from_numpy(np.random.default_rng(0).random((6, 2, *sides, channels), np.float32))
    clips = (noise * 255).to(dtype)
    for size in ((5, 7), (11, 16), (40, 70)):
        resized = fn.resize(TensorList(clips, "FHWC"), size=size, dtype=types.FLOAT)
        for clip, wanted in zip(clips, resized, strict=True):
            moved = clip.new_empty(clip.numel() + 3)[3:].view(clip.shape).copy_(clip)
            for each, expected in ((clip.clone(), wanted), (moved, wanted), (clip[1:], wanted[1:])):
                made = fn.resize(each, size=size, dtype=types.FLOAT, layout="FHWC")
                assert torch.equal(made, expected)


def test_a_rounded_side_keeps_its_scale_or_shows_the_whole_picture():
    ramp = torch.arange(100.0).reshape(1, 100, 1).expand(4, 100, 1)
    given = {"resize_x": 40.4, "resize_y": 4, "antialias": False, "layout": "HWC"}
    kept = fn.resize(ramp, **given)[0, :, 0]
    whole = fn.resize(ramp, subpixel_scale=False, **given)[0, :, 0]
    assert kept[20] - kept[19] == pytest.approx(100 / 40.4, abs=1e-4)
    assert whole[20] - whole[19] == pytest.approx(100 / 40, abs=1e-4)
    assert kept[19] + kept[20] == pytest.approx(99, abs=1e-4)  # the centre stays where it is


def test_the_sizes_of_the_inputs_are_told_on_request():
    batch = TensorList([smooth(20, 30), smooth(40, 25)], "FHWC")
    resized, sizes = fn.resize(batch, size=8, save_attrs=True)
    assert resized.shape() == [(2, 8, 8, 3)] * 2
    assert sizes.as_array().tolist() == [[20, 30], [40, 25]]


sides = st.integers(1, 150)


@given(sides, sides, st.floats(3, 150), st.booleans(), st.data())
@settings(max_examples=60, deadline=None)
def test_bytes_on_the_cpu_are_those_of_the_reference(height, width, side, exact, data):
    wanted = {"resize_shorter": side}
    if exact:
        wanted = {"size": (data.draw(sides), data.draw(sides))}
    axes = resize_axes((height, width), **wanted)
    if max(axis.size for axis in axes) > 1000:
        return
    noise = np.random.default_rng(height).integers(0, 256, (1, height, width, 3), np.uint8)
    fast = resample_bytes(torch.from_numpy(noise), grid_of((height, width), axes))
    if fast is None:  # the grids do not meet
        return
    tables = taps_of((height, width), axes)
    reference = resample(torch.from_numpy(noise), axes, tables, torch.uint8)
    difference = (fast.int() - reference.int()).abs()
    assert difference.max() <= 3
    assert difference.float().mean() <= 1


def test_bytes_on_the_cpu_take_the_fast_way_for_usual_sizes():
    for height, width, wanted in (
        (360, 640, {"size": (224, 224)}),
        (1080, 1920, {"resize_shorter": 256}),
        (256, 340, {"resize_shorter": 224}),
        (480, 640, {"resize_longer": 320}),
    ):
        picture = torch.zeros(height, width, 3, dtype=torch.uint8)
        axes = resize_axes((height, width), **wanted)
        assert resample_bytes(picture, grid_of((height, width), axes)) is not None


@pytest.mark.parametrize("seed", range(12))
def test_random_parts_of_bytes_take_the_fast_way(seed):
    random = np.random.default_rng(seed)
    height, width = random.integers(40, 400, 2)
    rows, columns = random.integers(20, height + 1), random.integers(20, width + 1)
    top, left = random.integers(0, height - rows + 1), random.integers(0, width - columns + 1)
    axes = (Axis(top, top + rows, 224), Axis(left, left + columns, 224))
    noise = torch.from_numpy(random.integers(0, 256, (height, width, 3), np.uint8))
    fast = resample_bytes(noise, grid_of((height, width), axes))
    assert fast is not None
    reference = resample(noise, axes, taps_of((height, width), axes), torch.uint8)
    difference = (fast.int() - reference.int()).abs()
    assert difference.max() <= 2
    assert difference.float().mean() <= 0.5


@given(
    st.integers(0, 500),
    st.integers(1, 500),
    st.integers(1, 300),
    st.sampled_from([None, types.INTERP_CUBIC]),
    st.sampled_from([None, types.INTERP_NN]),
    st.booleans(),
)
def test_a_part_in_whole_pixels_is_resized_as_a_region(
    start, length, size, grow, shrink, antialias
):
    filters = {
        "interp_type": types.INTERP_LINEAR,
        "mag_filter": grow,
        "min_filter": shrink,
        "antialias": antialias,
    }
    (axis,) = resize_axes(
        (1000,), size=(size,), roi_start=(start,), roi_end=(start + length,), **filters
    )
    assert part_axis(start, length, size, **filters) == axis


def test_resize_crop_mirror_is_all_three():
    clip = smooth(40, 50)
    three = fn.crop(fn.resize(clip, resize_shorter=21.3), crop=(9, 12), crop_pos_x=0.3).flip(-2)
    one = fn.resize_crop_mirror(
        clip, resize_shorter=21.3, crop=(9, 12), crop_pos_x=0.3, mirror=True
    )
    assert (one.int() - three.int()).abs().max() <= 1  # in another place the grids meet


def test_each_sample_has_its_own_filter_and_part():
    batch = TensorList([smooth(20, 30), smooth(20, 30)], "FHWC")
    kinds = [types.INTERP_NN, types.INTERP_CUBIC]
    corners = [(0.0, 0.0), (3.0, 4.0)]
    ends = [(20.0, 30.0), (13.0, 24.0)]
    together = fn.resize(batch, size=11, interp_type=kinds, roi_start=corners, roi_end=ends)
    for at, (kind, start, end) in enumerate(zip(kinds, corners, ends, strict=True)):
        alone = fn.resize(batch[at], size=11, interp_type=kind, roi_start=start, roi_end=end)
        assert torch.equal(together[at], alone)


@pytest.mark.parametrize("interp_type", [types.INTERP_NN, types.INTERP_LINEAR])
@pytest.mark.parametrize("is_relative", [False, True])
def test_an_empty_region_shows_the_pixel_there(interp_type, is_relative):
    ramp = torch.arange(12.0).reshape(1, 12, 1).expand(8, 12, 1)
    region = np.array([[2, 3.5], [6, 3.5]]) / ((8, 12) if is_relative else 1)
    given = {"roi_start": region[0], "roi_end": region[1], "roi_relative": is_relative}
    part = fn.resize(ramp, size=(4, 5), interp_type=interp_type, layout="HWC", **given)
    assert part.shape == (4, 5, 1)
    assert (part - 3).abs().max() <= 1e-3


def test_a_region_of_a_picture_without_pixels_has_none():
    nothing = torch.zeros(0, 12, 3)
    part = fn.resize(nothing, size=(4, 5), roi_start=(1, 1), roi_end=(3, 3), layout="HWC")
    assert part.shape == (0, 5, 3)


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
        ({"roi_start": (0, 0)}, "roi_start and roi_end come together"),
        ({"roi_start": (0,), "roi_end": (4,)}, r"roi_start must have 2 numbers"),
        ({"resize_x": "wide"}, r"got 'wide'"),
        ({"size": (1, 2, 3)}, "size must have 1 value or one for each of 2"),
        ({"size": 8, "mode": "fill"}, "mode must be one of 'default', 'stretch'"),
        ({"resize_w": 8}, "did you mean .*resize_x"),
        ({"size": 8, "interp_type": "lanczos"}, "interp_type must be InterpType"),
    ],
)
def test_arguments_without_a_meaning_are_errors(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        fn.resize(smooth(8, 8), **arguments)


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


@pytest.mark.parametrize("interp_type", ["nearest", "linear", "triangular", "cubic"])
def test_the_kernel_runs_wherever_torch_runs(interp_type):
    clip = torch.empty(2, 20, 30, 3, dtype=torch.uint8, device="meta")
    assert fn.resize(clip, size=(8, 9), interp_type=interp_type).shape == (2, 8, 9, 3)


def test_a_side_below_a_tenth_of_a_pixel_shows_what_a_tenth_does():
    """DALI 2.4 gives 47.418015 for both; the mean of the picture is 32.8."""
    picture = (torch.arange(100.0) ** 2 / 100).expand(60, 100)[..., None]
    for size in (1e-10, 0.1):
        (value,) = fn.resize(picture, size=size, layout="HWC").reshape(-1).tolist()
        assert value == pytest.approx(47.418015)
    assert fn.resize(picture.byte(), size=1e-10, layout="HWC").shape == (1, 1, 1)


@pytest.mark.parametrize("size", [{"size": (30.0, 40.0)}, {"resize_shorter": 30.0}])
def test_an_empty_picture_stays_empty(size):
    empty = torch.zeros(0, 0, 3, dtype=torch.uint8)
    assert fn.resize(empty, layout="HWC", **size).shape == (0, 0, 3)
    if "size" in size:
        assert fn.resize(empty, layout="HWC", mode="not_larger", **size).shape == (0, 0, 3)


@pytest.mark.parametrize("mirror", range(8))
def test_the_sides_to_mirror_are_bits(mirror):
    volume = torch.randint(0, 256, (6, 8, 10, 3), dtype=torch.uint8)
    plain = fn.resize_crop_mirror(volume, size=(3.0, 4.0, 5.0), layout="DHWC")
    dims = [dim for bit, dim in ((4, 0), (2, 1), (1, 2)) if mirror & bit]
    flipped = fn.resize_crop_mirror(volume, size=(3.0, 4.0, 5.0), mirror=mirror, layout="DHWC")
    assert (flipped.int() - plain.flip(dims).int()).abs().max() <= 1


@pytest.mark.parametrize("mirror", range(4))
def test_pictures_of_bytes_are_mirrored_in_their_windows(mirror):
    clip = smooth(60, 80)
    wanted = {"crop": (20.0, 30.0), "crop_pos_x": 0.3, "crop_pos_y": 0.9}
    resized = fn.resize(clip, size=(40.0, 50.0), layout="FHWC")
    cut = fn.crop(resized, **wanted, layout="FHWC")
    dims = [dim for bit, dim in ((2, 1), (1, 2)) if mirror & bit]
    at_once = fn.resize_crop_mirror(clip, size=(40.0, 50.0), mirror=mirror, **wanted, layout="FHWC")
    assert (at_once.int() - cut.flip(dims).int()).abs().max() <= 1


@pytest.mark.filterwarnings("ignore:fn.fast_resize_crop_mirror:DeprecationWarning")
@pytest.mark.parametrize(
    ("function", "expected"),  # those of DALI 2.4
    [
        (fn.fast_resize_crop_mirror, [[81, 139, 143, 91], [127, 168, 91, 85]]),
        (fn.resize_crop_mirror, [[91, 127, 130, 110], [142, 135, 99, 102]]),
    ],
)
def test_the_fast_way_to_resize_and_crop_has_no_antialiasing(function, expected):
    image = (np.arange(60).reshape(6, 10, 1) ** 2 % 251).astype(np.uint8)
    made = function(image, resize_x=5, resize_y=3, crop=(2, 4), mirror=1, layout="HWC")
    assert np.abs(made[..., 0].numpy().astype(int) - expected).max() <= 1
