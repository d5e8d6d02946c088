"""An augmentation with a constant argument: every image turned by ten degrees."""

import cv2
import numpy as np
import pytest
from pets import COUNT, LABELS, number_of, pet

from videoloader.dali import fn, pipeline_def, types

MAX_BATCH_SIZE = 8


@pipeline_def
def rotated_pipeline(image_dir):
    jpegs, labels = fn.readers.file(file_root=image_dir, random_shuffle=True, initial_fill=COUNT)
    images = fn.decoders.image(jpegs, device="cpu")
    rotated_images = fn.rotate(images, angle=10.0, fill_value=0)
    return rotated_images, labels


def turned(image, angle, size):
    """OpenCV's rotation about the middle into a canvas of another size."""
    height, width = image.shape[:2]
    matrix = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), angle, 1)
    matrix[:, 2] += [(size[1] - width) / 2, (size[0] - height) / 2]
    return cv2.warpAffine(image, matrix, size[::-1], flags=cv2.INTER_LINEAR)


def test_images_are_turned_into_a_canvas_that_holds_them(pets):
    with rotated_pipeline(
        pets, batch_size=MAX_BATCH_SIZE, num_threads=1, device_id=0, seed=1234
    ) as pipe:
        pipe.build()
        images, labels = pipe.run()
    assert (images.dtype, images.layout()) == (types.UINT8, "HWC")
    for position in range(MAX_BATCH_SIZE):
        image = images.at(position)
        number = number_of(image)
        original = pet(number)
        assert labels.at(position).tolist() == [LABELS[number]]
        assert all(
            now > then for now, then in zip(image.shape[:2], original.shape[:2], strict=True)
        )
        assert all(image[row, column].max() == 0 for row in (0, -1) for column in (0, -1))
        expected = turned(original, 10, image.shape[:2])
        assert np.abs(image.astype(int) - expected).mean() < 3


@pytest.mark.parametrize(
    ("angle", "sizes"),  # those of DALI 2.4
    [
        (10.0, [(533, 706), (584, 714), (515, 703)]),
        (-7.0, [(503, 688), (556, 694), (485, 687)]),
        (3.0, [(461, 662), (514, 666), (443, 663)]),
        (0.0, [(427, 640), (480, 640), (409, 641)]),
    ],
)
def test_the_canvas_has_the_size_that_dali_gives_it(angle, sizes):
    images = [np.zeros((*size, 3), np.uint8) for size in ((427, 640), (480, 640), (409, 641))]
    shapes = [tuple(fn.rotate(image, angle=angle, fill_value=0).shape) for image in images]
    assert shapes == [(*size, 3) for size in sizes]
