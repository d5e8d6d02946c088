"""Boxes, masks and erased regions: what stored values of DALI cannot say."""

import inspect

import numpy as np
import pytest
import torch

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.operators.boxes.objects import boxes_around_parts
from videoloader.dali.tensors import TensorList
from videoloader.errors import ArgumentError, ArgumentTypeError

BOXES = torch.tensor([[0.1, 0.2, 0.5, 0.6], [0.3, 0.3, 0.9, 0.8]])
LABELS = torch.tensor([3, 4], dtype=torch.int32)


def flooded(mask):
    """The boxes around connected parts, by flood fill."""
    left, found = {tuple(place) for place in np.argwhere(mask).tolist()}, set()
    while left:
        part, edge = set(), [left.pop()]
        while edge:
            place = edge.pop()
            part.add(place)
            for axis in range(mask.ndim):
                for step in (-1, 1):
                    near = (*place[:axis], place[axis] + step, *place[axis + 1 :])
                    if near in left:
                        left.remove(near)
                        edge.append(near)
        places = np.array(sorted(part))
        found.add((*places.min(axis=0).tolist(), *(places.max(axis=0) + 1).tolist()))
    return found


@pytest.mark.parametrize("shape", [(40,), (13, 17), (5, 7, 9), (4, 5, 6, 3), (3, 2, 4, 3, 5)])
@pytest.mark.parametrize("density", [0.0, 0.2, 0.45, 0.7, 1.0])
def test_boxes_lie_around_connected_parts(shape, density):
    rng = np.random.default_rng(len(shape))
    for _ in range(3):
        mask = rng.random(shape) < density
        boxes = boxes_around_parts(mask).reshape(-1, 2 * len(shape))
        assert {tuple(box) for box in boxes.tolist()} == flooded(mask)


def test_a_spiral_is_one_part():
    volume = np.zeros((9, 9, 9), dtype=bool)
    volume[0, :, 0] = volume[:, 8, 0] = volume[8, :, 0] = volume[8, 0, :] = volume[:, 0, 8] = True
    assert boxes_around_parts(volume).tolist() == [[[0, 0, 0], [9, 9, 9]]]


def drawn(operator, *inputs, count=1500, **arguments):
    """The outputs for `count` samples alike, each as one array."""
    batches = [TensorList([each] * count) for each in inputs]
    outputs = operator(*batches, seed=11, **arguments)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return [[sample.numpy() for sample in output] for output in outputs]


MAP = torch.tensor([[1, 0, 0, 0], [1, 2, 2, 1], [1, 1, 2, 0], [2, 0, 0, 1]], dtype=torch.int32)


def test_a_class_is_drawn_by_its_weight_then_an_object_alike():
    starts, _, labels = drawn(
        fn.segmentation.random_object_bbox, MAP, output_class=True, class_weights=[1.0, 3.0]
    )
    labels = np.array(labels)
    assert set(labels.tolist()) == {1, 2}
    assert abs((labels == 2).mean() - 0.75) < 0.03
    places = [
        tuple(start.tolist()) for start, label in zip(starts, labels, strict=True) if label == 1
    ]
    shares = {place: places.count(place) / len(places) for place in set(places)}
    assert shares.keys() == {(0, 0), (1, 3), (3, 3)}
    assert all(abs(share - 1 / 3) < 0.06 for share in shares.values())


def test_without_classes_every_object_is_as_likely():
    (boxes,) = drawn(fn.segmentation.random_object_bbox, MAP, ignore_class=True, format="box")
    found, counts = np.unique(np.stack(boxes), axis=0, return_counts=True)
    assert len(found) == 5
    assert (abs(counts / 1500 - 1 / 5) < 0.03).all()


@pytest.mark.parametrize(
    ("arguments", "labels"),
    [
        ({"background": 1}, {0, 2}),
        ({"class_weights": [1.0, 1.0], "background": 1}, {0, 2}),
        ({"class_weights": [1.0, 1.0, 1.0], "background": -3}, {0, 1, 2}),
        ({"classes": [2, 5]}, {2}),
        ({"classes": [5]}, {0}),
        ({"classes": [0, 5], "foreground_prob": 0.0}, {-1}),
        ({"threshold": [3, 1]}, {1}),
        ({"threshold": 9}, {0}),
        ({"foreground_prob": 0.0}, {0}),
    ],
)
def test_labels_that_may_be_drawn(arguments, labels):
    *_, found = drawn(
        fn.segmentation.random_object_bbox, MAP, count=200, output_class=True, **arguments
    )
    assert {int(label) for label in found} == labels


def test_only_the_largest_boxes_are_drawn():
    (boxes,) = drawn(
        fn.segmentation.random_object_bbox, MAP, ignore_class=True, k_largest=2, format="box"
    )
    assert {tuple(box.tolist()) for box in boxes} == {(0, 0, 3, 2), (1, 1, 3, 3)}


@pytest.mark.parametrize(
    "arguments",
    [
        {"classes": [0, 1], "background": 0},
        {"classes": [0, 1, 2, 3], "class_weights": [1.0, 2.0, 3.0]},
        {"classes": [1], "ignore_class": True},
        {"output_class": True, "ignore_class": True},
        {"k_largest": 0},
        {"threshold": [1, 2, 3]},
        {"format": "corners"},
        {"class_weights": [-1.0]},
    ],
)
def test_arguments_of_random_object_bbox_that_have_no_meaning(arguments):
    with pytest.raises(ArgumentError):
        fn.segmentation.random_object_bbox(MAP, **arguments)


def test_every_pixel_of_the_foreground_is_as_likely():
    mask = torch.zeros(4, 5)
    mask[1, 2] = mask[3, 4] = mask[0, 0] = 0.5
    (places,) = drawn(fn.segmentation.random_mask_pixel, mask, foreground=1, threshold=0.25)
    found, counts = np.unique(np.stack(places), axis=0, return_counts=True)
    assert found.tolist() == [[0, 0], [1, 2], [3, 4]]
    assert (abs(counts / 1500 - 1 / 3) < 0.03).all()
    for arguments in ({}, {"foreground": 1, "value": 3}):  # nothing to choose: any pixel
        (places,) = drawn(fn.segmentation.random_mask_pixel, mask, **arguments)
        _, counts = np.unique(np.stack(places), axis=0, return_counts=True)
        assert len(counts) == 20
        assert (abs(counts / 1500 - 1 / 20) < 0.02).all()


def test_all_polygons_of_a_mask_are_kept():
    polygons = torch.tensor([[1, 0, 4], [0, 4, 7], [1, 7, 10]], dtype=torch.int32)
    points = torch.arange(20.0).reshape(10, 2)
    rows, kept = fn.segmentation.select_masks(
        torch.tensor([1, 0], dtype=torch.int32), polygons, points
    )
    assert rows.tolist() == [[1, 0, 4], [1, 4, 7], [0, 7, 10]]
    assert torch.equal(kept, points[[0, 1, 2, 3, 7, 8, 9, 4, 5, 6]])


@pytest.mark.parametrize(
    ("ids", "rows"),
    [([1, 1], [[1, 0, 3]]), ([7], [[1, 0, 3]]), ([1], [[1, 0, 99]]), ([1], [[1, 3, 0]])],
)
def test_masks_that_cannot_be_selected(ids, rows):
    with pytest.raises(ArgumentError):
        fn.segmentation.select_masks(
            torch.tensor(ids, dtype=torch.int32),
            torch.tensor(rows, dtype=torch.int32),
            torch.zeros(10, 2),
        )


EMPTY = torch.zeros(0, 4)


def window_shapes(**arguments):
    """The shapes of windows without boxes that would choose among them."""
    _, shapes, _ = drawn(fn.random_bbox_crop, EMPTY, allow_no_crop=False, **arguments)
    return np.stack(shapes)


def test_lengths_of_windows_are_as_likely_with_a_range_of_ratios():
    # Quantiles of DALI 2.4: lengths are drawn alike, and drawn again if their ratio is not allowed.
    shapes = window_shapes(scaling=[0.3, 1.0], aspect_ratio=[0.5, 2.0])
    found = np.quantile(shapes, [0.1, 0.25, 0.5, 0.75, 0.9], axis=0)
    np.testing.assert_allclose(
        found, np.repeat([[0.405, 0.504, 0.655, 0.811, 0.922]], 2, 0).T, atol=0.02
    )
    ratio = shapes[:, 0] / shapes[:, 1]
    assert 0.499 < ratio.min() < 0.53
    assert 1.9 < ratio.max() < 2.001


def test_one_ratio_keeps_the_larger_length():
    shapes = window_shapes(scaling=[0.3, 1.0])
    assert np.allclose(shapes[:, 0], shapes[:, 1])
    # Of DALI 2.4: the larger one of two lengths that are drawn alike.
    found = np.quantile(shapes[:, 0], [0.1, 0.25, 0.5, 0.75, 0.9])
    np.testing.assert_allclose(found, [0.52, 0.65, 0.791, 0.905, 0.965], atol=0.02)


def test_ratios_are_of_pixels_where_the_size_of_the_frame_is_known():
    shape = window_shapes(scaling=[0.5, 0.5], input_shape=[200, 100], count=1)[0]
    assert shape.tolist() == [0.5, 1.0]
    shapes = window_shapes(scaling=[0.3, 1.0], input_shape=[100, 200], aspect_ratio=[1.5, 1.5])
    assert np.allclose(shapes[:, 0] * 100 / (shapes[:, 1] * 200), 1.5)
    assert shapes.max() <= 1 + 1e-6  # DALI's windows reach outside here


def test_windows_of_volumes_keep_three_ratios():
    _, shapes, _ = drawn(
        *(fn.random_bbox_crop, torch.zeros(0, 6)),
        allow_no_crop=False,
        scaling=[0.3, 1.0],
        aspect_ratio=[1.0, 1.0, 0.5, 2.0, 0.5, 2.0],
    )
    x, y, z = np.stack(shapes).T
    assert np.allclose(x, y)
    assert not np.allclose(x, z)
    assert (abs(np.log2(x / z)) <= 1.0001).all()


def test_windows_of_a_given_shape_lie_on_whole_pixels_all_as_likely():
    anchors, shapes, _ = drawn(
        fn.random_bbox_crop, EMPTY, crop_shape=[4, 7], input_shape=[4, 10], shape_layout="HW"
    )
    found, counts = np.unique(np.stack(anchors), axis=0, return_counts=True)
    assert found.tolist() == [[0, 0], [1, 0], [2, 0], [3, 0]]
    assert (abs(counts / 1500 - 1 / 4) < 0.03).all()
    assert {tuple(shape.tolist()) for shape in shapes} == {(7, 4)}


def overlaps(anchor, shape, box):
    """Part of the box inside, and intersection over union."""
    low, high = np.maximum(anchor, box[:2]), np.minimum(anchor + shape, box[2:])
    common, own = np.prod(np.maximum(high - low, 0)), np.prod(box[2:] - box[:2])
    return common / own, common / (own + np.prod(shape) - common)


@pytest.mark.parametrize("kind", ["iou", "overlap"])
@pytest.mark.parametrize("needs_all", [True, False])
def test_windows_overlap_boxes_as_asked(kind, needs_all):
    anchors, shapes, *_ = drawn(
        *(fn.random_bbox_crop, BOXES),
        count=300,
        allow_no_crop=False,
        thresholds=[0.25],
        threshold_type=kind,
        scaling=[0.3, 1.0],
        aspect_ratio=[0.5, 2.0],
        all_boxes_above_threshold=needs_all,
    )
    enough = all if needs_all else any
    worst = 1.0
    for anchor, shape in zip(anchors, shapes, strict=True):
        found = [overlaps(anchor, shape, box)[kind == "iou"] for box in BOXES.numpy()]
        assert enough(each >= 0.25 - 1e-5 for each in found)
        worst = min(worst, *found)
    assert (worst >= 0.249) == needs_all


@pytest.mark.parametrize("layout", ["xyXY", "xyWH", "yxYX", "WxHy"])
def test_boxes_that_stay_are_moved_into_the_window(layout):
    table = {"x": 0, "y": 1, "X": 2, "Y": 3, "W": 4, "H": 5}
    full = torch.cat([BOXES, BOXES[:, 2:] - BOXES[:, :2]], dim=1)
    given = full[:, [table[letter] for letter in layout]]
    anchors, shapes, boxes, labels, numbers = drawn(
        *(fn.random_bbox_crop, given, LABELS),
        count=100,
        allow_no_crop=False,
        scaling=[0.4, 0.9],
        bbox_layout=layout,
        output_bbox_indices=True,
    )
    for anchor, shape, own, label, number in zip(
        anchors, shapes, boxes, labels, numbers, strict=True
    ):
        corners = BOXES.numpy().reshape(2, 2, 2)
        centers = corners.mean(axis=1)
        inside = ((centers > anchor) & (centers < anchor + shape)).all(axis=1)
        assert number.tolist() == np.flatnonzero(inside).tolist()
        assert label.tolist() == LABELS.numpy()[inside].tolist()
        start, stop = ((corners[inside] - anchor) / shape).clip(0, 1).transpose(1, 0, 2)
        full = np.concatenate([start, stop, stop - start], axis=1)
        wanted = full[:, [table[letter] for letter in layout]]
        np.testing.assert_allclose(own, wanted, atol=1e-5)


@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_boxes_stay_by_their_part_in_the_window(threshold):
    anchors, shapes, _, numbers = drawn(
        *(fn.random_bbox_crop, BOXES),
        count=200,
        allow_no_crop=False,
        scaling=[0.5, 0.7],
        bbox_prune_threshold=threshold,
        output_bbox_indices=True,
        num_attempts=100,
    )
    for anchor, shape, number in zip(anchors, shapes, numbers, strict=True):
        parts = np.array([overlaps(anchor, shape, box)[0] for box in BOXES.numpy()])
        sure = abs(parts - threshold) > 1e-4
        wanted = (parts > 0) & (parts >= threshold)
        assert (wanted == np.isin([0, 1], number))[sure].all()


@pytest.mark.parametrize(
    ("thresholds", "attempts", "share"),
    [([0.0], 1, 0.571), ([0.1, 0.3, 0.5, 0.7, 0.9], 1, 0.817)],
)
def test_the_whole_frame_is_as_likely_as_in_dali(thresholds, attempts, share):
    box = torch.tensor([[0.4, 0.4, 0.6, 0.6]])
    _, shapes, _ = drawn(
        *(fn.random_bbox_crop, box),
        thresholds=thresholds,
        num_attempts=attempts,
        scaling=[0.3, 1.0],
        aspect_ratio=[0.5, 2.0],
    )
    assert abs((np.stack(shapes) == 1).all(axis=1).mean() - share) < 0.04


def test_the_best_window_is_taken_where_none_is_good_enough(caplog):
    arguments = {"thresholds": [1.0], "allow_no_crop": False, "scaling": [0.5, 0.5]}
    crop = fn.random_bbox_crop(BOXES, total_num_attempts=20, seed=1, **arguments)
    assert "took the best" in caplog.text
    caplog.clear()
    assert torch.equal(
        crop[0],
        fn.random_bbox_crop(BOXES, total_num_attempts=20, seed=1, quiet=True, **arguments)[0],
    )
    assert not caplog.text


@pytest.mark.parametrize(
    "arguments",
    [
        {"thresholds": [-1.0]},
        {"thresholds": []},
        {"threshold_type": "area"},
        {"scaling": [0.5]},
        {"scaling": [0.5, 0.2]},
        {"aspect_ratio": [1.0, 2.0, 3.0]},
        {"aspect_ratio": [2.0, 1.0]},
        {"num_attempts": 0},
        {"total_num_attempts": 0},
        {"bbox_prune_threshold": 2.0},
        {"bbox_layout": "xy"},
        {"bbox_layout": "xyXY", "ltrb": True},
        {"crop_shape": [5, 5]},
        {"crop_shape": [5, 5], "input_shape": [9, 9], "scaling": [0.5, 1.0]},
        {"crop_shape": [5, 5], "input_shape": [9, 9], "allow_no_crop": True},
        {"input_shape": [9, 9, 3], "shape_layout": "HWC"},
    ],
)
def test_arguments_of_random_bbox_crop_that_have_no_meaning(arguments):
    with pytest.raises(ArgumentError):
        fn.random_bbox_crop(BOXES, **arguments)


def test_boxes_outside_of_their_frame_are_told():
    with pytest.raises(ArgumentError, match="box 1 reaches"):
        fn.random_bbox_crop(BOXES * torch.tensor([[1.0], [1.5]]))


@pytest.mark.filterwarnings("ignore:fn.ssd_random_crop:DeprecationWarning")
def test_ssd_random_crop_cuts_what_its_boxes_say():
    # A frame whose pixels tell their place; the corner of the window is read from it.
    rows, columns = torch.meshgrid(torch.arange(20), torch.arange(30), indexing="ij")
    frame = torch.stack([rows, columns], dim=-1).to(torch.uint8)
    count = 2000
    frames, boxes, labels = fn.ssd_random_crop(
        TensorList([frame] * count, "HWC"),
        TensorList([BOXES] * count),
        TensorList([LABELS] * count),
        seed=2,
    )
    whole = 0
    for window, found, label in zip(frames, boxes, labels, strict=True):
        height, width, _ = window.shape
        whole += (height, width) == (20, 30)
        top, left = window[0, 0].tolist()
        assert torch.equal(window, frame[top : top + height, left : left + width])
        assert len(found) == len(label) >= 1
        own = BOXES[label.long() - 3]
        shift = torch.tensor([left, top, left, top]) / torch.tensor([30, 20, 30, 20])
        moved = (own - shift) / (torch.tensor([width, height] * 2) / torch.tensor([30, 20] * 2))
        assert (found - moved.clamp(0, 1)).abs().max() < 0.35  # the window is cut to whole pixels
    assert 0.2 < whole / count < 0.6


def test_boxes_rotate_with_the_pixels_of_their_frame():
    frame = torch.zeros(60, 90, 1)
    frame[20:30, 40:70] = 1
    box = torch.tensor([[40 / 90, 20 / 60, 70 / 90, 30 / 60]])
    for angle in (17.0, -64.0, 90.0, 200.0):
        turned = fn.rotate(frame, angle=angle, fill_value=0.0)
        moved = fn.bbox_rotate(box, angle=angle, input_shape=[60, 90])[0]
        places = torch.nonzero(turned[..., 0] > 0.5)
        sides = torch.tensor(turned.shape[:2]).flip(0)
        low, high = places.amin(0).flip(0) / sides, (places.amax(0) + 1).flip(0) / sides
        assert torch.allclose(moved, torch.cat([low, high]), atol=0.02)


def test_boxes_flip_and_paste_with_the_pixels_of_their_frame():
    frame = torch.zeros(20, 30, 1, dtype=torch.uint8)
    frame[4:10, 6:21] = 1
    box = torch.tensor([[6 / 30, 4 / 20, 21 / 30, 10 / 20]])
    flipped = fn.flip(frame, horizontal=1, vertical=1, layout="HWC")
    pasted = fn.paste(frame, ratio=2.0, fill_value=0, paste_x=0.3, paste_y=0.8, layout="HWC")
    for result, moved in (
        (flipped, fn.bb_flip(box, horizontal=1, vertical=1, ltrb=True)),
        (pasted, fn.bbox_paste(box, ratio=2.0, paste_x=0.3, paste_y=0.8, ltrb=True)),
    ):
        places = torch.nonzero(result[..., 0])
        sides = torch.tensor([*result.shape[:2], *result.shape[:2]]).flip(0)
        wanted = torch.cat([places.amin(0).flip(0), places.amax(0).flip(0) + 1])
        assert torch.allclose(moved[0] * sides, wanted.float(), atol=1e-3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: fn.bb_flip(torch.zeros(2, 3)),
        lambda: fn.bbox_paste(BOXES, ratio=0.5),
        lambda: fn.bbox_rotate(BOXES, angle=3.0, input_shape=[9]),
        lambda: fn.bbox_rotate(BOXES, angle=3.0, input_shape=[9, 9], mode="tight"),
        lambda: fn.bbox_rotate(BOXES, angle=3.0, input_shape=[9, 9], bbox_layout="yxYX"),
        lambda: fn.bbox_rotate(BOXES, LABELS[:1], angle=3.0, input_shape=[9, 9]),
        lambda: fn.box_encoder(BOXES, LABELS[:1], anchors=[0.0, 0.0, 1.0, 1.0]),
        lambda: fn.box_encoder(BOXES, LABELS, anchors=[]),
        lambda: fn.box_encoder(BOXES, LABELS, anchors=[0.0] * 5),
        lambda: fn.box_encoder(BOXES, LABELS, anchors=[0.0, 0.0, 1.0, 1.0], stds=[0.0] * 4),
    ],
)
def test_boxes_that_have_no_meaning(call):
    with pytest.raises(ArgumentError):
        call()


@pytest.mark.parametrize("call", [fn.bb_flip, lambda boxes: fn.bbox_paste(boxes, ratio=1.0)])
def test_boxes_are_float32(call):
    with pytest.raises(ArgumentTypeError, match=r"torch.float32, got torch.float64"):
        call(BOXES.double())


@pytest.mark.parametrize("layout", ["HWC", "CHW", "FHWC", "FCHW"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.float16, torch.float32])
def test_regions_are_erased_in_every_layout(layout, dtype):
    sides = {"F": 2, "H": 7, "W": 9, "C": 3}
    data = torch.ones([sides[letter] for letter in layout]).to(dtype)
    result = fn.erase(
        TensorList([data, data], layout),
        anchor=[1, 2, 5, 6],
        shape=[2, 3, 9, 9],
        axis_names="HW",
        fill_value=[7, 8, 9],
    )
    wanted = np.ones((2, 7, 9, 3))
    wanted[:, 1:3, 2:5] = wanted[:, 5:, 6:] = [7, 8, 9]
    wanted = wanted if "F" in layout else wanted[0]
    if not layout.endswith("C"):
        wanted = np.moveaxis(wanted, -1, -3)
    assert result.layout() == layout
    for sample in result:
        np.testing.assert_array_equal(sample.float().numpy(), wanted)
        assert sample.dtype == dtype


def test_values_of_erased_regions_stay_in_their_type():
    data = torch.ones(4, 4, 2, dtype=torch.uint8)
    result = fn.erase(data, anchor=[0, 0], shape=[1, 1], fill_value=[300.7, -5], layout="HWC")
    assert result[0, 0].tolist() == [255, 0]  # DALI wraps them around


@pytest.mark.parametrize(
    "arguments",
    [
        {"anchor": [1, 2]},
        {"anchor": [1, 2, 3], "shape": [1, 2, 3]},
        {"anchor": [1, 2], "shape": [1, 2, 3, 4]},
        {"anchor": [1], "shape": [1], "axis_names": "D"},
        {"anchor": [1], "shape": [1], "axes": [3]},
        {"anchor": [1, 1], "shape": [1, 1], "axes": [0, 0]},
        {"anchor": [1, 2], "shape": [1, 2], "fill_value": [1, 2, 3]},
        {"anchor": [1, 2], "shape": [1, 2], "normalized": True, "normalized_shape": True},
    ],
)
def test_regions_that_have_no_meaning(arguments):
    with pytest.raises((ArgumentError, IndexError)):
        fn.erase(torch.zeros(5, 6, 2), layout="HWC", **arguments)


@pytest.mark.parametrize("layout", ["HWC", "CHW", "FHWC", "FCHW"])
def test_a_grid_covers_frames_in_every_layout(layout):
    sides = {"F": 2, "H": 40, "W": 50, "C": 3}
    data = torch.full([sides[letter] for letter in layout], 9, dtype=torch.uint16)
    result = fn.grid_mask(TensorList([data], layout), tile=10, ratio=0.35, shift_x=2.0)[0]
    frames = result if layout.endswith("C") else result.float().movedim(-3, -1)
    rows, columns = np.mgrid[:40, :50]
    wanted = 9.0 * ~(((columns - 2) % 10 < 3.5) & (rows % 10 < 3.5))
    for frame in frames if "F" in layout else [frames]:
        np.testing.assert_array_equal(frame.float().numpy(), np.repeat(wanted[..., None], 3, -1))


def test_every_frame_of_a_clip_may_have_its_own_places():
    clip = torch.arange(1, 9, dtype=torch.uint8).reshape(2, 1, 4, 1)
    places = torch.tensor([[[0, 0]], [[2, 1]]])
    result = fn.multi_paste(
        TensorList([clip], "FHWC"), output_size=[3, 5], out_anchors=TensorList([places])
    )[0]
    wanted = np.zeros((2, 3, 5, 1))
    wanted[0, 0, :4, 0], wanted[1, 2, 1:, 0] = [1, 2, 3, 4], [5, 6, 7, 8]
    np.testing.assert_array_equal(result.numpy(), wanted)


@pytest.mark.parametrize("layout", ["CHW", "FCHW"])
def test_planar_frames_are_pasted_too(layout):
    shape = (2, 3, 2, 4) if "F" in layout else (3, 2, 4)
    data = torch.arange(np.prod(shape), dtype=torch.float32).reshape(shape)
    result = fn.multi_paste(TensorList([data], layout), output_size=[4, 6], dtype=types.INT16)
    wanted = np.zeros((*shape[:-2], 4, 6), dtype=np.int16)
    wanted[..., :2, :4] = data.numpy()
    assert result.layout() == layout
    np.testing.assert_array_equal(result[0].numpy(), wanted)


@pytest.mark.parametrize(
    "arguments",
    [
        {"in_ids": [2]},
        {"in_ids": [-1]},
        {"out_anchors": np.int32([[1, 0]])},
        {"in_anchors": np.int32([[-1, 0]])},
        {"in_anchors": np.int32([[0, 0], [0, 0]])},
        {"shapes": np.int32([[9, 9]])},
        {"in_anchors_rel": np.float32([[1.5, 0]])},
        {"shapes": np.int32([[1, 1]]), "shapes_rel": np.float32([[0.1, 0.1]])},
        {"output_size": [3]},
    ],
)
def test_pastes_that_have_no_meaning(arguments):
    frames = TensorList([torch.zeros(3, 4, 2)] * 2, "HWC")
    with pytest.raises(ArgumentError):
        fn.multi_paste(frames, **arguments)


def random_boxes(batch_size):
    """Outputs of every operator that draws, for eight samples in batches."""

    @pipeline_def(batch_size=batch_size, seed=5)
    def pipeline():
        mask = fn.constant(idata=MAP.reshape(-1).tolist(), shape=[4, 4], dtype=types.INT32)
        boxes = fn.constant(fdata=BOXES.reshape(-1).tolist(), shape=[2, 4])
        labels = fn.constant(idata=[3, 4])
        start, shape, label = fn.segmentation.random_object_bbox(mask, output_class=True)
        crop = fn.random_bbox_crop(boxes, labels, scaling=[0.3, 1.0], output_bbox_indices=True)
        assert isinstance(crop, list)
        assert len(crop) == 5
        return start, shape, label, fn.segmentation.random_mask_pixel(mask), *crop

    pipe = pipeline()
    samples = []
    for _ in range(8 // batch_size):
        samples += zip(*([each.tolist() for each in output] for output in pipe.run()), strict=True)
    return samples


def test_draws_depend_on_no_batch_size():
    alone = random_boxes(1)
    assert alone == random_boxes(4) == random_boxes(8)
    assert len({str(sample) for sample in alone}) > 4


def test_an_optional_input_has_an_output_of_its_own():
    @pipeline_def(batch_size=1)
    def pipeline(*, is_labelled):
        boxes = fn.constant(fdata=BOXES.reshape(-1).tolist(), shape=[2, 4])
        labels = [fn.constant(idata=[3, 4])] if is_labelled else []
        outputs = fn.bbox_rotate(boxes, *labels, angle=10.0, input_shape=[20, 30])
        return tuple(outputs) if is_labelled else outputs

    assert len(pipeline(is_labelled=False).run()) == 1
    assert len(pipeline(is_labelled=True).run()) == 2


@pytest.mark.parametrize(
    ("operator", "names"),
    [
        (fn.bb_flip, "horizontal ltrb vertical"),
        (fn.bbox_paste, "ltrb paste_x paste_y ratio"),
        (fn.box_encoder, "anchors criteria means offset scale stds"),
        (fn.grid_mask, "angle ratio shift_x shift_y tile"),
    ],
)
def test_arguments_have_the_names_of_dali(operator, names):
    found = inspect.signature(operator).parameters.values()
    keywords = {each.name for each in found if each.kind is each.KEYWORD_ONLY}
    assert keywords - {"device", "name", "layout"} == set(names.split())
