"""Operators see batches: dense or ragged, with values for each sample or frame, in few calls."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from making import operators_page
from torch.utils._python_dispatch import TorchDispatchMode

from videoloader.dali import fn, types
from videoloader.dali.fn.function import Function
from videoloader.dali.operators import OPERATORS, Batch, Context, Input, declare
from videoloader.dali.operators.applying import apply_operator
from videoloader.dali.operators.arguments import FLOAT, INT, Argument
from videoloader.dali.operators.inputs import FRAMES
from videoloader.dali.operators.random.random import SEED
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, OperatorError
from videoloader.sampling import generator

N = 4
CASES = {
    "brightness": ("brightness_contrast", {"brightness": [1.0, 0.5, 1.5, 2.0], "contrast": 0.7}),
    "same brightness": ("brightness_contrast", {"brightness": 1.5}),
    "unchanged": ("brightness_contrast", {"dtype": types.FLOAT}),
    "cast": ("cast", {"dtype": types.FLOAT16}),
    "crop": ("crop", {"crop": (5, 6), "crop_pos_x": [0.0, 0.3, 0.6, 1.0]}),
    "crops": ("crop", {"crop": [[5, 6], [6, 5], [5, 6], [3, 3]]}),
    "same crop": ("crop", {"crop": (5, 6), "dtype": types.INT16}),
    "flip": ("flip", {"horizontal": [1, 0, 1, 0], "vertical": [0, 0, 1, 1]}),
    "same flip": ("flip", {}),
    "resize": ("resize", {"size": (7, 9)}),
    "resizes": ("resize", {"resize_shorter": [4.0, 7.0, 9.0, 12.0]}),
    "resize to float": ("resize", {"size": (5, 7), "dtype": types.FLOAT}),
    "resize the longer": ("resize", {"resize_longer": 11.0, "dtype": types.FLOAT}),
    "normalise": (
        "crop_mirror_normalize",
        {"crop": (5, 6), "mirror": [1, 0, 0, 1], "mean": [3.0, 4.0, 5.0], "std": [2.0]},
    ),
    "same normalise": ("crop_mirror_normalize", {"std": [2.0, 3.0, 4.0], "pad_output": 1}),
    "means": (
        "crop_mirror_normalize",
        {"mean": [[1.0], [2.0], [3.0], [4.0]], "output_layout": "HWC", "dtype": types.FLOAT16},
    ),
}
SHAPES = {
    "dense": [(2, 8, 9, 3)] * N,
    "ragged": [(2, 8, 9, 3), (1, 10, 7, 3), (2, 8, 9, 3), (3, 6, 12, 3)],
}


def batch(kind, dtype=torch.uint8):
    generator = torch.Generator().manual_seed(0)
    clips = [torch.randint(0, 256, shape, generator=generator).to(dtype) for shape in SHAPES[kind]]
    return TensorList(torch.stack(clips) if kind == "dense" else clips, "FHWC")


def of_sample(arguments, position):
    """The arguments of one sample of those for a batch."""
    rank = {"mean": 1, "std": 1, "crop": 1, "size": 1}
    return {
        name: value[position]
        if isinstance(value, list) and np.ndim(value) > rank.get(name, 0)
        else value
        for name, value in arguments.items()
    }


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("case", CASES)
def test_a_batch_gives_what_its_samples_give_one_by_one(case, kind):
    name, arguments = CASES[case]
    operator, clips = getattr(fn, name), batch(kind)
    before = [clip.clone() for clip in clips]
    results = operator(clips, **arguments)
    for position, clip in enumerate(clips):
        alone = operator(clip, layout="FHWC", **of_sample(arguments, position))
        assert torch.equal(results[position], alone)
    assert all(torch.equal(clip, old) for clip, old in zip(clips, before, strict=True))


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("case", CASES)
def test_what_is_inferred_is_what_comes_out(case, kind):
    name, arguments = CASES[case]
    operator, clips = OPERATORS[name], batch(kind)
    context = Context(N)
    data = clips.block if kind == "dense" else list(clips)
    (result,) = apply_operator(operator, context, [Batch(data, "FHWC")], operator.bind(arguments))
    (inferred,) = context.outputs
    assert result.spec == inferred
    assert not inferred.is_ragged or len(set(result.spec.shapes)) > 1


class Calls(TorchDispatchMode):
    """Counts calls of torch that work on pictures; views and fresh memory cost nothing."""

    FREE = frozenset(
        "alias as_strided detach empty empty_like lift_fresh permute select slice unbind "  # noqa: SIM905
        "unsqueeze view".split()
    )

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.__name__.partition(".")[0]
        result = function(*args, **(kwargs or {}))
        if name not in self.FREE and result.numel() > 100:
            self.names.append(name)
        return result


@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        ({"mean": [120.0, 110.0, 100.0], "std": [60.0, 61.0, 62.0], "mirror": 1}, 4),
        ({"mirror": [0, 1] * 4, "crop_pos_x": [0.1 * at for at in range(8)], "crop": (9, 9)}, 8),
        ({"dtype": types.FLOAT16, "std": [60.0]}, 4),
    ],
)
def test_a_batch_of_clips_is_normalised_in_few_calls(arguments, most):
    clips = TensorList(torch.zeros(8, 16, 12, 12, 3, dtype=torch.uint8), "FHWC")
    with Calls() as calls:
        fn.crop_mirror_normalize(clips, **arguments)
    assert len(calls.names) <= most, calls.names


@pytest.mark.parametrize("kind", SHAPES)
def test_a_value_for_each_frame(kind):
    clips = batch(kind)
    rng = np.random.default_rng(3)
    brightness = [rng.uniform(0.3, 0.9, len(clip)).tolist() for clip in clips]
    mirror = [rng.integers(0, 2, len(clip)).tolist() for clip in clips]
    place = [rng.uniform(0, 1, len(clip)).tolist() for clip in clips]
    results = {
        "brightness": fn.brightness_contrast(clips, brightness=brightness, dtype=types.FLOAT),
        "flip": fn.flip(clips, horizontal=0, vertical=mirror),
        "crop": fn.crop(clips, crop=(5, 4), crop_pos_x=place),
        "all": fn.crop_mirror_normalize(clips, crop=(5, 4), crop_pos_y=place, mirror=mirror),
    }
    for at, clip in enumerate(clips.as_cpu()):
        for frame, picture in enumerate(clip.numpy()):
            height, width = picture.shape[:2]
            left = int(np.floor(np.float32(place[at][frame]) * np.float32(width - 4) + 0.5))
            top = int(np.floor(np.float32(place[at][frame]) * np.float32(height - 5) + 0.5))
            expected = {
                "brightness": picture * np.float32(brightness[at][frame]),
                "flip": picture[::-1] if mirror[at][frame] else picture,
            }
            first = (height - 5 + 1) // 2
            expected["crop"] = picture[first : first + 5, left : left + 4]
            middle = (width - 4 + 1) // 2
            cut = picture[top : top + 5, middle : middle + 4]
            cut = cut[:, ::-1] if mirror[at][frame] else cut
            expected["all"] = cut.transpose(2, 0, 1)
            for name, result in results.items():
                np.testing.assert_allclose(result[at][frame].numpy(), expected[name], rtol=1e-6)


@pytest.mark.usefixtures("eager")
def test_values_for_other_frames_than_the_clip_has_are_an_error():
    clip = batch("dense")[0]
    assert torch.equal(fn.flip(clip, horizontal=[0, 1])[0], clip[0])
    with pytest.raises(ArgumentError, match="horizontal has values for 3 frames"):
        fn.flip(clip, horizontal=[0, 1, 1])
    with pytest.raises(ArgumentError, match="needs a TensorList"):
        fn.resize(clip, resize_shorter=[3, 4])
    with pytest.raises(ArgumentError, match="needs a TensorList"):
        fn.random.coin_flip(probability=[0.1, 0.2], seed=1)


def test_a_data_node_gives_a_value_for_each_frame_through_per_frame():
    clips = batch("dense").as_tensor()

    def graph():
        frames = fn.external_source(lambda: clips, layout="FHWC")
        flips = fn.per_frame(fn.random.coin_flip(shape=(2,)))
        return fn.flip(frames, horizontal=flips), flips

    with pipeline_def(graph)(batch_size=N, seed=4) as pipe:
        flipped, flips = pipe.run()
    assert 0 < flips.as_tensor().sum() < 2 * N
    for clip, result, sides in zip(clips, flipped, flips, strict=True):
        for frame, mirrored, side in zip(clip, result, sides, strict=True):
            assert torch.equal(mirrored, frame.flip(-2) if side else frame)


@pytest.fixture
def blend():
    """An operator with two inputs, arguments of all kinds, random numbers and a kernel."""
    calls = []

    def infer(context, frames, mask, **arguments):
        assert mask.layout == "HW"
        return replace(frames, dtype=torch.float32)

    def faster(context, frames, mask, *, gain, power):
        out = context.empty()
        for at in range(context.count):
            calls.append("kernel")
            out[at].copy_(frames[at]).mul_(mask[at][..., None] * gain[at]).pow_(power)
        return out

    @declare(
        "blend_for_test",
        inputs=(Input("frames", FRAMES), Input("mask", ("HW",))),
        arguments=(
            Argument("gain", FLOAT, 1.0, "factor", per_sample=True, per_frame=True),
            Argument("power", INT, 1, "of the result"),
            SEED,
        ),
        infer=infer,
        draws=True,
        kernels={"cpu": lambda context, *inputs, **arguments: NotImplemented},
    )
    def run(context, frames, mask, *, gain, power):
        """Blend frames with a mask and some noise."""
        calls.append(len(frames))
        out = context.empty()
        for at in range(context.count):
            gains = torch.tensor(gain.frames(at, len(frames[at])))[:, None, None, None]
            noise = context.random(at).random()
            out[at].copy_((frames[at] * mask[at][None, :, :, None] * gains) ** power + noise)
        return out

    yield Function("blend_for_test"), calls, faster
    del OPERATORS["blend_for_test"]


def blended(clips, masks, gains, seed, stage=0):
    return [
        (clip.double() * mask[None, :, :, None] * torch.tensor(gain)[:, None, None, None]) ** 2
        + generator(seed, stage=stage, sample=sample).random()
        for sample, (clip, mask, gain) in enumerate(zip(clips, masks, gains, strict=True))
    ]


ROUNDED = {"rtol": 1e-6, "atol": 1e-6}  # in float32


def test_an_operator_is_one_declaration(blend):
    operator, calls, _ = blend
    clips, masks = batch("dense").as_tensor().float() / 256, torch.rand(N, 8, 9)
    gains = [[0.5, 1.0], [2.0, 1.0], [1.0, 1.0], [0.25, 0.5]]
    expected = blended(clips, masks, gains, seed=3)

    eager = operator(
        TensorList(clips, "FHWC"), TensorList(masks, "HW"), gain=gains, power=2, seed=3
    )
    torch.testing.assert_close(eager.as_tensor().double(), torch.stack(expected), **ROUNDED)
    planes = TensorList(clips.movedim(-1, -3), "FCHW")
    first = operator(planes, TensorList(masks, "HW"), gain=gains, power=2, seed=3)
    assert first.layout() == "FCHW"
    assert torch.equal(first.as_tensor().movedim(-3, -1), eager.as_tensor())
    assert calls == [N, N]

    def graph():
        clips_, masks_ = fn.external_source(
            lambda: (clips, masks), num_outputs=2, layout=["FHWC", "HW"]
        )
        given = fn.per_frame(fn.external_source(lambda: torch.tensor(gains)))
        return operator(clips_, masks_, gain=given, power=2)

    with pipeline_def(graph)(batch_size=N, seed=3, num_threads=2) as pipe:
        node = pipe._graph.nodes[-1]
        (result,) = pipe.run()
        pipe.close()
    assert calls[2:6] == [1] * N  # small parts, for the threads of the pipeline
    expected = blended(clips, masks, gains, seed=3, stage=node.stage)
    torch.testing.assert_close(result.as_tensor().double(), torch.stack(expected), **ROUNDED)
    assert result.as_tensor().data_ptr() == result[0].data_ptr()

    assert "Blend frames with a mask" in operator.__doc__
    assert "mask (HW)" in operator.__doc__
    page = operators_page.page()
    assert "Inputs: `frames` (HWC, FHWC, CHW, FCHW), `mask` (HW)." in page
    assert "| `gain` | float | `1.0` | yes, per frame too | factor |" in page


def test_a_kernel_takes_the_place_of_the_reference_on_its_device(blend):
    _, calls, kernel = blend
    OPERATORS["blend_for_test"] = replace(OPERATORS["blend_for_test"], kernels={"cpu": kernel})
    clips, masks = batch("ragged"), [torch.ones(s[1:3]) for s in SHAPES["ragged"]]
    result = Function("blend_for_test")(clips, TensorList(masks, "HW"), gain=2.0, power=1, seed=1)
    assert calls == ["kernel"] * N
    for clip, out in zip(clips, result, strict=True):
        assert torch.equal(out, clip.float() * 2)


def test_the_error_of_a_batch_names_the_sample():
    clips = [torch.zeros(2, 8, 8, 3), torch.zeros(2, 8, 4, 3), torch.zeros(2, 8, 8, 3)]

    def graph():
        return fn.crop(fn.external_source(lambda: clips, layout="FHWC"), crop=(6, 6))

    with (
        pipeline_def(graph)(batch_size=3, num_threads=1) as pipe,
        pytest.raises(
            OperatorError, match="failed on sample 1 of batch 0: ArgumentError: a window"
        ),
    ):
        pipe.run()


def test_parts_of_a_block_are_a_block_again():
    block = torch.arange(5 * 6).reshape(5, 3, 2)
    whole = Batch(block, "HW")
    for view in (whole, whole.each(lambda value: value[..., 1:]), whole.each(lambda v: v.mT)):
        pieces = [view.between(0, 2), view.between(2, 3), view.between(3, 5)]
        joined = Batch.joined(pieces)
        assert torch.equal(joined.block, view.block)
        assert joined.block.data_ptr() == view.block.data_ptr()
    assert Batch.joined([whole.between(3, 5), whole.between(0, 3)]).block is None
    assert Batch.joined([whole.between(0, 2), Batch(block[2:].clone())]).block is None
