"""The CUDA kernels of JPEG artefacts make the pixels that libjpeg-turbo makes on the CPU."""

import numpy as np
import pytest
import torch
from kernel_batches import LAYOUTS, batch_of, check
from kernel_machines import OperatorKernels, OperatorKernelsOnGpu

from videoloader.dali.tensors import TensorList

NAME = "jpeg_compression_distortion"


@pytest.fixture(params=["c++", "c++, 5 threads", pytest.param("gpu", marks=pytest.mark.gpu)])
def machine(request, monkeypatch):
    if request.param == "gpu":
        return OperatorKernelsOnGpu(monkeypatch)
    return OperatorKernels(monkeypatch, threads=5 if "threads" in request.param else 1)


def smooth(height, width, seed=0):
    """A picture with edges and gradients, as cameras give them."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:height, :width]
    waves = [
        np.sin(rows * rng.uniform(0, 0.4) + columns * rng.uniform(0, 0.4) + at) for at in range(3)
    ]
    picture = 128 + 100 * np.stack(waves, axis=-1) + rng.normal(0, 4, (height, width, 3))
    picture[height // 3 :, width // 2 :] = rng.integers(0, 256, 3)
    return torch.from_numpy(picture.clip(0, 255).astype(np.uint8))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("memory", ["ragged", "dense", "views"])
def test_pixels_are_those_of_the_cpu(machine, layout, memory):
    """Noise, which has every coefficient, in pictures of odd and of tiny sizes."""
    frames = batch_of(layout, memory=memory)
    check(machine, NAME, [frames], {"quality": [1, 20, 50, 90, 100]}, bound=0, launches=2)


@pytest.mark.parametrize("quality", [1, 10, 49, 50, 75, 95, 100, -3, 300])
def test_pixels_of_every_quality_are_those_of_the_cpu(machine, quality):
    sizes = [(67, 130), (16, 16), (33, 257), (128, 31)]
    frames = TensorList([smooth(*size, seed) for seed, size in enumerate(sizes)], "HWC")
    check(machine, NAME, [frames], {"quality": quality}, bound=0, launches=2)


@pytest.mark.parametrize("height", range(1, 19))
def test_edges_of_every_size_are_those_of_the_cpu(machine, height):
    frames = TensorList([smooth(height, width, height) for width in range(1, 20)], "HWC")
    check(machine, NAME, [frames], {"quality": 30}, bound=0, launches=2)


def test_frames_may_have_qualities_of_their_own(machine):
    clips = [torch.stack([smooth(40, 56, 3 * clip + at) for at in range(3)]) for clip in range(2)]
    qualities = [[5, 60, 95], [70, 70, 70]]
    check(machine, NAME, [TensorList(clips, "FHWC")], {"quality": qualities}, bound=0, launches=2)
