"""A pipeline as a class: batches of a data set of PyTorch fed by `iter_setup`."""

import os

import cv2
import numpy as np
import pytest
import torch
from pets import number_of, pet, pet_file
from torch.utils.data import IterableDataset

from videoloader.dali import ops, types
from videoloader.dali.pipeline import Pipeline
from videoloader.dali.plugin.pytorch import GenericIterator

pytestmark = pytest.mark.filterwarnings("ignore:fn.image_decoder is deprecated:DeprecationWarning")

MEAN = np.array([0.485 * 255, 0.456 * 255, 0.406 * 255])
STD = np.array([0.229 * 255, 0.224 * 255, 0.225 * 255])
ARGS = {"batch_size": 4, "resolution": 256, "crop": 224}


class ImageFiles(IterableDataset):
    """The bytes of the images of a folder, a label for each, and its path as numbers."""

    def __init__(self, base_path):
        self.files = sorted(os.scandir(base_path), key=lambda entry: len(entry.name))

    def __iter__(self):
        for entry in self.files:
            if entry.name.endswith("jpeg"):
                with open(entry.path, "rb") as file:
                    image = np.frombuffer(file.read(), dtype=np.uint8)
                label = np.array([len(entry.name)])
                image_path = np.array([ord(letter) for letter in entry.path], dtype=np.int32)
                yield image, label, image_path


class SimplePipeline(Pipeline):
    def __init__(self, source, batch_size, num_threads, device_id, resolution, crop, device):
        super().__init__(batch_size, num_threads, device_id, seed=12)
        self.jpegs = ops.ExternalSource()
        self.in_labels = ops.ExternalSource()
        self.in_paths = ops.ExternalSource()
        decoder_device = "mixed" if device == "gpu" else "cpu"
        self.decode = ops.ImageDecoder(device=decoder_device, output_type=types.RGB)
        self.res = ops.Resize(device=device, resize_x=resolution, resize_y=resolution)
        self.normalize = ops.CropMirrorNormalize(
            device=device,
            crop=(crop, crop),
            mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
            std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        )
        self.path_pad = ops.Pad(fill_value=ord("?"), axes=(0,))
        self.source = source
        self.iterator = iter(source)

    def make_batch(self):
        samples = [next(self.iterator) for _ in range(self.batch_size)]
        return tuple(map(list, zip(*samples, strict=True)))

    def define_graph(self):
        self.images = self.jpegs()
        self.labels = self.in_labels()
        self.paths = self.in_paths()
        return self.prepared(self.images, self.labels, self.paths)

    def prepared(self, images, labels, paths):
        images = self.normalize(self.res(self.decode(images)))
        return images, labels, self.path_pad(paths)

    def iter_setup(self):
        images, labels, paths = self.make_batch()
        self.feed_input(self.images, images)
        self.feed_input(self.labels, labels)
        self.feed_input(self.paths, paths)


class SourcedPipeline(SimplePipeline):
    """The same with one source of three outputs, and no `iter_setup`."""

    def define_graph(self):
        source = ops.ExternalSource(source=self.make_batch, num_outputs=3)
        return self.prepared(*source())

    def iter_setup(self):
        pass


@pytest.fixture
def folder(tmp_path):
    """Eleven images, whose names have several lengths, and a file that is none."""
    for number in range(11):
        (tmp_path / f"{'x' * (number + 1)}.jpeg").write_bytes(pet_file(number))
    (tmp_path / "notes.txt").write_text("no image")
    return tmp_path


def make_iterator(kind, folder, device):
    pipeline = kind(
        ImageFiles(folder), ARGS["batch_size"], 2, 0, ARGS["resolution"], ARGS["crop"], device
    )
    return GenericIterator(pipeline, ["images", "labels", "image_path"])


def by_hand(number):
    """The same image prepared by OpenCV and numpy."""
    image = cv2.resize(pet(number), (256, 256), interpolation=cv2.INTER_LINEAR)[16:240, 16:240]
    return ((image - MEAN) / STD).transpose(2, 0, 1)


@pytest.mark.parametrize("kind", [SimplePipeline, SourcedPipeline])
def test_batches_have_images_labels_and_paths(folder, device, kind):
    numbers = []
    with make_iterator(kind, folder, device) as train_dataloader:
        for batch in train_dataloader:
            images = batch[0]["images"].cpu()
            labels, paths = batch[0]["labels"], batch[0]["image_path"]
            assert (images.shape, images.dtype) == ((4, 3, 224, 224), torch.float32)
            assert labels.shape == (4, 1)
            names = ["".join(map(chr, row)).rstrip("?") for row in paths.tolist()]
            assert paths.shape == (4, max(map(len, names)))  # padded to the longest
            for image, label, name in zip(images, labels, names, strict=True):
                pixels = image.permute(1, 2, 0).numpy() * STD + MEAN
                number = number_of(pixels)
                assert name == str(folder / f"{'x' * (number + 1)}.jpeg")
                assert label.item() == number + 6
                difference = np.abs(image.numpy() - by_hand(number)) * STD[:, None, None]
                assert difference.mean() < 2
                numbers.append(number)
    assert numbers == list(range(8))  # the three that fill no batch are left out


def test_the_next_epoch_needs_a_new_iterator_of_the_data_set(folder, device):
    with make_iterator(SimplePipeline, folder, device) as train_dataloader:
        (pipeline,) = train_dataloader._pipelines
        for _ in range(2):
            assert len(list(train_dataloader)) == 2
            pipeline.iterator = iter(pipeline.source)
            train_dataloader.reset()
