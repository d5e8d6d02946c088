"""Resizing by CUDA kernels, as C++ and on the GPU, against plain torch on the CPU."""

import dataclasses
import operator

import numpy as np
import pytest
import torch
from kernel_machines import OperatorKernels, OperatorKernelsOnGpu

from videoloader.dali import fn, types
from videoloader.dali.operators.applying import apply_operator
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import OPERATORS
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.tensors import TensorList
from videoloader.dali.tensors.batch import Batch

DTYPES = (torch.uint8, torch.uint16, torch.float16, torch.float32)
PAIRS = [  # a kernel is compiled for each
    *zip(DTYPES, DTYPES, strict=True),
    (torch.uint8, torch.float32),
    (torch.float32, torch.uint8),
    (torch.uint16, torch.float16),
    (torch.float16, torch.uint16),
]
LAYOUTS = ("HWC", "FHWC", "CHW", "FCHW", "CFHW")
NEAREST, LINEAR = types.INTERP_NN, types.INTERP_LINEAR
FILTERS = (
    *(NEAREST, LINEAR, types.INTERP_TRIANGULAR),
    *(types.INTERP_CUBIC, types.INTERP_LANCZOS3, types.INTERP_GAUSSIAN),
)
SIDES = [(1, 1), (37, 50), (8, 130), (64, 3), (29, 31)]
TARGETS = [[7.0, 9.0], [80.0, 20.0], [33.0, 40.0], [1.0, 1.0], [29.0, -31.0]]


@pytest.fixture(params=["c++", pytest.param("gpu", marks=pytest.mark.gpu)])
def machine(request, monkeypatch):
    # The reference is plain torch in float32, not the faster way of bytes on the CPU.
    monkeypatch.setattr(
        "videoloader.dali.operators.geometry.resize.resample_bytes", lambda *_: None
    )
    return (OperatorKernelsOnGpu if request.param == "gpu" else OperatorKernels)(monkeypatch)


def values_of(shape, dtype, rng):
    values = torch.from_numpy(rng.random(shape, np.float32))
    if dtype.is_floating_point:
        return (values * 1.5 - 0.25).to(dtype)
    return (values * (torch.iinfo(dtype).max + 0.99)).to(torch.int32).to(dtype)


def batch_of(layout, dtype=torch.uint8, *, channels=3, memory="ragged", frames=2, sides=SIDES):
    """Samples of noise: ragged, in one block, or views of larger ones."""
    rng = np.random.default_rng(len(layout))
    samples = []
    for rows, columns in [(24, 38)] * len(sides) if memory == "dense" else sides:
        named = {"F": frames, "H": rows, "W": columns, "C": channels}
        shape = [named[letter] for letter in layout]
        margins = [2 * (letter in "HW" and memory == "views") for letter in layout]
        whole = [side + 2 * margin for side, margin in zip(shape, margins, strict=True)]
        window = tuple(slice(at, at + side) for at, side in zip(margins, shape, strict=True))
        samples.append(values_of(whole, dtype, rng)[window])
    return TensorList(torch.stack(samples) if memory == "dense" else samples, layout)


def check(machine, name, batch, arguments, *, kernel="resize", exact=False):
    """Compare with plain torch: with its very values, or with those that it has in float64."""
    run = operator.attrgetter(name)(fn)
    if exact:
        wanted = run(batch, **arguments)
    else:
        wanted = run(in_float64(batch), **{**arguments, "dtype": torch.float64})
    machine.launched.clear()
    (made,) = machine.run(name, [batch], arguments)
    dtype = arguments.get("dtype", batch.dtype)
    compare(machine, made, wanted, dtype, kernel=kernel, exact=exact)


def in_float64(batch):
    return TensorList([each.double() for each in batch], batch.layout())


def compare(machine, made, wanted, dtype, *, kernel, exact=False):
    """A value is the number that float64 gives, but for rounding in float32 and to its type."""
    assert dict(machine.launched) == ({"taps": 1, kernel: 1} if kernel else {})
    assert (made.shape(), made.layout(), made.dtype) == (wanted.shape(), wanted.layout(), dtype)
    for got, expected in zip(made, wanted, strict=True):
        if exact:
            assert torch.equal(got, expected)
            continue
        is_float = got.dtype.is_floating_point
        limits = torch.finfo(got.dtype) if is_float else torch.iinfo(got.dtype)
        expected = expected.clamp(limits.min, limits.max)
        largest = max(1.0, float(expected.abs().max()))
        if is_float:
            bound = (2**-10 if got.dtype == torch.float16 else 1e-6) * largest
        else:
            bound = 0.5 + 2e-6 * largest  # a half is rounded to either side
        assert (got.double().clamp(limits.min, limits.max) - expected).abs().max() <= bound


@pytest.mark.parametrize("interp_type", FILTERS)
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize(("source", "target"), [DTYPES[:1] * 2, DTYPES[3:] * 2])
def test_every_filter_on_ragged_batches(machine, interp_type, antialias, source, target):
    arguments = {"size": TARGETS, "interp_type": interp_type, "antialias": antialias}
    given = {**arguments, "dtype": target}
    kernel = "nearest" if interp_type is NEAREST else "resize"
    batch = batch_of("FHWC", source)
    check(machine, "resize", batch, given, kernel=kernel, exact=interp_type is NEAREST)


@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("interp_type", [NEAREST, types.INTERP_CUBIC])
def test_every_pair_of_types(machine, interp_type, source, target):
    arguments = {"size": TARGETS, "interp_type": interp_type, "dtype": target}
    kernel = "nearest" if interp_type is NEAREST else "resize"
    check(
        machine,
        "resize",
        batch_of("HWC", source),
        arguments,
        kernel=kernel,
        exact=interp_type is NEAREST,
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("memory", ["ragged", "dense", "views"])
@pytest.mark.parametrize("interp_type", [NEAREST, LINEAR])
def test_every_layout_and_memory(machine, layout, memory, interp_type):
    arguments = {"size": TARGETS, "interp_type": interp_type}
    kernel = "nearest" if interp_type is NEAREST else "resize"
    batch = batch_of(layout, memory=memory, frames=3)
    check(machine, "resize", batch, arguments, kernel=kernel, exact=interp_type is NEAREST)


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("layout", ["FHWC", "FCHW"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_every_number_of_channels(machine, channels, layout, dtype):
    batch = batch_of(layout, dtype, channels=channels)
    check(machine, "resize", batch, {"size": TARGETS})
    check(
        machine,
        "resize",
        batch,
        {"size": TARGETS, "interp_type": NEAREST},
        kernel="nearest",
        exact=True,
    )


@pytest.mark.parametrize("layout", ["HWC", "CHW"])
def test_lines_that_take_several_bands(machine, layout):
    sides = [(3, 4000), (9, 700), (40, 301), (2, 217), (5, 8)]
    batch = batch_of(layout, sides=sides)
    check(machine, "resize", batch, {"size": [5.0, 40.0]})
    check(
        machine,
        "resize",
        batch,
        {"size": [11.0, 2.0], "interp_type": types.INTERP_LANCZOS3},
    )


def test_samples_have_regions_filters_and_flips_of_their_own(machine):
    arguments = {
        "size": [[40.0, 21.0], [-9.0, 30.0], [70.0, -70.0], [5.0, 5.0], [16.0, 16.0]],
        "interp_type": [*FILTERS[:3], *FILTERS[4:]],
        "mag_filter": [LINEAR, NEAREST, types.INTERP_CUBIC, LINEAR, types.INTERP_LANCZOS3],
        "roi_start": [[0.0, 0.0], [3.3, 1.0], [1.0, 0.5], [0.0, 0.9], [-0.5, -1.0]],
        "roi_end": [[1.0, 1.0], [20.0, 40.25], [0.1, 0.1], [1.0, 0.1], [2.0, 3.0]],
    }
    check(machine, "resize", batch_of("FHWC", sides=[(37, 50)] * 5), arguments)
    arguments["roi_relative"] = True
    check(machine, "resize", batch_of("FHWC", sides=[(37, 50)] * 5), arguments)


@pytest.mark.parametrize("subpixel_scale", [True, False])
@pytest.mark.parametrize("interp_type", [NEAREST, LINEAR])
def test_sides_that_are_rounded_keep_their_scale(machine, subpixel_scale, interp_type):
    arguments = {
        "resize_shorter": [7.3, 40.6, 3.2, 0.4, 33.3],
        "subpixel_scale": subpixel_scale,
        "interp_type": interp_type,
    }
    kernel = "nearest" if interp_type is NEAREST else "resize"
    batch = batch_of("FHWC")
    check(machine, "resize", batch, arguments, kernel=kernel, exact=interp_type is NEAREST)


@pytest.mark.parametrize("interp_type", FILTERS)
def test_windows_and_mirrors(machine, interp_type):
    arguments = {
        "size": [30.0, 40.0],
        "crop": [[10.0, 12.0], [30.0, 40.0], [1.0, 1.0], [50.0, 90.0], [29.0, 40.0]],
        "crop_pos_x": [0.0, 0.5, 1.0, 0.3, 0.7],
        "mirror": [0, 1, 2, 3, 1],
        "interp_type": interp_type,
    }
    kernel = "nearest" if interp_type is NEAREST else "resize"
    batch = batch_of("FHWC")
    exact = interp_type is NEAREST
    check(machine, "resize_crop_mirror", batch, arguments, kernel=kernel, exact=exact)


@pytest.mark.parametrize("layout", ["HWC", "FCHW"])
def test_random_parts(machine, layout):
    batch = batch_of(layout, sides=[(90, 70), (41, 123), (8, 9), (200, 33), (60, 60)])
    check_random(machine, batch, {"size": [40, 56]}, kernel="resize")
    given = {"size": [40, 56], "interp_type": types.INTERP_CUBIC, "mag_filter": NEAREST}
    check_random(machine, batch, given, kernel="resize")


def check_random(machine, batch, arguments, *, kernel):
    """`check` of `random_resized_crop`, with the same draws on both sides."""
    declared = OPERATORS["random_resized_crop"]
    bound = {k: v for k, v in declared.bind(arguments).items() if k != "seed"}

    def apply(run, device, samples):
        context = Context(
            len(samples), device, random=lambda position, into: np.random.default_rng(position)
        )
        (made,) = apply_operator(run, context, [Batch(samples, batch.layout())], bound)
        return TensorList([each.cpu() for each in made], made.layout)

    plain = dataclasses.replace(declared, kernels={})
    wanted = apply(plain, "cpu", in_float64(batch).tensors)
    machine.launched.clear()
    if isinstance(machine, OperatorKernels):
        on_cpu = dataclasses.replace(declared, kernels={"cpu": declared.kernels["cuda"]})
        made = apply(on_cpu, "cpu", batch.tensors)
    else:
        made = apply(declared, "cuda:0", [each.cuda() for each in batch.tensors])
    compare(machine, made, wanted, batch.dtype, kernel=kernel)


def test_a_picture_of_its_own_size_is_itself(machine):
    picture = torch.tensor([[torch.inf, -1.0, 2.5], [3.0, torch.nan, 1e-41]])[..., None]
    batch = TensorList([picture, picture * 2], "HWC")
    for interp_type in (LINEAR, types.INTERP_CUBIC):
        arguments = {"size": [2.0, 3.0], "interp_type": interp_type}
        (made,) = machine.run("resize", [batch], arguments)
        assert torch.equal(made[0].isnan(), picture.isnan())
        torch.testing.assert_close(made[0].nan_to_num(), picture.nan_to_num(), rtol=0, atol=1e-40)


def test_the_nearest_pixel_keeps_every_bit(machine):
    for dtype, bits in ((torch.float16, torch.int16), (torch.float32, torch.int32)):
        raw = torch.randint(-(2**15), 2**15, (9, 14, 3), dtype=bits)
        batch = TensorList([(raw * 65537 if bits == torch.int32 else raw).view(dtype)], "HWC")
        (made,) = machine.run("resize", [batch], {"size": [20, 9], "interp_type": NEAREST})
        rows = ((torch.arange(20) + 0.5) * 9 / 20).floor().long()
        columns = ((torch.arange(9) + 0.5) * 14 / 9).floor().long()
        wanted = batch[0].view(bits)[rows][:, columns]
        assert torch.equal(made[0].view(bits), wanted)


def test_weights_of_constant_arguments_are_made_once(machine):
    batch = batch_of("FHWC", memory="dense")
    for _ in range(3):
        machine.run("resize", [batch], {"size": [20.0, 30.0]})
    assert dict(machine.launched) == {"taps": 1, "resize": 3}
    machine.run("resize", [batch], {"size": [20.0, 31.0]})
    assert dict(machine.launched) == {"taps": 2, "resize": 4}


def test_the_sizes_of_the_inputs_are_told(machine):
    batch = batch_of("FHWC")
    made, sizes = machine.run("resize", [batch], {"size": [20.0, 30.0], "save_attrs": True})
    assert made.shape() == [(2, 20, 30, 3)] * 5
    assert sizes.as_array().tolist() == [list(each) for each in SIDES]


def test_threads_of_a_block_wait_for_one_another(monkeypatch):
    monkeypatch.setattr(
        "videoloader.dali.operators.geometry.resize.resample_bytes", lambda *_: None
    )
    machine = OperatorKernels(monkeypatch, threads=4)
    batch = batch_of("HWC", sides=[(40, 300), (70, 33)])
    check(machine, "resize", batch, {"size": [35.0, 34.0]})
    given = {"size": [35.0, 34.0], "interp_type": NEAREST}
    check(machine, "resize", batch, given, kernel="nearest", exact=True)


def test_what_the_kernel_does_not_take_is_resized_in_plain_torch(machine, monkeypatch):
    volumes = TensorList([torch.rand(4, 5, 6, 2)] * 2, "DHWC")
    check(machine, "resize", volumes, {"size": [3.0, 4.0, 9.0]}, kernel=None)
    for dtype, channels in ((torch.int16, 3), (torch.float64, 3), (torch.uint8, 5)):
        batch = TensorList([torch.ones(6, 7, channels, dtype=dtype)] * 2, "HWC")
        check(machine, "resize", batch, {"size": [3.0, 4.0]}, kernel=None)
    if isinstance(machine, OperatorKernels):
        monkeypatch.setattr("videoloader.dali.operators.kernels.has_cupy", lambda: False)
        check(machine, "resize", batch_of("HWC"), {"size": TARGETS}, kernel=None)
        check_random(machine, batch_of("HWC"), {"size": 9}, kernel=None)


@pytest.mark.parametrize(
    ("shape", "arguments"),
    [
        ((9, 14, 3), {"sizes": [5, 30], "axes": [0, 1]}),
        ((4, 9, 14), {"sizes": [20, -9], "axes": [1, 2]}),
        ((3, 4, 9, 14), {"scales": [0.7], "axes": [2], "interp_type": types.INTERP_CUBIC}),
        ((7, 3, 50), {"sizes": [4], "axes": [0], "alignment": 0.0}),
        ((90,), {"sizes": [37], "interp_type": types.INTERP_LANCZOS3}),
        ((40, 30), {"sizes": [7, 0], "mode": "stretch", "interp_type": NEAREST}),
        ((5, 6, 1, 8, 4), {"sizes": [3, 9], "axes": [2, 3]}),
    ],
)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_dimensions_side_by_side_are_those_of_pictures(machine, shape, arguments, dtype):
    rng = np.random.default_rng(0)
    batch = TensorList(
        [
            values_of((side + 3 * at, *rest), dtype, rng)
            for at, (side, *rest) in enumerate([shape] * 3)
        ]
    )
    kernel = "nearest" if arguments.get("interp_type") is NEAREST else "resize"
    check(machine, "tensor_resize", batch, arguments, kernel=kernel, exact=kernel == "nearest")


@pytest.mark.parametrize("axes", [[0, 2], [0, 1, 2]])
def test_other_dimensions_need_no_kernel(machine, axes):
    batch = TensorList([torch.rand(6, 7, 8), torch.rand(3, 4, 5)])
    check(machine, "tensor_resize", batch, {"scales": [0.5], "axes": axes}, kernel=None)


def test_tables_of_many_rows_take_several_launches(machine, monkeypatch):
    monkeypatch.setattr("videoloader.dali.operators.kernels.MOST_ROWS", 2)
    batch = batch_of("FHWC")
    wanted = fn.resize(batch, size=TARGETS)
    (made,) = machine.run("resize", [batch], {"size": TARGETS})
    assert dict(machine.launched) == {"taps": 3, "resize": 3}
    for got, expected in zip(made, wanted, strict=True):
        assert (got.int() - expected.int()).abs().max() <= 1


def clips_at(iteration):
    """Clips of other sizes in each iteration."""
    rng = np.random.default_rng(iteration)
    shapes = [(3, *rng.integers(1, 400, 2), 3) for _ in range(5)]
    return [values_of(shape, torch.uint8, rng) for shape in shapes]


IN_PIPELINE = {
    "resize": {"size": [90, 130]},
    "resize_crop_mirror": {"resize_shorter": 100, "crop": [60, 60], "mirror": 1},
}


@pytest.mark.gpu
def test_pipelines_resize_on_memory_that_is_used_again():
    @pipeline_def(batch_size=5, num_threads=2, device_id=0, prefetch_queue_depth=3)
    def definition():
        clips = fn.external_source(clips_at, layout="FHWC").gpu()
        return tuple(getattr(fn, name)(clips, **given) for name, given in IN_PIPELINE.items())

    with definition() as pipe:
        for iteration in range(20):
            clips = TensorList(clips_at(iteration), "FHWC").gpu()
            for (name, given), made in zip(IN_PIPELINE.items(), pipe.run(), strict=True):
                wanted = getattr(fn, name)(clips, **given)
                torch.cuda.synchronize()
                for got, expected in zip(made, wanted, strict=True):
                    assert torch.equal(got, expected), (iteration, name)


@pytest.mark.gpu
def test_streams_have_weights_of_their_own_and_nothing_waits():
    clips = TensorList(
        torch.stack([values_of((3, 90, 120, 3), torch.uint8, np.random.default_rng(0))] * 4), "FHWC"
    ).gpu()
    wanted = fn.resize(clips, size=[40, 50])
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(2)]
    for turn in range(2):  # the first takes memory, which may wait
        for stream in streams:
            with torch.cuda.stream(stream):
                torch.cuda._sleep(100_000_000)
                made = fn.resize(clips, size=[40, 50])
                assert turn == 0 or not stream.query()
                stream.synchronize()
            for got, expected in zip(made, wanted, strict=True):
                assert torch.equal(got, expected)
