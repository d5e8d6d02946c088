"""A data set of image files whose workers give file names, and a pipeline that makes the images."""

from pathlib import Path

import numpy as np
import pytest
import torch
from pets import COUNT, LABELS, mirrored, number_of

from videoloader.dali import fn, types
from videoloader.dali.pipeline import pipeline_def
from videoloader.dali.plugin.pytorch import proxy as dali_proxy

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

MEAN = np.array([0.485 * 255, 0.456 * 255, 0.406 * 255])
STD = np.array([0.229 * 255, 0.224 * 255, 0.225 * 255])


@pipeline_def(num_threads=4, device_id=0)
def rn50_train_pipe(device):
    # the PyTorch data loader passes file names
    filepaths = fn.external_source(name="images", no_copy=True)
    jpegs = fn.io.file.read(filepaths)
    images = fn.decoders.image_random_crop(jpegs, device=device, output_type=types.RGB)
    images = fn.resize(images, resize_x=256, resize_y=256)
    return fn.crop_mirror_normalize(
        images,
        crop_h=224,
        crop_w=224,
        mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
        std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        mirror=fn.random.coin_flip(),
    )


class ImageFolder(torch.utils.data.Dataset):
    """What torchvision's does: the loader and the transform of each file, and its class."""

    def __init__(self, root, transform, loader):
        self.transform, self.loader = transform, loader
        classes = sorted(path for path in Path(root).iterdir() if path.is_dir())
        self.samples = [
            (str(file), label)
            for label, path in enumerate(classes)
            for file in sorted(path.iterdir())
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, number):
        path, label = self.samples[number]
        return self.transform(self.loader(path)), label


def read_filepath(path):
    return np.frombuffer(path.encode(), dtype=np.int8)


@pytest.mark.parametrize("ours", [False, True])
def test_the_loop_gets_images_where_the_data_set_gave_file_names(
    pets, device, decoder_device, ours
):
    batch_size, nworkers = 4, 2
    pipe = rn50_train_pipe(decoder_device, batch_size=batch_size, seed=3)
    numbers, labels, flips = [], [], []
    with dali_proxy.DALIServer(pipe) as dali_server:
        dataset = ImageFolder(pets, transform=dali_server.proxy, loader=read_filepath)
        if ours:
            loader = dali_proxy.DataLoader(
                dali_server, dataset, batch_size=batch_size, num_workers=nworkers, drop_last=True
            )
        else:
            loader = torch.utils.data.DataLoader(
                dataset, batch_size=batch_size, num_workers=nworkers, drop_last=True
            )
        for data, target in loader:
            data = dali_server.produce_data(data)
            assert (tuple(data.shape), data.dtype) == ((4, 3, 224, 224), torch.float32)
            assert data.device.type == {"cpu": "cpu", "gpu": "cuda"}[device]
            images = data.cpu().permute(0, 2, 3, 1).numpy() * STD + MEAN
            numbers += [number_of(image) for image in images]
            flips += [mirrored(image) for image in images]
            labels += target.tolist()
    pipe.close()
    assert numbers == list(range(COUNT // batch_size * batch_size))
    assert labels == LABELS[: len(labels)]
    assert 0 < np.mean(flips) < 1
