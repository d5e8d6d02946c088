"""Drop-ins on a GPU give the frames that they give on the CPU."""

import numpy as np
import pytest
import torch

from videoloader.compat.decord import VideoReader, gpu
from videoloader.compat.torchcodec.decoders import VideoDecoder
from videoloader.demo.videos import read_frame_number

pytestmark = pytest.mark.gpu

NAMES = ["h264.mp4", "h264_open_gop.mp4", "hevc.mp4", "vp9.webm"]
FRAMES = [0, 17, 3, 40, 40]


def assert_close(ours, theirs):
    """The kernel and swscale's default path, which skips pixels of chroma, differ a little."""
    difference = (ours.cpu().float() - theirs.float()).abs()
    assert difference.mean() < 1
    assert ours.shape == theirs.shape


@pytest.mark.parametrize("name", NAMES)
def test_torchcodecs_decoder(demo_folder, name):
    path = demo_folder / name
    there, here = VideoDecoder(path, device="cuda"), VideoDecoder(path)
    given = there.get_frames_at(FRAMES)
    assert given.data.is_cuda
    assert [
        read_frame_number(np.asarray(frame.permute(1, 2, 0).cpu())) for frame in given.data
    ] == FRAMES
    expected = here.get_frames_at(FRAMES)
    assert_close(given.data, expected.data)
    assert torch.equal(given.pts_seconds.cpu(), expected.pts_seconds)
    played = there.get_frames_played_in_range(0.5, 1)
    assert_close(played.data, here.get_frames_played_in_range(0.5, 1).data)
    assert there[5].is_cuda


@pytest.mark.parametrize("name", NAMES)
def test_decords_reader(demo_folder, name):
    path = demo_folder / name
    reader = VideoReader(path, ctx=gpu(0))
    frames = reader.get_batch(FRAMES).asnumpy()
    assert [read_frame_number(frame) for frame in frames] == FRAMES
    assert_close(
        torch.from_numpy(frames), torch.from_numpy(VideoReader(path).get_batch(FRAMES).asnumpy())
    )
    small = VideoReader(path, ctx=gpu(0), width=64, height=48).get_batch(FRAMES).asnumpy()
    assert small.shape == (5, 48, 64, 3)
