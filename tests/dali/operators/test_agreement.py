"""Small calls whose results are those of DALI 2.4 on the CPU, written out."""

import numpy as np
import pytest
import torch

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, OperatorError

NUMBERED = np.arange(20, dtype=np.uint8).reshape(4, 5, 1) + 10


def plane(made):
    """The first sample, a picture of one channel."""
    return np.asarray(made[0].cpu())[..., 0]


def test_sphere_is_that_of_dali_for_odd_sides():
    numbered = np.arange(35, dtype=np.float32).reshape(5, 7, 1)
    expected = [
        [-1, 1, 9, 10, 11, 5, -1],
        [7, 9, 17, 17, 17, 11, 13],
        [14, 16, 17, 17, 17, 18, 20],
        [21, 23, 17, 17, 17, 25, 27],
        [-1, 29, 23, 24, 25, 33, -1],
    ]
    made = fn.sphere(TensorList([torch.from_numpy(numbered)], "HWC"), fill_value=-1.0)
    assert plane(made).astype(int).tolist() == expected


# Source pixels of outputs whose centers lie at the border of two pixels.
NEAREST = {
    (4, 23.2, 0): [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3],
    (12, 26.9, 1): [
        *(0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 10, 11, 11),
    ],
}


@pytest.mark.parametrize(("side", "size", "is_column"), NEAREST)
def test_nearest_breaks_ties_as_dali(side, size, is_column):
    shape = (side, 1, 1) if is_column else (1, side, 1)
    numbered = np.arange(side, dtype=np.float32).reshape(shape)
    sizes = (size, 1.0) if is_column else (1.0, size)
    made = fn.resize(
        TensorList([torch.from_numpy(numbered)], "HWC"),
        resize_y=sizes[0],
        resize_x=sizes[1],
        interp_type=types.INTERP_NN,
    )
    assert plane(made).ravel().astype(int).tolist() == NEAREST[side, size, is_column]


def test_a_column_shrunk_without_subpixels_breaks_ties_as_dali():
    numbered = torch.arange(24, dtype=torch.float32).reshape(24, 1, 1)
    made = fn.resize(
        TensorList([numbered], "HWC"),
        resize_y=36.0,
        resize_x=1.0,
        interp_type=types.INTERP_NN,
        subpixel_scale=False,
    )
    expected = [
        *(0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 6, 7, 8, 9, 9, 10, 11, 11, 12, 13, 13, 14, 15, 15, 16),
        *(17, 17, 18, 19, 19, 20, 20, 21, 22, 22, 23),
    ]
    assert plane(made).ravel().astype(int).tolist() == expected


def test_the_gaussian_filter_weighs_the_pixel_before():
    impulse = torch.zeros(9, 1, 1)
    impulse[4] = 1000
    made = fn.resize(
        TensorList([impulse], "HWC"), resize_x=1, resize_y=9, interp_type=types.INTERP_GAUSSIAN
    )
    expected = [0, 0, 0, 0, 982.0137, 17.9862, 0, 0, 0]
    assert plane(made).ravel() == pytest.approx(expected, abs=1e-3)


VALUES = torch.tensor([-3.7, 0.9, -0.5, 1.5, 254.6, 300.0]).reshape(6, 1, 1)


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.float64])
def test_crop_and_slice_truncate_what_they_convert(kind):
    batch = TensorList([VALUES.to(kind)], "HWC")
    expected = [0, 0, 0, 1, 254, 255]
    assert plane(fn.crop(batch, dtype=types.UINT8)).ravel().tolist() == expected
    whole = fn.slice(batch, start=[0], axes=[0], dtype=types.UINT8)
    assert plane(whole).ravel().tolist() == expected
    part = fn.crop(batch, crop=(4, 1), crop_pos_y=1.0, dtype=types.UINT8)
    assert plane(part).ravel().tolist() == expected[2:]


def test_fill_values_of_slices_are_truncated():
    batch = TensorList([torch.zeros(1, 2, 1, dtype=torch.uint8)], "HWC")
    made = fn.slice(
        batch, start=[0, 0], end=[2, 2], axes=[0, 1], out_of_bounds_policy="pad", fill_values=7.6
    )
    assert plane(made).tolist() == [[0, 0], [7, 7]]


def test_pad_takes_0_for_the_largest_sample():
    samples = [torch.zeros(2, 3), torch.zeros(4, 8)]
    made = fn.pad(TensorList(samples), shape=[0, 9])
    assert [tuple(each.shape) for each in made] == [(4, 9), (4, 9)]


# With 300 the border must be 255, with -5.5 it must be 0, as they are stored in uint8.
ROTATED = {
    300.0: [[162, 57, 79, 168], [24, 81, 139, 196], [139, 141, 196, 236]],
    -5.5: [[5, 28, 79, 92], [24, 81, 139, 196], [63, 141, 167, 79]],
}


@pytest.mark.parametrize("fill_value", ROTATED)
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_what_lies_outside_of_a_warp_has_the_range_of_the_output(fill_value, channels):
    picture = (torch.arange(12).reshape(3, 4, 1) * 20).to(torch.uint8).expand(3, 4, channels)
    batch = TensorList([picture.contiguous()], "HWC")
    made = fn.rotate(batch, angle=30, fill_value=fill_value, keep_size=True)
    difference = np.abs(plane(made).astype(int) - ROTATED[fill_value])
    assert difference.max() <= 1


@pytest.mark.parametrize(("fill_value", "stored"), [(300.0, 255.0), (-5.5, 0.0)])
def test_what_lies_outside_of_a_perspective_has_the_range_of_the_output(fill_value, stored):
    picture = np.random.default_rng(1).integers(0, 255, (6, 7, 3), np.uint8)
    batch = TensorList([torch.from_numpy(picture)], "HWC")
    matrix = [1.2, 0.3, -2.0, 0.1, 1.1, -1.0, 0.01, 0.02, 1.0]
    made, expected = (
        fn.experimental.warp_perspective(batch, matrix=matrix, fill_value=fill)
        for fill in (fill_value, stored)
    )
    assert (made[0].int() - expected[0].int()).abs().max() <= 1


def test_what_lies_outside_of_a_warp_has_the_type_of_the_output():
    picture = (torch.arange(12).reshape(3, 4, 1) * 20).to(torch.uint8)
    made = fn.warp_affine(
        TensorList([picture], "HWC"),
        matrix=[1.0, 0, 2, 0, 1, 0],
        fill_value=17.4,
        dtype=types.FLOAT,
        interp_type=types.INTERP_NN,
    )
    fill = np.float32(17.4)
    assert (
        plane(made) == [[40, 60, fill, fill], [120, 140, fill, fill], [200, 220, fill, fill]]
    ).all()


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (
            {},
            [
                [10, 10, 11, 12, 13, 14, 14],
                [10, 10, 11, 12, 13, 14, 14],
                [15, 15, 16, 17, 18, 19, 19],
                [20, 20, 21, 22, 23, 24, 24],
                [25, 25, 26, 27, 28, 29, 29],
                [25, 25, 26, 27, 28, 29, 29],
            ],
        ),
        (
            {"crop_pos_x": 0.0, "crop_pos_y": 0.0},
            [
                [10, 11, 12, 13, 14, 14, 14],
                [15, 16, 17, 18, 19, 19, 19],
                [20, 21, 22, 23, 24, 24, 24],
                [25, 26, 27, 28, 29, 29, 29],
                [25, 26, 27, 28, 29, 29, 29],
                [25, 26, 27, 28, 29, 29, 29],
            ],
        ),
    ],
)
def test_a_window_beyond_the_resized_frame_repeats_its_border(place, expected):
    batch = TensorList([torch.from_numpy(NUMBERED)], "HWC")
    made = fn.resize_crop_mirror(batch, resize_x=5, resize_y=4, crop=(6, 7), **place)
    assert plane(made).tolist() == expected


@pytest.mark.parametrize("kind", ["uint16", "uint32", "uint64", "int16", "bool"])
@pytest.mark.parametrize("layout", ["HWC", "FDHWC"])
def test_flip_takes_every_element_type(kind, layout):
    values = np.arange(48).reshape((2, 3, 2, 4, 1)).astype(kind)
    values = values if layout == "FDHWC" else values[0, 0]
    made = fn.flip(TensorList([torch.from_numpy(values)], layout))
    assert (np.asarray(made[0]) == np.flip(values, -2)).all()


def test_equalize_takes_pictures_without_channels():
    values = np.random.default_rng(0).integers(0, 90, (2, 7, 9), np.uint8)
    known = fn.equalize(TensorList([torch.from_numpy(values)[..., None]], "FHWC"))
    clip = fn.equalize(TensorList([torch.from_numpy(values)], "FHW"))
    picture = fn.equalize(TensorList([torch.from_numpy(values[0])], "HW"))
    assert (clip[0] == known[0][..., 0]).all()
    assert (picture[0] == known[0][0, ..., 0]).all()


BORDERS = {
    "reflect": "symmetric",
    "1001": "symmetric",
    "reflect1001": "symmetric",
    "edge": "edge",
    "101": "reflect",
    "reflect101": "reflect",
}
"""What numpy calls them."""


@pytest.mark.parametrize("border", BORDERS)
def test_filter_knows_the_short_names_of_borders(border):
    row, window = np.float32([[1, 20, 300, 4]]), np.float32([[8, 4, 2, 1, 0.5]])
    made = fn.filter(
        TensorList([torch.from_numpy(row)], "HW"),
        TensorList([torch.from_numpy(window)]),
        border=border,
    )
    wide = np.pad(row[0], 2, BORDERS[border])
    assert np.asarray(made[0])[0].tolist() == np.correlate(wide, window[0], "valid").tolist()


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ({"dtype": types.UINT16, "src_dims": [2, 1, 0]}, (2, 2, 4)),
        ({"dtype": types.UINT64, "src_dims": [2, 1, 0]}, (2, 2, 1)),
        ({"dtype": types.UINT16, "src_dims": [-1, 0, 1, 2]}, (1, 2, 2, 4)),
        ({"dtype": types.UINT64, "src_dims": [-1, 0, 1, 2]}, (1, 2, 2, 1)),
        ({"dtype": types.UINT16, "rel_shape": [1, 1, 2]}, (2, 2, 4)),
    ],
)
def test_reinterpret_scales_the_last_of_the_dimensions_it_keeps(arguments, shape):
    words = np.arange(8, dtype=np.uint32).reshape(2, 2, 2)
    made = fn.reinterpret(TensorList([torch.from_numpy(words)]), **arguments)
    assert tuple(made[0].shape) == shape
    assert np.asarray(made[0]).tobytes() == words.tobytes()


def test_coord_flip_leaves_out_coordinates_that_points_have_not():
    points = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    made = fn.coord_flip(TensorList([points]), flip_x=0, flip_z=1, center_z=0.3)
    assert made[0].tolist() == points.tolist()


def test_erase_takes_regions_for_each_frame():
    clip = np.full((3, 4, 5, 1), 9, np.uint8)
    anchors = np.float32([[0, 0], [1, 2], [3, 4]])

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def definition():
        frames = fn.external_source(lambda: [clip], layout="FHWC")
        anchor = fn.per_frame(fn.external_source(lambda: [anchors]))
        return fn.erase(frames, anchor=anchor, shape=[2.0, 1.0])

    expected = clip.copy()
    for frame, (y, x) in enumerate(anchors.astype(int)):
        expected[frame, y : y + 2, x : x + 1] = 0
    with definition() as pipe:
        (made,) = pipe.run()
    assert (np.asarray(made[0]) == expected).all()


def test_an_input_that_an_operator_does_not_take_is_a_value_error_in_a_pipeline():
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def definition():
        return fn.hue(fn.external_source(lambda: [np.zeros((4, 5), np.uint8)], layout="HW"))

    with definition() as pipe, pytest.raises(ValueError, match="takes layouts") as told:
        pipe.run()
    assert isinstance(told.value, OperatorError)
    assert isinstance(told.value, RuntimeError)


def test_rotated_boxes_have_one_canvas():
    boxes = TensorList([torch.tensor([[0.1, 0.2, 0.5, 0.6]])])
    given = {"angle": 10.0, "input_shape": [10, 10], "size": [5.0, 5.0]}
    with pytest.raises(ArgumentError, match="exclude each other"):
        fn.bbox_rotate(boxes, **given, keep_size=True)
    assert len(fn.bbox_rotate(boxes, **given, keep_size=False)[0]) == 1
