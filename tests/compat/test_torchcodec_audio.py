"""torchcodec's `AudioDecoder` against FFmpeg's decode."""

import io

import numpy as np
import pytest
import torch
from audio_files import decode_all, make_signal, write_sound

import videoloader as vl
from videoloader.compat.torchcodec import AudioSamples
from videoloader.compat.torchcodec.decoders import AudioDecoder, AudioStreamMetadata
from videoloader.demo.videos import encode_video

RATE = 44100


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torchcodec")
    write_sound(folder / "sound.wav", make_signal(), RATE, "pcm_s16le")
    write_sound(folder / "sound.mp3", make_signal(), RATE, "libmp3lame")
    write_sound(folder / "late.mp4", make_signal(), RATE, "aac", with_video=True, late=0.5)
    encode_video(folder / "silent.mp4", frames=3, size=(64, 48))
    return folder


@pytest.mark.parametrize("name", ["sound.wav", "sound.mp3", "late.mp4"])
def test_all_samples_are_those_of_ffmpeg(folder, name):
    wanted, begin = decode_all(folder / name)
    wanted = wanted / np.float32(32768) if wanted.dtype == np.int16 else wanted
    got = AudioDecoder(folder / name).get_all_samples()
    assert isinstance(got, AudioSamples)
    assert got.data.dtype == torch.float32
    assert np.array_equal(got.data, wanted)
    assert got.pts_seconds == pytest.approx(begin, abs=1e-9)
    assert got.duration_seconds == pytest.approx(wanted.shape[1] / RATE)
    assert got.sample_rate == RATE
    data, *_, rate = got
    assert (data.shape, rate) == (wanted.shape, RATE)


# (start, stop) -> (first sample, their number, time of the first), as torchcodec 0.13 has them.
RANGES = {
    "sound.wav": {
        (0.5, 0.7): (22050, 8820, 0.5),
        (0.1, None): (4410, 61740, 0.1),
        (0.50001, 0.70002): (22050, 8821, 0.50001),
        (1.4, 9.0): (61740, 4410, 1.4),
        (-1.0, 0.5): (0, 22050, 0.0),
        (0.5, 0.5): (22050, 0, 0.5),
    },
    "late.mp4": {
        (0, None): (0, 67584, 0.47600907029478456),
        (0.1, None): (0, 67584, 0.47600907029478456),
        (0.5, 0.7): (1058, 8820, 0.5),
        (1.4, 9.0): (40748, 26836, 1.4),
    },
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges_are_those_of_torchcodec(folder, name):
    decoder = AudioDecoder(folder / name)
    whole = decoder.get_all_samples().data
    for (start, stop), (first, count, begin) in RANGES[name].items():
        got = decoder.get_samples_played_in_range(start, stop)
        assert np.array_equal(got.data, whole[:, first : first + count])
        assert got.pts_seconds == pytest.approx(begin, abs=1e-9)
        assert got.duration_seconds == pytest.approx(count / RATE)


def test_samples_are_resampled_and_mixed(folder):
    decoder = AudioDecoder(folder / "sound.wav", sample_rate=16000, num_channels=1)
    got = decoder.get_samples_played_in_range(0.5, 0.7)
    assert (got.data.shape, got.sample_rate) == ((1, 3200), 16000)
    with vl.Audio(folder / "sound.wav", sample_rate=16000) as audio:
        wanted = audio.get_samples(0.5, 0.7).sum(dim=0, keepdim=True) / 2**0.5
    np.testing.assert_allclose(got.data, wanted, atol=1e-5)
    assert decoder.metadata.sample_rate == RATE
    assert decoder.metadata.num_channels == 2
    assert decoder.get_samples_played_in_range(0, 0).sample_rate == 16000


def test_the_metadata_are_those_of_the_stream(folder):
    decoder = AudioDecoder(folder / "late.mp4")
    metadata = decoder.metadata
    assert isinstance(metadata, AudioStreamMetadata)
    assert (metadata.codec, metadata.sample_format) == ("aac", "fltp")
    assert (metadata.sample_rate, metadata.num_channels) == (RATE, 2)
    assert metadata.begin_stream_seconds == pytest.approx(0.476009, abs=1e-6)
    assert metadata.duration_seconds == pytest.approx(1.5232, abs=1e-3)
    assert metadata.stream_index == decoder.stream_index
    assert "sample_rate: 44100" in repr(metadata)
    assert AudioDecoder(folder / "sound.wav").metadata.begin_stream_seconds == 0


def test_streams_are_chosen_by_number(folder):
    number = AudioDecoder(folder / "late.mp4").stream_index
    chosen = AudioDecoder(folder / "late.mp4", stream_index=number).get_all_samples()
    assert np.array_equal(chosen.data, AudioDecoder(folder / "late.mp4").get_all_samples().data)
    for other in (1 - number, 7):
        with pytest.raises(ValueError, match=r"late\.mp4"):
            AudioDecoder(folder / "late.mp4", stream_index=other)


def test_sources_are_those_of_torchcodec(folder):
    data = (folder / "sound.mp3").read_bytes()
    wanted = AudioDecoder(folder / "sound.mp3").get_all_samples().data
    tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    for source in (data, tensor, io.BytesIO(data), str(folder / "sound.mp3")):
        assert np.array_equal(AudioDecoder(source).get_all_samples().data, wanted)
    for source, error in ((5, TypeError), (torch.zeros(4), RuntimeError)):
        with pytest.raises(error):
            AudioDecoder(source)


@pytest.mark.parametrize(
    "arguments", [{"sample_rate": 0}, {"num_channels": 0}, {"num_channels": 30}]
)
def test_what_cannot_be_given_is_a_runtime_error(folder, arguments):
    with pytest.raises(RuntimeError):
        AudioDecoder(folder / "late.mp4", **arguments)


def test_errors_are_those_that_code_for_torchcodec_catches(folder):
    decoder = AudioDecoder(folder / "sound.wav")
    for times in ((2.0, 3.0), (1.5, None), (-2.0, -1.0)):
        with pytest.raises(RuntimeError, match="No audio frames were decoded"):
            decoder.get_samples_played_in_range(*times)
    with pytest.raises(ValueError, match="Invalid start seconds"):
        decoder.get_samples_played_in_range(1.0, 0.5)
    for name in ("none.wav", "silent.mp4"):
        with pytest.raises(RuntimeError, match=name):
            AudioDecoder(folder / name)
