"""A training loop on images that are cropped at random, resized, mirrored and normalised."""

from functools import partial

import numpy as np
import pytest
import torch
from pets import COUNT, LABELS, mirrored, number_of

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.pytorch import GenericIterator

MEAN = np.array([0.485 * 255, 0.456 * 255, 0.406 * 255])
STD = np.array([0.229 * 255, 0.224 * 255, 0.225 * 255])


@pipeline_def(num_threads=4, device_id=0)
def training_pipeline(images_dir, device):
    images, labels = fn.readers.file(file_root=images_dir, random_shuffle=True, name="Reader")
    images = fn.decoders.image_random_crop(images, device=device, output_type=types.RGB)
    images = fn.resize(images, resize_x=256, resize_y=256)
    images = fn.crop_mirror_normalize(
        images,
        crop_h=224,
        crop_w=224,
        mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
        std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        mirror=fn.random.coin_flip(),
    )
    return images, labels


@pytest.fixture
def batches(pets, decoder_device):
    return partial(training_pipeline, pets, decoder_device)


def pixels(data):
    """Images as they were before they were normalised, (N, H, W, 3)."""
    return data.cpu().permute(0, 2, 3, 1).numpy() * STD + MEAN


def test_an_epoch_has_every_image_with_its_label(batches, device):
    numbers, flips = [], []
    with GenericIterator(
        [batches(batch_size=16, seed=3)], ["data", "label"], reader_name="Reader"
    ) as train_data:
        assert len(train_data) == 2
        for data in train_data:
            x, y = data[0]["data"], data[0]["label"]
            assert (x.shape, x.dtype) == ((16, 3, 224, 224), torch.float32)
            assert (y.shape, y.dtype) == ((16, 1), torch.int32)
            assert x.device.type == {"cpu": "cpu", "gpu": "cuda"}[device]
            images = pixels(x)
            assert -6 < images.min() < images.max() < 261
            found = [number_of(image) for image in images]
            assert y[:, 0].tolist() == [LABELS[number] for number in found]
            numbers += found
            flips += [mirrored(image) for image in images]
    assert sorted(numbers[:COUNT]) == list(range(COUNT))
    assert numbers[:COUNT] != sorted(numbers[:COUNT])
    assert 0.2 < np.mean(flips) < 0.8


def test_crops_differ_from_epoch_to_epoch(batches):
    def ranges():
        """How much of the red ramp each image shows."""
        found = {}
        for (batch,) in train_data:
            for image in pixels(batch["data"]):
                found[number_of(image)] = round(float(np.ptp(image[:, :, 0])), 1)
        return found

    with GenericIterator(
        [batches(batch_size=COUNT, seed=3)], ["data", "label"], reader_name="Reader"
    ) as train_data:
        first, second = ranges(), ranges()
    assert sum(first[number] != second[number] for number in range(COUNT)) > COUNT // 2


def test_the_loop_learns(batches):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    losses = []
    with GenericIterator(
        [batches(batch_size=16, seed=3)], ["data", "label"], reader_name="Reader"
    ) as train_data:
        for _ in range(3):
            for data in train_data:
                x, y = data[0]["data"].cpu(), data[0]["label"]
                loss = torch.nn.functional.cross_entropy(model(x.mean((2, 3))), y[:, 0].long())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
