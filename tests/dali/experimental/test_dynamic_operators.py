"""Operators of dynamic mode give what the same operators give in `fn` and in a pipeline."""

import inspect
from functools import partial

import cv2
import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.dali import fn, types
from videoloader.dali.experimental import dynamic as ndd
from videoloader.dali.fn.names import public_functions, public_modules
from videoloader.dali.ops.operator_class import class_name
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, ArgumentTypeError

GENERATOR = np.random.default_rng(5)
PICTURES = [
    GENERATOR.integers(0, 256, (height, width, 3), dtype=np.uint8)
    for height, width in ((24, 32), (16, 20), (32, 24))
]


def pictures():
    return ndd.as_batch(PICTURES, layout="HWC")


def check(found, expected):
    """`expected`: a `TensorList`, or arrays."""
    assert isinstance(found, ndd.Batch)
    assert found.batch_size == len(expected)
    for mine, its in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(its))


def piped(define):
    """What a pipeline gives for the pictures."""
    pipeline = vl.dali.Pipeline(batch_size=3, num_threads=1)
    with pipeline:
        pipeline.set_outputs(define(fn.external_source(lambda: PICTURES, layout="HWC")))
    (output,) = pipeline.run()
    pipeline.close()
    return output


GRAPHS_ONLY = ("constant", "external_source", "python_function", "torch_python_function")

# Deprecated names that the dynamic mode of DALI 2.4 has.
DEPRECATED = {
    "experimental.decoders.image",
    "experimental.decoders.image_crop",
    "experimental.decoders.image_random_crop",
    "experimental.decoders.image_slice",
    "experimental.peek_image_shape",
}

CALLS = {
    "resize": {"size": [10, 12]},
    "flip": {"horizontal": 1},
    "crop": {"crop": (8, 8), "crop_pos_x": 0.25},
    "rotate": {"angle": 30.0, "fill_value": 0},
    "crop_mirror_normalize": {"mean": [1, 2, 3], "std": [4, 5, 6], "output_layout": "CHW"},
    "brightness_contrast": {"brightness": 1.5, "contrast": 0.5},
    "color_space_conversion": {"image_type": types.RGB, "output_type": types.GRAY},
    "gaussian_blur": {"window_size": 3},
    "cast": {"dtype": types.FLOAT},
    "reductions.mean": {"axes": (0, 1)},
}


@pytest.mark.parametrize("name", CALLS)
def test_a_batch_gives_what_a_pipeline_gives(name):
    function = partial(of(ndd, name), **CALLS[name])
    expected = piped(partial(of(fn, name), **CALLS[name]))
    found = function(pictures())
    check(found, expected)
    assert (found.layout or "") == expected.layout()
    assert found.dtype == expected.dtype
    one = function(ndd.as_tensor(PICTURES[1], layout="HWC"))
    assert isinstance(one, ndd.Tensor)
    assert one.layout == found.layout
    np.testing.assert_array_equal(one, found.tensors[1])


def of(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


def test_arguments_differ_by_sample_where_they_are_batches():
    angles = [10.0, 20.0, 30.0]
    found = ndd.rotate(pictures(), angle=ndd.as_batch(angles))
    check(
        found,
        [fn.rotate(each, layout="HWC", angle=a) for each, a in zip(PICTURES, angles, strict=True)],
    )
    sizes = ndd.as_batch([[8, 9], [10, 11], [12, 13]])
    assert ndd.resize(pictures(), size=sizes).shape == [(8, 9, 3), (10, 11, 3), (12, 13, 3)]


def test_arguments_may_be_tensors_and_arrays():
    for size in (ndd.tensor([8, 9]), np.array([8, 9]), torch.tensor([8, 9]), [8, 9]):
        assert ndd.resize(pictures(), size=size).shape == [(8, 9, 3)] * 3
    assert ndd.cast(pictures(), dtype=ndd.float32).dtype == ndd.float32
    assert ndd.resize(pictures(), resize_x=ndd.tensor(8), resize_y=np.int64(9)).shape[0] == (
        9,
        8,
        3,
    )


def test_a_list_is_one_value_for_all_samples():
    with pytest.raises(ArgumentError, match="as_batch"):
        ndd.resize(pictures(), resize_x=[10, 20, 30])
    clip = ndd.as_tensor(np.stack([PICTURES[0]] * 2), layout="FHWC")
    found = ndd.rotate(clip, angle=[0.0, 180.0])  # a value for each frame
    np.testing.assert_array_equal(np.asarray(found)[1], PICTURES[0][::-1, ::-1])
    both = ndd.rotate(ndd.as_batch([clip, clip]), angle=[0.0, 180.0])
    check(both, [found, found])


def test_a_tensor_beside_a_batch_is_the_same_for_each_sample():
    batch = ndd.as_batch([[1, 2], [3]])
    check(ndd.cat(batch, ndd.tensor([9])), [np.array([1, 2, 9]), np.array([3, 9])])
    assert ndd.resize(PICTURES[0], size=[8, 9], batch_size=2).shape == [(8, 9, 3)] * 2


def test_calls_without_inputs_make_tensors_or_batches():
    assert ndd.zeros(shape=[2, 3]).torch().tolist() == [[0] * 3] * 2
    assert ndd.zeros(shape=[2, 3], batch_size=4).shape == [(2, 3)] * 4
    matrices = ndd.transforms.rotation(angle=ndd.as_batch([0.0, 90.0]))
    np.testing.assert_allclose(matrices.tensors[1], [[0, -1, 0], [1, 0, 0]], atol=1e-6)
    assert ndd.transforms.rotation(angle=90.0).shape == (2, 3)


def test_sizes_of_batches_must_agree():
    for call in (
        lambda: ndd.rotate(pictures(), angle=ndd.as_batch([1.0, 2.0])),
        lambda: ndd.resize(pictures(), size=[8, 8], batch_size=2),
        lambda: ndd.stack(pictures(), ndd.as_batch([1, 2])),
    ):
        with pytest.raises(ArgumentError, match=r"\[2, 3\]"):
            call()


def test_several_outputs_come_in_a_tuple():
    plain = ndd.as_batch([[0.0, 0.0, 1.0, 1.0, 0.0]])
    begin, length = ndd.nonsilent_region(plain, cutoff_db=-20, window_length=1)
    expected = fn.nonsilent_region(
        TensorList(torch.tensor([[0, 0, 1.0, 1, 0]])), cutoff_db=-20, window_length=1
    )
    check(begin, expected[0])
    check(length, expected[1])


def test_pictures_are_read_and_decoded(tmp_path):
    paths = [tmp_path / f"{number}.png" for number in range(3)]
    for path, picture in zip(paths, PICTURES, strict=True):
        cv2.imwrite(str(path), picture[..., ::-1])
    check(ndd.imread(paths), PICTURES)
    one = ndd.imread(str(paths[1]))
    assert one.layout == "HWC"
    np.testing.assert_array_equal(one, PICTURES[1])
    encoded = [np.fromfile(path, np.uint8) for path in paths]
    check(ndd.decoders.image(ndd.as_batch(encoded)), PICTURES)
    np.testing.assert_array_equal(ndd.decoders.image(paths[2].read_bytes()), PICTURES[2])
    found = ndd.decoders.image(
        ndd.as_batch(encoded), device=ndd.Device("cpu"), output_type=types.GRAY
    )
    assert found.shape[0] == (24, 32, 1)


def test_draws_follow_their_generator():
    def draw(rng):
        return [
            ndd.random.uniform(range=(-1, 1), shape=[3], rng=rng).torch(),
            ndd.random.uniform(range=(-1, 1), shape=[3], batch_size=4, rng=rng).torch(),
            ndd.random.coin_flip(batch_size=64, rng=rng).torch(),
        ]

    rng = ndd.random.RNG(seed=3)
    first, later = draw(rng), draw(rng)
    for mine, its, other in zip(first, draw(ndd.random.RNG(seed=3)), later, strict=True):
        assert torch.equal(mine, its)
        assert not torch.equal(mine, other)
    assert len(set(first[1].flatten().tolist())) == 12
    assert ((first[1] >= -1) & (first[1] < 1)).all()


def test_the_numbers_of_a_sample_depend_on_no_batch_size():
    few, many = (
        ndd.random.normal(batch_size=size, rng=ndd.random.RNG(seed=1)).torch() for size in (2, 5)
    )
    assert torch.equal(few, many[:2])


def test_generators_stand_where_they_are_told():
    rng = ndd.random.RNG(seed=1234)
    numbers = [rng() for _ in range(8)]
    assert len({*numbers}) == 8
    assert all(0 <= number < 1 << 32 for number in numbers)
    again = ndd.random.RNG(seed=1234)
    again.advance(3)
    clone = again.clone()
    assert [again(), again()] == numbers[3:5] == [clone(), clone()]
    again.set_state(str(clone.get_state()))
    assert again() == numbers[5]
    again.seed = 1234
    assert again() == numbers[0]
    assert ndd.random.RNG(seed=(1 << 64) + 1234)() == numbers[0]
    assert ndd.random.RNG()() != ndd.random.RNG()()


def test_wrong_generators_are_errors():
    with pytest.raises(ArgumentError):
        ndd.random.RNG(seed=1, state="RNG:1:0")
    for state in ("", "RNG:1", "RNG:1:-2", "Philox:1:2", 7):
        with pytest.raises(ArgumentError, match="state"):
            ndd.random.RNG(state=state)
    with pytest.raises(ArgumentError):
        ndd.random.RNG(seed=1).advance(-1)
    with pytest.raises(ArgumentTypeError, match="RNG"):
        ndd.random.uniform(rng=7)
    with pytest.raises(ArgumentTypeError, match="rng"):
        ndd.random.uniform(seed=7)
    with pytest.raises(ArgumentTypeError, match="no rng"):
        ndd.flip(pictures(), rng=ndd.random.RNG())


@pytest.fixture
def no_default_rng(monkeypatch):
    monkeypatch.setattr(ndd.random, "_local", type(ndd.random._local)())


def test_the_default_generator_can_be_seeded(no_default_rng):
    ndd.random.set_seed(7)
    first = ndd.random.uniform(shape=[4]).torch()
    assert not torch.equal(ndd.random.uniform(shape=[4]).torch(), first)
    ndd.random.set_seed(7)
    assert torch.equal(ndd.random.uniform(shape=[4]).torch(), first)
    assert ndd.random.get_default_rng() is ndd.random.get_default_rng()


def test_without_a_generator_draws_are_those_of_eager_calls(no_default_rng):
    vl.dali.seed(5)
    first = ndd.random.uniform(shape=[4]).torch()
    vl.dali.seed(5)
    with vl.dali.eager():
        assert torch.equal(fn.random.uniform(shape=[4]), first)
    vl.dali.seed()


@pytest.mark.parametrize("module", ["", *public_modules()])
def test_every_operator_has_its_function_or_class(module):
    """As in DALI, but for old names and those that are for graphs."""
    if module.endswith("inputs"):
        with pytest.raises(AttributeError):
            of(ndd, module)
        return
    for name, function in public_functions(module).items():
        place = of(ndd, module) if module else ndd
        is_reader = function.operator.kind == "source"
        found = getattr(place, class_name(name) if is_reader else name, None)
        is_old = function.instead and f"{module}.{name}" not in DEPRECATED
        if is_old or name in GRAPHS_ONLY:
            assert found is None
        else:
            assert found.__doc__.startswith(function.__doc__)


def test_signatures_have_what_dynamic_mode_adds():
    resize, uniform = inspect.signature(ndd.resize), inspect.signature(ndd.random.uniform)
    assert {"size", "interp_type", "batch_size", "device"} <= {*resize.parameters}
    assert {"rng", "seed", "name"} & {*resize.parameters} == set()
    assert {"range", "shape", "rng", "batch_size"} <= {*uniform.parameters}
    assert "seed" not in uniform.parameters


def test_unknown_arguments_and_devices_are_errors():
    with pytest.raises(ArgumentError, match="anchor was given twice"):
        ndd.slice(pictures(), [0], [1], anchor=[0], axes=[0])
    with pytest.raises(ArgumentError, match="sise"):
        ndd.resize(pictures(), sise=3)
    with pytest.raises(ArgumentError, match="GPU"):
        ndd.io.file.read(ndd.as_batch([[1]]), device="gpu")


@pytest.mark.gpu
def test_operators_run_on_a_gpu(tmp_path):
    gpu = ndd.Device("gpu:0")
    expected = [picture[:, ::-1] for picture in PICTURES]
    for device in ("gpu", "gpu:0", gpu, torch.device("cuda:0")):
        found = ndd.flip(pictures(), horizontal=1, device=device)
        assert found.device == gpu
        check(found.cpu(), expected)
    check(ndd.flip(found, horizontal=1).cpu(), PICTURES)
    assert ndd.flip(found, device="cpu").device == ndd.Device.CPU
    assert ndd.random.uniform(batch_size=2, device="gpu").device == gpu
    assert ndd.flip(ndd.as_tensor(PICTURES[0], layout="HWC").gpu()).device == gpu
    with ndd.EvalContext(cuda_stream=torch.cuda.Stream()), ndd.EvalMode.sync_full:
        check(ndd.flip(pictures().gpu(), horizontal=1).cpu(), expected)
    cv2.imwrite(str(tmp_path / "a.jpg"), PICTURES[0])
    decoded = ndd.imread([tmp_path / "a.jpg"], device="gpu")
    assert (decoded.device, decoded.shape) == (gpu, [(24, 32, 3)])


LARGE = {
    "zeros": lambda size: ndd.zeros(shape=[size]),
    "ones": lambda size: ndd.ones(shape=[size, size]),
    "full": lambda size: ndd.full(1.0, shape=[size]),
    "a batch": lambda size: ndd.zeros(shape=[2], batch_size=size),
    "pad": lambda size: ndd.pad(PICTURES[0], axes=[0], shape=[size]),
    "pad to a multiple": lambda size: ndd.pad(PICTURES[0], axes=[0], align=[size]),
    "resize": lambda size: ndd.resize(picture(), size=[size, size]),
    "crop": lambda size: ndd.crop(picture(), crop=[size, size], out_of_bounds_policy="pad"),
    "crop_mirror_normalize": lambda size: ndd.crop_mirror_normalize(
        picture(), crop=[size, size], out_of_bounds_policy="pad"
    ),
    "slice": lambda size: ndd.slice(
        picture(), start=[0], end=[size], axes=[0], out_of_bounds_policy="pad"
    ),
    "rotate": lambda size: ndd.rotate(picture(), angle=3.0, size=[size, size]),
    "warp_affine": lambda size: ndd.warp_affine(
        picture(), size=[size, size], matrix=[1, 0, 0, 0, 1, 0]
    ),
    "paste": lambda size: ndd.paste(picture(), ratio=float(size), fill_value=0),
    "random.uniform": lambda size: ndd.random.uniform(shape=[size]),
    "random.normal": lambda size: ndd.random.normal(shape=[size, size]),
    "random.coin_flip": lambda size: ndd.random.coin_flip(shape=[size]),
    "audio_resample": lambda size: ndd.audio_resample(np.zeros(9, np.float32), out_length=size),
    "median_blur": lambda size: ndd.experimental.median_blur(
        picture(), window_size=[2**31 - 1, 2**31 - 1]
    ),
    "dilate": lambda size: ndd.experimental.dilate(picture(), mask_size=[2**31 - 1, 2**31 - 1]),
}


def picture():
    return ndd.as_tensor(PICTURES[0], layout="HWC")


@pytest.mark.parametrize("size", [1 << 40, 1 << 62])
@pytest.mark.parametrize("name", LARGE)
def test_what_no_memory_holds_is_an_error_of_ours(name, size):
    with pytest.raises(vl.VideoError) as caught:
        np.asarray(LARGE[name](size))
    assert len(str(caught.value)) < 400
