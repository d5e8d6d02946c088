"""Sound in the drop-ins whose library gives sound, against FFmpeg's decode of the whole stream."""

import io
import math
import pickle

import av
import numpy as np
import pytest
import torch
from audio_files import decode_all, make_signal, write_sound
from peer_frames import decoded

import videoloader as vl
from videoloader.compat.energon import AVDecoder, AVMetadata, AVWebdatasetDecoder
from videoloader.compat.pytorchvideo import EncodedVideo
from videoloader.compat.torchvision import read_video
from videoloader.compat.webdataset import VideoHandler, decode_video

RATE = 8000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    signal = make_signal(2, RATE)
    # PCM in Matroska: its samples have exact places, its frames 40 ms.
    write_sound(folder / "a.mkv", signal, RATE, "pcm_s16le", with_video=True)
    write_sound(folder / "late.mkv", signal, RATE, "pcm_s16le", with_video=True, late=0.5)
    write_sound(folder / "a.flac", signal, RATE, "flac", form="s16")
    return folder


@pytest.fixture(scope="module")
def samples(folder):
    """int16 (2, n) of every file of the folder."""
    return decode_all(folder / "a.mkv")[0]


def test_torchvision_reads_the_sound_of_the_frames(folder, samples):
    frames, sound, info = read_video(str(folder / "a.mkv"), pts_unit="sec")
    assert np.array_equal(frames, decoded(folder / "a.mkv"))
    assert np.array_equal(sound, samples)
    assert info == {"video_fps": 25, "audio_fps": RATE}
    for times, unit in (((0.2, 0.44), "sec"), ((200, 440), "pts")):  # Matroska counts ms
        frames, sound, _ = read_video(str(folder / "a.mkv"), *times, pts_unit=unit)
        assert np.array_equal(frames, decoded(folder / "a.mkv")[5:12])
        assert np.array_equal(sound, samples[:, 1600:3520])


def test_torchvision_gives_the_sound_of_a_time_before_it_begins(folder, samples):
    _, sound, _ = read_video(str(folder / "late.mkv"), 0.2, 0.75, pts_unit="sec")
    assert np.array_equal(sound, samples[:, :2000])


def test_webdataset_gives_all_of_the_sound(folder, samples):
    data = (folder / "a.mkv").read_bytes()
    frames, sound, info = decode_video("a.mkv", data)
    assert np.array_equal(frames, decoded(folder / "a.mkv"))
    assert np.array_equal(sound, samples)
    assert info["audio_fps"] == RATE
    _, sound, info = VideoHandler(audio=False)("a.mkv", data)
    assert sound.shape == (1, 0)
    assert "audio_fps" not in info


def test_pytorchvideo_gives_the_mean_of_what_is_played_in_the_clip(folder, samples):
    mean = torch.from_numpy(samples.astype(np.float64).mean(axis=0)).float()
    video = EncodedVideo.from_path(folder / "a.mkv")
    assert video.duration == pytest.approx(2)
    assert torch.equal(video.get_clip(0, 9)["audio"], mean)
    clip = video.get_clip(0.4, 0.8)
    assert clip["video"].shape[1] == 10
    assert torch.equal(clip["audio"], mean[3200:6400])
    assert video.get_clip(5, 6) == {"video": None, "audio": None}
    video.close()
    silent = EncodedVideo.from_path(folder / "a.mkv", decode_audio=False)
    assert silent.get_clip(0, 1)["audio"] is None
    silent.close()


def test_pytorchvideo_keeps_sound_and_frames_together(folder, samples):
    mean = torch.from_numpy(samples.astype(np.float64).mean(axis=0)).float()
    video = EncodedVideo((folder / "late.mkv").read_bytes())
    assert video.get_clip(0, 0.4)["audio"] is None
    assert torch.equal(video.get_clip(0.4, 0.75)["audio"], mean[:2000])
    assert video.duration == pytest.approx(2.5)
    video.close()


def test_a_sound_without_packets_is_none(tmp_path):
    path = tmp_path / "empty.mkv"
    with av.open(str(path), "w") as container:
        container.add_stream("pcm_s16le", rate=RATE, layout="mono")
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for _ in range(3):
            pixels = np.zeros((32, 32, 3), np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels)))
        container.mux(stream.encode(None))
    frames, sound, info = read_video(str(path), pts_unit="sec")
    assert (len(frames), sound.shape, info) == (3, (1, 0), {"video_fps": 25})
    video = EncodedVideo.from_path(path)
    assert video.get_clip(0, 1)["audio"] is None
    video.close()


@pytest.fixture
def decoder(folder):
    decoder = AVDecoder(io.BytesIO((folder / "a.mkv").read_bytes()))
    yield decoder
    decoder.close()


def test_energon_gives_clips_of_sound(decoder, samples):
    clips, times = decoder.get_audio_clips([(0.5, 1), (1.9, 5), (0, math.inf)])
    ranges = [(4000, 8000), (15200, 16000), (0, 16000)]
    assert all(
        np.array_equal(clip, samples[:, slice(*part)])
        for clip, part in zip(clips, ranges, strict=True)
    )
    assert np.allclose(times, [(start / RATE, stop / RATE) for start, stop in ranges])
    clips, _ = decoder.get_audio_clips([(7, 4001)], audio_unit="samples")
    assert np.array_equal(clips[0], samples[:, 7:4001])
    starts = np.linspace(0, 1, 40)
    clips, times = decoder.get_audio_clips([(start, start + 0.9954783) for start in starts])
    firsts = np.round(starts * RATE).astype(int)
    for clip, first in zip(clips, firsts, strict=True):
        assert np.array_equal(clip, samples[:, first : first + 7964])
    assert np.allclose(times, [(start, start + 0.9954783) for start in starts])
    with pytest.raises(vl.errors.FrameRangeError, match="lasts 2 s"):
        decoder.get_audio_clips([(3, 4)])
    with pytest.raises(ValueError, match="audio_unit"):
        decoder.get_audio_clips([(0, 1)], audio_unit="frames")


def test_energon_gives_frames_and_sound_together(decoder, folder, samples):
    expected = decoded(folder / "a.mkv").transpose(0, 3, 1, 2)
    for data in (decoder.get_frames(video_decode_audio=True), decoder.get_video_with_audio()):
        assert np.array_equal(data.video_clips[0], expected)
        assert np.array_equal(data.audio_clips[0], samples)
        assert np.allclose(data.audio_timestamps, [(0, 2)])
    assert decoder.get_frames().audio_clips == []
    data = decoder.get_clips([(0, 4)], [(0.0, 0.2)], video_unit="frames")
    assert (len(data.video_clips[0]), data.audio_clips[0].shape) == (5, (2, 1600))


def test_energon_knows_the_sound(decoder):
    metadata = AVMetadata(2.0, 50, 25.0, 64, 48, 2.0, 2, RATE)
    found = decoder.get_metadata()
    assert found.video_duration == pytest.approx(2)
    assert found.audio_duration == pytest.approx(2)
    found.video_duration = found.audio_duration = 2.0
    assert found == metadata
    assert decoder.get_metadata(get_video=False, get_audio_num_samples=True).audio_num_samples == (
        2 * RATE
    )
    assert decoder.get_audio_samples_per_second() == RATE
    assert decoder.get_audio_duration() == pytest.approx(2)
    assert decoder.has_audio_stream()
    assert decoder.has_video_stream()


def test_energon_reads_files_of_sound_alone(folder, samples):
    decoder = AVWebdatasetDecoder()("a.flac", (folder / "a.flac").read_bytes())
    assert not decoder.has_video_stream()
    assert np.array_equal(decoder.get_audio().audio_clips[0], samples)
    assert np.array_equal(decoder.get_frames().audio_clips[0], samples)
    assert decoder.get_metadata() == AVMetadata(
        audio_duration=2.0, audio_channels=2, audio_sample_rate=RATE
    )
    decoder.close()


def test_energons_decoder_pickles(decoder, folder):
    before = decoder.get_metadata()
    again = pickle.loads(pickle.dumps(decoder))
    assert again.get_metadata() == before
    frames = again.get_video_clips([(3, 4)], video_unit="frames")[0][0]
    assert np.array_equal(frames, decoded(folder / "a.mkv")[3:5].transpose(0, 3, 1, 2))
    again.close()
    again.close()
