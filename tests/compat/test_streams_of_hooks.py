"""A drop-in takes the same one of several streams as the library that it replaces."""

import sys
from pathlib import Path

import av
import numpy as np
import pytest
import torch
from audio_files import make_signal
from av.stream import Disposition
from peer_frames import stand_in

from videoloader.compat import decord
from videoloader.compat import lerobot as lerobot_hook
from videoloader.compat.energon import AVDecoder
from videoloader.compat.pytorchvideo import EncodedVideo
from videoloader.compat.torchcodec.decoders import AudioDecoder, VideoDecoder
from videoloader.compat.torchvision import read_video, read_video_timestamps
from videoloader.compat.webdataset import decode_video
from videoloader.errors import VideoError


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Two sounds and two videos; FFmpeg calls the second of each best."""
    path = tmp_path_factory.mktemp("streams") / "four.mkv"
    with av.open(str(path), "w") as container:
        sounds = [
            container.add_stream("pcm_s16le", rate=8000, layout="mono"),
            container.add_stream("pcm_s16le", rate=16000, layout="stereo"),
        ]
        videos = [container.add_stream("mpeg4", rate=rate) for rate in (10, 20)]
        for stream in (sounds[1], videos[1]):
            stream.disposition = Disposition.default
        for number, stream in enumerate(videos):
            stream.width, stream.height, stream.pix_fmt = 32 * (number + 1), 32, "yuv420p"
        for stream in sounds:
            signal = make_signal(0.5, stream.rate, stream.layout.nb_channels)
            packed = (signal.T * 30000).astype(np.int16).reshape(1, -1)
            frame = av.AudioFrame.from_ndarray(packed, "s16", stream.layout.name)
            frame.sample_rate = stream.rate
            container.mux([*stream.encode(frame), *stream.encode(None)])
        for stream, count in zip(videos, (5, 10), strict=True):
            for _ in range(count):
                pixels = np.zeros((32, stream.width, 3), np.uint8)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels)))
            container.mux(stream.encode(None))
    with av.open(str(path)) as container:
        best = [container.streams.best(kind).index for kind in ("audio", "video")]
        assert best == [1, 3]
    return path


def test_libraries_that_ask_for_stream_0_get_the_first(path):
    frames, sound, info = read_video(str(path), pts_unit="sec")
    assert (frames.shape, sound.shape) == ((5, 32, 32, 3), (1, 4000))
    assert info == {"video_fps": 10, "audio_fps": 8000}
    assert len(read_video_timestamps(str(path))[0]) == 5
    frames, sound, info = decode_video("four.mkv", path.read_bytes())
    assert (frames.shape, sound.shape) == ((5, 32, 32, 3), (1, 4000))
    video = EncodedVideo.from_path(path)
    clip = video.get_clip(0, 9)
    assert (clip["video"].shape, clip["audio"].shape) == ((3, 5, 32, 32), (4000,))
    video.close()
    decoder = AVDecoder(path.read_bytes())
    assert decoder.get_metadata().video_width == 32
    assert decoder.get_audio_samples_per_second() == 8000
    decoder.close()


def test_libraries_that_ask_ffmpeg_get_the_best(path):
    assert VideoDecoder(path).stream_index == 3
    assert AudioDecoder(path).stream_index == 1
    assert decord.VideoReader(str(path))[0].shape == (32, 64, 3)


def test_decord_takes_the_best_video_and_the_first_sound(path):
    assert decord.AudioReader(str(path)).shape == (1, 4000)
    samples, frame = decord.AVReader(str(path), sample_rate=-1)[0]
    assert (frame.shape, samples.shape) == ((32, 64, 3), (1, 400))


def test_decords_other_names(path):
    assert decord.nd.context("cpu", 1) == decord.cpu(1)
    assert decord.nd.context("cuda") == decord.gpu(0)
    assert decord.nd.context(2, 3) == decord.gpu(3)
    with pytest.raises(ValueError, match="opencl"):
        decord.nd.context("opencl")
    frame = decord.VideoReader(str(path))[0]
    assert frame.context == frame.ctx == decord.cpu(0)
    tensor = decord.bridge.torchdl.to_torch(frame)
    assert isinstance(tensor, torch.Tensor)
    assert np.array_equal(decord.bridge.torchdl.from_torch(tensor).asnumpy(), frame.asnumpy())
    assert decord.bridge.to_torch is decord.bridge.torchdl.to_torch


def test_what_code_for_pytorchvideo_catches(tmp_path):
    with pytest.raises(FileNotFoundError, match="none") as missing:
        EncodedVideo.from_path(tmp_path / "none.mp4")
    (tmp_path / "text.mp4").write_text("no video at all")
    with pytest.raises(RuntimeError, match="text") as unreadable:
        EncodedVideo.from_path(str(tmp_path / "text.mp4"))
    assert isinstance(missing.value, VideoError)
    assert isinstance(unreadable.value, VideoError)


def test_what_code_for_lerobot_catches(monkeypatch, clip):
    class TheirsError(ValueError):
        pass

    stand_in(monkeypatch, "lerobot.datasets.video_utils", FrameTimestampError=TheirsError)
    with pytest.raises(TheirsError, match="tolerance") as caught:
        lerobot_hook.decode_video_frames(clip, [0.5, 9.0], 1e-4)
    assert isinstance(caught.value, lerobot_hook.FrameTimestampError)
    monkeypatch.delitem(sys.modules, "lerobot.datasets.video_utils")
    with pytest.raises(lerobot_hook.FrameTimestampError) as caught:
        lerobot_hook.decode_video_frames(Path(clip), [9.0], 1e-4)
    assert not isinstance(caught.value, TheirsError)
