"""Launches that are repeated for batches alike are those that the operator itself makes."""

import gc
import itertools
import weakref
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from kernel_machines import CompiledDriver
from operators.test_launches import Driver, calls_of

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.fn.function import Function
from videoloader.dali.operators.applying import apply_operator, per_sample
from videoloader.dali.operators.color.color_run import color_run, name_in_run
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.geometry import resize_on_gpu
from videoloader.dali.operators.operator import OPERATORS
from videoloader.dali.tensors import TensorList
from videoloader.dali.tensors.batch import Batch
from videoloader.machinery.cuda import launching
from videoloader.machinery.cuda.launching import TABLE_SIZES

ARGUMENTS = {
    "brightness": {"brightness": 1.2},
    "brightness_contrast": {"brightness": 1.2, "contrast": 0.7},
    "cast": {"dtype": torch.int16},
    "color_space_conversion": {"image_type": types.RGB, "output_type": types.GRAY},
    "color_twist": {"hue": 20.0, "saturation": 1.3},
    "contrast": {"contrast": 0.7},
    "crop": {"crop": (5, 6), "dtype": torch.float32},
    "crop_mirror_normalize": {"crop": (5, 6), "mirror": 1, "mean": [9.0, 8.0, 7.0]},
    "dilate": {"mask_size": 3},
    "erase": {"anchor": [2, 3], "shape": [6, 4], "axis_names": "HW"},
    "erode": {"mask_size": 3},
    "median_blur": {"window_size": 3},
    "experimental.warp_perspective": {"matrix": [1, 0, 2, 0, 1, 3, 0, 0, 1]},
    "fast_resize_crop_mirror": {"resize_x": 20, "resize_y": 15, "crop": (7, 8)},
    "flip": {"vertical": 1},
    "gaussian_blur": {"sigma": 1.5},
    "grid_mask": {"tile": 4},
    "hsv": {"hue": 20.0},
    "hue": {"hue": 20.0},
    "laplacian": {"window_size": 3},
    "pad": {"axis_names": "HW", "shape": [20, 21]},
    "resize": {"size": (7, 8)},
    "resize_crop_mirror": {"resize_x": 20, "resize_y": 15, "crop": (7, 8), "mirror": 1},
    "rotate": {"angle": 10.0, "fill_value": 0},
    "saturation": {"saturation": 1.3},
    "slice": {"rel_start": (0.1, 0.2), "rel_shape": (1.2, 1.2), "out_of_bounds_policy": "pad"},
    "sphere": {"fill_value": 0.0},
    "tensor_resize": {"sizes": (7, 8), "axis_names": "HW"},
    "warp_affine": {"matrix": [1.1, 0.1, -1.0, -0.1, 0.9, 2.0], "fill_value": 0},
    "water": {"fill_value": 0.0},
}
COUNT = 3


@pytest.fixture
def driver(monkeypatch):
    made = Driver(monkeypatch)
    streams = {}
    made.stream = 70
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda gpu: made.stream)

    def current(device):
        return streams.setdefault(made.stream, SimpleNamespace(cuda_stream=made.stream))

    monkeypatch.setattr(torch.cuda, "current_stream", current)
    return made


def frames_of(layout="FHWC", size=(9, 12), count=COUNT, seed=0, offset=0, device="cpu"):
    """Noise; `offset` elements behind where memory begins."""
    sizes = {"F": 2, "H": size[0], "W": size[1], "C": 3}
    shape = (count, *(sizes[letter] for letter in layout))
    noise = np.random.default_rng(seed).integers(0, 256, offset + int(np.prod(shape)), np.uint8)
    return Batch(torch.from_numpy(noise).to(device)[offset:].view(shape), layout)


def bound(declared, given, count=COUNT):
    return per_sample(declared, Context(count), [], declared.bind(given))


class Caller:
    """Calls an operator as a pipeline does, batch after batch, and without what it remembers.

    Outputs are in memory that is given, those that the operator turns around as well.
    """

    def __init__(self, name, given):
        self.declared = OPERATORS[name] if isinstance(name, str) else name
        self.given, self.memo, self.arguments = given, {}, {}
        self.is_resize = "resize" in self.declared.name

    def run(self, frames, memo, memory):
        count = len(frames)
        if count not in self.arguments:
            self.arguments[count] = bound(self.declared, self.given, count)

        def allocate(output, spec):
            at, samples = 0, []
            shapes = spec.shapes
            if shapes and not spec.is_ragged:
                shapes = [(count, *shapes[0])]
            for shape in shapes:
                size = int(np.prod(shape)) * spec.dtype.itemsize
                samples.append(memory[at : at + size].view(spec.dtype).view(shape))
                at += -(-size // 16) * 16
            return Batch(samples if spec.is_ragged else samples[0], spec.layout)

        context = Context(count, "cuda:0", allocate=allocate, inferred=memo)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("videoloader.dali.operators.applying.allocate", allocate)
            return apply_operator(self.declared, context, [frames], self.arguments[count])

    def check(self, driver, frames, memory):
        """What is launched for a batch with what is remembered is what is without."""
        made = []
        for memo in (self.memo, None):
            driver.launches.clear()
            launching._arguments.table[:] = bytes(TABLE_SIZES[-1])
            outputs = self.run(frames, memo, memory)
            launches = driver.launches[-1:] if self.is_resize else driver.launches
            made.append(([facts(each, self.is_resize) for each in launches], outputs))
        (ours, output), (fresh, wanted) = made
        assert [each.spec for each in output] == [each.spec for each in wanted]
        assert len(ours) == 1
        assert ours == fresh

    @property
    def launches(self):
        return next(iter(self.memo.values())).launches


def memory_of(size=1 << 16, offset=0):
    return torch.empty(size, dtype=torch.uint8)[offset:]


def facts(launch, is_resize):
    """What a launch is told, but for where weights of a resize lie: they are another test's."""
    table = bytearray(launch.table)
    if is_resize:
        np.frombuffer(table, resize_on_gpu._ROW, launch.grid[1])["axes"]["table"] = 0
    place = launch.device, launch.stream
    return launch.function, launch.grid, *place, launch.start, bytes(table)


NOT_REPEATED = {
    "jitter": "draws",
    "jpeg_compression_distortion": "two launches, and memory between them",
    "noise.gaussian": "draws",
    "noise.salt_and_pepper": "draws",
    "noise.shot": "draws",
    "random_resized_crop": "draws",
    "cast_like": "two inputs",
    "experimental.remap": "three inputs",
    "filter": "two inputs",
    "multi_paste": "addresses of its own",
    "paste": "addresses of its own",
}


def test_every_operator_whose_launches_are_repeated_is_tried():
    assert {name for name, each in OPERATORS.items() if "cuda" in each.kernels} == {
        *ARGUMENTS,
        *NOT_REPEATED,
    }


@pytest.mark.parametrize("layout", ["FHWC", "HWC", "FCHW", "CHW"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_repeated_launch_is_that_of_a_fresh_call(driver, name, layout):
    caller = Caller(name, ARGUMENTS[name])
    if layout not in (caller.declared.layouts or [layout]):
        pytest.skip("it does not take that layout")
    for seed in range(2):
        caller.run(frames_of(layout, seed=seed), caller.memo, memory_of())
    assert caller.launches is not None
    for seed in range(2, 5):
        known = caller.launches
        caller.check(driver, frames_of(layout, seed=seed), memory_of())
        assert caller.launches is known


def test_colour_operators_that_are_joined_are_repeated_together(driver):
    pair = [OPERATORS["hue"], OPERATORS["brightness"]]
    given = {name_in_run(0, "hue"): 20.0, name_in_run(1, "brightness"): 1.3}
    caller = Caller(color_run(pair), given)
    for seed in range(4):
        caller.check(driver, frames_of(seed=seed), memory_of())
    assert caller.launches is not None


@pytest.mark.parametrize("name", ["flip", "resize", "gaussian_blur", "crop_mirror_normalize"])
def test_whatever_comes_launches_are_those_of_fresh_calls(driver, name):
    rng = np.random.default_rng(7)
    caller, frames, repeated = Caller(name, ARGUMENTS[name]), frames_of(), 0
    for step in range(150):
        what, memory, driver.device = rng.integers(20), memory_of(), 0
        if what == 0:
            frames = frames_of(size=(9, int(rng.integers(12, 15))), seed=step)
        elif what == 1:
            frames = frames_of(offset=int(rng.integers(16)), seed=step)
        elif what == 2:
            frames = frames_of("FCHW", seed=step)
        elif what == 3:  # views of larger frames
            larger = frames_of(size=(16, 20), seed=step).block
            frames = Batch(larger[:, :, 2:11, 3:15], "FHWC")
        elif what == 4:
            frames = Batch([frames_of(size=(9, 12 + at)).block[0] for at in range(COUNT)], "FHWC")
        elif what == 5:
            frames = frames_of(count=int(rng.integers(1, 4)), seed=step)
        elif what == 6:
            driver.stream = int(rng.integers(70, 72))
        elif what == 7:
            driver.device = 1
        elif what == 8:
            memory = memory_of(offset=4 * int(rng.integers(4)))
        elif frames.block is not None:
            frames = Batch(frames.block.clone(), frames.layout)
        known = {count: each.launches for count, each in caller.memo.items()}
        caller.check(driver, frames, memory)
        now = caller.memo[len(frames)].launches
        repeated += now is not None and now is known.get(len(frames))
    assert repeated > 20


@pytest.mark.parametrize("what", ["input", "output"])
def test_launches_are_not_repeated_where_memory_is_aligned_otherwise(driver, what):
    caller, known = Caller("flip", {}), None
    for step, offset in enumerate((0, 0, 16, 4, 20, 8)):
        places = {"input": 0, "output": 0, what: offset}
        memory = memory_of(offset=places["output"])
        caller.check(driver, frames_of(offset=places["input"]), memory)
        is_repeated = step > 1 and caller.launches is known
        assert is_repeated == (offset in (16, 20))  # a multiple of 16 from the last one
        known = caller.launches


def test_launches_are_not_repeated_on_an_output_of_other_strides(driver):
    declared, memo = OPERATORS["flip"], {}
    arguments, frames = bound(declared, {}), frames_of()
    wide = torch.empty(COUNT, 2, 9, 20, 3, dtype=torch.uint8)
    blocks = [wide[:, :, :, :12], wide[:, :, :, 4:16], wide.view(-1)[: 648 * COUNT]]
    for at in (0, 0, 1, 2, 0, 1):
        made = []
        for known in (memo, None):
            driver.launches.clear()
            launching._arguments.table[:] = bytes(TABLE_SIZES[-1])
            block = blocks[at].view(COUNT, 2, 9, 12, 3) if at == 2 else blocks[at]
            out = Batch(block, "FHWC")
            context = Context(COUNT, "cuda:0", allocate=lambda *_, out=out: out, inferred=known)
            apply_operator(declared, context, [frames], arguments)
            made.append([facts(each, is_resize=False) for each in driver.launches])
        assert made[0] == made[1]


def test_a_table_that_is_uploaded_is_not_repeated(driver, monkeypatch):
    monkeypatch.setattr("videoloader.dali.operators.kernels.TABLE_BYTES", 0)
    monkeypatch.setattr("videoloader.dali.operators.kernels._table_size", lambda size, gpu: 0)
    plain = torch.empty

    def empty(*sizes, pin_memory=False, **options):
        return plain(*sizes, **options)

    monkeypatch.setattr(torch, "empty", empty)
    monkeypatch.setattr(torch.Tensor, "to", lambda self, *_, **__: self)
    caller = Caller("flip", {})
    for seed in range(3):
        caller.run(frames_of(seed=seed), caller.memo, memory_of())
        assert caller.launches is None
    assert len(driver.launches) == 3


def test_what_launches_nothing_is_not_repeated(driver):
    caller = Caller("brightness", {"brightness": 1.0})
    for seed in range(3):
        frames = frames_of(seed=seed)
        (made,) = caller.run(frames, caller.memo, memory_of())
        assert torch.equal(made.block, frames.block)
    assert caller.launches is None


def test_launches_of_an_operator_of_several_inputs_are_not_repeated(driver):
    caller = Caller("cast_like", {})
    for seed in range(3):
        frames = frames_of(seed=seed)
        context = Context(COUNT, "cuda:0", inferred=caller.memo)
        apply_operator(
            caller.declared, context, [frames, Batch(torch.zeros(COUNT, 1, dtype=torch.int16))], {}
        )
        assert caller.launches is None
    assert len(driver.launches) == 3


def test_launches_with_addresses_of_their_own_are_not_repeated(driver):
    caller = Caller("paste", {"fill_value": 0, "ratio": 1.5})
    for seed in range(3):
        caller.check(driver, frames_of(seed=seed), memory_of())
        assert caller.launches is None


def test_weights_of_a_resize_live_as_long_as_its_launches_are_repeated(driver):
    caller = Caller("resize", ARGUMENTS["resize"])
    for seed in range(2):
        caller.run(frames_of(seed=seed), caller.memo, memory_of())
    (memory,) = map(weakref.ref, [caller.launches._kept])
    gc.collect()
    assert memory() is not None
    driver.launches.clear()
    caller.run(frames_of(), caller.memo, memory_of())
    assert len(driver.launches) == 1
    driver.stream = 71  # there nothing says when the weights are done
    caller.run(frames_of(), caller.memo, memory_of())
    assert len(driver.launches) == 3  # weights again
    assert memory() is None


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_repeated_batch_takes_few_calls(driver, name):
    caller = Caller(name, ARGUMENTS[name])
    for seed in range(3):
        caller.run(frames_of(seed=seed), caller.memo, memory_of())
    context = Context(COUNT, "cuda:0", inferred=caller.memo)
    arguments = caller.arguments[COUNT]
    called, in_c = calls_of(
        partial(apply_operator, caller.declared, context, [frames_of()], arguments)
    )
    assert called <= 25
    assert in_c <= 40


@pytest.fixture(params=["c++", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request, monkeypatch):
    if request.param == "gpu":
        return "cuda:0"
    CompiledDriver(monkeypatch)
    return "cpu"


@pytest.mark.parametrize(
    "name", ["brightness_contrast", "crop_mirror_normalize", "erase", "flip", "resize"]
)
def test_pixels_of_repeated_launches_are_those_of_fresh_ones(device, name):
    declared, memo = OPERATORS[name], {}
    arguments = bound(declared, ARGUMENTS[name])
    forms = [{}, {}, {}, {"offset": 3}, {"layout": "FCHW"}, {"size": (10, 13)}, {}, {}, {}]
    kept = []
    for seed, form in enumerate(forms):
        frames = frames_of(**form, seed=seed, device=device)
        results = []
        for known in (memo, None):
            context = Context(COUNT, "cuda:0", inferred=known)
            (out,) = apply_operator(declared, context, [frames], arguments)
            results.append(out.block.cpu())
        assert torch.equal(*results)
        kept.append(memo[COUNT].launches)
    assert sum(a is b is not None for a, b in itertools.pairwise(kept)) >= 2


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["brightness_contrast", "erase", "flip", "resize"])
def test_a_pipeline_gives_what_single_calls_give_whatever_is_fed(name):
    function = Function(name)

    @pipeline_def(batch_size=COUNT, num_threads=1, device_id=0)
    def graph():
        source = fn.external_source(name="clips", device="gpu", layout="FHWC", repeat_last=True)
        return function(source, **ARGUMENTS[name])

    sizes = [(9, 12), (9, 12), (9, 12), (40, 30), (40, 30), (40, 30), (9, 12), (9, 12), (9, 12)]
    side = torch.cuda.Stream()
    with graph() as pipe:
        for seed, size in enumerate(sizes):
            frames = frames_of(size=size, seed=seed, device="cuda").block
            pipe.feed_input("clips", frames)
            wanted = Function(name)(TensorList(frames, "FHWC"), **ARGUMENTS[name]).as_tensor()
            torch.cuda.synchronize()
            for stream in (None, None, side, None):
                (out,) = pipe.run(stream)
                torch.cuda.synchronize()
                assert torch.equal(out.as_tensor(), wanted)
                out.as_tensor().zero_()
