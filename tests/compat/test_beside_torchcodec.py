"""The drop-in beside torchcodec itself, where that is installed and finds FFmpeg's libraries."""

import dataclasses
import inspect

import numpy as np
import pytest
import torch

from videoloader.compat import torchcodec as ours
from videoloader.demo.videos import encode_video


@pytest.fixture(scope="module")
def theirs():
    try:
        import torchcodec
    except (ImportError, OSError, RuntimeError) as error:
        pytest.skip(f"needs torchcodec: {str(error).strip().partition(chr(10))[0]}")
    return torchcodec


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    options = {"bf": "2", "g": "12", "threads": "1"}
    return encode_video(
        tmp_path_factory.mktemp("beside") / "a.mp4", size=(128, 96), frames=40, options=options
    )


def both(theirs, path, **options):
    return [library.decoders.VideoDecoder(path, **options) for library in (ours, theirs)]


def is_same(here, there):
    assert torch.equal(here.data, there.data)
    assert here.data.stride() == there.data.stride()
    assert np.allclose(here.pts_seconds, there.pts_seconds, rtol=0, atol=1e-12)
    assert np.allclose(here.duration_seconds, there.duration_seconds, rtol=0, atol=1e-12)
    assert type(here).__name__ == type(there).__name__


ASK = {
    "get_frame_at": lambda d: d.get_frame_at(-3),
    "get_frames_at": lambda d: d.get_frames_at([35, 2, 2, -1]),
    "get_frames_in_range": lambda d: d.get_frames_in_range(-9, 1000, 2),
    "get_frame_played_at": lambda d: d.get_frame_played_at(0.7),
    "get_frames_played_at": lambda d: d.get_frames_played_at([k / 30 for k in range(40)]),
    "get_frames_played_in_range": lambda d: d.get_frames_played_in_range(0.1, 0.85),
    "fps": lambda d: d.get_frames_played_in_range(0.15, 0.95, fps=17.3),
    "get_all_frames": lambda d: d.get_all_frames(),
}


@pytest.mark.parametrize("seek_mode", ["exact", "approximate"])
@pytest.mark.parametrize("ask", ASK)
def test_every_call_gives_the_same(theirs, path, ask, seek_mode):
    is_same(*(ASK[ask](decoder) for decoder in both(theirs, path, seek_mode=seek_mode)))


@pytest.mark.parametrize("seek_mode", ["exact", "approximate"])
def test_metadata_is_the_same(theirs, path, seek_mode):
    # Approximate times there are the header's, rounded to its ticks.
    tolerance = 1e-9 if seek_mode == "exact" else 1e-3
    here, there = (decoder.metadata for decoder in both(theirs, path, seek_mode=seek_mode))
    for field in dataclasses.fields(there):
        expected = getattr(there, field.name)
        if isinstance(expected, float):
            expected = pytest.approx(expected, rel=tolerance, abs=1e-9)
        assert getattr(here, field.name) == expected, field.name


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("clips_at_random_indices", {"num_clips": 5, "num_frames_per_clip": 3}),
        ("clips_at_regular_indices", {"num_clips": 7, "num_indices_between_frames": 2}),
        ("clips_at_random_timestamps", {"num_clips": 5, "num_frames_per_clip": 3}),
        ("clips_at_regular_timestamps", {"seconds_between_clip_starts": 0.31}),
        (
            "clips_at_regular_indices",
            {"num_frames_per_clip": 6, "sampling_range_start": -3, "sampling_range_end": 40},
        ),
    ],
)
@pytest.mark.parametrize("policy", ["repeat_last", "wrap"])
def test_samplers_draw_the_same(theirs, path, name, options, policy):
    found = []
    for library, decoder in zip((ours, theirs), both(theirs, path), strict=True):
        torch.manual_seed(2)
        found.append(getattr(library.samplers, name)(decoder, policy=policy, **options))
    is_same(*found)


def test_transforms_give_the_same(theirs, path):
    found = []
    for library in (ours, theirs):
        transforms = library.transforms
        torch.manual_seed(2)
        steps = [transforms.CenterCrop((63, 101)), transforms.RandomCrop((32, 64))]
        decoder = library.decoders.VideoDecoder(path, transforms=steps)
        found.append(decoder.get_frames_at([3, 30]).data.float())
    assert (found[0] - found[1]).abs().max() <= 3


FORMATS = ["yuv420p", "yuv420p10le", "yuv422p12le", "yuv444p", "yuv411p", "gray", "gray10le"]


@pytest.mark.parametrize("size", [(128, 96), (75, 61)])
@pytest.mark.parametrize("pixel_format", FORMATS)
def test_floats_are_the_same_to_the_bit(theirs, tmp_path, pixel_format, size):
    if "output_dtype" not in inspect.signature(theirs.decoders.VideoDecoder).parameters:
        pytest.skip("needs torchcodec 0.14")
    path = tmp_path / "a.mkv"
    encode_video(path, codec="ffv1", size=size, frames=3, pixel_format=pixel_format)
    here, there = (decoder[2] for decoder in both(theirs, path, output_dtype=torch.float32))
    assert torch.equal(here, there)
    here, there = (decoder[2].dtype for decoder in both(theirs, path, output_dtype="auto"))
    assert here == there
