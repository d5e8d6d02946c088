"""An argument that another operator makes: every image turned by an angle of its own."""

import math

from pets import COUNT, LABELS, number_of, pet

from videoloader.dali import fn, pipeline_def, types
from videoloader.dali.tensors import TensorListCPU, TensorListGPU

MAX_BATCH_SIZE = 8


@pipeline_def
def random_rotated_pipeline(image_dir, device):
    jpegs, labels = fn.readers.file(file_root=image_dir, random_shuffle=True, initial_fill=COUNT)
    images = fn.decoders.image(jpegs, device="cpu")
    angle = fn.random.uniform(range=(-10.0, 10.0))
    images = images.gpu() if device == "gpu" else images
    rotated_images = fn.rotate(images, angle=angle, fill_value=0)
    return rotated_images, labels, angle


def first_batch(image_dir, device):
    with random_rotated_pipeline(
        image_dir, device, batch_size=MAX_BATCH_SIZE, num_threads=1, device_id=0, seed=1234
    ) as pipe:
        pipe.build()
        return pipe.run()


def slope(image):
    """The angle by which an image was turned, from where its empty corner ends, in degrees."""
    filled = image.max(-1) > 10
    rows = len(filled)
    left = [int(filled[row].argmax()) for row in (rows // 3, 2 * rows // 3)]
    return math.degrees(math.atan2(left[1] - left[0], 2 * rows // 3 - rows // 3))


def test_every_image_is_turned_by_its_own_angle(pets, device):
    images, labels, angle = first_batch(pets, device)
    kind = {"cpu": TensorListCPU, "gpu": TensorListGPU}[device]
    assert isinstance(images, kind)
    assert isinstance(labels, TensorListCPU)
    assert repr(images).startswith(f"TensorList{device.upper()}(\n    dtype=DALIDataType.UINT8")
    assert (angle.dtype, angle.shape()) == (types.FLOAT, [()] * MAX_BATCH_SIZE)
    angles = [float(angle.at(position)) for position in range(MAX_BATCH_SIZE)]
    assert all(-10 <= value < 10 for value in angles)
    assert len(set(angles)) == MAX_BATCH_SIZE
    assert not images.is_dense_tensor()
    images = images.as_cpu()
    for position, degrees in enumerate(angles):
        image = images.at(position)
        number = number_of(image)
        assert labels.at(position).tolist() == [LABELS[number]]
        height, width = pet(number).shape[:2]
        sine, cosine = abs(math.sin(math.radians(degrees))), math.cos(math.radians(degrees))
        extents = (width * sine + height * cosine, width * cosine + height * sine)
        assert all(abs(a - b) < 2.5 for a, b in zip(image.shape[:2], extents, strict=True))
        assert abs(slope(image) - degrees) < 4


def test_the_seed_decides_the_angles(pets, device):
    first, again = (first_batch(pets, device) for _ in range(2))
    assert first[2].as_array().tolist() == again[2].as_array().tolist()
    assert first[0].shape() == again[0].shape()
