"""Folders of kept annotations beside those of DALI 2.4; see `references/coco_kept.py`."""

import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_batches import read_epoch

from videoloader.dali import fn
from videoloader.dali.readers.files.kept_annotations import load_annotations
from videoloader.errors import ArgumentError, SourceError, VideoError

_PATH = Path(__file__).parents[1] / "references" / "coco_kept.py"
_SPEC = importlib.util.spec_from_file_location("coco_kept_references", _PATH)
references = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(references)
STORED = json.loads(_PATH.with_suffix(".json").read_text())


@pytest.fixture
def root(tmp_path):
    for name in "abcd":
        (tmp_path / f"{name}.jpg").write_text(name)
    (tmp_path / "a.json").write_text(json.dumps(references.ANNOTATIONS))
    return tmp_path


def read(root, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of `masks`
        return read_epoch(fn.readers.coco, file_root=str(root), **arguments)


def keep(root, options):
    folder = root / "kept"
    folder.mkdir()
    made = read(
        root,
        annotations_file=str(root / "a.json"),
        save_preprocessed_annotations=True,
        save_preprocessed_annotations_dir=str(folder),
        **options,
    )
    return folder, made


def outputs_among(options):
    return {key: value for key, value in options.items() if key in references.OUTPUTS}


def written(root, name):
    """The folder that DALI wrote."""
    folder = root / "dali"
    folder.mkdir()
    for file, content in STORED[name]["files"].items():
        (folder / file).write_bytes(bytes.fromhex(content))
    return folder


@pytest.mark.parametrize("name", references.CASES)
def test_a_folder_that_dali_wrote_is_read_as_dali_reads_it(root, name):
    options = references.CASES[name]
    folder = written(root, name)
    found = read(root, preprocessed_annotations=str(folder), **outputs_among(options))
    assert len(found) == len(STORED[name]["outputs"])
    for sample, expected in zip(found, STORED[name]["outputs"], strict=True):
        for value, other in zip(sample[1:], expected, strict=True):
            np.testing.assert_array_equal(value, np.reshape(other, value.shape))


@pytest.mark.parametrize("name", references.CASES)
def test_the_files_that_are_kept_are_those_of_dali(root, name):
    folder, _ = keep(root, references.CASES[name])
    files = {file.name: file.read_bytes().hex() for file in folder.iterdir()}
    assert files == STORED[name]["files"]


@pytest.mark.parametrize("outputs", [{}, {"polygon_masks": True}, {"pixelwise_masks": True}])
@pytest.mark.parametrize(
    "form", [{}, {"ltrb": True}, {"ratio": True}, {"ltrb": True, "ratio": True}]
)
def test_what_was_kept_is_what_was_read(root, outputs, form):
    folder, made = keep(root, outputs | form | {"image_ids": True})
    again = read(root, preprocessed_annotations=str(folder), image_ids=True, **outputs)
    for sample, other in zip(made, again, strict=True):
        for value, expected in zip(other, sample, strict=True):
            np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("output", ["polygon_masks", "pixelwise_masks", "image_ids"])
def test_outputs_that_were_not_kept_are_an_error(root, output):
    folder, _ = keep(root, {})
    with pytest.raises(SourceError, match=r"has no annotations .* for these outputs .*\.dat"):
        read(root, preprocessed_annotations=str(folder), **{output: True})


@pytest.mark.parametrize("argument", ["ltrb", "ratio"])
def test_what_is_kept_has_the_form_it_was_kept_in(root, argument):
    folder, _ = keep(root, {})
    with pytest.raises(ArgumentError, match=f"preprocessed_annotations or {argument}, not both"):
        read(root, preprocessed_annotations=str(folder), **{argument: True})


def test_run_lengths_that_are_none_are_named(root):
    crowd = {"image_id": 9, "category_id": 4, "bbox": [0, 0, 5, 5], "iscrowd": 1}
    bad = crowd | {"segmentation": {"counts": [-1, 2**40], "size": [6, 8]}}
    (root / "a.json").write_text(json.dumps(references.ANNOTATIONS | {"annotations": [bad]}))
    with pytest.raises(VideoError, match=r"d\.jpg: object 0"):
        keep(root, {"pixelwise_masks": True})


FILES = sorted({file for each in STORED.values() for file in each["files"]})


@given(st.sampled_from(FILES), st.data())
def test_damaged_files_are_errors_of_ours_or_other_numbers(tmp_path_factory, file, data):
    folder = tmp_path_factory.mktemp("damaged")
    for name, content in STORED["masks"]["files"].items():
        (folder / name).write_bytes(bytes.fromhex(content))
    content = bytearray((folder / file).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    (folder / file).write_bytes(content)
    try:
        images = load_annotations(str(folder), with_ids=True, with_polygons=True, with_masks=True)
        for image in images:
            image.polygons()
            image.label_image()
    except VideoError:
        pass
