"""torchcodec's `VideoEncoder` against FFmpeg's decode of what is written."""

import io
from fractions import Fraction

import av
import numpy as np
import pytest
import torch
from peer_frames import decoded

from videoloader.compat.torchcodec.encoders import VideoEncoder
from videoloader.errors import UnsupportedError, VideoError


@pytest.fixture(scope="module")
def pictures(clip):
    return torch.from_numpy(decoded(clip)[:12]).permute(0, 3, 1, 2)


@pytest.fixture(scope="module")
def encoder(pictures):
    return VideoEncoder(pictures, frame_rate=30000 / 1001)


def read(source):
    """Codec, pixel format, rate and frames (N, 3, H, W) of a file."""
    with av.open(source) as container:
        stream = container.streams.video[0]
        form = stream.codec_context.name, stream.pix_fmt, stream.average_rate
        frames = [each.to_ndarray(format="rgb24") for each in container.decode(stream)]
    return form, np.stack(frames).transpose(0, 3, 1, 2)


def distance(found, pictures):
    return np.abs(found.astype(int) - pictures.numpy()).mean()


@pytest.mark.parametrize(
    ("name", "options", "codec", "pixels"),
    [
        ("a.mp4", {}, "h264", "yuv420p"),
        ("a.mkv", {"codec": "libx264", "pixel_format": "yuv444p"}, "h264", "yuv444p"),
        ("a.mov", {"codec": "hevc", "preset": "ultrafast"}, "hevc", "yuv420p"),
        ("a.webm", {}, "vp9", "yuv420p"),
        ("a.mkv", {"codec": "ffv1"}, "ffv1", "yuv420p"),
        ("a.mp4", {"codec": "av1", "preset": 10}, "libdav1d", None),
    ],
)
def test_a_file_holds_the_frames(tmp_path, encoder, pictures, name, options, codec, pixels):
    encoder.to_file(tmp_path / name, **options)
    (found, form, rate), frames = read(str(tmp_path / name))
    assert found == codec
    assert pixels is None or form == pixels
    assert abs(rate - Fraction(30000, 1001)) < 0.01
    assert frames.shape == tuple(pictures.shape)
    assert distance(frames, pictures) < 12


def test_every_target_gets_the_same_bytes(tmp_path, encoder):
    buffer = io.BytesIO()
    encoder.to_file_like(buffer, "mkv", crf=20)
    encoder.to_file(str(tmp_path / "a.mkv"), crf=20)
    data = encoder.to_tensor("mkv", crf=20)
    assert data.dtype == torch.uint8
    held = [read(io.BytesIO(each))[1] for each in (bytes(data), buffer.getvalue())]
    assert all(np.array_equal(each, read(str(tmp_path / "a.mkv"))[1]) for each in held)


def test_less_of_the_rate_factor_is_better_and_the_default_is_that_of_the_encoder(
    encoder, pictures
):
    def of(**options):
        data = bytes(encoder.to_tensor("mkv", pixel_format="yuv444p", **options))
        return distance(read(io.BytesIO(data))[1], pictures), len(data)

    found = [of(crf=crf) for crf in (0, 18.5, 30, 51)]
    assert found == sorted(found, key=lambda each: (each[0], -each[1]))
    assert of() == of(crf=23)
    assert of(extra_options={"qp": 1})[0] < of()[0]


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("avi", {}),
        ("nothing", {}),
        ("mp4", {"codec": "mpeg4"}),
        ("mp4", {"codec": "h264_nvenc"}),
        ("webm", {"codec": "h264"}),
        ("mp4", {"pixel_format": "abacus"}),
        ("mp4", {"crf": 99}),
        ("mp4", {"preset": "abacus"}),
        ("mp4", {"extra_options": {"abacus": 1}}),
    ],
)
def test_what_is_not_written_is_an_error(encoder, target, options):
    with pytest.raises(RuntimeError) as raised:
        encoder.to_tensor(target, **options)
    assert isinstance(raised.value, VideoError)


def test_an_encoder_that_is_not_used_is_unsupported(encoder):
    with pytest.raises(UnsupportedError, match=r"'mpeg4'.*h264, hevc, av1, vp9, ffv1"):
        encoder.to_tensor("mp4", codec="mpeg4")


@pytest.mark.parametrize(
    ("frames", "rate"),
    [
        (np.zeros((2, 3, 16, 16), np.uint8), 30),
        (torch.zeros((3, 16, 16), dtype=torch.uint8), 30),
        (torch.zeros((2, 3, 16, 16)), 30),
        (torch.zeros((2, 3, 16, 16), dtype=torch.uint8), 0),
    ],
)
def test_frames_that_are_none_are_value_errors(frames, rate):
    with pytest.raises(ValueError, match=r"Expected|frame_rate"):
        VideoEncoder(frames, frame_rate=rate)
