"""Any number of channels, in planes or interleaved, is read and mixed without touching others."""

import numpy as np
import pytest
from audio_files import make_signal, write_sound

import videoloader as vl

RATE = 48000
LAYOUTS = ["mono", "stereo", "2.1", "4.0", "5.0", "5.1", "6.1", "7.1"]
LOW = 3  # the low frequency channel of 7.1, of which encoders keep little


@pytest.mark.parametrize("channels", [*range(1, 9), 16])
def test_planes_are_what_was_written(tmp_path, channels):
    signal = make_signal(0.1, RATE, channels)
    layout = dict(enumerate(LAYOUTS, 1)).get(channels, "hexadecagonal")
    path = write_sound(tmp_path / "a.nut", signal, RATE, "pcm_s16le_planar", layout=layout)
    with vl.Audio(path) as audio:
        np.testing.assert_allclose(audio.get_samples().numpy(), signal, atol=1e-4)


@pytest.mark.parametrize(("codec", "name"), [("aac", "a.m4a"), ("libopus", "a.ogg")])
@pytest.mark.parametrize("asked", [None, 8])
def test_eight_channels_of_a_lossy_codec_are_each_their_own(tmp_path, codec, name, asked):
    signal = make_signal(0.5, RATE, 8)
    path = write_sound(tmp_path / name, signal, RATE, codec, layout="7.1", options={"b": "768000"})
    with vl.Audio(path, num_channels=asked) as audio:
        assert audio.header.sample_format == "fltp"
        found = audio.get_samples().numpy()
    assert found.shape[0] == 8
    middle = slice(8000, 16000)
    likeness = np.corrcoef(signal[:, middle], found[:, middle])[:8, 8:]
    own = [channel for channel in range(8) if channel != LOW]
    assert (likeness.argmax(axis=1)[own] == own).all()
    assert (likeness.diagonal()[own] > 0.8).all()


@pytest.mark.parametrize("channels", range(1, 9))
def test_stereo_is_mixed_to_any_number_of_channels(tmp_path, channels):
    signal = make_signal(0.2, RATE, 2) / 2
    path = write_sound(tmp_path / "a.wav", signal, RATE, "pcm_f32le")
    with vl.Audio(path, num_channels=channels) as audio:
        found = audio.get_samples().numpy()
    assert found.shape == (channels, signal.shape[1])
    if channels == 1:
        np.testing.assert_allclose(found, signal.mean(axis=0, keepdims=True), atol=1e-6)
    elif channels != 4:  # 4.0 has stereo in front as well, but is mixed to with other weights
        scale = found[0, 500:600] / signal[0, 500:600]
        np.testing.assert_allclose(found[:2], signal * scale.mean(), atol=1e-5)
