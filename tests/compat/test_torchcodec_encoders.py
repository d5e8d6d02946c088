"""torchcodec's `AudioEncoder` and `WavDecoder` against FFmpeg's decode of what is written."""

import io

import av
import numpy as np
import pytest
import torch
from audio_files import decode_all, make_signal

from videoloader.compat.torchcodec.decoders import AudioDecoder, AudioStreamMetadata, WavDecoder
from videoloader.compat.torchcodec.encoders import AudioEncoder

RATE = 16000


@pytest.fixture(scope="module")
def signal():
    return torch.from_numpy(make_signal(5, RATE))  # of more than one chunk


def test_a_wav_file_holds_the_samples(tmp_path, signal):
    AudioEncoder(signal, sample_rate=RATE).to_file(tmp_path / "a.wav")
    stored, _ = decode_all(tmp_path / "a.wav")
    assert np.abs(stored / np.float32(32768) - signal.numpy()).max() <= 1 / 32768
    decoder = WavDecoder(tmp_path / "a.wav")
    assert isinstance(decoder.metadata, AudioStreamMetadata)
    got = decoder.get_samples_played_in_range(0.5, 0.75)
    assert np.array_equal(got.data, stored[:, 8000:12000] / np.float32(32768))
    assert np.array_equal(decoder.get_all_samples().data, stored / np.float32(32768))


def test_one_row_is_mono_and_every_target_gets_the_same_bytes(tmp_path, signal):
    encoder = AudioEncoder(signal[0], sample_rate=RATE)
    encoder.to_file(tmp_path / "a.flac")
    buffer = io.BytesIO()
    encoder.to_file_like(buffer, "flac")
    data = bytes(encoder.to_tensor("flac"))
    assert data == buffer.getvalue() == (tmp_path / "a.flac").read_bytes()
    assert decode_all(tmp_path / "a.flac")[0].shape == (1, len(signal[0]))


def test_channels_and_rate_are_those_asked_for(signal):
    made = AudioEncoder(signal, sample_rate=RATE).to_tensor("wav", num_channels=1, sample_rate=8000)
    got = AudioDecoder(made).get_all_samples()
    assert (got.data.shape, got.sample_rate) == ((1, signal.shape[1] // 2), 8000)
    with av.open(io.BytesIO(bytes(made))) as container:
        assert container.streams.audio[0].codec_context.name == "pcm_s16le"


def test_the_bit_rate_is_the_one_asked_for(signal):
    sizes = [
        len(AudioEncoder(signal, sample_rate=RATE).to_tensor("mp3", bit_rate=rate))
        for rate in (16000, 64000)
    ]
    assert 3 < sizes[1] / sizes[0] < 5


@pytest.mark.parametrize(
    ("samples", "rate"),
    [([0.0], 1), (torch.zeros(1, 2, 3), 1), (torch.zeros(2).int(), 1), (torch.zeros(2), 0)],
)
def test_samples_that_are_none_are_refused(samples, rate):
    with pytest.raises(ValueError, match=r"Expected|sample_rate"):
        AudioEncoder(samples, sample_rate=rate)


def test_what_ffmpeg_does_not_write_is_a_runtime_error(signal, tmp_path):
    encoder = AudioEncoder(signal, sample_rate=RATE)
    for arguments in ({"format": "nonsense"}, {"format": "wav", "num_channels": 0}):
        with pytest.raises(RuntimeError):
            encoder.to_tensor(**arguments)
    with pytest.raises(RuntimeError, match=r"b\.nonsense"):
        encoder.to_file(tmp_path / "b.nonsense")
