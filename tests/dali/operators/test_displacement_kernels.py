"""CUDA kernels that take pixels from other places, against the same operators on the CPU."""

import numpy as np
import pytest
import torch
from kernel_batches import DTYPES, LAYOUTS, batch_of, check
from kernel_machines import OperatorKernels, OperatorKernelsOnGpu

from videoloader.dali import fn, types
from videoloader.dali.operators.geometry.warps import perspective
from videoloader.dali.tensors import TensorList

MEMORIES = ["ragged", "dense", "views"]
NEAREST, LINEAR, CUBIC = types.INTERP_NN, types.INTERP_LINEAR, types.INTERP_CUBIC
BORDERS = ("constant", "replicate", "reflect", "reflect_101", "wrap")
PERSPECTIVE = [[0.9137, 0.2031, 1.317], [-0.1071, 1.1093, -2.2271], [0.0031, -0.0023, 1.0]]
FAR = [[0.9137, 0.01, -70.313], [0, 1.1093, -55.627], [0, 0, 1]]
RULES = {
    "sphere": {"fill_value": 9.0},
    "water": {"ampl_x": 3.1, "ampl_y": -2.3, "freq_x": 0.31, "freq_y": 0.17, "phase_x": 0.2},
    "jitter": {"nDegree": 7, "seed": 3, "fill_value": 300.7},
}


@pytest.fixture(params=["c++", pytest.param("gpu", marks=pytest.mark.gpu)])
def machine(request, monkeypatch):
    return (OperatorKernelsOnGpu if request.param == "gpu" else OperatorKernels)(monkeypatch)


@pytest.fixture
def plain(monkeypatch):
    """Plain torch in place of OpenCV, which has less than 32 places between pixels."""
    monkeypatch.setattr(perspective, "_by_opencv", lambda *values: NotImplemented)


def bounds_of(interp_type, dtype):
    """Values of noise between pixels whose places differ by rounding of float32."""
    if interp_type == NEAREST:
        return {"bound": 0}
    bounds = {torch.uint8: 1, torch.uint16: 4, torch.float16: 1e-3, torch.float32: 5e-5}
    return {"bound": bounds[dtype], "off": 1.0 if dtype == torch.uint16 else 0.02}


@pytest.mark.parametrize(
    ("name", "dtype"), [*zip(("sphere", "water", "sphere", "water"), DTYPES, strict=True)]
)
def test_rules_have_every_type(machine, name, dtype):
    batch = batch_of("FHWC", dtype)
    arguments = {**RULES[name], "mask": [1, 1, 0, 1, 1]}
    linear = {**arguments, "interp_type": LINEAR}
    check(machine, name, [batch], linear, kernel="warp", **bounds_of(LINEAR, dtype))
    (made,) = machine.run(name, [batch], arguments)
    for got, wanted in zip(made, getattr(fn, name)(batch, **arguments), strict=True):
        # A place on the edge of two pixels is that of either.
        assert (got.double() != wanted.double()).double().mean() <= 0.001


@pytest.mark.parametrize("name", ["sphere", "water"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("memory", MEMORIES)
def test_rules_have_every_layout(machine, name, layout, memory):
    batch = batch_of(layout, memory=memory, frames=3, side=75)
    arguments = {**RULES[name], "interp_type": LINEAR, "mask": [0, 1, 1, 0, 1]}
    check(machine, name, [batch], arguments, **bounds_of(LINEAR, torch.uint8))


@pytest.mark.parametrize("interp_type", [NEAREST, LINEAR])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_jitter_draws_what_it_draws_on_the_cpu(machine, interp_type, layout):
    arguments = {**RULES["jitter"], "mask": [1, 0, 1, 1, 1], "interp_type": interp_type}
    check(machine, "jitter", [batch_of(layout)], arguments, bound=0)


def test_what_is_not_moved_keeps_its_values(machine):
    picture = torch.rand(9, 14, 3)
    picture[3, 4] = torch.inf
    picture[5, 6, 1] = -torch.inf
    batch = TensorList([picture, picture * 2], "HWC")
    for name, arguments in RULES.items():
        given = {**arguments, "mask": 0, "interp_type": LINEAR}
        (made,) = machine.run(name, [batch], given)
        assert all(torch.equal(got, sample) for got, sample in zip(made, batch, strict=True))


# ---- maps


def maps_of(batch, frames=0, dtype=torch.float32):
    """Places of each pixel of outputs that are a little larger, some outside."""
    rng = np.random.default_rng(2)
    found = []
    for axis in ("W", "H"):
        maps = []
        for sample in batch:
            sides = dict(zip(batch.layout(), sample.shape, strict=True))
            shape = (*([frames] if frames else []), sides["H"] + 3, sides["W"] + 1)
            places = rng.random(shape, np.float32) * (sides[axis] + 6) - 3
            maps.append(torch.from_numpy(places).to(dtype))
        found.append(TensorList(maps))
    return found


@pytest.mark.parametrize(
    ("interp", "dtype"), [*zip((NEAREST, LINEAR, CUBIC, NEAREST), DTYPES, strict=True)]
)
def test_maps_have_every_type_and_interpolation(machine, interp, dtype):
    batch = batch_of("FHWC", dtype)
    bounds = bounds_of(interp, dtype)
    for origin in ("corner", "center"):
        arguments = {"interp": interp, "pixel_origin": origin}
        check(machine, "experimental.remap", [batch, *maps_of(batch)], arguments, **bounds)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("memory", MEMORIES)
def test_maps_have_every_layout(machine, layout, memory):
    batch = batch_of(layout, memory=memory)
    for frames, dtype in ((0, torch.float64), (2, torch.float32)):
        if frames and "F" not in layout:
            continue
        inputs = [batch, *maps_of(batch, frames, dtype)]
        check(machine, "experimental.remap", inputs, {}, **bounds_of(LINEAR, torch.uint8))


# ---- cubic warps


@pytest.mark.parametrize(("border", "channels"), [*zip(BORDERS, (1, 2, 3, 4, 3), strict=True)])
def test_cubic_warps_have_every_border(machine, plain, border, channels):
    batch = batch_of("HWC", channels=channels)
    arguments = {
        "matrix": [PERSPECTIVE, FAR, PERSPECTIVE, PERSPECTIVE, FAR],
        "border_mode": border,
        "fill_value": [9.0, 90.0, 200.0, 255.0][:channels],
        "interp_type": CUBIC,
        "size": [50.0, 60.0],
    }
    name = "experimental.warp_perspective"
    check(machine, name, [batch], arguments, **bounds_of(CUBIC, torch.uint8))


@pytest.mark.parametrize("dtype", DTYPES)
def test_cubic_warps_have_every_type(machine, plain, dtype):
    batch = batch_of("FHWC", dtype)
    arguments = {"matrix": PERSPECTIVE, "interp_type": CUBIC}
    check(machine, "experimental.warp_perspective", [batch], arguments, **bounds_of(CUBIC, dtype))
