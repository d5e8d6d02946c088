"""A decoder that takes files on the CPU and gives images on the GPU."""

import numpy as np
import pytest
from pets import COUNT, LABELS, number_of, pet

from videoloader.dali import fn, pipeline_def
from videoloader.dali.tensors import TensorListCPU, TensorListGPU

MAX_BATCH_SIZE = 8


@pipeline_def
def hybrid_pipeline(image_dir, device):
    jpegs, labels = fn.readers.file(file_root=image_dir, random_shuffle=True, initial_fill=COUNT)
    images = fn.decoders.image(jpegs, device=device)
    return images, labels


@pytest.mark.parametrize(
    ("device", "kind"),
    [("cpu", TensorListCPU), pytest.param("mixed", TensorListGPU, marks=pytest.mark.gpu)],
)
def test_images_come_on_the_device_of_the_decoder(pets, device, kind):
    with hybrid_pipeline(
        pets, device, batch_size=MAX_BATCH_SIZE, num_threads=1, device_id=0, seed=1234
    ) as pipe:
        pipe.build()
        images, labels = pipe.run()
    assert isinstance(images, kind)
    assert isinstance(labels, TensorListCPU)
    images = images.as_cpu()
    for position in range(MAX_BATCH_SIZE):
        image = images.at(position)
        number = number_of(image)
        assert image.shape == pet(number).shape
        assert np.abs(image - pet(number).astype(int)).max() <= 6
        assert labels.at(position).tolist() == [LABELS[number]]
