"""CUDA kernels of filters and of order statistics, against the same operators on the CPU."""

import numpy as np
import pytest
import torch
from kernel_batches import DTYPES, LAYOUTS, PAIRS, batch_of, check
from kernel_machines import OperatorKernels, OperatorKernelsOnGpu

from videoloader.dali.operators.filters import filter as correlation
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError

MEMORIES = ["ragged", "dense", "views"]
BORDERS = ("constant", "replicate", "reflect", "reflect_1001", "reflect_101", "wrap")


@pytest.fixture(params=["c++", pytest.param("gpu", marks=pytest.mark.gpu)])
def machine(request, monkeypatch):
    return (OperatorKernelsOnGpu if request.param == "gpu" else OperatorKernels)(monkeypatch)


def sum_bound(dtype):
    """Sums of products in another order than OpenCV's."""
    bounds = {torch.uint8: 1, torch.uint16: 1, torch.float16: 2**-9, torch.float32: 4e-6}
    return {"bound": bounds[dtype], "off": 0.02 if dtype == torch.uint8 else 0.2}


# ---- Laplacian


@pytest.mark.parametrize(("source", "target"), PAIRS[:5])
def test_laplacians_of_ragged_batches_have_every_type(machine, source, target):
    arguments = {
        "window_size": [[3], [5, 7], [9], [3], [15]],
        "smoothing_size": [[1], [3], [5, 1], [3], [3]],
        "scale": [[1.0], [0.03, -0.02], [1e-4], [0.1], [1e-6]],
        "dtype": target,
    }
    batch = batch_of("FHWC", source)
    check(machine, "laplacian", [batch], arguments, kernel="separable", **sum_bound(target))


@pytest.mark.parametrize("layout", [*LAYOUTS, "HW", "FHW", "CFHW"])
@pytest.mark.parametrize("memory", MEMORIES)
def test_laplacians_have_every_layout(machine, layout, memory):
    batch = batch_of(layout, memory=memory, side=75)
    arguments = {"window_size": 5, "normalized_kernel": True, "dtype": torch.float32}
    check(machine, "laplacian", [batch], arguments, bound=0)


@pytest.mark.parametrize("size", [3, 31])
@pytest.mark.parametrize("channels", [1, 4])
def test_laplacians_of_whole_numbers_are_exact_or_close(machine, size, channels):
    batch = batch_of("HWC", channels=channels, side=90)
    arguments = {"window_size": size, "normalized_kernel": True, "dtype": torch.float32}
    check(machine, "laplacian", [batch], arguments, bound=0 if size == 3 else 4e-6)


def test_frames_have_laplacians_of_their_own(machine):
    sizes = [[[3], [5], [7]], [3], [[9], [3], [3]], [5], [[3], [3], [5]]]
    arguments = {"window_size": sizes, "scale": 0.01}
    check(machine, "laplacian", [batch_of("FHWC", frames=3)], arguments, **sum_bound(torch.uint8))


# ---- dilation and erosion: no value is computed


@pytest.mark.parametrize("name", ["dilate", "erode"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_have_every_type(machine, name, dtype):
    arguments = {"mask_size": [[3, 3], [1, 5], [9, 2], [41, 33], [2, 2]]}
    check(machine, name, [batch_of("FHWC", dtype)], arguments, bound=0, kernel="separable")


@pytest.mark.parametrize("name", ["dilate", "erode"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("memory", MEMORIES)
def test_extremes_have_every_layout(machine, name, layout, memory):
    batch = batch_of(layout, memory=memory, frames=3, side=75)
    check(machine, name, [batch], {"mask_size": [5, 4]}, bound=0)


@pytest.mark.parametrize(("border", "channels"), [*zip(BORDERS, (1, 2, 4, 3, 2, 1), strict=True)])
def test_extremes_have_every_border(machine, border, channels):
    batch = batch_of("HWC", channels=channels, side=50)
    arguments = {"mask_size": [7, 4], "anchor": [[-1, -1], [0, 3], [6, 0], [2, 2], [5, 1]]}
    for given in (arguments, {"mask_size": 90}):
        check(machine, "dilate", [batch], {**given, "border_mode": border}, bound=0)


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("mask", [{"mask_size": [5, 3]}, {"mask_size": [4, 3], "anchor": [3, 0]}])
def test_iterations_are_one_launch_unless_an_even_mask_is_mirrored(machine, border, mask):
    batch = batch_of("HWC", channels=1, side=20)
    launches = int(not (border.startswith("reflect") and "anchor" in mask))
    arguments = {**mask, "iterations": 3, "border_mode": border}
    check(machine, "dilate", [batch], arguments, bound=0, launches=launches)


def test_frames_have_masks_of_their_own(machine):
    masks = [[[3, 3], [5, 1], [1, 1]], [3, 5], [[2, 2], [3, 3], [4, 4]], [1, 1], [7, 7]]
    batch = batch_of("FHWC", frames=3)
    check(machine, "erode", [batch], {"mask_size": masks}, bound=0)
    with pytest.raises(ArgumentError, match="anchor"):
        machine.run("erode", [batch], {"mask_size": 3, "anchor": 3})


def test_nan_stays_in_extremes_and_medians(machine):
    picture = torch.rand(20, 40, 3) - 0.5
    picture[10, 30, 1] = torch.nan
    picture[3, 3, 0] = -torch.inf
    batch = TensorList([picture], "HWC")
    for name, given in (
        ("dilate", {"mask_size": [5, 3]}),
        ("median_blur", {"window_size": [5, 3]}),
    ):
        (made,) = machine.run(name, [batch], given)
        wanted = torch.zeros(20, 40, 3, dtype=torch.bool)
        wanted[9:12, 28:33, 1] = True
        assert torch.equal(made[0].isnan(), wanted)


# ---- medians


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [[5, 3], [11, 9]])
def test_medians_have_every_type(machine, dtype, size):
    batch = batch_of("FHWC", dtype, side=20)
    check(machine, "median_blur", [batch], {"window_size": size}, bound=0, kernel="median")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("memory", MEMORIES)
def test_medians_have_every_layout_and_windows_of_samples(machine, layout, memory):
    batch = batch_of(layout, memory=memory)
    check(machine, "median_blur", [batch], {}, bound=0)
    sizes = [[3, 5], [1, 1], [9, 3], [5, 5], [3, 3]]
    check(machine, "median_blur", [batch], {"window_size": sizes}, bound=0)


# ---- correlation


def weights_of(shapes, dtype=torch.float32, seed=5):
    rng = np.random.default_rng(seed)
    made = [rng.normal(size=shape) / np.prod(shape) ** 0.5 for shape in shapes]
    return TensorList([torch.from_numpy(each).to(dtype) for each in made])


SHAPES = [(3, 3), (1, 5), (4, 2), (9, 9), (1, 1)]


@pytest.mark.parametrize(("source", "target"), PAIRS[:5])
def test_correlations_of_ragged_batches_have_every_type(machine, source, target):
    inputs = [batch_of("FHWC", source), weights_of(SHAPES)]
    check(machine, "filter", inputs, {"dtype": target}, kernel="correlate", **sum_bound(target))


@pytest.mark.parametrize("layout", [*LAYOUTS, "HW", "FHW", "CFHW"])
@pytest.mark.parametrize("memory", MEMORIES)
def test_correlations_have_every_layout(machine, layout, memory):
    inputs = [batch_of(layout, memory=memory), weights_of(SHAPES)]
    check(machine, "filter", inputs, {}, **sum_bound(torch.uint8))


@pytest.mark.parametrize(
    ("border", "channels"), [*zip(correlation.BORDERS, (1, 2, 4, 3, 4), strict=True)]
)
@pytest.mark.parametrize("fill", [None, 77.0])
def test_correlations_have_every_border(machine, border, channels, fill):
    inputs = [batch_of("HWC", channels=channels), weights_of([(7, 5)] * 5)]
    if fill is not None:
        inputs.append(TensorList(torch.arange(5) * fill))
    arguments = {"border": border, "anchor": [[-1, -1], [0, 4], [6, 0], [2, 2], [5, 1]]}
    check(machine, "filter", inputs, arguments, **sum_bound(torch.uint8))


def test_valid_correlations_are_smaller(machine):
    inputs = [batch_of("FHWC", memory="dense"), weights_of([(4, 5)] * 5, torch.float64)]
    arguments = {"mode": "valid", "dtype": torch.float32}
    check(machine, "filter", inputs, arguments, bound=1e-5)


def test_sums_of_whole_numbers_are_exact(machine):
    window = TensorList([torch.randint(-9, 9, (5, 3)).float()] * 5)
    arguments = {"dtype": torch.float32}
    check(machine, "filter", [batch_of("FHWC"), window], arguments, bound=0)


def test_what_is_infinite_stays_within_its_window(machine):
    picture = torch.zeros(40, 70, 3)
    picture[20, 30] = torch.inf
    inputs = [TensorList([picture], "HWC"), TensorList([torch.ones(5, 9)])]
    (made,) = machine.run("filter", inputs, {})
    wanted = torch.zeros(40, 70, 3, dtype=torch.bool)
    wanted[18:23, 26:35] = True
    assert torch.equal(made[0].isinf(), wanted)
    assert (made[0][~wanted] == 0).all()


def test_volumes_and_other_types_need_no_kernel(machine):
    volume = TensorList([torch.rand(4, 5, 6, 2)] * 2, "DHWC")
    check(machine, "laplacian", [volume], {}, bound=4e-6, launches=0)
    check(machine, "filter", [volume, weights_of([(3, 3, 3)] * 2)], {}, bound=4e-6, launches=0)
    whole = TensorList([torch.randint(-99, 99, (2, 5, 6, 3), dtype=torch.int16)] * 2, "FHWC")
    for name in ("laplacian", "dilate", "median_blur"):
        check(machine, name, [whole], {}, bound=0, launches=0)


def test_threads_of_a_block_wait_for_one_another(monkeypatch):
    machine = OperatorKernels(monkeypatch, threads=4)
    batch = TensorList([torch.rand(40, 70, 3), torch.rand(5, 33, 3)], "HWC")
    check(machine, "laplacian", [batch], {"normalized_kernel": True}, bound=4e-6)
    check(machine, "dilate", [batch], {"mask_size": [9, 70]}, bound=0)
    check(machine, "median_blur", [batch], {}, bound=0)
    check(machine, "filter", [batch, weights_of([(3, 3)] * 2)], {}, bound=4e-6)
