"""Operators as classes: what they take when they are made, and what when they are called."""

import ast
import importlib

import numpy as np
import pytest
import torch
from making.stubs import stubs

from videoloader.dali import Pipeline, fn, ops, pipeline_def, types
from videoloader.dali.fn.names import public_functions, public_modules
from videoloader.dali.ops.operator_class import class_name
from videoloader.dali.tensors import TensorList
from videoloader.errors import VideoError

IMAGES = np.arange(2 * 6 * 8 * 3, dtype=np.uint8).reshape(2, 6, 8, 3)


def images():
    return fn.external_source(source=lambda: list(IMAGES), layout="HWC")


def run(definition):
    with pipeline_def(definition)(batch_size=2, num_threads=1, seed=1) as pipe:
        return [[np.asarray(sample) for sample in output] for output in pipe.run()]


def test_a_class_does_what_its_function_does():
    def definition():
        data = images()
        turned = ops.Flip(horizontal=1, vertical=0)(data)
        return turned, fn.flip(data, horizontal=1, vertical=0)

    turned, expected = run(definition)
    np.testing.assert_array_equal(turned, expected)
    np.testing.assert_array_equal(turned, IMAGES[:, :, ::-1])


def test_every_function_has_a_class_with_its_documentation():
    for module in ["", *public_modules()]:
        place = importlib.import_module(f"videoloader.dali.ops.{module}".rstrip("."))
        for name, function in public_functions(module).items():
            assert getattr(place, class_name(name)).__doc__ == function.__doc__


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("resize", "Resize"),
        ("crop_mirror_normalize", "CropMirrorNormalize"),
        ("hsv", "Hsv"),
        ("bb_flip", "BbFlip"),
        ("bbox_paste", "BBoxPaste"),
        ("coco", "COCO"),
        ("coco_reader", "COCOReader"),
        ("dl_tensor_python_function", "DLTensorPythonFunction"),
        ("mean_square", "MeanSquare"),
        ("random_bbox_crop", "RandomBBoxCrop"),
        ("random_object_bbox", "RandomObjectBBox"),
        ("rms", "RMS"),
        ("roi_random_crop", "ROIRandomCrop"),
        ("ssd_random_crop", "SSDRandomCrop"),
        ("std_dev", "StdDev"),
        ("mxnet_reader", "MXNetReader"),
        ("nemo_asr", "NemoAsr"),
        ("tfrecord", "TFRecord"),
        ("tfrecord_reader", "TFRecordReader"),
    ],
)
def test_classes_are_spelled_as_in_dali(name, spelled):
    assert class_name(name) == spelled


def test_arguments_may_come_as_data_when_it_is_made_or_called():
    def definition():
        data = images()
        flips = fn.external_source(source=lambda: [np.int32(0), np.int32(1)])
        made = ops.Flip(horizontal=flips)(data)
        called = ops.Flip(vertical=0)(data, horizontal=flips)
        return made, called

    expected = [IMAGES[0], IMAGES[1][:, ::-1]]
    for output in run(definition):
        np.testing.assert_array_equal(output, expected)


def test_calls_of_one_object_make_several_nodes():
    def definition():
        draw = ops.random.Uniform(range=(0.0, 1.0))
        return draw(), draw()

    first, second = run(definition)
    assert first != second


def test_sets_of_inputs_run_one_by_one():
    def definition():
        data = images()
        both = ops.Flip(horizontal=1)([data, fn.flip(data, vertical=1, horizontal=0)])
        assert isinstance(both, list)
        return tuple(both)

    first, second = run(definition)
    np.testing.assert_array_equal(first, IMAGES[:, :, ::-1])
    np.testing.assert_array_equal(second, IMAGES[:, ::-1, ::-1])


def test_sets_of_several_inputs_are_paired():
    def definition():
        one, two = images(), fn.flip(images(), horizontal=1)
        pairs = ops.Cat(axis=1)([one, two], [two, one])
        with_one = fn.cat([one, two], one, axis=1, name="joined")
        rows = [fn.reshape(each, layout="FWC") for each in (one, two)]
        first, second = fn.element_extract(rows, element_map=[0, 1])
        return *pairs, *with_one, *first, *second

    flipped = IMAGES[:, :, ::-1]
    results = run(definition)
    for result, (left, right) in zip(
        results,
        [(IMAGES, flipped), (flipped, IMAGES), (IMAGES, IMAGES), (flipped, IMAGES)],
        strict=False,
    ):
        np.testing.assert_array_equal(result, np.concatenate([left, right], axis=2))
    for result, expected in zip(
        results[4:], [IMAGES[:, 0], flipped[:, 0], IMAGES[:, 1], flipped[:, 1]], strict=True
    ):
        np.testing.assert_array_equal(result, expected)


def test_sets_of_inputs_have_one_length():
    def definition():
        data = images()
        return fn.cat([data, data], [data])

    with pytest.raises(VideoError, match="different lengths"):
        run(definition)


def test_a_source_may_be_given_by_position_or_in_the_call():
    def definition():
        made = ops.ExternalSource(lambda: list(IMAGES), layout="HWC")()
        called = ops.ExternalSource(layout="HWC")(source=lambda: list(IMAGES))
        first, second = ops.ExternalSource(source=lambda: (IMAGES, IMAGES), num_outputs=2)()
        return made, called, first, second

    for output in run(definition):
        np.testing.assert_array_equal(output, IMAGES)


def test_the_name_of_an_object_is_that_of_its_node():
    with Pipeline(batch_size=2, num_threads=1) as pipe:
        source = ops.ExternalSource(name="pictures", layout="HWC")
        pipe.set_outputs(ops.Flip()(source()))
    with pipe:
        assert source.name == "pictures"
        pipe.feed_input("pictures", list(IMAGES))
        np.testing.assert_array_equal(np.stack(list(pipe.run()[0])), IMAGES[:, :, ::-1])


def test_operators_run_in_a_row():
    def definition():
        inner = ops.Compose([ops.Flip(), ops.Crop(crop=(2, 3), crop_pos_x=0.0, crop_pos_y=0.0)])
        return ops.Compose([inner, ops.Cast(dtype=types.INT16)])(images())

    (output,) = run(definition)
    assert output[0].dtype == np.int16
    np.testing.assert_array_equal(output, IMAGES[:, :2, ::-1][:, :, :3])


def test_a_call_on_data_runs_at_once():
    image = torch.from_numpy(IMAGES[0])
    assert ops.Cast(dtype=types.FLOAT)(image).dtype == torch.float32
    batch = ops.Flip(horizontal=1)(TensorList(torch.from_numpy(IMAGES), layout="HWC"))
    np.testing.assert_array_equal(np.stack(list(batch)), IMAGES[:, :, ::-1])


@pytest.mark.parametrize(
    "make",
    [
        lambda: ops.Resize(no_such_argument=1),
        lambda: ops.Resize(device="tpu"),
        lambda: ops.Resize(interp_type="nearest of all"),
        lambda: ops.Resize(images),
        lambda: ops.Cast()(torch.zeros(1)),
        lambda: ops.Flip(horizontal=1)(torch.zeros(2, 2, 3), horizontal=0),
        lambda: ops.Compose([]),
        lambda: ops.Compose([ops.Flip(), fn.flip]),
    ],
    ids=["unknown", "device", "value", "input", "required", "twice", "empty", "function"],
)
def test_what_has_no_meaning_is_refused(make):
    with pytest.raises(VideoError):
        make()


def test_none_is_as_if_not_given():
    image = torch.from_numpy(IMAGES[0])
    flipped = ops.Flip(vertical=None, horizontal=1)(image, vertical=0, horizontal=None)
    np.testing.assert_array_equal(flipped, IMAGES[0][:, ::-1])


def test_an_object_knows_its_device():
    assert ops.Resize().device == "cpu"
    assert ops.Resize(device="gpu").device == "gpu"


@pytest.mark.parametrize("path", [path for path in sorted(stubs()) if path.startswith("ops/")])
def test_a_stub_has_every_class(path):
    module = path.removesuffix(".pyi").removesuffix("__init__").strip("/").replace("/", ".")
    place = importlib.import_module(f"videoloader.dali.{module}")
    body = ast.parse(stubs()[path]).body
    classes = {node.name for node in body if isinstance(node, ast.ClassDef)}
    imported = {
        alias.asname for node in body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert classes <= set(place.__all__) <= classes | imported


def test_legacy_readers_have_the_classes_of_dali():
    for name in ("COCO", "Caffe", "Caffe2", "File", "MXNet", "Numpy", "Sequence", "TFRecord"):
        operators = [
            each._function.operator
            for each in (getattr(ops, f"{name}Reader"), getattr(ops.readers, name))
        ]
        assert operators[0] is operators[1]
