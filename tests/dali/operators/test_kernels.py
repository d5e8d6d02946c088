"""CUDA kernels of operators, as C++ and on the GPU, against the same operators on the CPU."""

import itertools
import operator
import warnings

import numpy as np
import pytest
import torch
from kernel_batches import DTYPES, LAYOUTS, PAIRS, batch_of, check
from kernel_machines import OperatorKernels, OperatorKernelsOnGpu

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError


@pytest.fixture(params=["c++", pytest.param("gpu", marks=pytest.mark.gpu)])
def machine(request, monkeypatch):
    return (OperatorKernelsOnGpu if request.param == "gpu" else OperatorKernels)(monkeypatch)


NUMBERS = {
    "brightness": {"brightness": [0.5, 1.3, 0.0, 2.0, 1.0], "brightness_shift": 0.1},
    "contrast": {"contrast": [0.7, 1.4, 1.0, 0.0, 2.0], "contrast_center": 0.3},
    "brightness_contrast": {"brightness": 0.8, "contrast": [1.3, 1.0, 0.2, -1.0, 3.0]},
    "hue": {"hue": [35.0, -170.0, 0.0, 90.0, 720.0]},
    "saturation": {"saturation": [1.7, 0.0, 0.5, 1.0, 3.0]},
    "hsv": {"hue": -50.0, "saturation": [0.6, 1.0, 0.0, 2.0, 1.5], "value": 1.2},
    "color_twist": {
        "hue": [20.0, 0.0, -9.0, 5.0, 1.0],
        "saturation": 1.3,
        "brightness": [0.9, 1.0, 1.1, 0.2, 3.0],
        "contrast": 1.2,
    },
}
LINES = ("brightness", "contrast", "brightness_contrast")  # one product: the CPU's very values


def color_bound(name, source, target):
    if name in LINES:
        return 0
    if target == torch.float16:
        return 2**-10  # the next value
    return 4e-6 if target.is_floating_point else 1


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_colors_of_ragged_batches_have_every_type(machine, name, source, target):
    batch = batch_of("HWC", source)
    arguments = {**NUMBERS[name], "dtype": target}
    check(machine, name, [batch], arguments, bound=color_bound(name, source, target))


@pytest.mark.parametrize("name", ["brightness_contrast", "color_twist"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("memory", ["ragged", "dense", "views"])
def test_colors_have_every_layout(machine, name, layout, memory):
    batch = batch_of(layout, memory=memory, frames=3)
    check(machine, name, [batch], NUMBERS[name], bound=color_bound(name, *DTYPES[:1] * 2))


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("layout", ["FHWC", "FCHW"])
def test_colors_have_values_for_frames(machine, name, layout):
    batch = batch_of(layout, frames=3)
    key, values = next((k, v) for k, v in NUMBERS[name].items() if isinstance(v, list))
    mixed = [[value, 0.5 * value, 0.3] if at % 2 else value for at, value in enumerate(values)]
    arguments = {**NUMBERS[name], key: mixed}
    check(machine, name, [batch], arguments, bound=color_bound(name, *DTYPES[:1] * 2))


def scattered(batch):
    """The same samples, each a part of a larger one: no two of their rows touch."""
    samples = []
    for sample in batch:
        larger = torch.zeros([*sample.shape[:-2], sample.shape[-2] + 3, sample.shape[-1]])
        larger = larger.to(sample.dtype)[..., 1:-2, :]
        samples.append(larger.copy_(sample))
    return TensorList(samples, batch.layout())


def check_runs(machine, sides, source, target, only=""):
    """Samples of odd sizes in one block begin at every place of a vector."""
    count, (rows, columns) = 3 if sides[0] > 99 else 7, sides
    noise = np.random.default_rng(0).random((count, rows, columns, 3))
    values = torch.from_numpy(noise * 1.5 - 0.2)
    if not source.is_floating_point:
        values *= torch.iinfo(source).max / 1.4
    batch = TensorList(values.to(torch.float32).to(source), "HWC")
    spaces = {"image_type": types.RGB, "output_type": types.GRAY}
    calls = [
        ("color_twist", {"hue": 30.0, "saturation": 1.3, "contrast": 0.7, "dtype": target}),
        ("brightness_contrast", {"brightness": 0.8, "contrast": 1.3, "dtype": target}),
        *([("color_space_conversion", spaces)] if source == target else []),
    ]
    for name, arguments in calls:
        if only not in name:
            continue
        (made,) = machine.run(name, [batch], arguments)
        (wanted,) = machine.run(name, [scattered(batch)], arguments)
        for got, expected in zip(made, wanted, strict=True):
            assert torch.equal(got, expected), name


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("sides", [(1, 1), (7, 9), (61, 67), (300, 401)])
def test_pixels_that_follow_each_other_in_memory_are_those_of_any_others(
    machine, sides, source, target
):
    check_runs(machine, sides, source, target)


def test_a_block_goes_through_several_pieces_of_a_run(machine, monkeypatch):
    monkeypatch.setattr("videoloader.dali.operators.kernels.BLOCKS", 1)
    check_runs(machine, (300, 401), torch.uint8, torch.uint8)


@pytest.mark.parametrize("sides", [(7, 9), (61, 67)])
def test_threads_share_what_they_write(monkeypatch, sides):
    machine = OperatorKernels(monkeypatch, threads=8)
    check_runs(machine, sides, torch.uint8, torch.uint8, only="color_twist")


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_values_of_any_channels_go_through_a_line(machine, channels):
    batch = batch_of("FHWC", channels=channels)
    check(machine, "brightness_contrast", [batch], NUMBERS["brightness_contrast"], bound=0)


@pytest.mark.parametrize(
    ("dtype", "spaces"),
    [
        *itertools.product(DTYPES, ("RGB YCbCr", "YCbCr RGB", "RGB BGR")),
        *itertools.product(DTYPES[:1], ("BGR GRAY", "GRAY YCbCr")),
    ],
)
def test_color_spaces(machine, dtype, spaces):
    first, second = (types.ImageType[name] for name in spaces.split())
    batch = batch_of("FHWC", dtype, channels=1 if first is types.GRAY else 3)
    arguments = {"image_type": first, "output_type": second}
    name = "color_space_conversion"
    check(machine, name, [batch], arguments, bound=color_bound(name, dtype, dtype))


@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_halves_and_limits_are_rounded_as_on_the_cpu(machine, dtype):
    edges = torch.tensor([-9e9, -0.5, 0.49999997, 0.5, 1.5, 2.5, 254.5, 255.5, 9e9, torch.nan])
    picture = edges[:, None, None].expand(10, 3, 3).contiguous()
    batch = TensorList([picture, picture * 2], "HWC")
    check(machine, "brightness", [batch], {"brightness": [1.0, 0.5], "dtype": dtype}, bound=0)


def test_every_half_value_goes_in_and_out(machine):
    bits = np.arange(1 << 16).astype(np.uint16)
    values = torch.from_numpy(bits.view(np.float16).reshape(256, 256, 1))
    finite = torch.where(values.isfinite(), values, 0)
    check(
        machine,
        "brightness",
        [TensorList([finite], "HWC")],
        {"brightness": 0.7, "dtype": torch.float16},
        bound=0,
    )
    for dtype in (torch.float16, torch.float32):
        arguments = {"brightness": 2.0, "dtype": dtype}
        (made,) = machine.run("brightness", [TensorList([values], "HWC")], arguments)
        wanted = (values.float() * 2).to(dtype)
        assert torch.equal(made[0].isnan(), wanted.isnan())
        assert torch.equal(made[0].nan_to_num(), wanted.nan_to_num())


# No place lies at the border of two pixels: either may be the nearest one, as sums are rounded.
AFFINE = [[0.9137, 0.2031, 1.31705], [-0.1071, 1.1093, -2.22715]]
PERSPECTIVE = [*AFFINE, [0.00312, -0.0023, 1.0]]
FAR = [[0.9137, 0.01, -70.313], [0, 1.1093, -55.627], [0, 0, 1]]
HORIZON = [[1, 0, 0], [0, 1, 0], [0.125, 0, -2.5]]  # infinite at x = 20
NEAREST, LINEAR = types.INTERP_NN, types.INTERP_LINEAR
BORDERS = ("constant", "replicate", "reflect", "reflect_101", "wrap")


@pytest.mark.parametrize("matrix", [[*AFFINE, [0, 0, 1]], PERSPECTIVE, FAR])
def test_places_lie_inside_of_pixels(matrix):
    """By more than the rounding of float32, in outputs as large as those of the tests below."""
    targets = np.stack([*np.mgrid[0:64, 0:64][::-1] + 0.5, np.ones((64, 64))])
    x, y, depth = np.tensordot(np.array(matrix), targets, 1)
    places = np.stack([x, y]) / depth
    assert np.abs(places - np.rint(places)).min() > 4e-5


def warp_bound(interp_type, dtype):
    """Values of noise between pixels whose places differ by rounding of float32."""
    if interp_type == NEAREST:
        return {"bound": 0}
    bounds = {torch.uint8: 1, torch.uint16: 8, torch.float16: 1e-3, torch.float32: 1e-4}
    return {"bound": bounds[dtype], "off": 1.0 if dtype == torch.uint16 else 0.02}


@pytest.mark.parametrize("interp_type", [NEAREST, LINEAR])
@pytest.mark.parametrize("fill", [None, 9.6])
@pytest.mark.parametrize(("source", "target"), PAIRS[:6])
def test_warps_of_ragged_batches_have_every_type(machine, interp_type, fill, source, target):
    if interp_type == LINEAR and fill is not None:
        fill = 9.0  # what OpenCV makes of 9.6 has its type
    arguments = {"interp_type": interp_type, "fill_value": fill, "dtype": target}
    bounds = warp_bound(interp_type, target)
    batch = batch_of("FHWC", source)
    given = {**arguments, "matrix": [AFFINE, FAR[:2], AFFINE, AFFINE, AFFINE]}
    check(machine, "warp_affine", [batch], given, **bounds)
    given = {**arguments, "angle": [33.0, -88.0, 179.0, 271.5, 0.5]}
    check(machine, "rotate", [batch], given, kernel="warp", **bounds)


@pytest.mark.parametrize("interp_type", [NEAREST, LINEAR])
@pytest.mark.parametrize("layout", [*LAYOUTS, "CFHW"])
@pytest.mark.parametrize("memory", ["ragged", "dense", "views"])
def test_warps_have_every_layout(machine, interp_type, layout, memory):
    batch = batch_of(layout, memory=memory)
    arguments = {"interp_type": interp_type, "fill_value": 3.0}
    bounds = warp_bound(interp_type, torch.uint8)
    given = {**arguments, "angle": [10.0, 200.0, 35.0, -5.0, 88.0], "keep_size": True}
    check(machine, "rotate", [batch], given, **bounds)
    check(machine, "warp_affine", [batch], {**arguments, "matrix": AFFINE}, **bounds)
    if layout != "CFHW":
        given = {"matrix": PERSPECTIVE, "interp_type": interp_type}
        check(machine, "experimental.warp_perspective", [batch], given, **bounds)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("interp_type", [NEAREST, LINEAR])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_perspectives_have_every_border(machine, border, interp_type, channels):
    fill = [9.6, 90.2, 200.5, 300.0] if interp_type == NEAREST else [9.0, 90.0, 200.0, 255.0]
    fill = fill[:channels]
    arguments = {"border_mode": border, "fill_value": fill, "interp_type": interp_type}
    given = {**arguments, "size": [50.0, 60.0]}
    given["matrix"] = [PERSPECTIVE, FAR, HORIZON, PERSPECTIVE, FAR]
    batch = batch_of("HWC", channels=channels)
    name, bounds = "experimental.warp_perspective", warp_bound(interp_type, torch.uint8)
    # Near the horizon neighbours are pictures apart: a place may be that of another pixel.
    check(machine, name, [batch], given, **{**bounds, "bound": 255, "off": 0.02})
    given["matrix"] = [PERSPECTIVE, FAR, PERSPECTIVE, PERSPECTIVE, FAR]
    check(machine, name, [batch], given, **bounds)


@pytest.mark.parametrize("interp_type", [NEAREST, LINEAR])
def test_the_horizon_is_the_first_pixel(machine, interp_type):
    batch = TensorList([torch.rand(30, 40, 3)], "HWC")
    arguments = {"matrix": HORIZON, "interp_type": interp_type, "pixel_origin": "center"}
    (made,) = machine.run("experimental.warp_perspective", [batch], arguments)
    wanted = batch[0][0, 0].expand(30, 3)
    assert torch.equal(made[0][:, 20], wanted)


@pytest.mark.parametrize("interp_type", [NEAREST, LINEAR])
@pytest.mark.parametrize(
    ("dtype", "channels"), [*((torch.uint8, n) for n in range(1, 5)), *((t, 3) for t in DTYPES[1:])]
)
def test_warps_read_whole_words_and_single_values_alike(machine, dtype, channels, interp_type):
    dense = batch_of("FHWC", dtype, channels=channels, seed=5)
    apart = []
    for each in dense:  # values with gaps
        wide = each.new_zeros((*each.shape[:-1], channels + 1))
        wide[..., :channels] = each
        apart.append(wide[..., :channels])
    for border, matrix in itertools.product(("constant", "wrap"), (PERSPECTIVE, FAR, HORIZON)):
        given = {"matrix": matrix, "border_mode": border, "interp_type": interp_type}
        name = "experimental.warp_perspective"
        (made,) = machine.run(name, [dense], given)
        (wanted,) = machine.run(name, [TensorList(apart, "FHWC")], given)
        for got, expected in zip(made, wanted, strict=True):
            assert got.numpy().tobytes() == expected.numpy().tobytes()
    given = {"angle": [33.0, -88.0, 179.0, 271.5, 0.5], "interp_type": interp_type}
    (made,) = machine.run("rotate", [dense], given)
    (wanted,) = machine.run("rotate", [TensorList(apart, "FHWC")], given)
    for got, expected in zip(made, wanted, strict=True):
        assert got.numpy().tobytes() == expected.numpy().tobytes()


def clips_of_bytes(layout, channels, memory):
    """Clips larger than a tile, some of sides that are no multiple of a word."""
    clips = batch_of(layout, channels=channels, memory=memory, side=160, seed=7)
    if memory != "dense":
        return clips
    (whole,) = batch_of(layout, channels=channels, memory="ragged", side=160, seed=7).tensors[1:2]
    return TensorList(torch.stack([whole.roll(7 * at) for at in range(5)]), layout)


@pytest.mark.parametrize("layout", ["FHWC", "FCHW", "CFHW"])
@pytest.mark.parametrize("memory", ["ragged", "dense", "views"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_bytes_are_warped_to_the_bits_of_floats_of_the_same_values(
    machine, layout, memory, channels
):
    clips = clips_of_bytes(layout, channels, memory)
    floats = TensorList([each.float() for each in clips], layout)
    turned = [[0.71, -0.7, 40.3], [0.7, 0.71, -31.8]]
    shrunk, enlarged = [[2.6, 0, -9], [0.1, 2.2, 3]], [[0.03, 0, 60.2], [0, 0.04, 51.7]]
    mirrored, outside = [[-1, 0, 90], [0, 1, 0]], [[1, 0, 1e9], [0, 1, 0]]
    calls = [
        ("rotate", {"angle": [0.0, 90.0, 10.0, 181.5, -45.0]}),
        ("warp_affine", {"matrix": [AFFINE, FAR[:2], turned, AFFINE, enlarged]}),
        ("warp_affine", {"matrix": [mirrored, outside, shrunk, mirrored, turned]}),
    ]
    for fill, (name, arguments) in itertools.product((None, 9.0), calls):
        given = {**arguments, "fill_value": fill, "dtype": torch.uint8}
        (made,) = machine.run(name, [clips], given)
        (wanted,) = machine.run(name, [floats], given)
        for got, expected in zip(made, wanted, strict=True):
            assert torch.equal(got, expected)


@pytest.mark.parametrize("fill", [None, 9.0, 9.6, -3.0, 300.0])
def test_bytes_are_warped_to_floats_with_any_fill(machine, fill):
    clips = clips_of_bytes("FHWC", 3, "ragged")
    floats = TensorList([each.float() for each in clips], "FHWC")
    given = {"angle": [0.0, 90.0, 10.0, 181.5, -45.0], "fill_value": fill, "dtype": torch.float32}
    (made,) = machine.run("rotate", [clips], given)
    (wanted,) = machine.run("rotate", [floats], given)
    for got, expected in zip(made, wanted, strict=True):
        assert torch.equal(got, expected)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e30])
def test_matrices_that_lead_nowhere_are_those_of_floats(machine, value):
    clips = clips_of_bytes("FHWC", 3, "ragged")
    floats = TensorList([each.float() for each in clips], "FHWC")
    for place in range(6):
        matrix = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, -0.5]])
        matrix.flat[place] = value
        given = {"matrix": matrix.tolist(), "fill_value": 3.0, "dtype": torch.uint8}
        (made,) = machine.run("warp_affine", [clips], given)
        (wanted,) = machine.run("warp_affine", [floats], given)
        for got, expected in zip(made, wanted, strict=True):
            assert torch.equal(got, expected)


@pytest.mark.parametrize("layout", ["HW", "FHW"])
def test_perspectives_of_frames_without_channels(machine, layout):
    batch = batch_of(layout)
    check(machine, "experimental.warp_perspective", [batch], {"matrix": PERSPECTIVE}, bound=1)


@pytest.mark.parametrize("layout", ["FHWC", "FCHW"])
@pytest.mark.parametrize("memory", ["ragged", "dense", "views"])
def test_frames_are_warped_each_by_its_own_matrix(machine, layout, memory):
    batch = batch_of(layout, frames=3, memory=memory)
    angles = [[10.0, 80.0, -7.0], 46.0, [2.0, 93.0, 1.0], 3.0, [181.0, 3.0, 9.0]]
    arguments = {"angle": angles, "fill_value": 0.0, "keep_size": True}
    check(machine, "rotate", [batch], arguments, bound=1)
    tables = torch.tensor([PERSPECTIVE, FAR, HORIZON[:2] + FAR[2:]]).expand(5, 3, 3, 3)
    given = [batch, TensorList(tables.contiguous())]
    check(machine, "experimental.warp_perspective", given, {"inverse_map": False}, bound=1)


@pytest.mark.parametrize("interp_type", [NEAREST, LINEAR])
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_right_angles_only_move_pixels(machine, interp_type, turns):
    clip = batch_of("FHWC", seed=3)
    arguments = {"angle": 90.0 * turns, "interp_type": interp_type}
    (made,) = machine.run("rotate", [clip], arguments)
    for got, sample in zip(made, clip, strict=True):
        assert torch.equal(got, sample.rot90(turns, dims=(1, 2)))


def test_warps_that_no_kernel_makes_are_made_without_it(machine):
    batch = batch_of("HWC")
    volume = TensorList([torch.rand(4, 5, 6, 2)] * 2, "DHWC")
    arguments = {"angle": 20.0, "axis": [[0.0, 0.0, 1.0]] * 2, "fill_value": 0.0}
    check(machine, "rotate", [volume], arguments, bound=1e-4, launches=0)
    with pytest.raises(ArgumentError, match="one for each of 3 channels"):
        machine.run(
            "experimental.warp_perspective",
            [batch],
            {"matrix": PERSPECTIVE, "fill_value": [1.0, 2.0]},
        )


EVERY_DTYPE = (*DTYPES, torch.bool, torch.int8, torch.int32, torch.float64)
REGIONS = {
    "anchor": [[1, 2], [0, 0, 3, 5], [-4, 2, 9, 9, 5, 0], [], [3.7, 1.2]],
    "shape": [[5, 7], [2, 30, 9, 9], [6, 3, 2, 2, 1, 99], [], [2.5, 2.5]],
}


def bits_of(dtype):
    """Random bits as numbers of a type, NaN among them, for what only moves values."""
    rng = np.random.default_rng(1)
    samples = []
    for side in (1, 9, 24):
        shape = (2, side, side + 3, 3)
        count = int(np.prod(shape))
        if dtype == torch.bool:
            samples.append(torch.from_numpy(rng.random(shape) < 0.5))
            continue
        raw = torch.from_numpy(rng.integers(0, 256, count * dtype.itemsize, np.uint8))
        samples.append(raw.view(dtype).reshape(shape))
    return TensorList(samples, "FHWC")


def same_bits(machine, name, batch, arguments):
    wanted = operator.attrgetter(name)(fn)(batch, **arguments)
    (made,) = machine.run(name, [batch], arguments)
    assert machine.launched[name] == 1
    assert made.dtype == wanted.dtype
    for got, expected in zip(made, wanted, strict=True):
        assert torch.equal(*(each.contiguous().view(torch.uint8) for each in (got, expected)))


@pytest.mark.parametrize("dtype", EVERY_DTYPE)
def test_fills_keep_the_bits_of_every_type(machine, dtype):
    region = {"anchor": [2, 1], "shape": [5, 5], "axis_names": "HW"}
    same_bits(machine, "erase", bits_of(dtype), region)
    same_bits(machine, "grid_mask", bits_of(dtype), {"tile": 7, "angle": 0.3})


@pytest.mark.parametrize("layout", [*LAYOUTS, "HW", "CFHW"])
@pytest.mark.parametrize("memory", ["ragged", "dense", "views"])
def test_regions_of_every_layout_are_erased(machine, layout, memory):
    batch = batch_of(layout, memory=memory)
    fill = [[9.7], [1.0], [300.0], [-5.0], [0.0]]
    if "C" in layout:
        fill = [[9.0], [1.0, 2.0, 300.0], [4.0], [7.0, 7.0, 8.0], [0.0]]
    arguments = {**REGIONS, "axis_names": "HW", "fill_value": fill}
    check(machine, "erase", [batch], arguments, bound=0, kernel="erase")


def test_regions_may_be_of_frames_and_channels(machine):
    batch = batch_of("FHWC", torch.float16, frames=4, channels=4)
    arguments = {"anchor": [1, 2, 1], "shape": [2, 9, 1], "axis_names": "FWC", "fill_value": 5.0}
    check(machine, "erase", [batch], arguments, bound=0)
    relative = {"anchor": [0.2, 0.5], "shape": [0.3, 0.4], "normalized": True, "axis_names": "HC"}
    check(machine, "erase", [batch], {**relative, "centered_anchor": True}, bound=0)


def test_a_region_is_filled_with_the_zero_that_was_given(machine):
    batch = batch_of("HWC", torch.float32, memory="dense")
    for fill in (0.0, -0.0, [[-0.0], [0.0], [0.0], [-0.0], [0.0]]):
        arguments = {"anchor": [1, 1], "shape": [3, 3], "fill_value": fill, "axis_names": "HW"}
        (made,) = machine.run("erase", [batch], arguments)
        signs = [bool(each[2, 2, 0].signbit()) for each in made]
        own = [each[0] for each in fill] if isinstance(fill, list) else [fill] * 5
        assert signs == [str(each).startswith("-") for each in own]


def test_batches_are_those_of_their_own_arguments(machine):
    batches = [batch_of("FHWC", memory=memory, seed=3) for memory in ("dense", "ragged", "dense")]
    for _, batch in itertools.product(range(2), batches):
        for angle in (10.0, [20.0, 10.0, 30.0, 10.0, -20.0]):
            check(machine, "rotate", [batch], {"angle": angle}, bound=1)
        for place in ([1, 2], [2, 1], [[1, 1], [0, 0], [3, 3], [2, 2], [1, 1]]):
            given = {"anchor": place, "shape": [4, 3], "axis_names": "HW", "fill_value": 7.0}
            check(machine, "erase", [batch], given, bound=0)
        for sigma in (1.0, 2.0, [[0.5], [1.0], [2.0], [1.0], [0.7]]):
            check(machine, "gaussian_blur", [batch], {"sigma": sigma}, bound=1)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("memory", ["ragged", "dense", "views"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_grids_are_those_of_the_cpu(machine, layout, memory, dtype):
    batch = batch_of(layout, dtype, memory=memory, side=70)
    arguments = {
        "tile": [10, 7, 33, 1, 100],
        "ratio": [0.35, 0.5, 0.7, 0.4, 0.1],
        "angle": [0.0, 0.7, -2.0, 1.0, 3.1],
        "shift_x": [2.0, 0.3, -100.0, 0.0, 7.5],
        "shift_y": [0.0, 5.0, 3.3, 1.0, -0.7],
    }
    check(machine, "grid_mask", [batch], arguments, bound=0, kernel="grid_mask")


@pytest.mark.parametrize("layout", ["DHWC", "XY", "FDHWC"])
def test_data_that_is_no_frames_is_erased_without_a_kernel(machine, layout):
    data = TensorList([torch.rand([4] * len(layout))], layout)
    arguments = {"anchor": [1, 0], "shape": [1, 2], "axes": [0, 1], "fill_value": 5.0}
    check(machine, "erase", [data], arguments, bound=0, launches=0)


def blur_bound(dtype):
    """Sums of products in another order than OpenCV's."""
    bounds = {torch.uint8: 1, torch.uint16: 1, torch.float16: 2**-10, torch.float32: 2e-6}
    return {"bound": bounds[dtype], "off": 0.02 if dtype == torch.uint8 else 0.2}


@pytest.mark.parametrize(("source", "target"), PAIRS[:5])
def test_blurs_of_ragged_batches_have_every_type(machine, source, target):
    arguments = {"sigma": [0.5, [1.0, 3.0], 2.0, 5.0, 0.01], "dtype": target}
    bounds = blur_bound(target)
    check(machine, "gaussian_blur", [batch_of("FHWC", source)], arguments, **bounds)


@pytest.mark.parametrize("layout", [*LAYOUTS, "HW", "FHW", "CFHW"])
@pytest.mark.parametrize("memory", ["ragged", "dense", "views"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_blurs_have_every_layout(machine, layout, memory, channels):
    batch = batch_of(layout, memory=memory, channels=channels, side=75)
    arguments = {"window_size": [[3, 9], [5, 5], [1, 7], [11, 1], [33, 21]]}
    bounds = blur_bound(torch.uint8)
    check(machine, "gaussian_blur", [batch], arguments, kernel="separable", **bounds)


@pytest.mark.parametrize("size", [65, 301, 799])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_windows_may_be_wider_than_a_band_and_than_the_picture(machine, size, channels):
    batch = batch_of("HWC", torch.float32, channels=channels, side=90)
    check(machine, "gaussian_blur", [batch], {"window_size": size}, bound=4e-6)


def test_frames_are_blurred_each_by_its_own_window(machine):
    batch = batch_of("FHWC", frames=3)
    windows = [[0.5, 3.0, 1.0], 2.0, [[1.0], [4.0], [0.2]], 1.0, [1.0, 1.0, 9.0]]
    given = {
        "sigma": [
            [[each] for each in own] if at in (0, 4) else own for at, own in enumerate(windows)
        ]
    }
    check(machine, "gaussian_blur", [batch], given, **blur_bound(torch.uint8))


def test_what_is_infinite_stays_within_its_window(machine):
    picture = torch.zeros(40, 70, 3)
    picture[20, 30] = torch.inf
    (made,) = machine.run("gaussian_blur", [TensorList([picture], "HWC")], {"window_size": [5, 9]})
    wanted = torch.zeros(40, 70, 3, dtype=torch.bool)
    wanted[18:23, 26:35] = True
    assert torch.equal(made[0].isinf(), wanted)
    assert (made[0][~wanted] == 0).all()


def test_threads_of_a_block_wait_for_one_another(monkeypatch):
    machine = OperatorKernels(monkeypatch, threads=4)
    batch = TensorList([torch.rand(40, 70, 3), torch.rand(5, 33, 3)], "HWC")
    check(machine, "gaussian_blur", [batch], {"window_size": [5, 65]}, bound=4e-6)
    check(machine, "rotate", [batch], {"angle": 10.0}, bound=1e-4)
    clips = clips_of_bytes("HWC", 3, "ragged")
    check(machine, "rotate", [clips], {"angle": 10.0, "fill_value": 3.0}, bound=1)
    check(machine, "hue", [batch], {"hue": 10.0}, bound=4e-6)


@pytest.mark.parametrize("layout", ["DHWC", "W", "WHC"])
def test_blurs_of_other_axes_need_no_kernel(machine, layout):
    data = TensorList([torch.rand([6] * len(layout))], layout)
    arguments = {"sigma": [[1.0, 2.0, 0.5][: len(layout.strip("C"))]]}
    check(machine, "gaussian_blur", [data], arguments, bound=4e-6, launches=0)


EVERY_OPERATOR = {
    **NUMBERS,
    "color_space_conversion": {"image_type": types.RGB, "output_type": types.YCbCr},
    "rotate": {"angle": [10.0, -80.0, 33.0, 170.0, 4.0], "fill_value": 9.0, "keep_size": True},
    "warp_affine": {"matrix": AFFINE},
    "experimental.warp_perspective": {"matrix": PERSPECTIVE, "interp_type": NEAREST},
    "erase": {**REGIONS, "axis_names": "HW"},
    "grid_mask": {"tile": [9, 12, 7, 5, 40]},
    "gaussian_blur": {"sigma": [[0.5], [1.0], [2.0], [3.0], [0.7]]},
    "laplacian": {"scale": [[0.5], [1.0], [2.0], [3.0], [0.7]]},
    "dilate": {"mask_size": [[1, 3], [2, 2], [5, 5], [3, 3], [7, 1]]},
    "median_blur": {"window_size": [3, 5]},
    "sphere": {"mask": [0, 1, 1, 0, 1]},
    "water": {"ampl_x": 3.0, "interp_type": LINEAR},
    "paste": {"ratio": [1.1, 1.3, 1.0, 1.05, 1.2], "fill_value": [1.0, 2.0, 3.0]},
}


def test_what_a_kernel_does_not_take_is_computed_without_it(machine):
    for values, name in (
        (torch.randint(-99, 99, (5, 6, 3), dtype=torch.int16), "hue"),
        (torch.rand(5, 6, 3, dtype=torch.float64), "brightness"),
        (torch.rand(5, 6, 5), "brightness"),
    ):
        key, value = next(iter(NUMBERS[name].items()))
        batch = TensorList([values] * 5, "HWC")
        bound = 1e-6 if values.dtype.is_floating_point else 1
        check(machine, name, [batch], {key: value}, bound=bound, launches=0)


def test_tables_of_many_rows_take_several_launches(machine, monkeypatch):
    monkeypatch.setattr("videoloader.dali.operators.kernels.MOST_ROWS", 2)
    for name, arguments in EVERY_OPERATOR.items():
        check(machine, name, [batch_of("FHWC")], arguments, bound=1, off=0.05, launches=3)


@pytest.mark.parametrize(
    ("count", "is_new", "names"),
    [
        (5, False, [*EVERY_OPERATOR]),
        (40, False, [*EVERY_OPERATOR]),
        (40, True, ["color_twist", "erase", "gaussian_blur"]),
    ],
)
def test_tables_larger_than_the_parameters_of_a_launch_are_uploaded(
    machine, monkeypatch, count, is_new, names
):
    monkeypatch.setattr("videoloader.dali.operators.kernels._takes_large_tables", lambda _: is_new)
    few = batch_of("FHWC", side=16)
    batch = TensorList([few[at % 5] for at in range(count)], "FHWC")
    for name in names:
        given = {
            key: [value[at % 5] for at in range(count)]
            if isinstance(value, list) and len(value) == 5
            else value
            for key, value in EVERY_OPERATOR[name].items()
        }
        check(machine, name, [batch], given, bound=1, off=0.05)
    assert machine.uploaded.total() == (len(names) if count == 40 and not is_new else 0)


@pytest.mark.gpu
def test_the_gpu_takes_tables_of_every_size(monkeypatch):
    machine = OperatorKernelsOnGpu(monkeypatch)
    for count in (5, 40, 120, 200):
        frames = torch.randint(256, (count, 5, 6, 3), dtype=torch.uint8)
        (made,) = machine.run(
            "erase",
            [TensorList(frames, "HWC")],
            {
                "anchor": [1, 2],
                "shape": [2, 3],
                "axis_names": "HW",
                "fill_value": 7,
            },
        )
        wanted = frames.clone()
        wanted[:, 1:3, 2:5] = 7
        assert torch.equal(made.as_tensor(), wanted)


@pytest.mark.parametrize("shape", [(0, 5, 6, 3), (2, 0, 6, 3), (2, 5, 0, 3)])
def test_empty_samples_need_no_kernel(machine, shape):
    batch = TensorList([torch.zeros(shape, dtype=torch.uint8), *batch_of("FHWC")[:4]], "FHWC")
    for name in ("color_twist", "erase", "grid_mask", "gaussian_blur", "dilate", "paste"):
        arguments = EVERY_OPERATOR[name]
        check(machine, name, [batch], arguments, bound=1, off=0.05, launches=0)


def test_without_cupy_plain_torch_computes(machine, monkeypatch):
    monkeypatch.setattr("videoloader.dali.operators.kernels.has_cupy", lambda: False)
    for name, arguments in EVERY_OPERATOR.items():
        # OpenCV rounds to even what torch rounds away from zero, and sums in another order.
        check(machine, name, [batch_of("FHWC")], arguments, bound=1, off=0.05, launches=0)


def clips_at(iteration):
    """A ragged batch of its own for each iteration."""
    return [each.clone() for each in batch_of("FHWC", seed=iteration, side=300)]


@pytest.mark.gpu
def test_kernels_run_in_a_pipeline_on_memory_that_is_used_again():
    @pipeline_def(batch_size=5, num_threads=2, device_id=0, prefetch_queue_depth=3)
    def definition():
        clips = fn.external_source(clips_at, layout="FHWC").gpu()
        outputs = []
        for name, arguments in EVERY_OPERATOR.items():
            clips = operator.attrgetter(name)(fn)(clips, **arguments)
            outputs.append(clips)
        return tuple(outputs)

    with definition() as pipe:
        for iteration in range(20):
            clips = TensorList(clips_at(iteration), "FHWC").gpu()
            for (name, arguments), made in zip(EVERY_OPERATOR.items(), pipe.run(), strict=True):
                clips = operator.attrgetter(name)(fn)(clips, **arguments)
                torch.cuda.synchronize()
                for got, wanted in zip(made, clips, strict=True):
                    assert torch.equal(got, wanted), (iteration, name)


@pytest.mark.gpu
def test_kernels_run_on_the_current_stream_and_wait_for_nothing():
    clips = TensorList(clips_at(0), "FHWC").gpu()
    calls = {name: operator.attrgetter(name)(fn) for name in EVERY_OPERATOR}
    wanted = {name: calls[name](clips, **given) for name, given in EVERY_OPERATOR.items()}
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()

    def queue():
        torch.cuda._sleep(400_000_000)  # about a fifth of a second
        return {name: calls[name](clips, **given) for name, given in EVERY_OPERATOR.items()}

    with torch.cuda.stream(stream):
        queue()  # takes the memory, which may wait
        stream.synchronize()
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Synchronization debug mode")
                torch.cuda.set_sync_debug_mode("error")
            made = queue()
            assert not stream.query()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    stream.synchronize()
    for name, batch in made.items():
        for got, expected in zip(batch, wanted[name], strict=True):
            assert torch.equal(got, expected), name
