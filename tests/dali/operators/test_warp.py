"""Rotated, warped, pasted and randomly cropped frames, on clips and ragged batches."""

import itertools

import cv2
import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.operators.geometry.warps.warp import canvas_size
from videoloader.dali.pipeline import Pipeline, pipeline_def
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, OperatorError


def smooth(*shape):
    """Waves, uint8, of layout ...HWC."""
    places = np.indices(shape)
    waves = np.sin(places[-2] / 6 + places[0]) + np.cos(places[-3] / 5 + places[-1])
    return torch.from_numpy((127 + 60 * waves).round().astype(np.uint8))


def test_warp_affine_agrees_with_opencv():
    image = smooth(40, 50, 3)
    matrix = np.array([[0.9, 0.2, 1.3], [-0.1, 1.1, -2.2]])
    centered = matrix.copy()  # OpenCV's pixel centres are whole numbers
    centered[:, 2] += matrix[:, :2] @ [0.5, 0.5] - 0.5
    warped = fn.warp_affine(image, matrix, size=(30, 60), fill_value=0, layout="HWC")
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    expected = cv2.warpAffine(image.numpy(), centered, (60, 30), flags=flags)
    difference = np.abs(warped.numpy().astype(int) - expected.astype(int))
    assert difference.mean() <= 1  # OpenCV knows 32 places between two pixels
    assert difference.max() <= 8


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
@pytest.mark.parametrize("interp_type", [types.INTERP_NN, types.INTERP_LINEAR])
def test_right_angles_only_move_pixels(turns, interp_type):
    clip = smooth(2, 11, 14, 3)
    rotated = fn.rotate(clip, angle=90 * turns, interp_type=interp_type, layout="FHWC")
    assert torch.equal(rotated, clip.rot90(turns, dims=(1, 2)))


def test_frames_with_angles_of_their_own_share_a_canvas_and_a_centre():
    clip = smooth(3, 11, 15, 3)
    angles = [0.0, 30.0, 90.0]
    rotated = fn.rotate(clip, angle=angles, fill_value=0, layout="FHWC")
    rows, columns = canvas_size((11, 15), angles)
    alone = [canvas_size((11, 15), [angle]) for angle in angles]
    for side, each in zip((rows, columns), zip(*alone, strict=True), strict=True):
        assert side - max(each) in (-1, 0, 1)
    assert rotated.shape == (3, rows, columns, 3)
    for frame, result, angle in zip(clip, rotated, angles, strict=True):
        alone = fn.rotate(frame, angle=angle, fill_value=0, size=(rows, columns), layout="HWC")
        assert torch.equal(result, alone)


def test_frames_have_matrices_of_their_own():
    clip = smooth(2, 11, 15, 3)
    matrices = [[[1, 0, 2], [0, 1, 0]], [[1, 0, 0], [0, 1, -3]]]
    warped = fn.warp_affine(clip, matrix=matrices, layout="FHWC")
    assert torch.equal(warped[0, :, :-2], clip[0, :, 2:])
    assert torch.equal(warped[1, 3:], clip[1, :-3])


@pytest.mark.parametrize("frames", [1, 3])
def test_frames_of_volumes_have_axes_of_their_own(frames):
    volumes = smooth(frames, 5, 7, 6, 2)
    angles, axes = [20.0, 40.0, -70.0][:frames], [(1, 0, 0), (0, 1, 0.5), (0.3, 0.2, 1)][:frames]

    @pipeline_def(batch_size=1)
    def graph():
        data = fn.external_source(lambda: [volumes], layout="FDHWC")
        given = [
            fn.per_frame(fn.external_source(itertools.repeat([np.float32(value)])))
            for value in (angles, axes)
        ]
        return fn.rotate(data, angle=given[0], axis=given[1], fill_value=0)

    with graph() as pipe:
        (rotated,) = pipe.run()
    sides = canvas_size((5, 7, 6), angles, axes)
    assert rotated[0].shape == (frames, *sides, 2)
    for volume, result, angle, axis in zip(volumes, rotated[0], angles, axes, strict=True):
        alone = fn.rotate(volume, angle=angle, axis=axis, size=sides, fill_value=0, layout="DHWC")
        assert (alone.int() - result.int()).abs().max() <= 1


def test_ragged_batches_and_channels_first():
    batch = TensorList([smooth(9, 12, 3), smooth(20, 7, 3)], "HWC")
    first = TensorList([sample.movedim(-1, 0) for sample in batch.tensors], "CHW")
    for name, arguments in (
        ("rotate", {"angle": [20.0, 50.0]}),
        ("warp_affine", {"matrix": [1, 0.1, 0, 0, 1, 0]}),
        ("paste", {"ratio": [1.2, 2.0], "fill_value": [1, 2, 3]}),
        ("random_resized_crop", {"size": [6, 8], "seed": 3}),
    ):
        results = getattr(fn, name)(batch, **arguments)
        planes = getattr(fn, name)(first, **arguments)
        assert planes.layout() == "CHW"
        for position, (result, plane) in enumerate(zip(results, planes, strict=True)):
            assert torch.equal(plane, result.movedim(-1, 0))
            if name == "random_resized_crop":
                continue
            own = {
                key: value[position] if isinstance(value, list) and len(value) == 2 else value
                for key, value in arguments.items()
            }
            alone = getattr(fn, name)(batch[position], layout="HWC", **own)
            assert torch.equal(alone, result)


def test_a_matrix_may_be_a_node_and_is_that_of_its_sample():
    images = smooth(4, 9, 12, 3)

    @pipeline_def(batch_size=4, seed=3)
    def graph():
        data = fn.external_source(lambda: images, layout="HWC")
        offset = fn.random.uniform(range=(-3, 3), shape=[2])
        matrix = fn.transforms.translation(offset=offset)
        turned = fn.transforms.rotation(matrix, angle=fn.random.uniform(range=(-40, 40)))
        both = fn.transforms.combine(matrix, turned)
        return fn.warp_affine(data, turned), data, turned, both, matrix

    with graph() as pipe:
        warped, data, turned, both, matrix = pipe.run()
    assert len({str(sample) for sample in turned.as_array()}) == 4
    for at in range(4):
        alone = fn.warp_affine(data[at], matrix=turned.at(at), layout="HWC")
        assert torch.equal(warped[at], alone)
        table = np.vstack([turned.at(at), [0, 0, 1]]) @ np.vstack([matrix.at(at), [0, 0, 1]])
        np.testing.assert_allclose(both.at(at), table[:2], rtol=1e-4, atol=1e-5)


def test_a_random_crop_lies_inside_and_has_the_wanted_area_and_ratio():
    y, x = torch.meshgrid(torch.arange(60.0), torch.arange(80.0), indexing="ij")
    batch = TensorList([torch.stack([y, x], -1)] * 300, "HWC")
    crops = fn.random_resized_crop(
        batch,
        size=(30, 30),
        random_area=(0.2, 0.5),
        random_aspect_ratio=(0.5, 2.0),
        antialias=False,
        seed=1,
    ).as_tensor()
    rows, columns = ((crops[:, -2, -2, at] - crops[:, 1, 1, at]) / 27 * 30 for at in (0, 1))
    area, ratio = rows * columns / 4800, columns / rows
    assert 0.19 < area.min() < 0.25
    assert 0.45 < area.max() < 0.52
    assert 0.45 < ratio.min() < 0.75
    assert 1.4 < ratio.max() < 2.1
    again = fn.random_resized_crop(
        batch, size=30, random_area=(0.2, 0.5), random_aspect_ratio=(0.5, 2.0), seed=1
    )
    assert not torch.equal(again[0], again[1])


def test_paste_agrees_with_opencv():
    image = smooth(17, 23, 3)
    for ratio, x, y in ((1.5, 0.5, 0.4), (2, 0.6, 0.6), (1.1, 1, 0)):
        pasted = fn.paste(
            image,
            ratio=ratio,
            paste_x=x,
            paste_y=y,
            fill_value=[128, 73, 39],
            layout="HWC",
        )
        rows, columns = int(17 * ratio), int(23 * ratio)
        top, left = int(y * (rows - 17)), int(x * (columns - 23))
        borders = top, rows - 17 - top, left, columns - 23 - left
        expected = cv2.copyMakeBorder(
            image.numpy(), *borders, cv2.BORDER_CONSTANT, value=[128, 73, 39]
        )
        np.testing.assert_array_equal(pasted.numpy(), expected)


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.uint16, torch.int32, torch.float16, torch.float64]
)
def test_paste_takes_every_element_type(dtype):
    image = smooth(6, 9, 3).to(torch.float64).to(dtype)
    pasted = fn.paste(image, ratio=1.5, fill_value=7, paste_x=0.0, paste_y=1.0, layout="HWC")
    expected = np.pad(image.numpy(), ((3, 0), (0, 4), (0, 0)), constant_values=7)
    assert pasted.dtype == dtype
    np.testing.assert_array_equal(pasted.numpy(), expected)


@pytest.mark.parametrize(
    ("operator", "arguments"),
    [(fn.paste, {"ratio": 2, "fill_value": 0}), (fn.sphere, {}), (fn.water, {}), (fn.jitter, {})],
)
def test_operators_on_images_take_a_clip_if_its_layout_says_so(operator, arguments):
    def outputs(layout):
        with Pipeline(batch_size=1, num_threads=1, seed=1) as pipe:
            data = fn.external_source(lambda: [smooth(2, 6, 9, 3)], layout=layout)
            pipe.set_outputs(operator(data, **arguments))
        with pipe:
            return pipe.run()

    assert outputs("FHWC")[0].layout() == "FHWC"
    with pytest.raises(OperatorError, match=r"got no layout with shape \(2, 6, 9, 3\)"):
        outputs("")


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("rotate", {"angle": 3, "size": (0, 4)}, "size must be"),
        ("rotate", {"angle": 3, "interp_type": types.INTERP_CUBIC}, "interp_type must be one of"),
        ("warp_affine", {"matrix": [1, 2, 3]}, "an affine transform has 6 numbers, got 3"),
        ("warp_affine", {"matrix": [0] * 6, "inverse_map": False}, "has an inverse"),
        ("warp_affine", {}, "needs matrix"),
        ("paste", {"ratio": 0.5, "fill_value": 0}, "ratio must be at least 1"),
        ("paste", {"ratio": 2, "fill_value": 0, "min_canvas_size": -1}, "min_canvas_size must be"),
        ("random_resized_crop", {"size": 3, "random_area": (0.5, 1.5), "seed": 1}, "random_area"),
        ("random_resized_crop", {"size": 0, "seed": 1}, "size must be"),
    ],
)
def test_arguments_without_a_meaning_are_errors(name, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        getattr(fn, name)(smooth(9, 12, 3), layout="HWC", **arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("shear", {"shear": [1, 2], "angles": [1, 2]}, "either shear or angles"),
        ("shear", {"shear": [1]}, "2 numbers in a plane"),
        ("rotation", {"angle": 3, "axis": [0, 0, 0]}, "axis must be"),
        (
            "scale",
            {"scale": [1, 2], "center": [1, 2, 3]},
            "center must have 1 value or one for each of 2",
        ),
    ],
)
@pytest.mark.usefixtures("eager")
def test_transforms_without_a_meaning_are_errors(name, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        getattr(fn.transforms, name)(**arguments)
    with pytest.raises(ArgumentError, match="cannot follow"):
        fn.transforms.combine(np.eye(2, 3), np.eye(3, 4))
    with pytest.raises(ArgumentError, match="give MT or M, not both"):
        fn.coord_transform(torch.zeros(3, 2), M=1.0, MT=np.eye(2, 3))
    with pytest.raises(ArgumentError, match="M must have rows of 2 numbers"):
        fn.coord_transform(torch.zeros(3, 2), M=[1.0, 2.0, 3.0])
    with pytest.raises(ArgumentError, match="does not name the 2 coordinates"):
        fn.coord_flip(torch.zeros(3, 2), layout="xyz")
