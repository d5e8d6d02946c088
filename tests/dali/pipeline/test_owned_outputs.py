"""Samples that a pipeline gives out in the memory that their operator made: nobody else has it."""

import numpy as np
import pytest
import torch
from image_files import encoded, picture

from videoloader.dali import fn, pipeline_def
from videoloader.dali.pipeline.run.batch_state import Slots
from videoloader.dali.tensors.batch import Batch
from videoloader.decoding.memory import Recycler

SIZES = [(40, 50), (30, 20), (64, 48)]
BATCH = len(SIZES)


@pytest.fixture
def files(tmp_path):
    names = []
    for number in range(6 * BATCH):
        pixels = picture(*SIZES[number % BATCH]) // 2 + np.uint8(7 * number)
        names.append(str(tmp_path / f"{number:02}.png"))
        (tmp_path / f"{number:02}.png").write_bytes(encoded(pixels, "png"))
    return names


def expected(number):
    return picture(*SIZES[number % BATCH]) // 2 + np.uint8(7 * number)


def built(graph, files):
    @pipeline_def(batch_size=BATCH, num_threads=2)
    def define():
        return graph(fn.readers.file(files=files)[0])

    return define()


def test_images_stay_while_later_batches_are_made(files):
    with built(fn.decoders.image, files) as pipe:
        kept = [pipe.run()[0] for _ in range(6)]
        for _ in range(6):
            pipe.run()
        for at, images in enumerate(kept):
            for position, image in enumerate(images):
                assert np.array_equal(image.numpy(), expected(at * BATCH + position))


@pytest.mark.parametrize(
    "graph",
    [
        lambda data: (images := fn.decoders.image(data), images),
        lambda data: (images := fn.decoders.image(data), fn.reshape(images, layout="HWC")),
        lambda data: (images := fn.decoders.image(data), fn.crop(images)),
        lambda data: (data, data),
    ],
    ids=["twice", "reshape", "crop", "files"],
)
def test_no_two_outputs_share_memory(files, graph):
    with built(graph, files) as pipe:
        first, second = pipe.run()
        before = [each.clone() for each in second.tensors]
        for sample in first.tensors:
            sample.zero_()
        assert all(bool((a == b).all()) for a, b in zip(before, second.tensors, strict=True))
        assert all(bool(each.any()) for each in second.tensors)


def test_a_function_that_writes_into_its_input_does_not_write_into_an_output(files):
    def erase(image):
        image[...] = 0
        return image

    def graph(data):
        images = fn.decoders.image(data)
        return images, fn.python_function(images, function=erase)

    with built(graph, files) as pipe:
        images, erased = pipe.run()
        for position in range(BATCH):
            assert np.array_equal(images.tensors[position].numpy(), expected(position))
            assert not erased.tensors[position].any()


def test_what_is_made_of_an_output_is_made_of_its_own_values(files):
    with built(lambda data: (data, fn.decoders.image(data)), files) as pipe:
        for at in range(3):
            data, images = pipe.run()
            for position in range(BATCH):
                number = at * BATCH + position
                with open(files[number], "rb") as file:
                    assert data.tensors[position].numpy().tobytes() == file.read()
                assert np.array_equal(images.tensors[position].numpy(), expected(number))


def test_images_of_one_size_are_one_block(tmp_path):
    (tmp_path / "a.png").write_bytes(encoded(picture(9, 7), "png"))
    with built(fn.decoders.image, [str(tmp_path / "a.png")] * BATCH) as pipe:
        (images,) = pipe.run()
        assert images.is_dense_tensor()
        assert np.array_equal(images.as_tensor()[1].numpy(), picture(9, 7))


def test_samples_stay_where_they_are_if_they_are_contiguous():
    whole = [torch.arange(height * 12).view(height, 12) for height in (3, 5)]
    for samples, stay in ((whole, True), ([each[:, 2:9] for each in whole], False)):
        slots = Slots(2, Recycler(keep=1))
        slots.place(0, Batch(samples, "HW"), is_own=True)
        given = slots.collect().tensors
        for sample, mine in zip(samples, given, strict=True):
            assert torch.equal(sample, mine)
            assert mine.is_contiguous()
            assert (mine.data_ptr() == sample.data_ptr()) == stay
