"""Histograms of tiles: as DALI makes them, which stores its results, for images and clips."""

from pathlib import Path

import numpy as np
import pytest
import torch
from references.clahe import CASES, pictures

from videoloader.dali import fn, pipeline_def
from videoloader.errors import VideoError

STORED = Path(__file__).parents[1] / "references" / "clahe.npz"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["grey", "rgb"])
def test_values_are_those_of_dali(name, case):
    with np.load(STORED) as stored:
        expected = stored[f"{name} {case}"]
    picture = pictures()[name]
    made = fn.clahe(picture, **CASES[case]).numpy()
    assert np.abs(made.astype(int) - expected).max() <= 1
    assert not np.array_equal(made, picture)


def test_frames_of_clips_and_channels_in_front_are_pictures_too():
    picture = pictures()["rgb"]
    own = fn.clahe(picture, **CASES["luma"]).numpy()
    clip = np.stack([picture, picture[::-1]])
    made = fn.clahe(clip, **CASES["luma"]).numpy()
    assert np.array_equal(made[0], own)
    assert not np.array_equal(made[1], own)

    @pipeline_def(batch_size=2, num_threads=2, device_id=None)
    def pipeline():
        planes = np.ascontiguousarray(picture.transpose(2, 0, 1))
        data = fn.external_source(source=lambda: [planes, planes[:, :20]], layout="CHW")
        return fn.clahe(data, bins=256, **CASES["luma"])

    with pipeline() as pipe:
        (out,) = pipe.run()
        assert out.layout() == "CHW"
        assert np.array_equal(out[0].numpy().transpose(1, 2, 0), own)


@pytest.mark.parametrize(
    ("changed", "picture"),
    [
        ({"tiles_x": 0}, pictures()["rgb"]),
        ({"clip_limit": 0.0}, pictures()["rgb"]),
        ({}, pictures()["rgb"].astype(np.float32)),
        ({}, pictures()["rgb"][..., :2]),
    ],
)
def test_what_it_cannot_do_is_an_error(changed, picture):
    with pytest.raises(VideoError, match=next(iter(changed), "clahe")):
        fn.clahe(torch.from_numpy(picture.copy()), **{**CASES["luma"], **changed}, layout="HWC")


@pytest.mark.parametrize("shape", [(0, 4, 3), (4, 0, 3), (2, 0, 4, 3), (0, 4, 4, 3)])
def test_frames_without_pixels_stay_as_they_are(shape):
    frames, layout = torch.zeros(shape, dtype=torch.uint8), "FHWC"[-len(shape) :]
    made = [
        fn.clahe(frames, tiles_x=2, tiles_y=2, clip_limit=2.0, layout=layout),
        fn.equalize(frames, layout=layout),
        fn.jpeg_compression_distortion(frames, layout=layout),
        fn.debayer(frames[..., :1], blue_position=(0, 0), layout=layout),
    ]
    assert [tuple(each.shape) for each in made] == [shape] * 4
