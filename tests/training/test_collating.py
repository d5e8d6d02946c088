"""Samples become batches: of one shape, of several, and transformed in the same way everywhere."""

import pytest
import torch
from torch.utils.data import DataLoader

import videoloader as vl
from videoloader.demo.videos import encode_video

CLIP = vl.UniformClip(4)
SIZES = [(64, 48), (64, 48), (80, 48)]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sizes")
    paths = [folder / f"{number}.mp4" for number in range(3)]
    for path, size in zip(paths, SIZES, strict=True):
        encode_video(path, frames=12, size=size)
    return paths


@pytest.mark.parametrize(
    ("options", "collate"),
    [({"size": 32}, None), ({"crop_size": 32}, None), ({}, vl.collate_samples)],
)
def test_sizes_become_one_or_a_list(paths, options, collate):
    (batch,) = DataLoader(vl.ClipDataset(paths, CLIP, **options), 3, collate_fn=collate)
    assert type(batch) is dict
    assert batch["sample"].tolist() == [0, 1, 2]
    shapes = [tuple(frames.shape) for frames in batch["frames"]]
    assert shapes == ([(4, 3, 32, 32)] * 3 if options else [(4, 3, h, w) for w, h in SIZES])


def test_a_sample_is_a_plain_dictionary(paths):
    """Libraries look into these alone, and torch.load takes no other."""
    assert type(vl.ClipDataset(paths, CLIP)[0]) is dict


def as_array(frames):
    return frames.numpy()


def test_arrays_of_several_sizes_become_a_list(paths):
    with vl.Loader(paths, CLIP, batch_size=3, transform=as_array) as loader:
        (batch,) = loader
    assert [frames.shape for frames in batch["frames"]] == [(4, 3, h, w) for w, h in SIZES]


def brighter(frames):
    return frames // 2 + 128


def with_noise(sample):
    return {"x": sample["frames"], "drawn": torch.rand(()), "sample": sample["sample"]}


def test_transforms_of_a_loader_and_of_a_data_set_are_the_same(paths):
    options = {"transform": brighter, "sample_transform": with_noise, "size": 32, "seed": 3}
    with vl.Loader(paths, CLIP, batch_size=3, **options) as loader:
        (batch,) = loader
    dataset = vl.ClipDataset(paths, CLIP, **options)
    dataset.set_epoch(0)
    (expected,) = DataLoader(dataset, 3)
    assert list(batch) == list(expected) == ["x", "drawn", "sample"]
    assert all(torch.equal(batch[name], expected[name]) for name in batch)
    assert batch["x"].min() >= 128


def test_transformed_samples_of_several_sizes_are_a_list_as_without_a_transform(paths):
    with vl.Loader(paths, CLIP, batch_size=3, transform=brighter) as loader:
        (batch,) = loader
    assert [tuple(x.shape) for x in batch["frames"]] == [(4, 3, h, w) for w, h in SIZES]
    assert batch["frame_numbers"].shape == (3, 4)


def no_frames(sample):
    return sample["frames"]


@pytest.mark.parametrize("make", [vl.ClipDataset, vl.Loader])
def test_a_transform_that_takes_the_sample_is_told_which_argument_does(paths, make):
    batches = make(
        paths, CLIP, transform=no_frames, **{"batch_size": 1} if make is vl.Loader else {}
    )
    with pytest.raises(IndexError) as caught:
        next(iter(batches))
    assert "tensor of shape (4, 3, 48, 64); sample_transform=" in caught.value.__notes__[0]
