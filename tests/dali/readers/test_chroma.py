"""Chroma of DALI's readers and decoders, beside stored frames of DALI's CPU decoder."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import torch

import videoloader as vl
from videoloader.dali import fn, pipeline_def
from videoloader.demo.videos import encode_video

STORED = Path(__file__).parents[1] / "references" / "chroma.npz"
VIDEOS = ["vp8", "vp9-420", "vp9-422", "vp9-444", "mjpeg"]


@pytest.fixture
def video(request, tmp_path):
    """The path of a file, and its first frame as DALI gives it."""
    with np.load(STORED) as stored:
        path = tmp_path / f"{request.param}.{'avi' if request.param == 'mjpeg' else 'webm'}"
        path.write_bytes(stored[f"{request.param} file"].tobytes())
        return path, stored[f"{request.param} frame"].astype(float)


def by_reader(path, reader=fn.readers.video, **options):
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return reader(filenames=[str(path)], sequence_length=1, **options)

    with closing(pipeline()) as made:
        return torch.as_tensor(made.run()[0][0][0]).clone().numpy().astype(float)


def by_decoder(path, **options):
    data = np.frombuffer(path.read_bytes(), np.uint8)
    return fn.decoders.video(data, frames=[0], **options)[0].numpy().astype(float)


WAYS = {
    "readers.video": by_reader,
    "experimental.readers.video": lambda path, **o: by_reader(
        path, fn.experimental.readers.video, **o
    ),
    "decoders.video": by_decoder,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("video", VIDEOS, indirect=True)
def test_readers_and_decoders_give_dalis_pixels_by_default(video, way):
    path, wanted = video
    error = np.abs(WAYS[way](path) - wanted)
    assert error.max() <= 2
    assert error.mean() <= 0.4


@pytest.mark.parametrize("video", ["vp8", "vp9-420", "mjpeg"], indirect=True)
def test_nearest_is_far_from_dali(video):
    path, wanted = video
    frame = by_reader(path, chroma="nearest")
    assert np.abs(frame - wanted).max() > 20
    with vl.Video(path) as opened:
        assert np.array_equal(frame, opened[0].numpy())


@pytest.mark.parametrize("video", ["vp9-420", "vp9-422"], indirect=True)
def test_linear_goes_by_the_place_that_the_codec_gives_chroma(video):
    """Which is on the left pixel of two in VP9, where DALI takes it for the middle."""
    path, wanted = video
    assert np.abs(by_reader(path, chroma="linear") - wanted).max() > 20


@pytest.mark.parametrize("video", ["vp9-420"], indirect=True)
def test_crops_that_are_absorbed_have_the_same_pixels(video):
    path, _ = video

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        clips = fn.readers.video(filenames=[str(path)], sequence_length=1)
        window = {"crop_w": 31, "crop_h": 21, "crop_pos_x": 0.37, "crop_pos_y": 0.61}
        return fn.crop(clips, **window), fn.copy(clips)

    with closing(pipeline()) as made:
        cropped, whole = (torch.as_tensor(output[0][0]).clone() for output in made.run())
    top, left = (int(0.61 * (48 - 21) + 0.5), int(0.37 * (80 - 31) + 0.5))
    assert torch.equal(cropped, whole[top : top + 21, left : left + 31])


@pytest.mark.parametrize("resized", [False, True])
def test_hdr_is_mapped_as_elsewhere(tmp_path, resized):
    """The frames of `Video`, whose mapping is tested beside its formulas."""
    options = {"x265-params": "transfer=arib-std-b67:colorprim=bt2020:colormatrix=bt2020nc:pools=1"}
    form = {"codec": "libx265", "pixel_format": "yuv420p10le", "options": options}
    path = encode_video(tmp_path / "hdr.mp4", size=(96, 64), frames=8, **form)

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def read(tone_map):
        clip = fn.readers.video(filenames=[str(path)], sequence_length=4, tone_map=tone_map)
        return fn.resize(clip, size=(32, 48)) if resized else clip

    def frames(tone_map):
        with closing(read(tone_map)) as pipeline:
            return torch.as_tensor(pipeline.run()[0][0]).clone().numpy()

    with vl.Video(path, chroma="centered", tone_map="hable") as video:
        wanted = video.get_frames(range(4), size=(32, 48) if resized else None).frames.numpy()
    assert (frames("hable") == wanted).all()
    assert np.abs(frames("none").astype(int) - wanted).max() > 10
