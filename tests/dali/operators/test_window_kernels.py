"""The CUDA kernel that moves and converts pixels, as C++ and on the GPU, against plain torch."""

import itertools
import operator

import numpy as np
import pytest
import torch
from kernel_machines import OperatorKernels, OperatorKernelsOnGpu

from videoloader.dali import fn
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError

LAYOUTS = ("HWC", "FHWC", "CHW", "FCHW", "CFHW")
MEMORIES = ("dense", "ragged", "views")
CONVERTED = (
    *(torch.uint8, torch.uint16, torch.float16, torch.float32),
    *(torch.int8, torch.int16, torch.bool),
)
MOVED = (*CONVERTED, torch.int32, torch.uint32, torch.int64, torch.float64)
PAIRS = [  # a kernel is compiled for each; every type is read and written
    *((torch.uint8, torch.float32), (torch.float32, torch.uint8), (torch.uint16, torch.float16)),
    *((torch.float16, torch.uint16), (torch.int16, torch.int8), (torch.int8, torch.int16)),
    *((torch.bool, torch.uint8), (torch.float32, torch.bool), (torch.float16, torch.int8)),
]
FRAMES = 3
COUNT = 5


@pytest.fixture(params=["c++", pytest.param("gpu", marks=pytest.mark.gpu)])
def machine(request, monkeypatch):
    return (OperatorKernelsOnGpu if request.param == "gpu" else OperatorKernels)(monkeypatch)


def values_of(shape, dtype, rng):
    """Random bits; numbers of floating point are around the range of bytes, with a few odd ones."""
    if dtype == torch.bool:
        return torch.from_numpy(rng.random(shape) < 0.5)
    if dtype.is_floating_point:
        values = torch.from_numpy(rng.integers(-600, 1200, shape) / 2)
        odd = torch.tensor([torch.nan, torch.inf, -torch.inf, 70000.0, 0.49999997, -0.5, -0.4])
        places = torch.from_numpy(rng.random(shape) < 0.1)
        picked = odd[torch.from_numpy(rng.integers(0, len(odd), shape))].double()
        return torch.where(places, picked, values).to(dtype)
    bits = torch.from_numpy(rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8))
    return bits.view(dtype).reshape(shape)


def batch_of(layout, dtype=torch.uint8, *, channels=3, memory="ragged", least=18, most=45):
    """Samples of many sizes, of one size in a block, or parts of larger tensors."""
    rng = np.random.default_rng(0)
    sides = rng.integers(least, most, (COUNT, 2)).tolist()
    if memory == "dense":
        sides = [[27, 38]] * COUNT
    samples = []
    for rows, columns in sides:
        named = {"F": FRAMES, "D": FRAMES, "H": rows, "W": columns, "C": channels}
        margins = [int(letter in "HW" and memory == "views") for letter in layout]
        whole = [named[letter] + 2 * own for letter, own in zip(layout, margins, strict=True)]
        window = (slice(own, size - own) for own, size in zip(margins, whole, strict=True))
        samples.append(values_of(whole, dtype, rng)[tuple(window)])
    return TensorList(torch.stack(samples) if memory == "dense" else samples, layout)


def same(machine, name, batch, arguments, launches=1):
    """Compare with the CPU, bit for bit."""
    wanted = operator.attrgetter(name)(fn)(batch, **arguments)
    before = machine.launched.total()
    (made,) = machine.run(name, [batch], arguments)
    assert machine.launched.total() - before == launches
    if launches:
        assert machine.launched["window"]
    assert (made.shape(), made.layout(), made.dtype) == (
        wanted.shape(),
        wanted.layout(),
        wanted.dtype,
    )
    for got, expected in zip(made, wanted, strict=True):
        assert bits(got) == bits(expected)


def bits(values):
    """Its bytes; every NaN is the same."""
    if values.dtype.is_floating_point:
        values = torch.where(values.isnan(), torch.nan, values)
    return values.contiguous().view(torch.uint8).numpy().tobytes()


MEAN, STD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
NORMAL = {"mean": MEAN, "std": STD}
MIRROR = [1, 0, 1, 1, 0]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("wanted", ["CHW", "HWC"])
def test_frames_are_cropped_mirrored_and_normalized(machine, layout, memory, wanted):
    batch = batch_of(layout, memory=memory)
    arguments = {**NORMAL, "crop": (16, 17), "mirror": MIRROR, "output_layout": wanted}
    same(machine, "crop_mirror_normalize", batch, arguments)
    inside = {**NORMAL, "dtype": torch.float16, "pad_output": True, "output_layout": wanted}
    same(machine, "crop_mirror_normalize", batch, {**inside, "mirror": 1})


@pytest.mark.parametrize(
    ("source", "target"), [*PAIRS, (torch.uint8, torch.uint8), (torch.float32, torch.float32)]
)
def test_normalized_values_have_every_type(machine, source, target):
    arguments = {"mean": 17.3, "std": 1.7, "shift": -3.1, "dtype": target, "mirror": MIRROR}
    same(machine, "crop_mirror_normalize", batch_of("HWC", source), arguments)


@pytest.mark.parametrize("policy", ["pad", "trim_to_shape"])
@pytest.mark.parametrize("layout", ["HWC", "FCHW"])
@pytest.mark.parametrize("name", ["crop", "crop_mirror_normalize"])
def test_windows_reach_outside(machine, policy, layout, name):
    batch = batch_of(layout, least=1, most=40)
    arguments = {
        "crop_h": [30, 5, 44, 20, 1],
        "crop_w": [9, 60, 33, 16, 50],
        "crop_pos_x": [0.0, 1.0, 0.5, 0.31, 0.7],
        "crop_pos_y": [1.0, 0.2, 0.0, 0.77, 0.5],
        "out_of_bounds_policy": policy,
        "fill_values": [3.7, 300.0, -4.0],
        "dtype": torch.float16,
    }
    if name == "crop_mirror_normalize":
        arguments |= {**NORMAL, "mirror": MIRROR, "pad_output": True}
    same(machine, name, batch, arguments)
    same(machine, name, batch, {**arguments, "dtype": torch.int8, "rounding": "truncate"})


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("memory", MEMORIES)
def test_any_number_of_channels(machine, channels, memory):
    batch = batch_of("FHWC", channels=channels, memory=memory)
    same(machine, "flip", batch, {"horizontal": MIRROR, "vertical": 1})
    means = {"mean": [10.5 * at for at in range(channels)], "pad_output": True, "mirror": MIRROR}
    same(machine, "crop_mirror_normalize", batch, means)


@pytest.mark.parametrize(
    ("channels", "dtype"),
    [
        *((1, torch.uint8), (2, torch.uint8), (3, torch.uint8), (4, torch.uint8)),
        *((3, torch.float16), (2, torch.float32)),
    ],
)
def test_windows_begin_anywhere_in_memory(machine, channels, dtype):
    batch = batch_of("HWC", dtype, channels=channels, memory="dense")
    for at in range(5):
        arguments = {"crop": (20, 33), "crop_pos_x": at / 5, "mirror": [1, 0] * 2 + [at % 2]}
        same(machine, "crop_mirror_normalize", batch, {**arguments, "output_layout": "HWC"})
        arguments = {"crop": (20, 32), "crop_pos_x": [at / 5, 0.1, 0.5, 0.7, 0.3]}
        same(machine, "crop", batch, arguments)


def test_samples_and_frames_have_windows_sides_and_means_of_their_own(machine):
    for layout, memory in itertools.product(("FHWC", "FCHW"), MEMORIES):
        batch = batch_of(layout, memory=memory)
        places = [[0.0, 0.5, 1.0], 0.2, [1.0, 0.3, 0.6], 0.9, 0.0]
        mirrors = [[1, 0, 1], 1, 0, [0, 0, 1], 0]
        means = [[10.0], MEAN, [0.0], [7.0], [1.0, 2.0, 3.0]]
        window = {"crop": (13, 16), "crop_pos_x": places, "crop_pos_y": [0.1, 0.2, 0.3, 0.4, 0.5]}
        same(machine, "crop", batch, window)
        deviations = [[2.0], STD, [0.3], [7.0, 8.0, 9.0], [1.0]]
        arguments = {**window, "mirror": mirrors, "mean": means, "std": deviations, "scale": 2.0}
        same(machine, "crop_mirror_normalize", batch, arguments)
        same(machine, "flip", batch, {"horizontal": mirrors, "vertical": mirrors[::-1]})


@pytest.mark.parametrize("layout", ["FHWC", "DHWC", "CDHW"])
@pytest.mark.parametrize("policy", ["error", "pad"])
def test_windows_have_a_depth(machine, layout, policy):
    batch = batch_of(layout)
    arguments = {
        "crop_d": 2 if policy == "error" else 5,
        "crop_h": 11,
        "crop_w": [7, 8, 16, 17, 18],
        "crop_pos_z": [0.0, 0.2, 0.5, 0.7, 1.0],
        "out_of_bounds_policy": policy,
    }
    same(machine, "crop", batch, arguments)
    if layout == "FHWC":
        same(machine, "crop_mirror_normalize", batch, {**arguments, "mirror": MIRROR, **NORMAL})


@pytest.mark.parametrize("layout", [*LAYOUTS[:4], "DHWC", "CDHW"])
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_frames_and_volumes_are_flipped(machine, layout, memory, dtype):
    batch = batch_of(layout, dtype, memory=memory)
    for sides in itertools.product((0, 1), repeat=3):
        names = ("horizontal", "vertical", "depthwise")
        if any(sides[: 3 if "D" in layout else 2]):
            same(machine, "flip", batch, dict(zip(names, sides, strict=True)))
    given = {"horizontal": MIRROR, "vertical": MIRROR[::-1], "depthwise": [0, 1, 0, 1, 1]}
    same(machine, "flip", batch, given)


@pytest.mark.parametrize("dtype", MOVED)
def test_elements_of_every_type_are_moved(machine, dtype):
    for layout in ("HWC", "FCHW"):
        batch = batch_of(layout, dtype)
        same(machine, "flip", batch, {"horizontal": MIRROR, "vertical": 1})
        window = {"crop": (15, 50), "crop_pos_x": 0.3, "out_of_bounds_policy": "pad"}
        same(machine, "crop", batch, {**window, "fill_values": 3.0})


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_elements_are_cast_to_every_type(machine, source, target):
    batch = TensorList([values_of((7, n), source, np.random.default_rng(n)) for n in (1, 9, 40)])
    same(machine, "cast", batch, {"dtype": target})
    frames = batch_of("HWC", source)
    same(machine, "crop", frames, {"crop": (14, 17), "crop_pos_x": 0.3, "dtype": target})


def test_every_half_and_limit_is_rounded_as_on_the_cpu(machine):
    halves = torch.arange(-70000, 70000) / 2
    for target in (torch.uint8, torch.int16, torch.bool):
        same(machine, "cast", TensorList([halves, -halves]), {"dtype": target})
    every = torch.arange(1 << 16).to(torch.int32).to(torch.uint16).view(torch.float16)
    for target in (torch.int8, torch.float32):
        same(machine, "cast", TensorList([every, every[:9]]), {"dtype": target})


def test_casts_that_torch_makes_at_once_need_no_kernel(machine):
    block = batch_of("HWC", memory="dense")
    same(machine, "cast", block, {"dtype": torch.float16}, launches=0)
    same(machine, "cast", block, {"dtype": torch.int8})
    same(machine, "cast", batch_of("HWC"), {"dtype": torch.int64}, launches=0)
    same(machine, "cast", batch_of("HWC", memory="views"), {"dtype": torch.int8}, launches=0)


@pytest.mark.parametrize("layout", [*LAYOUTS, "HW", "DHWC"])
@pytest.mark.parametrize("memory", MEMORIES)
def test_slices_are_filled_outside(machine, layout, memory):
    batch = batch_of(layout, memory=memory)
    arguments = {
        "start": [[-3, 5], [0, 0], [9, -2], [20, 20], [-60, 1]],
        "end": [[30, 40], [16, 17], [33, 16], [50, 60], [-20, 60]],
        "axis_names": "HW",
        "out_of_bounds_policy": "pad",
        "fill_values": [9.7, 300.0, 1.0] if "C" in layout else 9.7,
    }
    same(machine, "slice", batch, arguments)
    same(machine, "slice", batch, {**arguments, "dtype": torch.float32})
    if "F" in layout:
        clip = {"start": -1, "shape": 6, "axis_names": "F", "out_of_bounds_policy": "pad"}
        same(machine, "slice", batch, clip)


def test_slices_of_the_size_of_a_sample_may_lie_elsewhere(machine):
    batch = batch_of("HWC", memory="dense")
    given = {"shape": batch.shape()[0][:2], "axis_names": "HW", "out_of_bounds_policy": "pad"}
    for start in ([3, 0], [0, 3], [-2, 0], [0, -40]):
        same(machine, "slice", batch, {**given, "start": start})


def test_slices_of_floating_point_are_truncated_and_their_fill_too(machine):
    arguments = {"rel_start": [-0.2, 0.1], "rel_end": [0.9, 1.3], "out_of_bounds_policy": "pad"}
    for source, target in ((torch.float32, torch.uint8), (torch.int16, torch.int8)):
        given = {**arguments, "fill_values": -7.9, "dtype": target}
        same(machine, "slice", batch_of("HWC", source), given)


@pytest.mark.parametrize("layout", ["HWC", "FCHW", "HW"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.int64])
def test_samples_are_padded(machine, layout, dtype):
    arguments = {"axis_names": "HW", "fill_value": [9.5, -1.0, 0.0, 7.0, 300.0]}
    batch = batch_of(layout, dtype)
    same(machine, "pad", batch, arguments)
    same(machine, "pad", batch, {**arguments, "align": 16})


def test_what_the_kernel_does_not_take_is_made_without_it(machine):
    clips, block = batch_of("FHWC"), batch_of("HWC", memory="dense")
    same(machine, "crop", block, {"crop": (9, 9)}, launches=0)  # a view
    same(machine, "slice", block, {"start": [1, 2], "axis_names": "HW"}, launches=0)
    same(machine, "flip", clips, {"horizontal": 0}, launches=0)
    same(machine, "flip", batch_of("HWC", channels=5), {"horizontal": MIRROR}, launches=0)
    same(machine, "flip", batch_of("FDHWC"), {"depthwise": 1}, launches=0)
    edge = {"start": [-1, 2], "axis_names": "HW", "out_of_bounds_policy": "edge"}
    same(machine, "slice", clips, edge, launches=0)
    far = {"start": [1 << 40, 2], "shape": 9, "axis_names": "HW", "out_of_bounds_policy": "pad"}
    same(machine, "slice", clips, far, launches=0)
    volumes = {"start": -1, "shape": 9, "axis_names": "H", "out_of_bounds_policy": "pad"}
    same(machine, "slice", batch_of("FDHWC"), volumes, launches=0)
    same(machine, "pad", batch_of("FDHWC"), {}, launches=0)
    some = {"start": 1, "end": 3, "axis_names": "C"}
    same(machine, "slice", clips, some, launches=0)
    same(machine, "pad", clips, {"axis_names": "C", "align": 4}, launches=0)
    wide = batch_of("HWC", torch.float64)
    same(machine, "crop_mirror_normalize", wide, {"mean": 3.0}, launches=0)
    empty = TensorList([torch.zeros((0, 4, 3)), torch.zeros((2, 4, 3))], "HWC")
    same(machine, "flip", empty, {"horizontal": 1}, launches=0)
    wide = {"crop": (90, 9), "out_of_bounds_policy": "pad", "fill_values": [1.0, 2.0]}
    with pytest.raises(ArgumentError, match="fill_values must have 1 value or one for each of 3"):
        machine.run("crop", [clips], wide)


def test_without_cupy_plain_torch_computes(machine, monkeypatch):
    monkeypatch.setattr("videoloader.dali.operators.kernels.has_cupy", lambda: False)
    batch = batch_of("FHWC")
    same(machine, "flip", batch, {"horizontal": MIRROR}, launches=0)
    same(machine, "crop_mirror_normalize", batch, {**NORMAL, "crop": (9, 9)}, launches=0)
    same(machine, "cast", batch, {"dtype": torch.int8}, launches=0)


def test_threads_share_the_pixels_of_a_row(monkeypatch):
    machine = OperatorKernels(monkeypatch, threads=4)
    batch = TensorList(batch_of("FHWC").tensors[:1], "FHWC")
    same(machine, "crop_mirror_normalize", batch, {**NORMAL, "crop": (16, 17), "mirror": 1})


@pytest.mark.gpu
def test_random_crops_of_a_block_are_a_block():
    block = torch.randint(0, 256, (4, 50, 60, 3), dtype=torch.uint8).cuda()
    made = fn.crop(block, crop=(20, 33), crop_pos_x=[0.1, 0.9, 0.5, 0.3])
    assert made.is_contiguous()


@pytest.mark.gpu
def test_the_kernel_runs_in_a_pipeline_on_memory_that_is_used_again():
    def clips_at(iteration):
        rng = np.random.default_rng(iteration)
        sides = rng.integers(40, 300, (4, 2)).tolist()
        return [values_of((2, *own, 3), torch.uint8, rng) for own in sides]

    @pipeline_def(batch_size=4, num_threads=2, device_id=0, prefetch_queue_depth=3)
    def definition():
        clips = fn.external_source(clips_at, layout="FHWC").gpu()
        flipped = fn.flip(clips, vertical=1)
        padded = fn.pad(flipped, axis_names="HW", fill_value=7.0)
        return padded, fn.crop_mirror_normalize(flipped, crop=(33, 40), **NORMAL)

    with definition() as pipe:
        for iteration in range(20):
            flipped = fn.flip(TensorList(clips_at(iteration), "FHWC"), vertical=1)
            padded, normal = (batch.as_cpu() for batch in pipe.run())
            wanted = fn.pad(flipped, axis_names="HW", fill_value=7.0)
            for got, expected in zip(padded, wanted, strict=True):
                assert torch.equal(got, expected)
            wanted = fn.crop_mirror_normalize(flipped, crop=(33, 40), **NORMAL)
            for got, expected in zip(normal, wanted, strict=True):
                assert torch.equal(got, expected)
