"""torchvision's `VideoReader` and `write_video` against FFmpeg's decode through PyAV."""

import itertools
from fractions import Fraction

import av
import numpy as np
import pytest
import torch
from audio_files import decode_all, make_signal, write_sound
from peer_frames import decoded, decoded_times

import videoloader as vl
from videoloader.compat.torchvision import VideoReader, read_video, write_video


def frames_of(reader, count=None):
    parts = list(itertools.islice(reader, count))
    return np.stack([part["data"].permute(1, 2, 0) for part in parts]), [p["pts"] for p in parts]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("reader") / "late.mkv"
    return write_sound(path, make_signal(1, 8000), 8000, "pcm_s16le", with_video=True, late=0.25)


def test_frames_come_one_after_the_other_with_their_times(clip, uneven):
    for path in (clip, uneven):
        frames, times = frames_of(VideoReader(str(path)))
        pts, tick = decoded_times(path)
        assert np.array_equal(frames, decoded(path))
        assert np.allclose(times, [float(ticks * tick) for ticks in pts])


def test_a_seek_goes_to_the_first_frame_at_a_time_or_later(clip):
    reader = VideoReader(clip.read_bytes(), "video")
    for time, first in ((1.0, 25), (0.99, 25), (1.01, 26), (-3, 0), (0, 0), (1.96, 49)):
        frames, times = frames_of(reader.seek(time), 3)
        assert np.array_equal(frames, decoded(clip)[first : first + 3])
        assert times[0] == pytest.approx(first / 25)
    assert list(reader.seek(2.0)) == []


def test_a_seek_to_keyframes_goes_to_the_one_before(clip):
    reader = VideoReader(torch.frombuffer(bytearray(clip.read_bytes()), dtype=torch.uint8))
    for time, first in ((0.9, 12), (12 / 25, 12), (0.2, 0), (9, 48)):
        frames, _ = frames_of(reader.seek(time, keyframes_only=True), 1)
        assert np.array_equal(frames[0], decoded(clip)[first])


def test_sound_comes_in_parts_that_adjoin(sound):
    samples = decode_all(sound)[0] / np.float32(32768)
    reader = VideoReader(str(sound), "audio")
    parts = list(reader)
    assert np.array_equal(np.concatenate([part["data"] for part in parts]), samples.T)
    assert parts[0]["pts"] == 0.25
    assert parts[1]["pts"] == pytest.approx(0.25 + len(parts[0]["data"]) / 8000)
    part = next(reader.seek(0.5))
    assert part["pts"] == 0.5
    assert np.array_equal(part["data"], samples.T[2000 : 2000 + len(part["data"])])
    assert list(reader.seek(9)) == []


def test_streams_are_chosen_and_described(sound):
    reader = VideoReader(str(sound))
    assert next(reader)["data"].shape == (3, 48, 64)
    assert reader.set_current_stream("audio:0")
    assert next(reader)["data"].shape[1] == 2
    found = reader.get_metadata()
    assert found["video"]["fps"] == [25]
    assert found["audio"]["framerate"] == [8000]
    assert found["video"]["duration"] == [pytest.approx(1.25, abs=0.05)]
    for wrong in ("video:1", "audio:7", "subtitle", "video:-1"):
        with pytest.raises(ValueError, match=wrong.partition(":")[0]):
            reader.set_current_stream(wrong)


def test_what_is_no_video_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="empty"):
        VideoReader("")
    with pytest.raises(vl.errors.SourceError, match="none"):
        VideoReader(str(tmp_path / "none.mp4"))


@pytest.fixture
def pixels():
    return np.random.default_rng(1).integers(0, 256, (9, 32, 48, 3), np.uint8)


@pytest.mark.parametrize("fps", [25, 29.97, Fraction(30000, 1001)])
def test_lossless_frames_are_written_and_read(tmp_path, pixels, fps):
    path = str(tmp_path / "a.mp4")
    write_video(path, torch.from_numpy(pixels), fps, "libx264rgb", {"crf": 0})
    frames, sound, info = read_video(path, pts_unit="sec")
    assert np.array_equal(frames, pixels)
    assert sound.shape == (1, 0)
    assert info["video_fps"] == pytest.approx(float(fps), rel=1e-6)


@pytest.mark.parametrize("kind", [torch.float32, torch.int16])
def test_sound_is_written_beside_frames(tmp_path, pixels, kind):
    path = str(tmp_path / "a.mkv")
    signal = torch.from_numpy(make_signal(0.36, 16000))
    given = signal if kind == torch.float32 else (signal * 32767).to(kind)
    write_video(path, pixels, 25, audio_array=given, audio_fps=16000, audio_codec="pcm_s16le")
    frames, sound, info = read_video(path, pts_unit="sec")
    assert frames.shape == pixels.shape
    assert info["audio_fps"] == 16000
    assert np.abs(sound.numpy() / 32768 - signal.numpy()).max() < 1e-4
    with av.open(path) as container:
        assert container.streams.video[0].codec_context.name == "h264"


def test_what_ffmpeg_does_not_write_is_an_error(tmp_path, pixels):
    path = tmp_path / "a.mp4"
    for arguments in (
        (pixels[0], 25),
        (pixels, 25, "nonsense"),
        (pixels, 25, "libx264", None, np.zeros((1, 9), np.float32)),
    ):
        with pytest.raises(vl.VideoError):
            write_video(path, *arguments)
