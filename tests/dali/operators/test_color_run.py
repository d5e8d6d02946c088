"""Colour operators that follow each other, as one kernel: exactly what they give one by one."""

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_machines import OperatorKernels
from operators.test_kernels import batch_of

from videoloader.dali import types
from videoloader.dali.operators.applying import apply_operator
from videoloader.dali.operators.color.color_run import color_run, name_in_run
from videoloader.dali.operators.context import Context
from videoloader.dali.operators.operator import OPERATORS
from videoloader.dali.tensors import TensorList
from videoloader.dali.tensors.batch import Batch
from videoloader.errors import ArgumentError

FRAMES = 3
LINES = {
    "brightness": ("brightness", "brightness_shift"),
    "contrast": ("contrast", "contrast_center"),
    "brightness_contrast": ("brightness", "contrast"),
}
MATRICES = {
    "hue": ("hue",),
    "saturation": ("saturation",),
    "hsv": ("hue", "value"),
    "color_twist": ("hue", "saturation", "contrast", "brightness"),
}
RGB, GRAY = types.RGB, types.GRAY
U8, U16, F16, F32 = torch.uint8, torch.uint16, torch.float16, torch.float32
KINDS = [  # kernels are compiled for each; pairs of colour spaces are conversions
    (U8, (LINES, U8), (MATRICES, U8), (MATRICES, U8)),
    (U8, (MATRICES, U16), (LINES, U8), (MATRICES, F32)),
    (F32, (MATRICES, F16), (RGB, GRAY), (GRAY, RGB), (LINES, F32)),
]


@pytest.fixture(scope="module")
def machine():
    with pytest.MonkeyPatch.context() as patch:
        yield OperatorKernels(patch)


@st.composite
def numbers(draw, argument, layout):
    """A value, or one for each of five samples, some of them with values for frames."""
    size = 180.0 if argument == "hue" else 2.0
    value = st.floats(-size if argument == "hue" else 0.0, size, width=16)
    own = value
    if layout.startswith("F"):
        own = value | st.lists(value, min_size=FRAMES, max_size=FRAMES)
    return draw(value | st.lists(own, min_size=5, max_size=5))


@st.composite
def chains(draw):
    """The element type and layout of the input, and operators with their arguments."""
    dtype, *kinds = draw(st.sampled_from(KINDS))
    layout, chain = draw(st.sampled_from(["HWC", "FHWC", "FCHW"])), []
    for kind, after in kinds:
        if isinstance(kind, types.ImageType):
            spaces = {"image_type": kind, "output_type": after}
            chain.append(("color_space_conversion", spaces))
            continue
        name = draw(st.sampled_from(list(kind)))
        values = {each: draw(numbers(each, layout)) for each in kind[name]}
        chain.append((name, {**values, "dtype": after}))
    return dtype, layout, chain


def one_by_one(machine, batch, chain):
    for name, arguments in chain:
        (batch,) = machine.run(name, [batch], arguments)
    return batch


def together(batch, chain):
    """The batch behind a run, by its kernel for GPUs."""
    run = color_run([OPERATORS[name] for name, _ in chain])
    run = dataclasses.replace(run, kernels={"cpu": run.kernels["cuda"]})
    arguments = {
        name_in_run(number, key): value
        for number, (name, values) in enumerate(chain)
        for key, value in OPERATORS[name].bind(values).items()
    }
    data = Batch(batch.batch.data, batch.layout())
    (made,) = apply_operator(run, Context(len(batch)), [data], arguments)
    return TensorList(made)


def assert_same(made, wanted):
    assert (made.dtype, made.layout(), made.shape()) == (
        wanted.dtype,
        wanted.layout(),
        wanted.shape(),
    )
    for got, expected in zip(made, wanted, strict=True):
        assert got.numpy().tobytes() == expected.numpy().tobytes()


@settings(max_examples=30)
@given(chains(), st.sampled_from(["ragged", "dense", "views"]))
def test_a_run_gives_the_bits_of_its_operators(machine, chain, memory):
    dtype, layout, calls = chain
    batch = batch_of(layout, dtype, memory=memory, frames=FRAMES)
    assert_same(together(batch, calls), one_by_one(machine, batch, calls))


LONG = [
    ("brightness_contrast", {"brightness": 1.7, "contrast": [0.5, 1.0, 2.0, 1.2, 3.0]}),
    ("hsv", {"hue": 70.0, "saturation": 2.5}),
    ("color_twist", {"hue": [[10.0, 20.0, 30.0], 3.0, 4.0, 5.0, 6.0], "contrast": 1.6}),
]


@pytest.mark.parametrize("memory", ["ragged", "dense", "views"])
def test_a_run_is_one_launch_and_saturates_in_between(machine, memory):
    batch = batch_of("FHWC", memory=memory, frames=FRAMES)
    wanted = one_by_one(machine, batch, LONG)
    before = machine.launched.total()
    made = together(batch, LONG)
    assert machine.launched.total() - before == 1
    assert_same(made, wanted)
    wide = [(name, {**values, "dtype": torch.float32}) for name, values in LONG]
    others = together(batch, [*wide[:2], LONG[2]])
    assert any(not torch.equal(*pair) for pair in zip(made, others, strict=True))


def test_operators_that_change_nothing_are_left_out(machine):
    nothing = ("brightness_contrast", {})
    batch = batch_of("HWC", torch.float32)
    batch[1].mul_(-0.0)  # an operator would make it 0.0
    before = machine.launched.total()
    assert_same(together(batch, [nothing, nothing]), batch)
    assert machine.launched.total() == before
    chain = [nothing, ("hue", {"hue": 30.0}), nothing]
    assert_same(together(batch, chain), one_by_one(machine, batch, chain))
    assert machine.launched.total() - before == 2


@pytest.mark.parametrize("dtype", [torch.int16, torch.float64])
def test_types_without_a_kernel_go_through_the_operators(machine, dtype):
    batch = batch_of("HWC")
    chain = [("hue", {"hue": 30.0, "dtype": dtype}), ("brightness", {"brightness": 1.3})]
    wanted = one_by_one(machine, batch, chain)
    before = machine.launched.total()
    made = together(batch, chain)
    assert machine.launched.total() == before
    for got, expected in zip(made, wanted, strict=True):
        # `one_by_one` has no kernel either, but plain torch where the CPU takes OpenCV.
        assert (got.double() - expected.double()).abs().max() <= 1


def test_values_for_other_frames_are_an_error(machine):
    batch = batch_of("FHWC", frames=FRAMES)
    chain = [("hue", {"hue": 30.0}), ("brightness", {"brightness": [[1.0, 2.0]] * 5})]
    with pytest.raises(ArgumentError, match=r"brightness has values for 2 frames"):
        together(batch, chain)
    with pytest.raises(ArgumentError, match=r"3 channels"):
        together(batch_of("HWC", channels=1), chain[:1] * 2)
