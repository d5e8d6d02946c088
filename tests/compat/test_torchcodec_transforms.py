"""Transforms of torchcodec's decoder: slicing and torch's own resizing are the oracles."""

import pytest
import torch
from torch.nn.functional import interpolate

from videoloader.compat.torchcodec.decoders import VideoDecoder
from videoloader.compat.torchcodec.transforms import CenterCrop, RandomCrop, Resize
from videoloader.demo.videos import encode_video

HEIGHT, WIDTH = 90, 120


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return encode_video(
        tmp_path_factory.mktemp("transforms") / "clip.mp4", size=(WIDTH, HEIGHT), frames=8
    )


@pytest.fixture(scope="module")
def whole(path):
    return VideoDecoder(path).get_frames_at([5, 2]).data


def transformed(path, *transforms):
    return VideoDecoder(path, transforms=transforms).get_frames_at([5, 2]).data


def resized(frames, size):
    return interpolate(frames.float(), size, mode="bilinear", antialias=True)


def mean_difference(data, expected):
    return (data.float() - expected.float()).abs().mean()


@pytest.mark.parametrize(("size", "top", "left"), [((40, 60), 25, 30), ((89, 115), 0, 2)])
def test_the_middle_is_kept_at_the_place_that_torchvision_keeps(path, whole, size, top, left):
    # Halves are rounded to even: 0.5 above the first row becomes 0, 2.5 becomes 2.
    data = transformed(path, CenterCrop(size))
    assert torch.equal(data, whole[..., top : top + size[0], left : left + size[1]])


def test_a_random_crop_is_drawn_once_by_torchs_generator(path, whole):
    torch.manual_seed(5)
    decoder = VideoDecoder(path, transforms=[RandomCrop((30, 50))])
    torch.manual_seed(5)
    top = int(torch.randint(0, HEIGHT - 30 + 1, size=()))
    left = int(torch.randint(0, WIDTH - 50 + 1, size=()))
    for _ in range(2):
        data = decoder.get_frames_at([5, 2]).data
        assert torch.equal(data, whole[..., top : top + 30, left : left + 50])


@pytest.mark.parametrize("size", [(40, 55), (33, 77), (180, 240)])
def test_resizing_is_that_of_torch(path, whole, size):
    data = transformed(path, Resize(size))
    assert data.shape == (2, 3, *size)
    assert mean_difference(data, resized(whole, size)) < 1


def test_transforms_are_done_one_after_the_other(path, whole):
    data = transformed(
        path, CenterCrop((60, 80)), CenterCrop((50, 70)), Resize((100, 140)), CenterCrop((40, 20))
    )
    expected = resized(whole[..., 20:70, 25:95], (100, 140))[..., 30:70, 60:80]
    assert data.shape == (2, 3, 40, 20)
    assert mean_difference(data, expected) < 1


def test_there_may_be_more_than_the_decoder_does_in_one_pass(path, whole):
    data = transformed(path, Resize((60, 80)), Resize((30, 40)), CenterCrop((10, 20)))
    expected = resized(resized(whole, (60, 80)), (30, 40))[..., 10:20, 10:30]
    assert (data.shape, data.dtype) == ((2, 3, 10, 20), torch.uint8)
    assert mean_difference(data, expected) < 1
    decoder = VideoDecoder(path, transforms=[Resize((60, 80)), Resize((30, 40))])
    assert decoder.get_frames_at([]).data.shape == (0, 3, 30, 40)
    assert torch.equal(torch.stack(list(decoder))[[5, 2]], decoder.get_frames_at([5, 2]).data)


def as_torchvision(name, **fields):
    """An object such as torchvision.transforms.v2 has them; it need not be installed."""
    kind = type(name, (), {"__module__": "torchvision.transforms.v2._geometry"})
    made = kind()
    made.__dict__.update(fields)
    return made


def resize_of_torchvision(**fields):
    known = {"size": [45, 60], "interpolation": "InterpolationMode.BILINEAR", "antialias": True}
    return as_torchvision("Resize", **(known | fields))


def crop_of_torchvision(**fields):
    known = {"padding": None, "pad_if_needed": False, "fill": 0, "padding_mode": "constant"}
    return as_torchvision("RandomCrop", size=(30, 50), **(known | fields))


def test_transforms_of_torchvision_are_taken(path):
    for theirs, ours in (
        (resize_of_torchvision(), Resize((45, 60))),
        (as_torchvision("CenterCrop", size=(40, 60)), CenterCrop((40, 60))),
        (crop_of_torchvision(), RandomCrop((30, 50))),
    ):
        torch.manual_seed(1)
        data = transformed(path, theirs)
        torch.manual_seed(1)
        assert torch.equal(data, transformed(path, ours))


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        (CenterCrop((91, 10)), r"height \(91\) is greater than input height \(90\)"),
        (RandomCrop((10, 121)), r"\(90, 120\) are smaller than the crop size \(10, 121\)"),
        (Resize(("a", "b")), "height and width are integers"),
        (
            resize_of_torchvision(interpolation="InterpolationMode.NEAREST"),
            "must use bilinear interpolation",
        ),
        (resize_of_torchvision(antialias=False), "have antialias enabled"),
        (resize_of_torchvision(size=None), "must have a size specified"),
        (resize_of_torchvision(size=[45]), "pair for the size"),
        (crop_of_torchvision(padding=2), "not specify padding"),
        (crop_of_torchvision(pad_if_needed=True), "not specify pad_if_needed"),
        (crop_of_torchvision(fill=1), "fill must be 0"),
        (crop_of_torchvision(padding_mode="edge"), "padding_mode must be constant"),
        (as_torchvision("RandomHorizontalFlip"), "Unsupported transform"),
    ],
)
def test_what_the_decoder_does_not_do_is_refused(path, transform, words):
    with pytest.raises(ValueError, match=words):
        VideoDecoder(path, transforms=[transform])


def test_a_crop_that_does_not_fit_is_of_torchcodecs_kinds(path):
    with pytest.raises(RuntimeError, match="greater than"):
        VideoDecoder(path, transforms=[Resize((20, 20)), CenterCrop((32, 32))])


@pytest.mark.parametrize("transform", [Resize, CenterCrop, RandomCrop])
def test_a_size_is_a_pair(transform):
    with pytest.raises(ValueError, match="pair for the size"):
        transform((5,))
