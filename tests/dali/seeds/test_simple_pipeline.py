"""The first pipeline: read files, decode them, look at what comes out."""

import re

import numpy as np
from pets import LABELS, pet

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.tensors import TensorListCPU

MAX_BATCH_SIZE = 8

LABELS_PRINTED = """\
TensorListCPU(
    [[0],
    [0],
    [0],
    [0],
    [0],
    [0],
    [0],
    [0]],
    dtype=DALIDataType.INT32,
    device="cpu",
    num_samples=8,
    shape=[(1,), (1,), (1,), (1,), (1,), (1,), (1,), (1,)])"""

FACTS_PRINTED = """\
TensorListCPU(
    dtype=DALIDataType.UINT8,
    layout="HWC",
    device="cpu",
    num_samples=8,
    shape=[(48, 64, 3),
           (49, 66, 3),
           (50, 68, 3),
           (51, 64, 3),
           (52, 66, 3),
           (53, 68, 3),
           (54, 64, 3),
           (55, 66, 3)])"""


@pipeline_def
def simple_pipeline(image_dir):
    jpegs, labels = fn.readers.file(file_root=image_dir)
    images = fn.decoders.image(jpegs, device="cpu")
    return images, labels


def first_batch(image_dir):
    with simple_pipeline(image_dir, batch_size=MAX_BATCH_SIZE, num_threads=1, device_id=0) as pipe:
        pipe.build()
        return pipe.run()


def test_the_first_batch_has_the_first_files_in_their_order(pets):
    images, labels = first_batch(pets)
    assert isinstance(images, TensorListCPU)
    assert images.dtype == types.UINT8
    assert images.layout() == "HWC"
    for position in range(MAX_BATCH_SIZE):
        image = images.at(position)
        assert isinstance(image, np.ndarray)
        assert image.shape == pet(position).shape
        assert np.abs(image - pet(position).astype(int)).max() <= 6  # what JPEG loses
    assert labels.as_array().tolist() == [[label] for label in LABELS[:8]]
    assert labels.as_array().dtype == np.int32


def test_images_of_several_sizes_are_no_tensor_and_labels_are(pets):
    images, labels = first_batch(pets)
    assert not images.is_dense_tensor()
    assert labels.is_dense_tensor()


def test_a_batch_prints_its_elements_and_facts(pets):
    images, labels = first_batch(pets)
    assert str(labels) == LABELS_PRINTED
    head, _, facts = str(images).partition("]]]],\n")
    assert head.startswith("TensorListCPU(\n    [[[[")
    assert [int(value) for value in re.findall(r"\d+", head)[:3]] == images.at(0)[0, 0].tolist()
    assert facts == FACTS_PRINTED.partition("TensorListCPU(\n")[2]


def test_the_outputs_of_a_pipeline_print_as_batches_of_their_device(pets):
    images, labels = first_batch(pets)
    assert repr(images) == FACTS_PRINTED
    shown = f"{(images, labels)}"
    assert shown.startswith("(" + FACTS_PRINTED + ", TensorListCPU(\n    dtype=DALIDataType.INT32")
