import json
import tracemalloc
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processor_time import MILLION, at_most_steps
from stored_batches import read_epoch

from videoloader.dali import fn
from videoloader.dali.readers.files import masks
from videoloader.dali.readers.files.masks import label_image, read_counts
from videoloader.errors import ArgumentError, FormatError, OperatorError, SourceError

REFERENCES = Path(__file__).parents[1] / "references"

SQUARE = [1, 2, 4, 2, 4, 5, 1, 5]
ANNOTATIONS = {
    "images": [
        {"id": 7, "file_name": "b.jpg", "height": 6, "width": 8},
        {"id": 3, "file_name": "a.jpg", "height": 6, "width": 8},
        {"id": 5, "file_name": "c.jpg", "height": 6, "width": 8},
        {"id": 9, "file_name": "d.jpg", "height": 6, "width": 8},
    ],
    "categories": [{"id": 4}, {"id": 2}, {"id": 30}],
    "annotations": [
        {"image_id": 3, "category_id": 30, "bbox": [1, 2, 3, 4], "segmentation": [SQUARE]},
        {
            "image_id": 7,
            "category_id": 2,
            "bbox": [2, 1, 3, 2],
            "iscrowd": 1,
            "segmentation": {"counts": [13, 2, 33], "size": [6, 8]},
        },
        {
            "image_id": 3,
            "category_id": 4,
            "bbox": [0.5, 0.25, 2.5, 1.75],
            "segmentation": [[0, 0, 2, 0, 2, 2], SQUARE],
        },
        {"image_id": 9, "category_id": 4, "bbox": [0, 0, 0.05, 5]},
        {
            "image_id": 7,
            "category_id": 4,
            "bbox": [1, 2, 3, 3],
            "segmentation": {"counts": "=2Q1", "size": [6, 8]},
        },
    ],
}


@pytest.fixture
def read(tmp_path):
    for name in "abcd":
        (tmp_path / f"{name}.jpg").write_text(name)
    (tmp_path / "a.json").write_text(json.dumps(ANNOTATIONS))

    def run(annotations_file=str(tmp_path / "a.json"), **arguments):
        root = str(tmp_path)
        return read_epoch(
            fn.readers.coco, file_root=root, annotations_file=annotations_file, **arguments
        )

    return run


def named(samples):
    return {bytes(sample[0]).decode(): sample[1:] for sample in samples}


def test_images_come_by_id_with_their_boxes_and_labels(read):
    samples = read(image_ids=True)
    assert [bytes(sample[0]).decode() for sample in samples] == ["a", "c", "b", "d"]
    assert [sample[3].tolist() for sample in samples] == [[3], [5], [7], [9]]
    boxes, labels, _ = named(samples)["a"]
    assert boxes.dtype == np.float32
    assert boxes.tolist() == [[1, 2, 3, 4], [0.5, 0.25, 2.5, 1.75]]
    assert labels.dtype == np.int32
    assert labels.tolist() == [3, 1]  # places of the categories in the file
    boxes, labels, _ = named(samples)["c"]
    assert boxes.shape == (0, 4)
    assert labels.shape == (0,)


def test_boxes_have_corners_or_parts_if_asked(read):
    assert named(read(ltrb=True))["b"][0].tolist() == [[2, 1, 5, 3], [1, 2, 4, 5]]
    boxes = named(read(ltrb=True, ratio=True))["b"][0]
    np.testing.assert_allclose(boxes[0], [2 / 8, 1 / 6, 5 / 8, 3 / 6], rtol=1e-6)


@pytest.mark.parametrize("side", [0.1, 0.7, 2.3])
def test_an_object_as_large_as_the_threshold_is_kept(read, tmp_path, side):
    box = {"image_id": 9, "category_id": 4, "bbox": [0, 0, side, 5]}
    path = tmp_path / "one.json"
    path.write_text(json.dumps(ANNOTATIONS | {"annotations": [box]}))
    samples = read(str(path), size_threshold=side, skip_empty=True)
    assert [bytes(sample[0]).decode() for sample in samples] == ["d"]


def test_objects_and_images_are_chosen(read):
    assert [s[2].tolist() for s in read(avoid_class_remapping=True)] == [[30, 4], [], [2, 4], []]
    assert [s[2].tolist() for s in read(include_iscrowd=False)] == [[3, 1], [], [1], []]
    assert [s[2].tolist() for s in read(size_threshold=2.0)] == [[3], [], [2, 1], []]
    assert [s[2].tolist() for s in read(size_threshold=0.0)] == [[3, 1], [], [2, 1], [1]]
    assert list(named(read(skip_empty=True))) == ["a", "b"]
    chosen = read(images=["d.jpg", "a.jpg", "nowhere.jpg", "d.jpg"])
    assert [bytes(sample[0]).decode() for sample in chosen] == ["d", "a", "d"]


def test_polygons_tell_their_object_and_their_vertices(read):
    samples = named(read(polygon_masks=True))
    _, _, polygons, vertices = samples["a"]
    assert polygons.tolist() == [[0, 0, 4], [1, 4, 7], [1, 7, 11]]
    assert vertices.dtype == np.float32
    assert vertices[4:7].tolist() == [[0, 0], [2, 0], [2, 2]]
    assert samples["b"][2].shape == (0, 3)  # run lengths are no polygons
    assert samples["b"][3].shape == (0, 2)
    ratio = named(read(polygon_masks=True, ratio=True))["a"][3]
    np.testing.assert_allclose(ratio, vertices / [8, 6], rtol=1e-6)


@pytest.mark.parametrize("also", [{}, {"polygon_masks": True}])
def test_masks_count_coordinates_where_polygon_masks_count_vertices(read, also):
    vertices = named(read(polygon_masks=True))["a"][3]
    with pytest.warns(DeprecationWarning, match=r"readers\.coco: masks .* use polygon_masks"):
        samples = named(read(masks=True, **also))
    assert samples["a"][2].tolist() == [[0, 0, 8], [1, 8, 14], [1, 14, 22]]  # as in DALI 2.4
    assert samples["a"][3].tolist() == vertices.tolist()


def test_old_names_of_arguments_keep_annotations_and_read_them(read, tmp_path):
    with pytest.warns(DeprecationWarning, match="is deprecated; use") as caught:
        first = read(dump_meta_files=True, dump_meta_files_path=str(tmp_path), save_img_ids=True)
    assert {str(each.message).split(" ")[-1] for each in caught} == {
        "save_preprocessed_annotations",
        "save_preprocessed_annotations_dir",
        "image_ids",
    }
    with pytest.warns(DeprecationWarning, match="use preprocessed_annotations"):
        again = read("", meta_files_path=str(tmp_path), image_ids=True)
    for sample, same in zip(first, again, strict=True):
        for value, other in zip(sample, same, strict=True):
            np.testing.assert_array_equal(value, other)


@pytest.mark.parametrize("name", ["boxes.dat", "labels.dat", "offsets.dat", "counts.dat"])
@pytest.mark.parametrize("content", [b"[" * 100_000, b"\xff" * 7, b"\x02\0\0\0"])
def test_damaged_annotations_that_were_kept_are_an_error_of_ours(read, tmp_path, name, content):
    read(save_preprocessed_annotations=True, save_preprocessed_annotations_dir=str(tmp_path))
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ArgumentError, match="its annotations are damaged"):
        read("", preprocessed_annotations=str(tmp_path))


def test_pixels_have_the_highest_label_of_the_objects_on_them(read):
    mask = named(read(pixelwise_masks=True))["a"][2]
    assert mask.shape == (6, 8, 1)
    assert mask.dtype == np.int32
    expected = np.zeros((6, 8), int)
    expected[2:5, 1:4] = 3  # where the square of label 1 lies too
    expected[0, 1] = expected[0, 0] = mask[0, 0, 0]
    assert (mask[2:5, 1:4, 0] == 3).all()
    assert (mask[:, 4:] == 0).all()
    mask = named(read(pixelwise_masks=True))["b"][2][..., 0]
    assert np.flatnonzero(mask.T == 2).tolist() == [13, 14]
    assert (named(read(pixelwise_masks=True))["d"][2] == 0).all()


def test_masks_of_polygons_are_those_of_dali():
    stored = np.load(REFERENCES / "coco_masks.npz")
    height, width = stored["size"].tolist()
    shapes = np.split(stored["polygons"], np.cumsum(stored["lengths"])[:-1])
    drawn_by_dali = np.unpackbits(stored["masks"], count=len(shapes) * height * width)
    for shape, mask in zip(shapes, drawn_by_dali.reshape(-1, height, width), strict=True):
        drawn = label_image([[shape.tolist()]], [1], height, width)
        assert (drawn[..., 0] == mask).all()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20)), min_size=4, max_size=4))
def test_a_mask_has_the_pixels_whose_middle_is_inside(corners):
    hull = cv2.convexHull(np.array(corners, np.float32))
    mask = label_image([[hull.ravel().tolist()]], [1], 20, 30)[..., 0]
    for y in range(20):
        for x in range(30):
            inside = cv2.pointPolygonTest(hull, (x + 0.5, y + 0.5), measureDist=True)
            if abs(inside) > 0.75:  # nearer to the outline it is a matter of rounding
                assert mask[y, x] == (inside > 0)


@given(st.lists(st.integers(0, 1 << 30), max_size=12))
def test_run_lengths_survive_their_text_form(counts):
    text = ""
    for place, count in enumerate(counts):
        value = count - counts[place - 2] if place > 2 else count
        while True:
            bits, value = value & 31, value >> 5
            done = value == (-1 if bits & 16 else 0)
            text += chr(48 + bits + (0 if done else 32))
            if done:
                break
    assert read_counts(text) == counts


@pytest.mark.parametrize(
    "segmentation",
    [
        {"counts": [1, 99]},
        {"counts": [5, -1]},
        {"counts": "o"},
        {"counts": "é"},
        {"counts": [1 << 62] * 4},  # whose sum overflows
        {"counts": [1 << 80]},
        {"counts": [None]},
        [[1, 2, 3]],
        [[1, 2, [3]]],
        [[None] * 6],
        [["a"] * 6],
        [[1e300] * 6],
        [5],
        5,
    ],
)
def test_a_damaged_mask_is_an_error_of_ours(segmentation):
    with pytest.raises(FormatError, match=r"^object 0: "):
        label_image([segmentation], [1], 6, 8)


FAR = [-1e9, 0, 1e9, 1, 1e9, 5]
OUT_OF_PROPORTION = {
    "pixels": ([{"counts": []}], 1 << 14, 1 << 14),
    "an edge of a low image": ([[FAR]], 1, 1 << 27),
    "edges": ([[FAR[:4] * 500]], 8, 16384),
    "polygons": ([[FAR]] * 500, 8, 16384),
    "objects": ([{"counts": [0, 1 << 22]}] * 100, 1 << 11, 1 << 11),
}


@pytest.mark.parametrize("name", OUT_OF_PROPORTION)
def test_masks_out_of_proportion_are_refused_before_they_are_made(name, monkeypatch):
    monkeypatch.setattr(masks, "MOST_STEPS", 1 << 22)
    monkeypatch.setattr(masks, "MOST_PAINTED", 1 << 28)
    segmentations, height, width = OUT_OF_PROPORTION[name]
    tracemalloc.start()
    try:
        with (
            at_most_steps(800 * MILLION),
            pytest.raises(FormatError, match=r"too long|outline|a mask of"),
        ):
            label_image(segmentations, [1] * len(segmentations), height, width)
        assert tracemalloc.get_traced_memory()[1] < 600 << 20
    finally:
        tracemalloc.stop()


def test_many_objects_take_the_memory_of_their_image():
    large = {"counts": [0, 1 << 20]}
    tracemalloc.start()
    pixels = label_image([large] * 400, range(400), 1 << 10, 1 << 10)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (pixels == 399).all()
    assert memory < 16 << 20


def test_a_damaged_mask_names_its_image_and_object(read, tmp_path):
    damaged = json.loads(json.dumps(ANNOTATIONS))
    damaged["annotations"][2]["segmentation"] = [[0, 0, 2, None, 2, 2]]
    (tmp_path / "bad.json").write_text(json.dumps(damaged))
    for option in ("pixelwise_masks", "polygon_masks"):
        with pytest.raises(OperatorError, match=r"a\.jpg: object 1: "):
            read(str(tmp_path / "bad.json"), **{option: True})


@pytest.mark.parametrize("options", [{"pixelwise_masks": True}, {"polygon_masks": True}, {}])
def test_annotations_that_were_kept_are_the_same(read, tmp_path, options):
    folder = tmp_path / "kept"
    folder.mkdir()
    expected = read(
        images=["d.jpg", "a.jpg", "b.jpg"],
        save_preprocessed_annotations=True,
        save_preprocessed_annotations_dir=str(folder),
        image_ids=True,
        **options,
    )
    assert (folder / "filenames.dat").read_text().split() == ["d.jpg", "a.jpg", "b.jpg"]
    kept = read("", preprocessed_annotations=str(folder), image_ids=True, **options)
    for sample, again in zip(expected, kept, strict=True):
        for value, other in zip(sample, again, strict=True):
            np.testing.assert_array_equal(value, other)


def test_arguments_without_a_meaning_are_named(read, tmp_path):
    with pytest.raises(ArgumentError, match="annotations_file"):
        read("")
    with pytest.raises(ArgumentError, match="not both"):
        read(pixelwise_masks=True, polygon_masks=True)
    with pytest.raises(ArgumentError, match="not both"):
        read(preprocessed_annotations=str(tmp_path))
    with pytest.raises(ArgumentError, match="no image"):
        read(images=["nowhere.jpg"])
    with pytest.raises(SourceError, match=r"nowhere\.json"):
        read("/nowhere.json")


@pytest.mark.parametrize("text", ['{"images": [', "[]", "{}", '{"images": 1}'])
def test_a_damaged_annotation_file_is_named(read, tmp_path, text):
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(FormatError, match=r"bad\.json"):
        read(str(tmp_path / "bad.json"))


def test_an_image_that_is_not_there_is_named(read, tmp_path):
    (tmp_path / "c.jpg").unlink()
    with pytest.raises(OperatorError, match=r"c\.jpg"):
        read()
